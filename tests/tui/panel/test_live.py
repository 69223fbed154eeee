import asyncio
import gc
import time
from pathlib import Path
from typing import Any

from felan_core.processes.records import ProcessRecord
from felan_core.processes.table import ProcessTable
from felan_core.protocol import UNSET
from felan_core.protocol.session import ProcessOutput, ProcessRow
from felan_tui.panel import ProcessPanel
from felan_tui.panel.log import MAX_BYTES, MAX_LINES
from felan_tui.panel.output import OutputView
from felan_tui.panel.panel import now_ms
from tests.tui.panel.looking import READ, Got, PanelApp, lines, row, text, until

MB = 1_000_000


def as_row(record: ProcessRecord) -> ProcessRow:
    return ProcessRow(
        id=record.id,
        title=record.title,
        command=record.command,
        cwd=record.cwd,
        state=record.state,
        started_at=record.started_at,
        stdin=record.stdin,
        pty=record.pty,
        output=ProcessOutput(start=record.start, end=record.end),
        ended_at=UNSET if record.ended_at is None else record.ended_at,
        exit_code=UNSET if record.exit_code is None else record.exit_code,
        signal=UNSET if record.signal is None else record.signal,
    )


class TableSource:
    def __init__(self, table: ProcessTable) -> None:
        self.table = table

    async def read(self, process_id: str, offset: int, wait_ms: int):
        return await self.table.read(process_id, offset, wait_ms=wait_ms)


class LiveApp(PanelApp):
    """The panel on a table of real processes, put together as a screen does it."""

    def __init__(self, root: Path) -> None:
        self.table = ProcessTable(root, clock=now_ms, on_change=lambda _: self.show())
        super().__init__(TableSource(self.table), now_ms)

    def show(self) -> None:
        self.panel.set_processes([as_row(record) for record in self.table.list()])

    async def start(self, id: str, command: str, cwd: Path) -> None:
        await self.table.start(id=id, owner="s", command=command, argv=["sh", "-c", command], cwd=str(cwd))
        self.panel.select(id)
        self.show()

    async def on_process_panel_stop_requested(self, event: ProcessPanel.StopRequested) -> None:
        record = await self.table.stop(event.process_id, event.signal, grace_ms=200)
        self.panel.stopped(event.process_id, record.state)


async def test_real_processes_are_followed_live_and_stopped_with_their_group(tmp_path: Path) -> None:
    app = LiveApp(tmp_path / "processes")
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            await app.start("short", "printf '\\033[32mfine\\033[0m\\n'; exit 3", tmp_path)
            await until(pilot, lambda: "fine" in text(app))
            await until(pilot, lambda: "✗ exited with code 3 after" in text(app))
            gate = tmp_path / "gate"
            stubborn = (
                "trap '' TERM; echo waiting; while [ ! -e gate ]; do sleep 0.02; done; echo gone on;"
                " while :; do sleep 1; done"
            )
            await app.start("long", stubborn, tmp_path)
            await until(pilot, lambda: "waiting" in text(app))
            gate.touch()
            await until(pilot, lambda: "gone on" in text(app))
            assert "processes · 1 running · 1 ended" in lines(app)[0]
            await pilot.press("x", "x")
            await until(pilot, lambda: ": ended by SIGKILL after" in lines(app)[-1])
            await until(pilot, lambda: "⊘ ended by SIGKILL after" in text(app))
            assert "processes · 2 ended" in lines(app)[0]
        finally:
            await app.table.close(grace_ms=0)


class Flood:
    """A process that writes 60 MB, and no more than is read: `step` bytes for each read."""

    SIZE = 60 * MB
    LINE = b"\x1b[32mok\x1b[0m %012d some words of a log line, as they are written by the million\n"

    def __init__(self, step: int) -> None:
        self.step = step
        self.size = 0
        self.reads = 0
        self.width = len(self.LINE % 0)

    async def read(self, process_id: str, offset: int, wait_ms: int) -> Got:
        self.reads += 1
        self.size = min(self.SIZE, self.size + self.step)
        end = self.size - self.size % self.width
        first = offset // self.width
        many = READ // self.width + 2
        data = b"".join(self.LINE % number for number in range(first, first + many))
        data = data[offset - first * self.width :][: min(READ, end - offset)]
        after = offset + len(data)
        await asyncio.sleep(0)
        return Got(data, offset, after, 0, end, self.size == self.SIZE and after == end)

    @property
    def last(self) -> int:
        return (self.SIZE - self.SIZE % self.width) // self.width - 1


async def longest_turn(stop: asyncio.Event) -> float:
    """The most processor time, in seconds, that the loop spent between two turns of this task.

    Processor time and not the clock: other work on the machine is no stall of ours.
    """
    longest = 0.0
    while not stop.is_set():
        before = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - before)
    return longest


async def test_60_mb_neither_stall_the_loop_nor_fill_memory() -> None:
    source = Flood(step=5 * MB)
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", "flood")])
        await until(pilot, lambda: "words of a log line" in text(app))
        view = app.query_one(OutputView)
        drawn = 0
        settle = view._settle

        def counted() -> None:
            nonlocal drawn
            drawn += 1
            settle()

        view._settle = counted
        layouts = 0
        lay_out = app.screen._refresh_layout

        def counted_layout(*args: Any, **options: Any) -> None:
            nonlocal layouts
            layouts += 1
            lay_out(*args, **options)

        app.screen._refresh_layout = counted_layout
        # What the test runner itself keeps alive is not to be walked through in the turns that are measured.
        gc.collect()
        gc.freeze()
        stop = asyncio.Event()
        turns = asyncio.create_task(longest_turn(stop))
        began = time.perf_counter()
        heaviest = longest = 0
        async with asyncio.timeout(60):
            follower, log = app.panel._follower, view._log
            assert follower is not None and log is not None
            while not follower.ended:
                app.panel.set_processes([row("a", "flood", size=source.size)])
                heaviest, longest = max(heaviest, log.weight), max(longest, log.end - log.first)
                await asyncio.sleep(0.02)
        took = time.perf_counter() - began
        stop.set()
        stall = await turns
        gc.unfreeze()
        await until(pilot, lambda: f"{source.last:012d}" in text(app))
        print(f"\n60 MB in {took:.1f} s, {source.reads} reads, longest turn {stall * 1000:.0f} ms,", end="")
        print(f" {heaviest / MB:.1f} MB and {longest} lines at most, {drawn / took:.0f} drawings a second")
        assert stall < 0.1
        assert heaviest <= MAX_BYTES
        assert longest <= MAX_LINES
        assert drawn / took < 22
        assert layouts == 0, "the whole screen was laid out anew while output came"
        assert "not shown" in "".join(
            segment.text for n in range(log.first, log.end) for segment in log.line(n)
        )


async def test_keys_are_taken_while_output_floods_in() -> None:
    app = PanelApp(Flood(step=100_000))
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", "flood")])
        await until(pilot, lambda: "ok 0000" in text(app))
        await pilot.press("x", "x")
        await until(pilot, lambda: len(app.told) == 1)
