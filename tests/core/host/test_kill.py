"""SIGKILL at any moment: what a client was told is there when the next host comes up (§6, §8)."""

import asyncio
import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.protocol import JsonLineDecoder
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry, ToolEntry
from felan_tui.cli.embed import EmbeddedHost, Folders, claim
from tests.core.agents.rehearsal.fakes import agree
from tests.core.host.rig import until

Frames = list[dict[str, Any]]
When = Callable[[Frames], bool]


def event(kind: str, **members: Any) -> When:
    """The last frame is an event of this type whose one member has these."""

    def there(frames: Frames) -> bool:
        told = frames[-1].get("event", {})
        body = next((value for value in told.values() if isinstance(value, dict)), {})
        return told.get("type") == kind and all(body.get(name) == value for name, value in members.items())

    return there


WHEN: dict[str, When] = {
    "the first word": lambda frames: "stream" in frames[-1],
    "a message is complete": event("message.completed", role="assistant"),
    "a tool runs": event("tool.updated", name="read"),
    "a question waits": event("interaction.updated", state="waiting"),
    "an answer was taken": lambda frames: frames[-1].get("result") == {"state": "resolved"},
    "a form is answered": lambda frames: (
        sum(one.get("result") == {"state": "resolved"} for one in frames) == 3
    ),
    "frame 9": lambda frames: len(frames) == 9,
    "frame 31": lambda frames: len(frames) == 31,
    "frame 73": lambda frames: len(frames) == 73,
}


@pytest.fixture(scope="module")
def forks() -> Iterator["subprocess.Popen[str]"]:
    """What forks a host for each folder that it is told."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.core.host.victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env={name: value for name, value in os.environ.items() if name != "FELAN_POINTER_ROOT"},
    )
    with parent:
        yield parent
        assert parent.stdin is not None
        parent.stdin.close()


def gone(process: int) -> None:
    """Wait until the kernel has taken back what it held, its lock above all."""
    for _ in range(2000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(
            0.005
        )  # house: a process that is not our child has nothing to wait on; bounded by the count


def killed(folder: Path, when: When, forks: "subprocess.Popen[str]") -> Frames:
    """What the client of a host was told that was killed ``when`` it had been told that."""
    assert forks.stdin is not None and forks.stdout is not None
    (folder / "work").mkdir()
    os.mkfifo(folder / "told")
    forks.stdin.write(f"{folder}\n")
    forks.stdin.flush()
    child = int(forks.stdout.readline())
    frames: Frames = []
    decoder = JsonLineDecoder()
    reached = False
    told = os.open(folder / "told", os.O_RDONLY)
    try:
        while data := os.read(told, 65536):
            for frame in decoder.push(data):
                frames.append(frame)
                if not reached and when(frames):
                    reached = True
                    os.kill(child, signal.SIGKILL)
    finally:
        os.close(told)
        if not reached:
            os.kill(child, signal.SIGKILL)
        gone(child)
    assert reached, f"it ended before that, after {len(frames)} frames"
    return frames


async def opened(folder: Path) -> tuple[EmbeddedHost, HostClient]:
    folders = Folders(folder / "data")
    host = await EmbeddedHost.open(folders, claim(folders, terminal="test"))
    client = HostClient(host.connect(), op.ClientInfo(kind="headless", name="next", version="0"))
    await client.connect()
    return host, client


def last_of(frames: Frames, kind: str, member: str) -> dict[str, dict[str, Any]]:
    """The last that was told of each thing of a kind, by id."""
    told = [one["event"][member] for one in frames if one.get("event", {}).get("type") == kind]
    return {one["id"]: one for one in told}


@pytest.mark.parametrize("when", WHEN)
async def test_what_was_told_is_there_after_a_kill(
    tmp_path: Path,
    when: str,
    forks: "subprocess.Popen[str]",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("FELAN_POINTER_ROOT", raising=False)
    frames = await asyncio.to_thread(killed, tmp_path, WHEN[when], forks)
    host, client = await opened(tmp_path)
    try:
        [row] = (await client.sessions_list()).items
        session = row.id
        replica = await client.attach(session, history_limit=256)
        state = replica.state
        assert state.revision >= max(one.get("revision", 0) for one in frames)
        for entry in last_of(frames, "message.completed", "entry").values():
            assert msgspec.to_builtins(state.entries.get(entry["id"])) == entry
        assert state.run is None and state.header.agent.state == "none"
        assert not [one for one in state.entries if isinstance(one, ToolEntry) and one.state == "running"]
        check_tools(frames, replica)
        check_queue(frames, replica)
        await check_process(client, replica, frames)
        await check_questions(client, replica, frames)
        assert not [one for one in caplog.records if one.levelname == "ERROR"]
    finally:
        await client.close()
        await host.close()


def check_tools(frames: Frames, replica: SessionReplica) -> None:
    for identity, told in last_of(frames, "tool.updated", "tool").items():
        now = replica.state.entries.get(identity)
        assert isinstance(now, ToolEntry)
        if told["state"] != "running":
            assert msgspec.to_builtins(now) == told
        elif now.state == "interrupted":
            # The answer that ends the waiting is on disk before anybody is told of it.
            reasons = ("not_run", "lost") if told.get("waiting") else ("lost",)
            assert now.details and now.details.reason in reasons


def check_queue(frames: Frames, replica: SessionReplica) -> None:
    """The follow-up that was told is held, or its turn has begun."""
    if not any("itemId" in one.get("result", {}) for one in frames):
        return
    said = [one.text for one in replica.state.entries if isinstance(one, MessageEntry) and one.role == "user"]
    queue = replica.state.queue
    assert [item.text for item in queue.items].count("ask") + said.count("ask") == 1
    assert queue.held == bool(queue.items) == ("felan.queue" in replica.state.presentation)


async def check_process(client: HostClient, replica: SessionReplica, frames: Frames) -> None:
    for identity, told in last_of(frames, "process.updated", "process").items():
        now = replica.state.processes[identity]
        if told["state"] == "running" and now.state == "running":
            raise AssertionError("it does not run under this host")
        if told["state"] != "running":
            assert msgspec.to_builtins(now) == told
        read = await client.processes_read(
            replica.state.session, op.ProcessReadParams(process=identity, offset=0)
        )
        assert read.end >= told["output"]["end"] and read.start == 0
        if now.command.startswith("while"):
            data = base64.b64decode(read.data)
            assert data == b"x\n" * (len(data) // 2)
            # It lives on, and its id still stops it.
            stop = op.ProcessStopParams(process=identity)
            assert (await client.processes_stop(replica.state.session, stop)).state == "lost"
            await until(lambda gone=identity: isinstance(replica.state.processes[gone].ended_at, int))


async def check_questions(client: HostClient, replica: SessionReplica, frames: Frames) -> None:
    session = replica.state.session
    for identity, told in last_of(frames, "interaction.updated", "interaction").items():
        now = replica.state.interactions[identity]
        if told["state"] in ("resolved", "cancelled", "expired"):
            assert msgspec.to_builtins(now) == told
        elif now.state != "resolved":
            assert told["deferrable"] and now.state == "deferred" and isinstance(now.expires_at, int)
    waiting = [one for one in replica.state.interactions.values() if one.state == "deferred"]
    for one in waiting:
        started: list[Any] = []
        replica.on_change = lambda change, started=started: started.append(type(change.event).__name__)
        assert (await client.answer(session, one.id, agree(one.request) or {})).state == "resolved"
        await until(lambda started=started: "RunStarted" in started)
        await client.cancel(session)
        await until(lambda: replica.state.run is None)
