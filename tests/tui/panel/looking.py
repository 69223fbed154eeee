"""What the tests of the panel share: a source of bytes, rows, an app with the panel, the screen as text."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen

from felan_core.protocol import UNSET
from felan_core.protocol.session import ProcessOutput, ProcessRow, ProcessState
from felan_tui.compat import PromptScreen
from felan_tui.panel import OutputSource, ProcessPanel

START = 1_700_000_000_000
READ = 64 * 1024
SIZES = [(80, 24), (160, 48), (60, 16)]


class Got(NamedTuple):
    data: bytes
    offset: int
    next_offset: int
    start: int
    end: int
    eof: bool


class Source:
    """Bytes of processes, as a host has them: `write` and `end` let the reads that wait go on."""

    def __init__(self) -> None:
        self.outputs: dict[str, bytearray] = {}
        self.starts: dict[str, int] = {}
        self.ended: set[str] = set()
        self.reads: list[tuple[str, int, int]] = []
        self.faults: list[Exception] = []
        self._news = asyncio.Event()

    def write(self, process_id: str, data: bytes) -> None:
        self.outputs.setdefault(process_id, bytearray()).extend(data)
        self._wake()

    def end(self, process_id: str) -> None:
        self.outputs.setdefault(process_id, bytearray())
        self.ended.add(process_id)
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def read(self, process_id: str, offset: int, wait_ms: int) -> Got:
        self.reads.append((process_id, offset, wait_ms))
        if self.faults:
            raise self.faults.pop(0)
        output = self.outputs.setdefault(process_id, bytearray())
        until = asyncio.get_running_loop().time() + wait_ms / 1000
        while len(output) <= offset and process_id not in self.ended:
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                break
        start = self.starts.get(process_id, 0)
        at = max(start, offset)
        data = bytes(output[at : at + READ])
        after = at + len(data)
        return Got(data, at, after, start, len(output), process_id in self.ended and after == len(output))


class Clock:
    """Milliseconds that go on only when a test says so."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at


def row(
    id: str,
    command: str = "sleep 100",
    *,
    title: str | None = None,
    state: ProcessState = "running",
    code: int | None = None,
    signal: str | None = None,
    ran: int = 12_000,
    size: int = 0,
) -> ProcessRow:
    """A process that was started `ran` milliseconds before the clock's beginning."""
    return ProcessRow(
        id=id,
        title=title or command[:200],
        command=command,
        cwd="/src",
        state=state,
        started_at=START - ran,
        stdin=False,
        pty=False,
        output=ProcessOutput(start=0, end=size),
        ended_at=UNSET if state in ("running", "lost") else START,
        exit_code=UNSET if code is None else code,
        signal=UNSET if signal is None else signal,
    )


class PanelApp(App[None]):
    """The panel alone on the screen, and what it told."""

    def __init__(self, source: OutputSource | None = None, now: Callable[[], int] | None = None) -> None:
        super().__init__()
        self.panel = ProcessPanel(source, now or Clock())
        self.told: list[Message] = []

    def get_default_screen(self) -> Screen[None]:
        return PromptScreen()

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_mount(self) -> None:
        self.panel.focus()

    def on_process_panel_stop_requested(self, event: ProcessPanel.StopRequested) -> None:
        self.told.append(event)

    def on_process_panel_closed(self, event: ProcessPanel.Closed) -> None:
        self.told.append(event)


def lines(app: App[None]) -> list[str]:
    """The rows of the screen as a person reads them."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def text(app: App[None]) -> str:
    return "\n".join(lines(app))


async def until(pilot: Pilot[None], condition: Callable[[], bool], turns: int = 3000) -> None:
    """Wait until the condition holds; a test that waits in vain fails."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never came true; the screen:\n{text(pilot.app)}")
