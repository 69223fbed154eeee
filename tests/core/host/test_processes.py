"""The processes of a session through the contract: started, followed, stopped, shared, found again."""

import asyncio
import base64
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.processes import table
from felan_core.processes.spool import Spool
from felan_core.protocol import LIMITS, UNSET, ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.base import or_default
from felan_core.protocol.entries import ToolDetails, ToolEntry, ToolProcess
from tests.core.host.rig import Clock, Puppet, Rig, Stagehand, open_rig, until
from tests.core.host.same import differences, fresh


async def read(client: HostClient, session: str, process: str, offset: int = 0, **more: Any) -> Any:
    params = op.ProcessReadParams(process=process, offset=offset, **more)
    return await client.processes_read(session, params)


async def follow(client: HostClient, session: str, process: str) -> bytes:
    """All of the output, followed live until its end."""
    data, offset = b"", 0
    async with asyncio.timeout(20):
        while True:
            result = await read(client, session, process, offset, wait_ms=5000)
            data += base64.b64decode(result.data)
            assert result.next_offset == result.offset + len(base64.b64decode(result.data)) <= result.end
            offset = result.next_offset
            if result.eof:
                return data


async def started(host: Rig, work: Path, command: str, **more: Any) -> tuple[HostClient, SessionReplica, str]:
    client = await host.client()
    replica = await host.session(client, work)
    process = await client.shell(replica.state.session, op.ShellParams(command=command, **more))
    return client, replica, process


def card(replica: SessionReplica) -> ToolEntry:
    [tool] = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    return tool


async def test_a_panel_follows_live_to_the_end(host: Rig, work: Path) -> None:
    command = "for i in 1 2 3 4 5; do printf \"line $i\\n\"; sleep 0.05; done; printf 'no \\377 text'"
    client, replica, process = await started(host, work, command)
    data = await follow(client, replica.state.session, process)
    assert data == b"".join(b"line %d\n" % n for n in range(1, 6)) + b"no \xff text"
    await until(lambda: replica.state.processes[process].state == "exited")
    await until(lambda: replica.state.processes[process].output.end == len(data))
    row = replica.state.processes[process]
    assert (row.exit_code, row.output.end, row.cwd) == (0, len(data), str(work))


async def test_a_read_waits_for_output_and_holds_up_nobody(host: Rig, work: Path) -> None:
    client, replica, process = await started(host, work, "sleep 60")
    session = replica.state.session
    waiting = asyncio.create_task(read(client, session, process, 0, wait_ms=20_000))
    assert (await client.host_status()).processes == 1
    await client.rename(session, "still quick")
    assert not waiting.done()
    await client.processes_stop(session, op.ProcessStopParams(process=process))
    result = await waiting
    assert result.eof and result.data == ""


@pytest.mark.parametrize(
    ("offset", "code"), [(6, "invalid_request"), (10**12, "invalid_request"), (5, None), (0, None)]
)
async def test_an_offset_past_the_end_is_refused_and_one_at_the_end_is_not(
    host: Rig, work: Path, offset: int, code: str | None
) -> None:
    client, replica, process = await started(host, work, "printf 12345")
    session = replica.state.session
    await follow(client, session, process)
    if code is None:
        result = await read(client, session, process, offset, limit=3)
        assert base64.b64decode(result.data) == b"12345"[offset : offset + 3]
        assert result.eof is (offset + 3 >= 5)
    else:
        with pytest.raises(ProtocolError) as refusal:
            await read(client, session, process, offset)
        assert refusal.value.code == code


