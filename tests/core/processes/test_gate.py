"""A child is on record before it runs on, never runs when its host dies first, and is found when it left."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from felan_core.processes.errors import CommandNotFound
from felan_core.processes.piped import PipedProcess
from felan_core.processes.records import ProcessRecord
from felan_core.processes.spawn import NOT_RELEASED
from tests.core.processes.conftest import Desk

ROOT = Path(__file__).parents[3]
PEER = Path(__file__).with_name("host_with_a_peer.py")
# An agent that minds neither the end of its input nor TERM; it says which one it is.
DEAF = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.write(1, b"pid %d\\n" % os.getpid())
while True: time.sleep(60)
"""
LEAVER = 'setsid sh -c "trap \\"\\" TERM HUP; echo pid \\$\\$; while :; do sleep 0.05; done" &'


async def test_nothing_runs_before_its_record_is_stored(desk: Desk) -> None:
    order: list[str] = []
    mark = desk.cwd / "ran"

    async def stored(record: ProcessRecord) -> None:
        assert (desk.root / "p-a" / "identity.json").exists()
        # It has had all the time that it could want.
        await asyncio.to_thread(subprocess.run, ["sleep", "0.1"], check=True)
        order.append(f"{record.state} {mark.exists()}")

    await desk.table.start(id="a", owner="s", command="touch ran", cwd=str(desk.cwd), stored=stored)
    assert (await desk.ended("a")).exit_code == 0
    assert order == ["running False"]
    assert mark.exists()


@pytest.mark.parametrize("pty", [None, (80, 24)])
async def test_a_record_that_cannot_be_stored_means_that_nothing_ran(
    desk: Desk, pty: tuple[int, int] | None
) -> None:
    async def stored(record: ProcessRecord) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await desk.table.start(
            id="a", owner="s", command="touch ran", cwd=str(desk.cwd), stored=stored, pty=pty
        )
    assert desk.table.list() == []
    assert list(desk.root.iterdir()) == []
    assert not (desk.cwd / "ran").exists()


