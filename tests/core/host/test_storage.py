"""A write that fails: the request is refused, what is on disk stands, everybody starts anew."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import AgentError, ToolPatch, Turn, TurnOutcome
from felan_core.client.host_client import ConnectionLost
from felan_core.host.limits import HostLimits
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.interactions import ConfirmRequest
from felan_core.store.batch import Batch
from felan_core.store.errors import StoreFailure
from felan_core.store.store import Store
from tests.core.host.rig import Clock, Puppet, Rig, Stagehand, open_rig, until
from tests.core.host.same import differences, fresh


class Full(Store):
    """A store on a disk that is full whenever ``refuses`` says so of a batch."""

    refuses: Callable[[Batch], bool] = staticmethod(lambda batch: False)

    async def write(self, batch: Batch) -> None:
        if self.refuses(batch):
            raise StoreFailure(self.path, "the disk is full")
        await super().write(batch)

    def fail_once(self, mark: str = "") -> None:
        """Refuse the next batch that holds ``mark``."""

        def refuses(batch: Batch) -> bool:
            if mark and not any(mark.encode() in value for value in _bodies(batch)):
                return False
            self.refuses = lambda batch: False
            return True

        self.refuses = refuses


def _bodies(batch: Batch) -> list[bytes]:
    return [value for _, values, _ in batch.changes for value in values if isinstance(value, bytes)]


@pytest.fixture
async def full(tmp_path: Path, hand: Stagehand) -> AsyncIterator[Rig]:
    limits = HostLimits(retry_seconds=0.01)
    opened = await open_rig(tmp_path / "data", hand, Clock(), kind=Full, limits=limits)
    yield opened
    await opened.close()


def disk(rig: Rig) -> Full:
    assert isinstance(rig.store, Full)
    return rig.store


async def test_a_request_whose_effect_cannot_be_stored_is_refused_and_changes_nothing(
    full: Rig, work: Path
) -> None:
    client = await full.client()
    replica = await full.session(client, work)
    session, before = replica.state.session, replica.state.revision
    disk(full).fail_once()
    with pytest.raises(ProtocolError) as refusal:
        await client.rename(session, "x")
    assert refusal.value.code == "storage_failure"
    assert replica.state.header.name is msgspec.UNSET
    assert await client.rename(session, "y") == before + 1
    await until(lambda: replica.state.header.name == "y")
    assert not differences(replica, await fresh(full, replica.state.session))


async def test_a_prompt_that_is_refused_leaves_the_task_pointer_as_it_was(
    full: Rig, hand: Stagehand, work: Path
) -> None:
    client = await full.client()
    session = (await full.session(client, work)).state.session
    pointers = full.assembly.services.pointers
    task = "3f2b8c1e-7a4d-4e5f-9b6a-1c2d3e4f5a6b"
    before = pointers.publish(session, "ABSENT", 0, task, "CLEAN", "goal: x")
    disk(full).fail_once('"kind":"message"')
    request = new_uuid7()
    with pytest.raises(ProtocolError) as refusal:
        await client.prompt(session, "go", request_id=request)
    assert refusal.value.code == "storage_failure"
    assert pointers.read(session) == before
    await client.prompt(session, "go", request_id=request)
    await until(lambda: hand.turns)
    now = pointers.read(session)
    assert now is not None and (now.status, now.revision) == ("DIRTY", before.revision + 1)


async def test_the_same_request_works_when_there_is_room_again(full: Rig, work: Path) -> None:
    client = await full.client()
    replica = await full.session(client, work)
    identity = "01890000-0000-7000-8000-000000000001"
    disk(full).fail_once()
    with pytest.raises(ProtocolError):
        await client.prompt(replica.state.session, "go", request_id=identity)
    await client.prompt(replica.state.session, "go", request_id=identity)
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 1)


async def test_every_client_that_is_attached_starts_anew(full: Rig, work: Path) -> None:
    resynced: list[int] = []
    clients = [await full.client(on_resync=lambda _, n=n: resynced.append(n)) for n in range(3)]
    first = await full.session(clients[0], work)
    session = first.state.session
    replicas = [first, *[await client.attach(session) for client in clients[1:]]]
    disk(full).fail_once()
    with pytest.raises(ProtocolError):
        await clients[0].rename(session, "x")
    await until(lambda: sorted(resynced) == [0, 1, 2])
    await clients[1].rename(session, "y")
    await until(lambda: all(one.state.header.name == "y" for one in replicas))


@pytest.mark.parametrize("mark", ['"hello"', '"state":"completed"', '"kind":"message"'])
async def test_what_an_agent_says_survives_one_write_that_failed(
    full: Rig, hand: Stagehand, work: Path, mark: str
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "hello")
        disk(full).fail_once(mark)
        await puppet.session.tool(ToolPatch(key="t", name="x", state="completed"))
        return "completed"

    hand.scripts.append(script)
    client = await full.client()
    replica = await full.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: hand.turns and replica.state.run is None)
    texts = [one.text for one in replica.state.entries if isinstance(one, MessageEntry)]
    assert texts == ["go", "hello"]
    assert not differences(replica, await fresh(full, replica.state.session))
    await client.prompt(replica.state.session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)


async def test_a_turn_whose_end_cannot_be_stored_ends_when_it_can(
    full: Rig, hand: Stagehand, work: Path
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        disk(full).refuses = lambda batch: True
        return "completed"

    hand.scripts.append(script)
    client = await full.client()
    replica = await full.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: len(full.faults) > 2)
    with pytest.raises(ProtocolError) as refusal:
        await client.prompt(session, "again")
    assert refusal.value.code == "busy"
    disk(full).refuses = lambda batch: False
    await until(lambda: replica.state.run is None)
    await client.prompt(session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)


async def test_a_queue_whose_next_turn_could_not_be_stored_goes_on_with_the_next_message(
    full: Rig, hand: Stagehand, work: Path
) -> None:
    gate = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await gate.wait()
        disk(full).fail_once("two")
        return "completed"

    hand.scripts.append(script)
    client = await full.client()
    replica = await full.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await client.follow_up(session, "two")
    gate.set()
    await until(lambda: full.faults)
    await client.follow_up(session, "three")
    await until(lambda: [turn.text for turn in hand.turns] == ["one", "two", "three"])
    await until(lambda: replica.state.run is None and not replica.state.queue.items)


async def test_an_answer_that_could_not_be_stored_can_be_given_again(
    full: Rig, hand: Stagehand, work: Path
) -> None:
    heard: list[Any] = []

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        heard.append(await puppet.session.ask(ConfirmRequest(title="sure?")))
        return "completed"

    hand.scripts.append(script)
    client = await full.client()
    replica = await full.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    [interaction] = replica.state.interactions
    disk(full).fail_once()
    with pytest.raises(ProtocolError) as refusal:
        await client.answer(session, interaction, {"confirmed": True})
    assert refusal.value.code == "storage_failure" and heard == []
    await until(lambda: replica.state.interactions[interaction].state == "waiting")
    while heard == []:
        try:
            await client.answer(session, interaction, {"confirmed": True})
        except ProtocolError as error:
            assert error.code == "forbidden"  # until the fresh attachment stands
    await until(lambda: replica.state.run is None)


async def test_what_is_too_large_to_be_kept_is_refused_and_leaves_no_trace(
    full: Rig, hand: Stagehand, work: Path
) -> None:
    refused: list[Exception] = []

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        try:
            await puppet.session.tool(ToolPatch(key="t", name="x", arguments={"a": "x" * 13_000_000}))
        except AgentError as error:
            refused.append(error)
        await puppet.session.text("assistant", "after")
        return "completed"

    hand.scripts.append(script)
    client = await full.client()
    replica = await full.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: hand.turns and replica.state.run is None)
    assert len(refused) == 1 and full.faults == []
    assert [one.text for one in replica.state.entries if isinstance(one, MessageEntry)] == ["go", "after"]
    assert not differences(replica, await fresh(full, replica.state.session))


async def test_a_process_whose_row_cannot_be_stored_does_not_run_on(full: Rig, work: Path) -> None:
    client = await full.client()
    replica = await full.session(client, work)
    disk(full).fail_once('"output"')
    with pytest.raises(ProtocolError) as refusal:
        await client.shell(replica.state.session, op.ShellParams(command="sleep 60"))
    assert refusal.value.code == "storage_failure"
    assert not [one for one in full.processes.list() if one.state == "running"]
    assert not differences(replica, await fresh(full, replica.state.session))


async def until_cancelled(puppet: Puppet, turn: Turn) -> TurnOutcome:
    return await puppet.until_cancelled()


async def test_a_close_that_cannot_be_stored_leaves_a_session_that_goes_on(
    full: Rig, work: Path, hand: Stagehand
) -> None:
    client = await full.client()
    replica = await full.session(client, work)
    session = replica.state.session
    hand.scripts.append(until_cancelled)
    await client.prompt(session, "go")
    await until(lambda: len(hand.turns) == 1)
    writes = 0

    def refuses(batch: Batch) -> bool:
        nonlocal writes
        writes += 1
        return writes > 1  # the reservation is stored, and nothing after it

    disk(full).refuses = refuses
    with pytest.raises(ProtocolError) as refusal:
        await client.close_session(session)
    assert refusal.value.code == "storage_failure"
    assert hand.closed == 1
    disk(full).refuses = lambda batch: False
    await until(lambda: replica.state.run is None and replica.state.header.state == "idle")
    await client.prompt(session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    assert [one.text for one in replica.state.entries if isinstance(one, MessageEntry)] == ["go", "again"]
    assert not differences(replica, await fresh(full, session))


async def test_agents_are_ended_with_the_host_on_a_full_disk(full: Rig, work: Path, hand: Stagehand) -> None:
    client = await full.client()
    for number in (1, 2):
        replica = await full.session(client, work)
        hand.scripts.append(until_cancelled)
        await client.prompt(replica.state.session, "go")
        await until(lambda number=number: len(hand.turns) == number)
    disk(full).refuses = lambda batch: True
    await full.host.close()
    assert hand.closed == 2
    left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("felan-session-")]
    assert left == []


class Ambiguous(Full):
    """A disk that keeps a transaction and answers that it did not."""

    keeps = False

    async def write(self, batch: Batch) -> None:
        await super().write(batch)
        if self.keeps and any(b"twice" in body for body in _bodies(batch)):
            self.keeps = False
            raise StoreFailure(self.path, "the disk answered with an error")


async def test_a_prompt_that_is_stored_is_accepted_whatever_the_disk_answered(
    tmp_path: Path, work: Path, hand: Stagehand
) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock(), kind=Ambiguous)
    client = await rig.client()
    replica = await rig.session(client, work)
    assert isinstance(rig.store, Ambiguous)
    rig.store.keeps = True
    run = await client.prompt(replica.state.session, "not twice")
    assert run
    await until(lambda: len(hand.turns) == 1 and replica.state.run is None)
    loaded = await rig.store.load_session(replica.state.session, 64)
    assert loaded is not None
    assert [one.text for one in loaded.entries if isinstance(one, MessageEntry)] == ["not twice"]
    await rig.close()


async def test_a_lost_data_folder_ends_agents_and_tells_every_client(
    tmp_path: Path, work: Path, hand: Stagehand
) -> None:
    data = tmp_path / "data"
    rig = await open_rig(data, hand, Clock(), limits=HostLimits(look_seconds=0.01))
    reasons: list[str] = []
    client = await rig.client(on_lost=reasons.append)
    replica = await rig.session(client, work)
    hand.scripts.append(until_cancelled)
    await client.prompt(replica.state.session, "go")
    await until(lambda: len(hand.turns) == 1)
    data.rename(tmp_path / "away")
    await until(lambda: reasons and hand.closed == 1)
    assert str(data) in reasons[0] and "while Felan runs" in reasons[0]
    with pytest.raises(ConnectionLost):
        await client.prompt(replica.state.session, "more")
    assert not data.exists()
    await rig.close()


async def test_a_request_right_after_the_loss_is_refused_as_ownership_lost(
    tmp_path: Path, work: Path, hand: Stagehand
) -> None:
    data = tmp_path / "data"
    rig = await open_rig(data, hand, Clock(), limits=HostLimits(look_seconds=3600))
    client = await rig.client()
    replica = await rig.session(client, work)
    data.rename(tmp_path / "away")
    with pytest.raises(ProtocolError) as refusal:
        await client.prompt(replica.state.session, "go")
    assert refusal.value.code == "ownership_lost"
    await rig.close()


async def test_a_spoiled_row_costs_its_session_alone(host: Rig, work: Path) -> None:
    client = await host.client()
    good, bad = [await client.sessions_create(op.CreateParams(cwd=str(work))) for _ in range(2)]
    with closing(sqlite3.connect(host.store.path)) as other, other:
        other.execute("UPDATE sessions SET body = x'00' WHERE id = ?", (bad.session,))
    rows = {row.id: row for row in (await client.sessions_list()).items}
    assert bad.session in str(rows[bad.session].problem) and not rows[good.session].problem
    with pytest.raises(ProtocolError) as refusal:
        await client.attach(bad.session)
    assert (refusal.value.code, refusal.value.details) == ("storage_failure", {"unreadable": True})
    assert (await client.attach(good.session)).state.session == good.session


async def test_a_command_whose_row_cannot_be_stored_never_runs(full: Rig, work: Path) -> None:
    client = await full.client()
    replica = await full.session(client, work)
    session = replica.state.session
    disk(full).fail_once("touch ran")
    with pytest.raises(ProtocolError):
        await client.shell(session, op.ShellParams(command="touch ran"))
    assert full.processes.list() == [] and replica.state.processes == {}
    replica = await client.attach(session)
    later = await client.shell(session, op.ShellParams(command="touch later"))
    await until(lambda: replica.state.processes[later].state == "exited")
    assert (work / "later").exists() and not (work / "ran").exists()


async def test_the_large_half_of_a_session_is_written_when_it_changed(
    host: Rig, hand: Stagehand, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    written: list[list[str]] = []
    live = host.live(session)
    store = live.actor.services.store
    write = store.write

    async def noted(batch: Batch) -> None:
        written.append([statement for statement, _, _ in batch.changes if "session_bulk" in statement])
        await write(batch)

    await client.rename(session, "one")
    monkeypatch.setattr(store, "write", noted)
    await client.rename(session, "two")
    assert written and not any(written)
    await client.prompt(session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) > 0)
    assert len(written) > 3 and not any(written)