async def test_an_offset_before_the_start_is_answered_from_the_start_and_says_so(
    host: Rig, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(Spool.create, segment=100_000, retain=300_000)
    monkeypatch.setattr(table, "Spool", SimpleNamespace(create=small))
    size = 1_000_000
    command = f"head -c {size} /dev/zero | tr '\\0' 'a'; printf END"
    client, replica, process = await started(host, work, command)
    session = replica.state.session
    await until(lambda: replica.state.processes[process].state == "exited")
    await until(lambda: replica.state.processes[process].output.end == size + 3)
    result = await read(client, session, process, 0, limit=10)
    assert result.start > 0 and result.offset == result.start and result.next_offset == result.start + 10
    assert replica.state.processes[process].output.start == result.start
    tail = await read(client, session, process, result.end - 3)
    assert base64.b64decode(tail.data) == b"END" and tail.eof


async def test_a_stop_asks_first_and_then_kills_the_whole_group(host: Rig, work: Path) -> None:
    command = "trap '' TERM; (trap '' TERM; while :; do echo child; sleep 0.05; done) & echo up; wait"
    client, replica, process = await started(host, work, command)
    session = replica.state.session
    assert (await read(client, session, process, wait_ms=10_000)).end > 0
    stop = op.ProcessStopParams(process=process, grace_ms=100)
    assert (await client.processes_stop(session, stop)).state == "signalled"
    await until(lambda: replica.state.processes[process].state == "signalled")
    assert replica.state.processes[process].stopped is True
    await follow(client, session, process)  # comes to its end: nobody holds the output any more
    assert replica.state.processes[process].signal in ("KILL", "SIGKILL")
    await until(lambda: card(replica).state == "interrupted")
    assert card(replica).details.reason == "stopped"  # pyright: ignore[reportAttributeAccessIssue] it has ended


@pytest.mark.parametrize("state", ["completed", "failed"])
async def test_a_command_s_card_ends_with_it(host: Rig, work: Path, state: str) -> None:
    code = 0 if state == "completed" else 3
    client, replica, process = await started(host, work, f"exit {code}")
    await until(lambda: card(replica).state == state)
    tool = card(replica)
    assert tool.content == [ToolProcess(process=process)] and not tool.run
    assert tool.details.exit_code == code  # pyright: ignore[reportAttributeAccessIssue] it has ended
    assert not differences(replica, await fresh(host, replica.state.session))
    listed = await client.processes_list(replica.state.session)
    assert [one.id for one in listed.items] == [process]


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder", "file"])
async def test_a_command_needs_a_folder_that_is_there(host: Rig, work: Path, cwd: str) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    (work / "file").write_text("x")
    folder = str(work / "file") if cwd == "file" else cwd
    with pytest.raises(ProtocolError) as refusal:
        await client.shell(replica.state.session, op.ShellParams(command="true", cwd=folder))
    assert refusal.value.code == "invalid_request"
    assert host.processes.list() == [] and not replica.state.processes and not list(replica.state.entries)


async def test_a_process_is_its_own_session_s_alone(host: Rig, work: Path) -> None:
    client, replica, process = await started(host, work, "sleep 60")
    other = await host.session(client, work)
    for attempt in (
        read(client, other.state.session, process),
        client.processes_stop(other.state.session, op.ProcessStopParams(process=process)),
    ):
        with pytest.raises(ProtocolError) as refusal:
            await attempt
        assert refusal.value.code == "not_found"
    assert (await client.processes_list(other.state.session)).items == []
    assert replica.state.processes[process].state == "running"


async def test_processes_are_listed_page_by_page_in_the_order_of_their_start(host: Rig, work: Path) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    ids = [await client.shell(session, op.ShellParams(command=f"echo {n}")) for n in range(5)]
    seen: list[str] = []
    page = await client.processes_list(session, op.PageParams(limit=2))
    seen += [one.id for one in page.items]
    while page.next_cursor:
        page = await client.processes_list(session, op.PageParams(limit=2, cursor=page.next_cursor))
        seen += [one.id for one in page.items]
    assert seen == ids
    other = await host.session(client, work)
    first = await client.processes_list(session, op.PageParams(limit=2))
    with pytest.raises(ProtocolError) as refusal:
        await client.processes_list(other.state.session, op.PageParams(cursor=first.next_cursor))
    assert refusal.value.code == "stale_request"


async def test_what_is_shared_is_in_the_next_turn_s_context_and_only_there(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client, replica, shared = await started(host, work, "echo for the agent", share=True)
    session = replica.state.session
    private = await client.shell(session, op.ShellParams(command="echo private"))
    for process in (shared, private):
        await follow(client, session, process)
    for text in ("one", "two"):
        await client.prompt(session, text)
        await until(lambda: replica.state.run is None)
    first, second = hand.turns
    assert "for the agent" in first.context and "private" not in first.context
    assert first.text == "one" and second.context == ""


async def test_shared_output_that_cannot_be_read_does_not_stop_the_turn(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client, replica, process = await started(host, work, "echo x", share=True)
    session = replica.state.session
    await follow(client, session, process)
    await until(lambda: card(replica).state == "completed")
    del host.processes._entries[process]  # pyright: ignore[reportPrivateUsage] - as after a fault of ours
    await client.prompt(session, "go")
    await until(lambda: hand.turns and replica.state.run is None)
    assert "cannot be read" in hand.turns[0].context


@pytest.mark.parametrize("ending", ["close", "kill"])
async def test_after_the_host_ended_a_process_is_found_again_with_its_output(
    tmp_path: Path, hand: Stagehand, work: Path, ending: str
) -> None:
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client, replica, process = await started(first, work, "echo before; sleep 60")
    session = replica.state.session
    done = await client.shell(session, op.ShellParams(command="echo done"))
    assert (await read(client, session, process, wait_ms=10_000)).end == 7
    await until(lambda: replica.state.processes[done].state == "exited")
    await (first.close() if ending == "close" else first.kill())
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    row = replica.state.processes[process]
    assert (row.state, row.stopped is True) == (("signalled", True) if ending == "close" else ("lost", False))
    assert replica.state.processes[done].state == "exited"
    assert replica.state.processes[done].stopped is UNSET
    assert await follow(client, session, process) == b"before\n"
    assert await follow(client, session, done) == b"done\n"
    cards = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert [one.state for one in cards] == ["interrupted", "completed"]
    assert or_default(cards[0].details, ToolDetails()).reason == ("stopped" if ending == "close" else "lost")
    stopped = await client.processes_stop(session, op.ProcessStopParams(process=process))
    assert stopped.state in ("lost", "signalled")
    assert not differences(replica, await fresh(second, session))
    await second.close()
    assert not [one for one in first.faults if "StoreClosed" not in one] and second.faults == []


async def test_a_change_that_was_told_late_undoes_nothing(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    states: list[str] = []
    rig = await open_rig(tmp_path / "data", hand, Clock())
    client = await rig.client()
    replica = await rig.session(client, work)

    def changed(change: Any) -> None:
        if type(change.event).__name__ == "ProcessUpdated":
            states.append(change.event.process.state)

    replica.on_change = changed
    process = await client.shell(replica.state.session, op.ShellParams(command="echo x"))
    await until(lambda: replica.state.processes[process].output.end == 2)
    await until(lambda: replica.state.processes[process].state == "exited")
    running = rig.processes.get(process)
    from dataclasses import replace

    rig.host.process_changed(replace(running, state="running", ended_at=None, exit_code=None, end=0))
    await client.rename(replica.state.session, "after")
    assert states[-1] == "exited" and replica.state.processes[process].output.end == 2
    await rig.close()


async def test_closing_a_session_stops_its_processes_and_ends_all_that_was_open(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "half")
        return await puppet.until_cancelled()

    hand.scripts.append(script)
    client, replica, process = await started(host, work, "sleep 60")
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.live_messages())
    revision = await client.close_session(session)
    await until(lambda: replica.state.header.state == "closed")
    assert replica.state.revision == revision and replica.state.run is None
    assert replica.state.processes[process].state == "signalled"
    assert card(replica).details.reason == "stopped"  # pyright: ignore[reportAttributeAccessIssue] it has ended
    assert replica.live_messages() == {} and hand.closed == 1
    assert not differences(replica, await fresh(host, session))


async def test_a_process_whose_output_is_gone_is_lost_and_nothing_else(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    _, replica, process = await started(first, work, "sleep 60")
    session = replica.state.session
    await first.kill()
    for spool in (tmp_path / "data" / "processes").iterdir():
        shutil.rmtree(spool)
        spool.write_text("in the way")
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    assert replica.state.processes[process].state == "lost"
    await client.prompt(session, "go")
    await until(lambda: replica.state.run is None)
    await second.close()
    assert second.faults == []


async def test_a_command_longer_than_a_label_in_bytes_is_shown_cut_to_every_client(
    host: Rig, work: Path
) -> None:
    said = "é" * 900
    client, replica, process = await started(host, work, f"printf %s {said}")
    assert await follow(client, replica.state.session, process) == said.encode()
    await until(lambda: replica.state.processes[process].state == "exited")
    assert len(card(replica).title.encode()) <= LIMITS.label_bytes
    assert replica.state.processes[process].command == f"printf %s {said}"
    assert not differences(replica, await fresh(host, replica.state.session))