@pytest.mark.parametrize("pty", ["", "pty"])
async def test_a_host_that_dies_before_the_gate_opens_ran_nothing(desk: Desk, pty: str) -> None:
    with subprocess.Popen(
        [sys.executable, str(PEER), str(desk.root), str(desk.cwd), "behind-the-gate", pty],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as host:
        assert host.stdout is not None
        child = psutil.Process(int(host.stdout.readline()))
        host.kill()
    await desk.until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert not (desk.cwd / "ran").exists()


def test_a_gate_that_closes_is_an_exit_code_of_its_own() -> None:
    from felan_core.processes.spawn import WITHOUT_INPUT

    done = subprocess.run(["sh", "-c", WITHOUT_INPUT, "sh", "echo", "ran"], input=b"", capture_output=True)
    assert (done.returncode, done.stdout) == (NOT_RELEASED, b"")


# --- who left its group ---


@pytest.mark.parametrize(
    "command",
    [
        LEAVER + " sleep 60",
        LEAVER + " sleep 0.3; exit 3",
        "nohup sh -c 'echo pid $$; while :; do sleep 0.05; done' & sleep 60",
        "(" + LEAVER + ") & sleep 60",
        "env -i setsid sh -c 'trap \"\" TERM; echo pid $$; while :; do sleep 0.05; done' & sleep 60",
    ],
    ids=["setsid", "setsid and gone", "nohup", "double fork", "without environment"],
)
async def test_a_stop_ends_who_left_the_group_too(
    desk: Desk, alive: Callable[[int], bool], command: str
) -> None:
    id = await desk.run(command)
    (left,) = await desk.pids(id, 1)
    if "exit 3" in command:
        await desk.until(lambda: desk.table.get(id).leftovers > 0)
        assert desk.table.get(id).exit_code == 3
    await desk.table.stop(id, grace_ms=100)
    assert not alive(left)
    assert desk.table.get(id).leftovers == 0


async def test_a_chain_of_forks_is_ended(desk: Desk) -> None:
    # Each forks a successor and exits, so that a look sees nobody alive.
    id = await desk.python(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.write(1, b'up\\n')\n"
        "while True:\n"
        "    if os.fork(): os._exit(0)\n"
        "    fd = os.open('count', os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "    os.write(fd, b'x'); os.close(fd)\n"
    )
    await desk.read_until(id, b"up\n")
    await desk.table.stop(id, grace_ms=50)
    count = (desk.cwd / "count").stat().st_size
    assert count
    await asyncio.to_thread(subprocess.run, ["sleep", "0.1"], check=True)
    assert (desk.cwd / "count").stat().st_size == count


async def test_a_leftover_that_ends_by_itself_is_reported(desk: Desk) -> None:
    desk.table = desk.new_table(look_seconds=0.02)
    id = await desk.run("setsid sh -c 'until test -e go; do sleep 0.02; done' >/dev/null 2>&1 & exit 0")
    await desk.ended(id)
    await desk.until(lambda: desk.table.get(id).leftovers > 0)
    (desk.cwd / "go").touch()
    await desk.until(lambda: desk.table.get(id).leftovers == 0)
    assert desk.changes[-1].leftovers == 0


# --- children on pipes ---


async def peer(desk: Desk, code: str, id: str = "peer") -> PipedProcess:
    return await desk.table.spawn(
        [sys.executable, "-u", "-S", "-c", code],
        id=id,
        owner="sess",
        title="left by a peer",
        cwd=str(desk.cwd),
        environ=dict(os.environ),
    )


async def test_a_peer_speaks_on_its_pipes_and_keeps_its_input_to_itself(desk: Desk) -> None:
    child = await peer(desk, "import sys\nfor line in sys.stdin: print('got', line.strip())\nsys.exit(4)")
    child.writer.write(b"one\ntwo\n")
    assert [await child.reader.readline() for _ in range(2)] == [b"got one\n", b"got two\n"]
    assert desk.table.list() == []
    child.writer.close()
    await child.ended()
    assert (child.exit_code, child.signal) == (4, None)
    assert await child.stop(0.1)


async def test_a_peer_that_is_not_there_is_named(desk: Desk) -> None:
    with pytest.raises(CommandNotFound):
        await desk.table.spawn(["/no/such/peer"], id="a", owner="s", title="", cwd="/", environ={})
    assert list(desk.root.iterdir()) == []


async def test_a_deaf_peer_is_stopped_with_all_that_it_started(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    code = f"import subprocess\nsubprocess.Popen(['sh', '-c', {LEAVER!r}])\n" + DEAF
    child = await peer(desk, code)
    pids = sorted([int((await child.reader.readline()).split()[1]) for _ in range(2)])
    assert all(map(alive, pids))
    assert await child.stop(0.1)
    assert not any(map(alive, pids))
    assert (child.running, child.signal) == (False, "SIGKILL")


async def test_what_a_peer_left_is_shown_and_can_be_ended_without_the_peer(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    desk.table = desk.new_table(look_seconds=0.02)
    child = await peer(desk, f"import subprocess\nsubprocess.Popen(['sh', '-c', {LEAVER!r}])\n" + DEAF)
    pids = [int((await child.reader.readline()).split()[1]) for _ in range(2)]
    (left,) = (pid for pid in pids if pid != child.pid)
    await desk.until(lambda: bool(desk.changes))
    record = desk.table.get("peer")
    assert (record.state, record.title) == ("running", "left by a peer")
    assert record.leftovers >= 1
    assert desk.table.list() == [record]
    stopped = await desk.table.stop("peer", grace_ms=100)
    assert (stopped.state, stopped.leftovers, stopped.stopped) == ("exited", 0, True)
    assert not alive(left)
    assert alive(child.pid)
    await child.stop(0.1)


async def test_what_a_peer_left_outlives_it_until_it_is_stopped(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    desk.table = desk.new_table(look_seconds=0.02)
    child = await peer(
        desk, f"import subprocess, time\nsubprocess.Popen(['sh', '-c', {LEAVER!r}])\ntime.sleep(0.3)"
    )
    left = int((await child.reader.readline()).split()[1])
    await child.ended()
    child.close_streams()
    await desk.until(lambda: bool(desk.table.list()))
    assert alive(left)
    assert (await desk.table.stop("peer", grace_ms=50)).leftovers == 0
    assert not alive(left)


async def test_the_next_host_ends_the_peers_of_a_dead_one(desk: Desk, alive: Callable[[int], bool]) -> None:
    with subprocess.Popen(
        [sys.executable, str(PEER), str(desk.root), str(desk.cwd), "peer", DEAF],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as host:
        assert host.stdout is not None
        peer_pid, process_pid = json.loads(host.stdout.readline())
        os.kill(host.pid, signal.SIGKILL)
    assert alive(peer_pid)
    assert alive(process_pid)
    await desk.table.recover()
    assert not alive(peer_pid)
    assert not list(desk.root.glob("a-*"))
    # A command of a person is not ended; it is found, and shown as what runs on.
    assert alive(process_pid)
    restored = desk.table.restore(
        ProcessRecord(id="cmd", owner="s", title="t", command="c", cwd="/", state="running", started_at=1)
    )
    assert restored.state == "lost"
    await desk.until(lambda: desk.table.get("cmd").leftovers == 1)
    assert desk.changes[-1].leftovers == 1
    assert (await desk.table.stop("cmd", grace_ms=50)).leftovers == 0
    assert desk.changes[-1].leftovers == 0
    assert not alive(process_pid)


async def test_a_stranger_with_the_pid_of_a_dead_peer_is_left_alone(desk: Desk) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        folder = desk.root / "a-0"
        folder.mkdir(parents=True)
        identity = {
            "version": 1,
            "pid": stranger.pid,
            "started": "1/1",
            "marker": f"FELAN_PROCESS_FOLDER={folder}",
        }
        (folder / "identity.json").write_text(json.dumps(identity))
        await desk.table.recover()
        assert stranger.poll() is None
        assert not folder.exists()
        stranger.kill()
