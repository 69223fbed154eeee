"""Link: whether a client is connected and when it tries again. Pure: time is data.

The state changes by ``_STEPS`` alone; any other step changes nothing.

    CONNECTING    a connection is being made: hello, snapshots, waiting requests
    CONNECTED     everything works
    WAITING       the connection ended; the next attempt is at ``due``
    LOST          the host refuses this client for good: no further attempt
    CLOSED        this side ended it
"""

from enum import Enum
from typing import Final

PERMANENT: Final = frozenset({
    "ownership_lost",
    "protocol_mismatch",
    "authentication_required",
    "forbidden",
    "target_mismatch",
    "client_fault",
})  # fmt: skip
"""Codes after which another attempt is of no use."""
FIRST_SECONDS: Final = 0.25
MOST_SECONDS: Final = 15.0
STEADY_SECONDS: Final = 5.0
"""A connection that lived so long makes the next wait the first one again."""


class LinkState(Enum):
    CONNECTING = "connecting"
    CONNECTED = "connected"
    WAITING = "reconnecting"
    LOST = "lost"
    CLOSED = "closed"


class LinkStep(Enum):
    """An event in the life of a link."""

    GREET = "the host accepted the client and everything that waited was sent"
    DROP = "the connection ended, or was not made"
    DUE = "the wait is over"
    REFUSE = "the host refuses this client for good"
    CLOSE = "this side ends it"


_STEPS: Final = {
    (LinkState.CONNECTING, LinkStep.GREET): LinkState.CONNECTED,
    (LinkState.CONNECTING, LinkStep.DROP): LinkState.WAITING,
    (LinkState.CONNECTING, LinkStep.REFUSE): LinkState.LOST,
    (LinkState.CONNECTING, LinkStep.CLOSE): LinkState.CLOSED,
    (LinkState.CONNECTED, LinkStep.DROP): LinkState.WAITING,
    (LinkState.CONNECTED, LinkStep.REFUSE): LinkState.LOST,
    (LinkState.CONNECTED, LinkStep.CLOSE): LinkState.CLOSED,
    (LinkState.WAITING, LinkStep.DUE): LinkState.CONNECTING,
    (LinkState.WAITING, LinkStep.CLOSE): LinkState.CLOSED,
    (LinkState.LOST, LinkStep.CLOSE): LinkState.CLOSED,
}


class Link:
    """The state of a client's link to its host. Seconds are of any monotonic clock."""

    def __init__(self) -> None:
        self.state = LinkState.CONNECTING
        self.reason = ""
        """Why it is not connected."""
        self.due = 0.0
        """When the next attempt is, while it is waiting."""
        self._wait = FIRST_SECONDS
        self._connected_at: float | None = None

    def _step(self, step: LinkStep) -> bool:
        found = _STEPS.get((self.state, step))
        if found is not None:
            self.state = found
        return found is not None

    def greet(self, now: float) -> None:
        """The host accepted this client."""
        if self._step(LinkStep.GREET):
            self.reason, self._connected_at = "", now

    def drop(self, reason: str, now: float, *, code: str = "") -> None:
        """The connection ended, or was not made. ``code``: of the host's notice, if it sent one."""
        if not self._step(LinkStep.REFUSE if code in PERMANENT else LinkStep.DROP):
            return
        steady = self._connected_at is not None and now - self._connected_at >= STEADY_SECONDS
        self._wait = FIRST_SECONDS if steady else self._wait
        self._connected_at = None
        self.reason, self.due = reason, now + self._wait
        self._wait = min(2 * self._wait, MOST_SECONDS)

    def refuse(self, reason: str) -> None:
        """The host refuses this client for good."""
        if self._step(LinkStep.REFUSE):
            self.reason = reason

    def retry(self) -> None:
        """The wait is over."""
        self._step(LinkStep.DUE)

    def close(self) -> None:
        """This side ends it."""
        if self._step(LinkStep.CLOSE):
            self.reason = "the connection was closed"

    @property
    def ended(self) -> bool:
        """Whether it is never connected again."""
        return self.state in (LinkState.LOST, LinkState.CLOSED)

    def seconds(self, now: float) -> int:
        """Whole seconds until the next attempt, rounded up."""
        return max(0, -int((now - self.due) // 1)) if self.state is LinkState.WAITING else 0
