"""The run line: that a turn runs, for how long, and which key ends it. No spinner: a second is enough."""

import time
from collections.abc import Callable

from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.session import Run, SessionState
from felan_tui.transcript.blocks import duration


def run_words(state: SessionState, seconds: float) -> tuple[str, str]:
    """The words of the line, and their style."""
    if state == "waiting":
        return f"◷ waiting for you, {duration(seconds)}", "bold $text-warning"
    return f"● running {duration(seconds)}", "$text-accent"


class RunLine(Widget):
    """One line while a turn runs, none otherwise."""

    DEFAULT_CSS = """
    RunLine { height: 1; width: 1fr; padding: 0 1; display: none; }
    """

    def __init__(self, *, now: Callable[[], int] | None = None, id: str | None = None) -> None:
        """``now``: milliseconds since the epoch, the host's clock as far as it is known."""
        super().__init__(id=id)
        self._now = now or (lambda: time.time_ns() // 1_000_000)
        self._run: Run | None = None
        self._state: SessionState = "idle"

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    def show(self, run: Run | None, state: SessionState) -> None:
        """The run as it is now."""
        self._run, self._state = run, state
        self.display = run is not None
        self.refresh()

    def _tick(self) -> None:
        if self._run is not None:
            self.refresh()

    def render(self) -> Content:
        if self._run is None:
            return Content("")
        seconds = max(0, self._now() - self._run.started_at) / 1000
        words, style = run_words(self._state, seconds)
        hint = "  F2 answers · Esc cancels" if self._state == "waiting" else "  Esc cancels"
        return Content.assemble((words, style), (hint, "$text-muted"))
