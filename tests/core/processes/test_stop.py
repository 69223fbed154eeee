"""A stop reaches everybody of the group, nobody else, and says what really happened."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest

from felan_core.processes import watch
from felan_core.processes.errors import InvalidSignal
from felan_core.processes.tree import ProcessTree
from tests.core.processes.conftest import Desk, process_state

# A parent, a child and a grandchild, none of which goes by itself, each saying who it is.
FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, {term})
signal.signal(signal.SIGINT, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        break
{before}
os.write(1, b'pid %d\\n' % os.getpid())
while True:
    time.sleep(60)
"""
DEAF = FAMILY.format(term="signal.SIG_IGN", before="")


async def test_term_is_enough_for_one_that_obeys(desk: Desk) -> None:
    id = await desk.run("exec sleep 60")
    record = await desk.table.stop(id, grace_ms=10_000)
    assert (record.state, record.signal, record.exit_code) == ("signalled", "SIGTERM", None)


async def test_an_exit_code_chosen_at_term_is_the_one_that_is_told(desk: Desk) -> None:
    id = await desk.python(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye'), os._exit(5)))\n"
        "print('ready')\n"
        "time.sleep(60)"
    )
    await desk.read_until(id, b"ready\n")
    record = await desk.table.stop(id, grace_ms=10_000)
    assert (record.state, record.exit_code) == ("exited", 5)
    assert await desk.read_all(id) == b"ready\nbye\n"


