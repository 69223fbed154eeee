"""What a child writes comes back byte for byte, at once, and neither side waits for the other."""

import asyncio
import functools
import os
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from felan_core.processes.drain import CHUNK_BYTES, PIPE_BYTES
from felan_core.processes.entry import PENDING_BYTES
from felan_core.processes.errors import InvalidRead, OffsetPastEnd, UnknownProcess
from felan_core.processes.records import ProcessRecord
from felan_core.processes.spool import FileOps, Spool
from felan_core.processes.table import ProcessTable
from tests.core.processes.conftest import Desk


async def test_output_and_errors_come_in_the_order_they_were_written(desk: Desk) -> None:
    id = await desk.run("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done")
    expected = "".join(f"out {i}\nerr {i}\n" for i in range(1, 6)).encode()
    assert await desk.read_all(id) == expected
    record = await desk.ended(id)
    assert (record.start, record.end) == (0, len(expected))


async def test_bytes_that_are_no_text_are_untouched(desk: Desk) -> None:
    every = bytes(range(256)) * 3
    id = await desk.python(f"import os; os.write(1, {every!r})")
    assert await desk.read_all(id) == every


async def test_reads_go_by_offset_and_limit(desk: Desk) -> None:
    id = await desk.run("printf 0123456789")
    await desk.ended(id)
    first = await desk.table.read(id, 2, limit=3)
    assert (first.data, first.offset, first.next_offset, first.start, first.end) == (b"234", 2, 5, 0, 10)
    assert not first.eof
    rest = await desk.table.read(id, 5)
    assert (rest.data, rest.eof) == (b"56789", True)
    assert (await desk.table.read(id, 10)).eof


@pytest.mark.parametrize(
    ("offset", "limit", "wait"), [(11, 1, 0), (-1, 1, 0), (0, 0, 0), (0, 65_537, 0), (0, 1, -1)]
)
async def test_a_read_outside_its_bounds_is_refused(desk: Desk, offset: int, limit: int, wait: int) -> None:
    id = await desk.run("printf 0123456789")
    await desk.ended(id)
    with pytest.raises(OffsetPastEnd if limit == 1 and not wait else InvalidRead):
        await desk.table.read(id, offset, limit, wait)


async def test_a_process_that_nobody_knows_is_named_as_that(desk: Desk) -> None:
    with pytest.raises(UnknownProcess, match="no process of this id"):
        await desk.table.read("nobody", 0)
    with pytest.raises(KeyError):
        desk.table.get("nobody")


async def test_a_waiting_read_returns_with_the_first_new_bytes(desk: Desk) -> None:
    go = desk.cwd / "go"
    id = await desk.run("until test -e go; do sleep 0.01; done; printf hello; sleep 60")
    waiting = asyncio.create_task(desk.table.read(id, 0, wait_ms=10_000))
    await asyncio.sleep(0)
    assert not waiting.done()
    go.touch()
    piece = await waiting
    assert (piece.data, piece.eof) == (b"hello", False)


async def test_a_waiting_read_comes_back_empty_after_its_time(desk: Desk) -> None:
    id = await desk.run("sleep 60")
    piece = await desk.table.read(id, 0, wait_ms=30)
    assert (piece.data, piece.next_offset, piece.eof) == (b"", 0, False)


async def test_a_child_that_closed_its_output_and_runs_on_is_waited_for(desk: Desk) -> None:
    id = await desk.run("echo x; exec >/dev/null 2>&1; until test -e go; do sleep 0.01; done")
    await desk.until(lambda: desk.table.get(id).output_ended)
    assert desk.table.get(id).state == "running"
    assert not (await desk.table.read(id, 0)).eof
    waiting = asyncio.create_task(desk.table.read(id, 2, wait_ms=30_000))
    assert not (await desk.table.read(id, 2, wait_ms=30)).eof
    assert not waiting.done()
    (desk.cwd / "go").touch()
    piece = await asyncio.wait_for(waiting, 5)
    assert (piece.data, piece.eof) == (b"", True)


