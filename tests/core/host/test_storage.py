"""A write that fails: the request is refused, what is on disk stands, everybody starts anew."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import AgentError, ToolPatch, Turn, TurnOutcome
from felan_core.host import turns
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
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
async def full(tmp_path: Path, hand: Stagehand, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setattr(turns, "RETRY_SECONDS", 0.01)
    opened = await open_rig(tmp_path / "data", hand, Clock(), kind=Full)
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