async def test_the_deaf_and_their_grandchildren_are_killed_after_the_grace(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    id = await desk.python(DEAF)
    family = await desk.pids(id, 3)
    started = time.monotonic()
    record = await desk.table.stop(id, grace_ms=150)
    assert time.monotonic() - started >= 0.15
    assert (record.state, record.signal) == ("signalled", "SIGKILL")
    assert [alive(pid) for pid in family] == [False] * 3


async def test_grandchildren_that_outlive_an_obedient_parent_are_killed_too(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    # Only the first of them goes at TERM.
    obey = f"if os.getppid() == {os.getpid()}: signal.signal(signal.SIGTERM, signal.SIG_DFL)"
    id = await desk.python(FAMILY.format(term="signal.SIG_IGN", before=obey))
    family = await desk.pids(id, 3)
    record = await desk.table.stop(id, grace_ms=150)
    assert (record.state, record.signal) == ("signalled", "SIGTERM")
    assert [alive(pid) for pid in family] == [False] * 3


async def test_kill_does_not_wait(desk: Desk, alive: Callable[[int], bool]) -> None:
    id = await desk.python(DEAF)
    family = await desk.pids(id, 3)
    record = await asyncio.wait_for(desk.table.stop(id, "kill", grace_ms=60_000), 5)
    assert (record.state, record.signal) == ("signalled", "SIGKILL")
    assert [alive(pid) for pid in family] == [False] * 3


async def test_int_interrupts_and_tells_the_truth_about_one_that_goes_on(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    id = await desk.python(DEAF)
    family = await desk.pids(id, 3)
    record = await desk.table.stop(id, "int", grace_ms=50)
    assert (record.state, record.ended_at) == ("running", None)
    assert [alive(pid) for pid in family] == [True] * 3


async def test_int_ends_one_that_listens(desk: Desk) -> None:
    id = await desk.python(
        "import time\ntry:\n print('ready')\n time.sleep(60)\nexcept KeyboardInterrupt: raise SystemExit(8)"
    )
    await desk.read_until(id, b"ready\n")
    record = await desk.table.stop(id, "int", grace_ms=10_000)
    assert (record.state, record.exit_code) == ("exited", 8)


async def test_a_stopped_process_hears_the_term(desk: Desk) -> None:
    id = await desk.python(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(6))\n"
        "os.write(1, b'pid %d\\n' % os.getpid())\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        "time.sleep(60)"
    )
    (pid,) = await desk.pids(id, 1)
    await desk.until(lambda: process_state(pid) == psutil.STATUS_STOPPED)
    record = await desk.table.stop(id, grace_ms=10_000)
    assert (record.state, record.exit_code) == ("exited", 6)


async def test_job_control_groups_of_a_shell_on_a_terminal_are_reached(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    code = "set -m; trap '' HUP TERM; (while :; do sleep 0.05; done) & echo pid $!; cat"
    id = await desk.run(code, argv=["bash", "-c", code], pty=(80, 24))
    job = (await desk.pids(id, 1))[0]
    assert os.getpgid(job) == job
    await desk.table.stop(id, grace_ms=100)
    assert not alive(job)
    assert desk.table.get(id).signal == "SIGKILL"


async def test_what_an_ended_process_left_behind_can_still_be_stopped(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    id = await desk.run("(trap '' HUP TERM; while :; do sleep 0.05; done) >/dev/null & echo pid $!; exit 4")
    await desk.ended(id)
    left = (await desk.pids(id, 1))[0]
    await desk.until(lambda: desk.table.get(id).leftovers > 0)
    before = desk.table.get(id)
    assert alive(left)
    desk.now += 500
    record = await desk.table.stop(id, grace_ms=50)
    assert not alive(left)
    assert record == desk.changes[-1] == replace(before, leftovers=0)
    assert (record.state, record.exit_code) == ("exited", 4)


async def test_one_that_dropped_its_environment_is_known_by_having_been_seen(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    id = await desk.run(
        "env -i /bin/sh -c 'echo pid $$; exec sleep 60' & until test -e go; do sleep 0.01; done"
    )
    left = (await desk.pids(id, 1))[0]
    (desk.cwd / "go").touch()
    await desk.ended(id)
    assert alive(left)
    await desk.table.stop(id, grace_ms=2_000)
    assert not alive(left)


async def test_a_stop_after_the_end_changes_nothing(desk: Desk) -> None:
    id = await desk.run("exit 3")
    before = await desk.ended(id)
    heard = len(desk.changes)
    for name in ("term", "kill", "int"):
        assert await desk.table.stop(id, name) == before
    assert len(desk.changes) == heard


async def test_two_stops_at_once_agree(desk: Desk) -> None:
    id = await desk.python(DEAF)
    await desk.pids(id, 3)
    one, two = await asyncio.gather(
        desk.table.stop(id, "term", grace_ms=100), desk.table.stop(id, "term", grace_ms=150)
    )
    assert one.signal == two.signal == "SIGKILL"
    assert one.state == two.state == "signalled"


async def test_a_stop_that_is_given_up_leaves_no_zombie(desk: Desk) -> None:
    id = await desk.python(DEAF)
    await desk.pids(id, 3)
    stopping = asyncio.create_task(desk.table.stop(id, grace_ms=60_000))
    await asyncio.sleep(0.02)
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    assert desk.table.get(id).state == "running"
    assert (await desk.table.stop(id, "kill")).signal == "SIGKILL"


async def test_a_kernel_without_pidfd_does_as_well(
    desk: Desk, alive: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> int:
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(watch, "_exit_descriptor", missing)
    assert (await desk.ended(await desk.run("exit 4"))).exit_code == 4
    id = await desk.python(DEAF)
    family = await desk.pids(id, 3)
    record = await desk.table.stop(id, grace_ms=50)
    assert (record.state, record.signal) == ("signalled", "SIGKILL")
    assert [alive(pid) for pid in family] == [False] * 3


async def test_another_signal_is_refused(desk: Desk) -> None:
    id = await desk.run("sleep 60")
    with pytest.raises(InvalidSignal):
        await desk.table.stop(id, "hup")  # pyright: ignore[reportArgumentType] # what a client may send
    assert desk.table.get(id).state == "running"


async def test_a_stranger_with_the_number_of_a_dead_leader_is_left_alone() -> None:
    # A session that is not ours, under the number that we remember: no marker, and never seen before.
    environment = {**os.environ, "FELAN_PROCESS_ID": "another"}
    with subprocess.Popen(["sleep", "60"], start_new_session=True, env=environment) as stranger:
        for kin in ([], [(stranger.pid, "an earlier boot/17")], [(stranger.pid + 1, "x")]):
            group = ProcessTree(stranger.pid, "FELAN_PROCESS_ID=ours", kin)
            assert await group.strike(signal.SIGKILL) == []
            assert await group.survey() == []
        assert stranger.poll() is None
        known = ProcessTree(stranger.pid, "FELAN_PROCESS_ID=another")
        assert len(await known.strike(signal.SIGTERM)) == 1
        assert stranger.wait() == -signal.SIGTERM


async def test_close_ends_all_of_them_at_once(desk: Desk, alive: Callable[[int], bool]) -> None:
    deaf = [await desk.python(DEAF) for _ in range(3)]
    family = [pid for id in deaf for pid in await desk.pids(id, 3)]
    left = await desk.run("(trap '' HUP TERM; while :; do sleep 0.05; done) & echo pid $!; exit 4")
    family += await desk.pids(left, 1)
    await desk.ended(left)
    await desk.table.close(grace_ms=200)
    assert [alive(pid) for pid in family] == [False] * 10
    assert [desk.table.get(id).signal for id in deaf] == ["SIGKILL"] * 3
    assert (await desk.table.read(deaf[0], 0)).eof
    await desk.table.close()


async def test_two_hundred_short_lives_leave_no_descriptor_and_no_zombie(desk: Desk) -> None:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    await desk.ended(await desk.run("true"))
    before = len(os.listdir(folder))
    for _ in range(8):
        ids = [await desk.run("true", argv=["true"]) for _ in range(25)]
        for id in ids:
            await desk.ended(id)
    await desk.until(lambda: len(os.listdir(folder)) <= before)
