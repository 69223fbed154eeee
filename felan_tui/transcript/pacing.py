"""How often text that is still coming is drawn: a pure policy.

The first piece is drawn at once; those that follow are put together until `interval` has passed. So a fast
agent costs at most `1 / interval` drawings a second, and a slow one is not held back.

Not here: the clock, the timer, and the text.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Pacing:
    """`interval` is in seconds, as are all times given."""

    interval: float = 0.05
    last: float | None = None

    def wait(self, now: float) -> float:
        """How long to wait before drawing; 0 for now."""
        if self.last is None:
            return 0.0
        return max(0.0, self.last + self.interval - now)

    def drew(self, now: float) -> None:
        """It was drawn."""
        self.last = now
