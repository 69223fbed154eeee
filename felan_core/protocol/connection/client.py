"""ClientConnection: a client's end of a connection, without I/O."""

from typing import Final

import msgspec
from msgspec import UNSET

from felan_core.protocol.base import LIMITS
from felan_core.protocol.connection.states import (
    BaseConnection,
    ClientEvent,
    ConnectionState,
    Ended,
    Failed,
    Greeted,
    Probe,
    Published,
    Replied,
    Resync,
    Step,
    local_error,
    remote_error,
)
from felan_core.protocol.envelopes import (
    Accepted,
    EventFrame,
    NoticeFrame,
    Refused,
    Request,
    ResyncRequired,
    TextFrame,
    Unclaimed,
)
from felan_core.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RequestIndeterminate,
    RequestRefused,
)
from felan_core.protocol.frames import parse_client_frame, parse_server_frame
from felan_core.protocol.framing import encode_frame
from felan_core.protocol.operations import HelloParams, HelloResult

LEAST_HEARTBEAT: Final = 5.0
"""Seconds. A client probes no host more often, whatever its hello says."""
_PROBE: Final = "heartbeat-"


class ClientConnection(BaseConnection):
    """A client's end. Every method that sends returns the bytes to write."""

    def __init__(self, *, now: float = 0.0) -> None:
        super().__init__()
        self._hello: str | None = None
        self._in_flight: dict[str, str] = {}
        self._heard_at = now
        self._heartbeat: float | None = None
        self._probe: str | None = None
        self._probes = 0

    def hello(self, re: str, params: HelloParams) -> bytes:
        """The first frame. Raises ``LocalProtocolError`` when it was sent before."""
        self._require(ConnectionState.NEW)
        if self._hello is not None:
            raise LocalProtocolError("invalid_request", "hello: it is sent once")
        frame = _request_frame(Request(id=re, op="hello", params=params))
        self._hello = re
        self._in_flight[re] = "hello"
        return frame

    def request(self, re: str, op: str, params: msgspec.Struct, session: str | None = None) -> bytes:
        """One request. It may follow hello at once.

        Raises ``LocalProtocolError``, and sends nothing: before hello, for an id in flight, for a value
        that the host would refuse by its shape, for the 65th request without a reply (``busy``).
        """
        if self._hello is None:
            raise LocalProtocolError("invalid_request", "hello: must be the first request")
        self._require(ConnectionState.NEW, ConnectionState.READY)
        if re in self._in_flight:
            raise LocalProtocolError("request_conflict", "id: a request with this id is in flight")
        if len(self._in_flight) >= LIMITS.in_flight_requests:
            raise LocalProtocolError("busy", "too many requests without a reply", retryable=True)
        frame = _request_frame(Request(id=re, op=op, params=params, session=session or UNSET))
        self._in_flight[re] = op
        return frame

    @property
    def in_flight(self) -> frozenset[str]:
        """The ids of the requests without a reply."""
        return frozenset(self._in_flight)

    def receive(self, data: bytes, now: float = 0.0) -> list[ClientEvent]:
        """The events of ``data``; ``b""`` is the end of the stream."""
        if not self.reads:
            return []
        self._heard_at, self._probe = now, None
        lines, fault = self._lines(data)
        events: list[ClientEvent] = []
        for line in lines:
            try:
                event = self._take(line)
            except ProtocolError as error:
                events.append(self._fail(error))
                return events
            if event is not None:
                events.append(event)
            if isinstance(event, Failed):
                return events
        if fault is not None:
            events.append(self._fail(fault))
        elif not data:
            self._step(Step.END)
            events.append(Ended())
        return events

    def _take(self, line: bytes) -> ClientEvent | None:
        frame = parse_server_frame(line, self._in_flight.get)
        match frame:
            case EventFrame() | TextFrame():
                return Published(frame)
            case Accepted():
                return self._accepted(frame)
            case Refused():
                return self._refused(frame)
            case Unclaimed():
                return None
            case NoticeFrame(notice=notice):
                if isinstance(notice, ResyncRequired):
                    return Resync(notice.session, notice.reason)
                return self._fail(ProtocolError.of(notice.error), noticed=True)

    def _accepted(self, frame: Accepted) -> ClientEvent | None:
        op = self._in_flight.pop(frame.re)
        if frame.re.startswith(_PROBE):
            return None
        if frame.re != self._hello or self.state is not ConnectionState.NEW:
            return Replied(frame.re, op, frame.result, None)
        result: HelloResult = frame.result
        self._heartbeat = max(result.limits.heartbeat_ms / 1000, LEAST_HEARTBEAT)
        self._step(Step.GREET)
        return Greeted(result)

    def _refused(self, frame: Refused) -> ClientEvent | None:
        op = self._in_flight.pop(frame.re, None)
        if op is None or frame.re.startswith(_PROBE):
            return None
        kind = RequestIndeterminate if frame.outcome == "indeterminate" else RequestRefused
        return Replied(frame.re, op, None, kind.of(frame.error))

    @property
    def deadline(self) -> float | None:
        """When ``expire`` has something to do; None for never (before hello was accepted)."""
        if self._heartbeat is None or not self.reads:
            return None
        return self._heard_at + (2 if self._probe else 1) * self._heartbeat

    def expire(self, now: float) -> list[ClientEvent]:
        """The events of silence: after a heartbeat a probe, after another the host counts as lost."""
        if self.deadline is None or now < self.deadline:
            return []
        if self._probe is not None:
            return [self._fail(ProtocolError("unavailable", "the host does not answer"))]
        self._probes += 1
        self._probe = f"{_PROBE}{self._probes}"
        self._in_flight[self._probe] = "host.status"
        return [Probe(encode_frame({"v": 1, "id": self._probe, "op": "host.status", "params": {}}))]

    def _fail(self, error: ProtocolError, *, noticed: bool = False) -> Failed:
        self._step(Step.FAIL)
        return Failed(remote_error(error), noticed)


def _request_frame(request: Request) -> bytes:
    frame = encode_frame(request)
    try:
        parse_client_frame(frame[:-1])
    except ProtocolError as error:
        raise local_error(error) from None
    return frame
