"""Which updates repeat earlier turns: those of a ``session/load``, until it has been quiet for a while.

The protocol has an agent replay the history *before* it answers ``session/load``. Some go on after their
answer, and nothing in an update says that it is old.
"""

from collections.abc import Awaitable, Callable
from typing import Final

QUIET_SECONDS: Final = 0.25
MAX_SECONDS: Final = 10.0
"""An agent that goes on for longer after its answer is taken to be at work."""


class Replay:
    """``clock``: seconds, of any start. ``sleep``: waits for as many."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]) -> None:
        self._clock = clock
        self._sleep = sleep
        self._loading = False
        self._quiet_at = 0.0
        self._latest = 0.0

    def begin(self) -> None:
        """A request that may replay is sent."""
        self._loading = True

    def answered(self, *, replays: bool) -> None:
        """It is answered. ``replays``: the history may go on after the answer."""
        self._loading = False
        now = self._clock()
        self._quiet_at = now + QUIET_SECONDS if replays else now
        self._latest = now + MAX_SECONDS

    def heard(self) -> bool:
        """A piece of history came; whether it is a replay, which puts the quiet off."""
        if self._loading:
            return True
        now = self._clock()
        if now >= self._quiet_at:
            return False
        self._quiet_at = min(now + QUIET_SECONDS, self._latest)
        return True

    async def over(self) -> None:
        """Wait until it is quiet."""
        while (left := self._quiet_at - self._clock()) > 0:
            await self._sleep(left)