async def test_a_waiting_read_ends_with_the_output(desk: Desk) -> None:
    id = await desk.run("until test -e go; do sleep 0.01; done")
    waiting = asyncio.create_task(desk.table.read(id, 0, wait_ms=30_000))
    await asyncio.sleep(0)
    (desk.cwd / "go").touch()
    piece = await asyncio.wait_for(waiting, 5)
    assert (piece.data, piece.eof) == (b"", True)


async def test_a_reader_that_gives_up_harms_nobody(desk: Desk) -> None:
    id = await desk.run("until test -e go; do sleep 0.01; done; echo done")
    waiting = asyncio.create_task(desk.table.read(id, 0, wait_ms=30_000))
    await asyncio.sleep(0)
    waiting.cancel()
    (desk.cwd / "go").touch()
    assert await desk.read_all(id) == b"done\n"


async def test_the_dropped_beginning_is_answered_from_the_start_that_is_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = functools.partial(Spool.create, segment=1000, retain=4000)
    monkeypatch.setattr(Spool, "create", small)
    id = await desk.python("import os\nfor i in range(1000): os.write(1, b'%07d\\n' % i)")
    record = await desk.ended(id)
    assert record.end == 8000
    assert record.start in range(4000, 8000, 1000)
    piece = await desk.table.read(id, 0, limit=16)
    assert piece.offset == piece.start == record.start
    assert piece.data == b"%07d\n%07d\n" % (record.start // 8, record.start // 8 + 1)


async def test_fifty_megabytes_pass_with_little_memory_and_leave_everybody_their_turn(desk: Desk) -> None:
    taken: list[int] = []

    async def everybody(id: str) -> None:
        while True:
            before = desk.table.get(id).end
            await asyncio.sleep(0)
            taken.append(desk.table.get(id).end - before)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = "b'0123456789abcde\\n' * 4096"
    id = await desk.python(f"import os\nblock = {block}\nfor _ in range(800): os.write(1, block)")
    turns = asyncio.create_task(everybody(id))
    record = await desk.ended(id)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    turns.cancel()
    assert record.exit_code == 0
    assert record.end == 800 * 65_536
    assert (await desk.table.read(id, 800 * 65_536 - 16)).data == b"0123456789abcde\n"
    assert grown < 8 * 1024 * (1024 if sys.platform == "darwin" else 1), "memory grew with the output"
    # What waits for the disk has a bound, and the child is read no further meanwhile.
    assert max(taken) <= PENDING_BYTES + CHUNK_BYTES + PIPE_BYTES


async def test_growing_output_is_no_change(desk: Desk) -> None:
    code = "import os, time\nfor _ in range(100): os.write(1, b'x'); time.sleep(0.002)"
    id = await desk.python(code)
    record = await desk.ended(id)
    assert record.end == 100
    assert [change for change in desk.changes if change.state == "running" and not change.output_ended] == []
    assert desk.changes[-1] == record


async def test_a_disk_that_takes_half_a_second_holds_up_neither_the_loop_nor_the_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    at_the_disk = threading.Event()

    def write(fd: int, view: memoryview) -> int:
        at_the_disk.set()
        assert gate.wait(10)
        return os.write(fd, view)

    slow = functools.partial(Spool.create, files=FileOps(write=write))
    monkeypatch.setattr(Spool, "create", slow)
    id = await desk.run("echo stuck")
    assert await asyncio.to_thread(at_the_disk.wait, 10)
    # Everything but the bytes on the disk goes on while the disk hangs: the exit is seen, reads wait.
    await desk.until(lambda: desk.table.get(id).state == "exited")
    waiting = asyncio.create_task(desk.table.read(id, 0, wait_ms=20_000))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert not desk.table.get(id).output_ended
    gate.set()
    assert (await waiting).data == b"stuck\n"
    assert (await desk.ended(id)).end == 6


async def test_output_that_waits_for_the_disk_has_a_bound(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def write(fd: int, view: memoryview) -> int:
        assert gate.wait(20)
        return os.write(fd, view)

    monkeypatch.setattr(Spool, "create", functools.partial(Spool.create, files=FileOps(write=write)))
    size = 3 * PENDING_BYTES
    id = await desk.python(f"import os\nfor _ in range({size // 65536}): os.write(1, b'x' * 65536)")
    entry = desk.table._entries[id]  # pyright: ignore[reportPrivateUsage] - its memory is nobody's business
    await desk.until(lambda: entry._pending_bytes > PENDING_BYTES)  # pyright: ignore[reportPrivateUsage]
    assert entry._pending_bytes <= PENDING_BYTES + CHUNK_BYTES  # pyright: ignore[reportPrivateUsage]
    assert desk.table.get(id).state == "running"
    gate.set()
    assert (await desk.ended(id)).end == size


async def test_the_outputs_that_ended_longest_ago_give_way_when_all_are_too_much(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("felan_core.processes.table.BUDGET_STARTS", 1)
    desk.table = ProcessTable(
        desk.root, clock=lambda: desk.now, on_change=desk.changes.append, spools_bytes=2500
    )
    running = await desk.run("printf %01000d 0; sleep 60")
    await desk.read_until(running, b"0" * 1000)
    ended = [await desk.run("printf %01000d 0") for _ in range(4)]
    for number, id in enumerate(ended):
        await desk.ended(id)
        for file in (desk.root / f"p-{id}").glob("*.out"):
            os.utime(file, (number, number))
    await desk.ended(await desk.run("true"))
    await desk.until(lambda: desk.table.get(ended[2]).start == 1000)
    assert [desk.table.get(id).start for id in (running, *ended)] == [0, 1000, 1000, 1000, 0]
    assert (await desk.table.read(ended[0], 0)).eof


async def test_a_listener_that_fails_stops_neither_output_nor_exit(tmp_path: Path) -> None:
    def fail(record: ProcessRecord) -> None:
        raise RuntimeError("listener")

    heard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["exception"]))
    table = ProcessTable(tmp_path / "s", clock=lambda: 5, on_change=fail)
    await table.start(id="a", owner="s", command="printf abc; exit 3", cwd=str(tmp_path))
    async with asyncio.timeout(10):
        while not (piece := await table.read("a", 0, wait_ms=1000)).eof:
            pass
    assert piece.data == b"abc"
    assert table.get("a").exit_code == 3
    assert heard
    await table.close()


async def test_a_background_process_that_holds_the_pipe_does_not_keep_it_running(
    desk: Desk, alive: Callable[[int], bool], tmp_path: Path
) -> None:
    ticks = tmp_path / "ticks"
    id = await desk.run(
        f"(trap '' HUP; while :; do echo tick; echo >> {ticks}; sleep 0.05; done) & echo pid $!; exit 7"
    )
    record = await desk.ended(id)
    assert (record.state, record.exit_code) == ("exited", 7)
    background = (await desk.pids(id, 1))[0]
    seen = await desk.read_all(id)
    assert b"tick" in seen
    # It is neither killed by a closed pipe nor recorded any more.
    written = ticks.stat().st_size
    while alive(background) and ticks.stat().st_size < written + 3:
        await asyncio.sleep(0.01)
    assert alive(background)
    assert desk.table.get(id).end == len(seen)


async def test_what_was_written_just_before_the_exit_is_all_there(desk: Desk) -> None:
    ids = [
        await desk.run(f"head -c {size} /dev/zero | tr '\\0' x; echo end") for size in (1, 70_000, 200_000)
    ]
    for id, size in zip(ids, (1, 70_000, 200_000), strict=True):
        assert await desk.read_all(id) == b"x" * size + b"end\n"


async def test_many_at_once_keep_their_outputs_apart(desk: Desk) -> None:
    ids = [await desk.run(f"for i in 1 2 3; do echo {n} $i; done") for n in range(30)]
    for n, id in enumerate(ids):
        assert await desk.read_all(id) == f"{n} 1\n{n} 2\n{n} 3\n".encode()
    assert [record.id for record in desk.table.list()] == ids
    assert desk.table.list("somebody else") == []
