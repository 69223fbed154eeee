"""The state of the turn in words: that it runs and for how long, that it is being stopped, how it ended."""

from typing import TYPE_CHECKING

from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span

if TYPE_CHECKING:  # the rule is there before anything of the contract is loaded
    from felan_core.protocol.session import Run, RunOutcome

_ENDED: "dict[RunOutcome, tuple[str, str]]" = {
    "completed": ("", ""),
    "cancelled": ("– stopped", "$text-muted"),
    "failed": ("✗ failed", "$text-error"),
    "interrupted": ("✗ interrupted", "$text-error"),
}


class RunStatus:
    """The turn that runs, or how the last one ended. Times are milliseconds since the epoch."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._ended: tuple[str, str] = ("", "")
        self.waiting = False
        """The turn waits for an answer: how long is written on the card."""
        self.stopping = False

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._run is not None

    @property
    def counts(self) -> bool:
        """Whether the words change with the seconds."""
        return self._run is not None and (self.stopping or not self.waiting)

    def show(self, run: "Run | None", *, waiting: bool = False) -> None:
        """The run as it is now; None: no turn runs."""
        if run is None or self._run is None or self._run.id != run.id:
            self.stopping = False
            if run is not None:
                self._ended = ("", "")
        self._run, self.waiting = run, waiting

    def stop_sent(self) -> None:
        """The cancel was sent, and the turn has not ended yet."""
        self.stopping = self._run is not None

    def ended(self, outcome: "RunOutcome", message: str = "") -> None:
        """Show how the turn ended; any outcome but `completed` stays until the next turn."""
        words, style = _ENDED[outcome]
        self._ended = (f"{words}: {safe_line(message)}" if words and message else words, style)
        self._run, self.stopping = None, False

    def words(self, now: int) -> tuple[str, str]:
        """Safe words and their style; no words where there is nothing to say."""
        if self._run is None:
            return self._ended
        lasted = span((now - self._run.started_at) / 1000)
        if self.stopping:
            return f"● stopping {lasted}", "$text-accent"
        return ("", "") if self.waiting else (f"● running {lasted}", "$text-accent")


__all__ = ["RunStatus"]
