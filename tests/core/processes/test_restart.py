"""After a host was killed the next one shows what it left: output to read, the living to be stopped."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from felan_core.processes import identity
from felan_core.processes.errors import DuplicateProcess, OffsetPastEnd
from felan_core.processes.records import ProcessRecord
from tests.core.processes.conftest import Desk

HOST = Path(__file__).with_name("host_that_dies.py")
ROOT = Path(__file__).parents[3]


def killed_host(desk: Desk, *commands: str) -> list[ProcessRecord]:
    command = [sys.executable, str(HOST), str(desk.root), str(desk.cwd), *commands]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}) as host:
        assert host.stdout is not None
        line = host.stdout.readline()
        host.kill()
    return [ProcessRecord(**row) for row in json.loads(line)]


async def pid_of(desk: Desk, id: str) -> int:
    return int((await desk.table.read(id, 0)).data.split()[1])


async def test_a_process_of_a_killed_host_is_lost_and_its_output_is_there(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    (saved,) = killed_host(desk, "echo pid $$; exec sleep 60")
    assert saved.state == "running"
    restored = desk.table.restore(saved)
    assert restored == replace(saved, state="lost", output_ended=True)
    assert desk.table.get("old-0") == restored
    piece = await desk.table.read("old-0", 0, wait_ms=30_000)
    assert piece.data.startswith(b"pid ")
    assert piece.eof
    with pytest.raises(OffsetPastEnd):
        await desk.table.read("old-0", piece.end + 1)
    survivor = await pid_of(desk, "old-0")
    assert alive(survivor)
    desk.now = 9_000
    record = await desk.table.stop("old-0", grace_ms=5_000)
    assert not alive(survivor)
    assert (record.state, record.ended_at) == ("lost", 9_000)
    assert desk.changes[-1] == record


async def test_the_whole_group_of_a_survivor_is_stopped_too(desk: Desk, alive: Callable[[int], bool]) -> None:
    (saved,) = killed_host(
        desk, "trap '' TERM HUP; (while :; do sleep 0.05; done) & echo pid $!; while :; do sleep 0.05; done"
    )
    desk.table.restore(saved)
    child = await pid_of(desk, "old-0")
    assert alive(child)
    await desk.table.stop("old-0", grace_ms=100)
    assert not alive(child)


async def test_a_survivor_whose_leader_is_gone_is_known_by_its_marker(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    (saved,) = killed_host(desk, "sleep 60 & echo pid $!")
    desk.table.restore(replace(saved, state="running", ended_at=None, exit_code=None))
    left = await pid_of(desk, "old-0")
    assert alive(left)
    await desk.table.stop("old-0", grace_ms=5_000)
    assert not alive(left)


async def test_what_an_ended_process_left_is_stopped_by_the_next_host_too(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    (saved,) = killed_host(desk, "sleep 60 & echo pid $!")
    ended = replace(saved, state="exited", ended_at=5, exit_code=0, output_ended=True)
    desk.table.restore(ended)
    left = await pid_of(desk, "old-0")
    assert alive(left)
    assert await desk.table.stop("old-0", grace_ms=5_000) == replace(ended, leftovers=0)
    assert not alive(left)


async def test_the_interrupt_of_a_survivor_is_not_called_its_end(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    (saved,) = killed_host(desk, "trap '' INT; echo pid $$; while :; do sleep 0.05; done")
    desk.table.restore(saved)
    record = await desk.table.stop("old-0", "int", grace_ms=30)
    assert record.ended_at is None
    assert alive(await pid_of(desk, "old-0"))
    await desk.table.stop("old-0", "kill")
    assert not alive(await pid_of(desk, "old-0"))


async def test_one_that_died_with_its_host_is_found_to_be_gone(
    desk: Desk, alive: Callable[[int], bool]
) -> None:
    # Writing into the closed pipe ends it.
    (saved,) = killed_host(desk, "echo pid $$; while :; do sleep 0.02; echo; done")
    desk.table.restore(saved)
    pid = await pid_of(desk, "old-0")
    await desk.until(lambda: not alive(pid))
    desk.now = 4_000
    assert (await desk.table.stop("old-0")).ended_at == 4_000


async def test_one_that_had_ended_stays_as_it_was(desk: Desk) -> None:
    id = await desk.run("echo hello; exit 3")
    saved = await desk.ended(id)
    desk.table = desk.new_table()
    assert desk.table.restore(saved) == saved
    assert (await desk.table.read(id, 1)).data == b"ello\n"
    assert await desk.table.stop(id) == saved
    with pytest.raises(DuplicateProcess):
        desk.table.restore(saved)


async def test_a_row_without_its_output_is_shown_with_all_of_it_dropped(desk: Desk) -> None:
    row = ProcessRecord(
        id="x", owner="s", title="t", command="c", cwd="/", state="running", started_at=1, start=0, end=500
    )
    record = desk.table.restore(row)
    assert (record.state, record.start, record.end) == ("lost", 500, 500)
    piece = await desk.table.read("x", 3)
    assert (piece.data, piece.offset, piece.eof) == (b"", 500, True)


async def test_the_identity_is_private_and_a_broken_one_is_no_identity(desk: Desk) -> None:
    await desk.run("sleep 60")
    file = desk.root / "p-proc-1" / "identity.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert identity.load(file.parent) is not None
    good = json.loads(file.read_text())
    for broken in (
        "",
        "[]",
        "null",
        "{",
        json.dumps({**good, "version": 2}),
        json.dumps({**good, "pid": 1}),
        json.dumps({**good, "pid": True}),
        json.dumps({**good, "pid": "7"}),
        json.dumps({**good, "started": None}),
        json.dumps({**good, "marker": "x"}),
    ):
        file.write_text(broken)
        assert identity.load(file.parent) is None


async def test_a_stranger_under_the_saved_number_is_left_alone(desk: Desk) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        id = await desk.run("true")
        saved = await desk.ended(id)
        file = desk.root / "p-proc-1" / "identity.json"
        file.write_text(
            json.dumps(
                {
                    "version": 1,
                    "pid": stranger.pid,
                    "started": "1/1",
                    "marker": f"FELAN_PROCESS_FOLDER={file.parent}",
                }
            )
        )
        desk.table = desk.new_table()
        desk.table.restore(replace(saved, state="running", ended_at=None, exit_code=None))
        await desk.table.stop(id, "kill")
        assert stranger.poll() is None
        stranger.kill()
