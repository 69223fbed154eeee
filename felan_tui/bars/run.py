"""The run line: that a turn is under way, for how long, and how to stop it; or how the last one ended."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from felan_tui.bars.line import FittedLine
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span
from felan_tui.text.widgets import Piece

if TYPE_CHECKING:  # the line is there before anything of the contract is loaded
    from felan_core.protocol.session import Run, RunOutcome, SessionState

_ENDED: "dict[RunOutcome, tuple[str, str]]" = {
    "completed": ("", ""),
    "cancelled": ("– cancelled", "$text-warning"),
    "failed": ("✗ failed", "$text-error"),
    "interrupted": ("✗ interrupted", "$text-error"),
}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class RunLine(FittedLine):
    """`● running 12 s · Esc cancels`. No spinner: it draws once a second, and only while a turn runs.

    `now` is the time in milliseconds since the epoch, as the run's start is.
    """

    DEFAULT_CSS = """
    RunLine { display: none; }
    RunLine.-said { display: block; }
    """

    def __init__(self, *, now: Callable[[], int] = _now_ms, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._run: Run | None = None
        self._state: SessionState = "idle"
        self._cancelling = False
        self._ended: tuple[str, str] = ("", "")
        self._tick: Timer | None = None

    def show(self, run: "Run | None", state: "SessionState" = "running") -> None:
        """The run as it is now, and whether the session waits for an answer. None: no turn runs."""
        if run is None:
            self._stop_ticking()
        else:
            if self._run is None or self._run.id != run.id:
                self._cancelling, self._ended = False, ("", "")
            if self._tick is None:
                self._tick = self.set_interval(1.0, self.refresh)
        self._run, self._state = run, state
        self._changed()

    def cancelling(self) -> None:
        """The cancel was sent, and the turn has not ended yet."""
        if self._run is not None:
            self._cancelling = True
            self._changed()

    def ended(self, outcome: "RunOutcome", message: str = "") -> None:
        """How the turn ended. What is not `completed` stays on the line until the next turn."""
        words, style = _ENDED[outcome]
        self._ended = (f"{words}: {safe_line(message)}" if words and message else words, style)
        self._run = None
        self._stop_ticking()
        self._changed()

    def _stop_ticking(self) -> None:
        if self._tick is not None:
            self._tick.stop()
            self._tick = None

    def _changed(self) -> None:
        self.set_class(self._run is not None or bool(self._ended[0]), "-said")
        self.refresh()

    def pieces(self, cells: int) -> list[Piece]:
        if self._run is None:
            words, style = self._ended
            return [(cut(words, cells), style)] if words else []
        lasted = span((self._now() - self._run.started_at) / 1000)
        hint = " · Esc cancels"
        if self._cancelling:
            words, style, hint = f"● cancelling {lasted}", "$text-warning", ""
        elif self._state == "waiting":
            words, style, hint = f"◷ waits for your answer {lasted}", "$text-warning", f" · F2 answers{hint}"
        else:
            words, style = f"● running {lasted}", "$text-accent"
        words = cut(words, cells)
        return [(words, style), (cut(hint, cells - cell_len(words)), "$text-muted")]


__all__ = ["RunLine"]
