"""The states and events of a connection, and the part that both sides share."""

from enum import Enum
from typing import Any, Final, NamedTuple, Union

from felan_core.protocol.envelopes import (
    EventFrame,
    Request,
    TextFrame,
)
from felan_core.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    RequestIndeterminate,
    RequestRefused,
)
from felan_core.protocol.framing import JsonLineDecoder
from felan_core.protocol.operations import HelloParams, HelloResult


class ConnectionState(Enum):
    NEW = "new"
    READY = "ready"
    CLOSING = "closing"
    CLOSED = "closed"


class Step(Enum):
    """An event in the life of a connection."""

    GREET = "hello was accepted"
    FAIL = "the peer broke the protocol, or is served no more"
    CLOSE = "this side ends the connection"
    END = "the peer sends nothing more"
    LOSE = "the transport is gone"


_NEW, _READY, _CLOSING, _CLOSED = ConnectionState
_STEPS: Final[dict[tuple[ConnectionState, Step], ConnectionState]] = {
    (_NEW, Step.GREET): _READY,
    (_NEW, Step.FAIL): _CLOSING,
    (_NEW, Step.CLOSE): _CLOSING,
    (_NEW, Step.END): _CLOSING,
    (_NEW, Step.LOSE): _CLOSED,
    (_READY, Step.FAIL): _CLOSING,
    (_READY, Step.CLOSE): _CLOSING,
    (_READY, Step.END): _CLOSING,
    (_READY, Step.LOSE): _CLOSED,
    (_CLOSING, Step.CLOSE): _CLOSING,
    (_CLOSING, Step.LOSE): _CLOSED,
    (_CLOSED, Step.CLOSE): _CLOSED,
    (_CLOSED, Step.LOSE): _CLOSED,
}


# --- events ---


class Greeted(NamedTuple):
    """Server: hello was accepted and its reply is queued. Client: ``hello`` is the host's result."""

    hello: Union[HelloParams, HelloResult]


class Requested(NamedTuple):
    """Server: a request to admit. ``crowded``: it is past ``inFlightRequests``, so that only a stored
    reply, or ``busy``, may answer it.
    """

    request: Request
    crowded: bool


class Replied(NamedTuple):
    """Client: the reply to request ``re``. Exactly one of ``result`` and ``error`` is there."""

    re: str
    op: str
    result: Any
    error: Union[RequestRefused, RequestIndeterminate, None]


class Published(NamedTuple):
    """Client: an event or text of a session."""

    frame: Union[EventFrame, TextFrame]


class Resync(NamedTuple):
    """Client: frames of ``session`` were dropped; it is detached and has to attach anew."""

    session: str
    reason: str


class Probe(NamedTuple):
    """Client: nothing was heard for a heartbeat. ``data`` asks for a sign of life: send it."""

    data: bytes


class Failed(NamedTuple):
    """The connection ends by a fault. ``noticed``: the host found it and sent a notice; else the peer's bytes
    are not the protocol, and a server has queued the notice that says so.
    """

    error: RemoteProtocolError
    noticed: bool = False


class Ended(NamedTuple):
    """The peer sends nothing more, in good order."""


ServerEvent = Union[Greeted, Requested, Failed, Ended]
ClientEvent = Union[Greeted, Replied, Published, Resync, Probe, Failed, Ended]


class BaseConnection:
    """Both sides: the state and the frames that come in."""

    def __init__(self) -> None:
        self.state = ConnectionState.NEW
        self._decoder = JsonLineDecoder()

    def _step(self, step: Step) -> None:
        found = _STEPS.get((self.state, step))
        if found is None:
            raise LocalProtocolError(
                "invalid_request", f"connection: {step.value}, but it is {self.state.value}"
            )
        self.state = found

    def _require(self, *states: ConnectionState) -> None:
        if self.state not in states:
            raise LocalProtocolError("invalid_request", f"connection: it is {self.state.value}")

    @property
    def reads(self) -> bool:
        """Whether input is still read."""
        return self.state in (ConnectionState.NEW, ConnectionState.READY)

    def close(self) -> None:
        """End the connection; queued bytes are still sent."""
        self._step(Step.CLOSE)

    def lose(self) -> None:
        """The transport is gone: nothing is read or sent any more."""
        self._step(Step.LOSE)

    def _lines(self, data: bytes) -> tuple[list[bytes], ProtocolError | None]:
        """The whole lines of ``data`` (``b""``: the end of the stream), and the fault behind them."""
        try:
            if not data:
                self._decoder.finish()
                return [], None
            lines = self._decoder.lines(data)
        except ProtocolError as error:
            return [], error
        return lines, self._decoder.failure


def local_error(error: ProtocolError) -> LocalProtocolError:
    return LocalProtocolError(error.code, error.message, retryable=error.retryable, details=error.details)


def remote_error(error: ProtocolError) -> RemoteProtocolError:
    return RemoteProtocolError(error.code, error.message, retryable=error.retryable, details=error.details)
