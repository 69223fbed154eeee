"""ServerConnection: the host's end of a connection, without I/O."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from felan_core.protocol.base import LIMITS, PROTOCOL_VERSION, JsonObject, or_default
from felan_core.protocol.connection.states import (
    BaseConnection,
    ConnectionState,
    Ended,
    Failed,
    Greeted,
    Requested,
    ServerEvent,
    Step,
    local_error,
    remote_error,
)
from felan_core.protocol.control import same_target
from felan_core.protocol.envelopes import (
    Accepted,
    EventFrame,
    NoticeFrame,
    ProtocolFailure,
    Refused,
    Request,
    ResyncRequired,
    TextFrame,
)
from felan_core.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    invalid,
)
from felan_core.protocol.frames import parse_client_frame, parse_server_frame, request_id
from felan_core.protocol.framing import encode_frame
from felan_core.protocol.operations import ClientInfo, HelloParams, HelloResult, Target
from felan_core.protocol.send_queue import SendQueue

HELLO_SECONDS: Final = 10.0
"""A peer that has not said hello by then is disconnected."""


class Offer(NamedTuple):
    """The host's side of the handshake. ``hello`` is the result for a client that knows everything; its
    interactions and UI capabilities are cut to those of the client. ``canonical``: the canonical form of a
    root.
    """

    hello: Callable[[], HelloResult]
    canonical: Callable[[str], str] = str


class _InFlight(NamedTuple):
    request: Request
    copies: int


class ServerConnection(BaseConnection):
    """The host's end. Replies, events and notices are queued in ``queue``, whose bytes the owner writes.

    A request that repeats one in flight on this connection shares its reply; every copy counts as in flight.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        now: float = 0.0,
        unsent_bytes: int = LIMITS.unsent_bytes,
        in_flight_requests: int = LIMITS.in_flight_requests,
        hello_seconds: float = HELLO_SECONDS,
    ) -> None:
        super().__init__()
        self._offer = offer
        self._most = in_flight_requests
        self._greet_by = now + hello_seconds
        self._in_flight: dict[str, _InFlight] = {}
        self.queue = SendQueue(unsent_bytes)
        self.client = ClientInfo(kind="unknown", name="unknown", version="0")
        self.capabilities: frozenset[str] = frozenset()
        self.interactions: frozenset[str] = frozenset()

    @property
    def in_flight(self) -> int:
        """Requests without a reply, repeats included."""
        return sum(one.copies for one in self._in_flight.values())

    @property
    def deadline(self) -> float | None:
        """When ``expire`` has something to do; None for never."""
        return self._greet_by if self.state is ConnectionState.NEW else None

    def expire(self, now: float) -> list[ServerEvent]:
        """The events of time alone: a peer that does not say hello is disconnected."""
        if self.deadline is None or now < self.deadline:
            return []
        return [self._fail(invalid("hello: it did not come in time"))]

    def receive(self, data: bytes) -> list[ServerEvent]:
        """The events of ``data``; ``b""`` is the end of the stream. Refusals before admission are queued.

        Nothing is read once the connection is closing.
        """
        if not self.reads:
            return []
        lines, fault = self._lines(data)
        events: list[ServerEvent] = []
        for line in lines:
            try:
                events += self._take(line)
            except ProtocolError as error:
                events.append(self._fail(error))
                return events
        if fault is not None:
            events.append(self._fail(fault))
        elif not data:
            self._step(Step.END)
            events.append(Ended())
        return events

    def _take(self, line: bytes) -> Iterable[ServerEvent]:
        try:
            request = parse_client_frame(line)
        except ProtocolError as error:
            re = request_id(line)
            if re is None:
                raise
            if error.code == "unsupported_operation" and self.state is ConnectionState.NEW:
                error = invalid("hello: must be the first request")
            self._queue_refusal(re, error)
            return
        if (request.op == "hello") is not (self.state is ConnectionState.NEW):
            self._queue_refusal(request.id, invalid("hello: must be the first request, and comes once"))
        elif request.op == "hello":
            yield from self._greet(request)
        else:
            yield from self._request(request)

    def _greet(self, request: Request) -> Iterable[ServerEvent]:
        params: HelloParams = request.params
        result = self._offer.hello()
        if PROTOCOL_VERSION not in params.protocol_versions:
            details: JsonObject = {"protocolVersions": [PROTOCOL_VERSION]}
            rule = f"protocolVersions: this host speaks {PROTOCOL_VERSION}"
            self._queue_refusal(request.id, ProtocolError("protocol_mismatch", rule, details=details))
            return
        host = result.host
        here = Target(namespace=host.namespace, instance=host.instance, root=host.root)
        if isinstance(params.target, Target) and not same_target(params.target, here, self._offer.canonical):
            self._queue_refusal(request.id, ProtocolError("target_mismatch", "target: this is another host"))
            return
        self.client = params.client
        self.capabilities = frozenset(or_default(params.capabilities, [])) & frozenset(result.capabilities.ui)
        self.interactions = frozenset(or_default(params.interactions, [])) & frozenset(result.interactions)
        capabilities = msgspec.structs.replace(result.capabilities, ui=sorted(self.capabilities))
        result = msgspec.structs.replace(
            result, capabilities=capabilities, interactions=sorted(self.interactions)
        )
        self._step(Step.GREET)
        self.queue.reply(encode_frame(Accepted(re=request.id, result=result)))
        yield Greeted(params)

    def _request(self, request: Request) -> Iterable[ServerEvent]:
        crowded = self.in_flight >= self._most
        known = self._in_flight.get(request.id)
        if known is None:
            self._in_flight[request.id] = _InFlight(request, 1)
            yield Requested(request, crowded)
        elif known.request != request:
            self._queue_refusal(
                request.id, ProtocolError("request_conflict", "id: another request has this id")
            )
        elif crowded:
            self._queue_refusal(request.id, too_many())
        else:
            self._in_flight[request.id] = known._replace(copies=known.copies + 1)

    # --- sending ---

    def accept(self, re: str, result: Any) -> None:
        """Answer request ``re`` with its operation's result (a struct, or the plain JSON of a stored
        reply).
        """
        self.answer(encode_frame(Accepted(re=re, result=result)), re)

    def refuse(self, re: str, error: ProtocolError) -> None:
        """Answer request ``re`` with a refusal; ``indeterminate`` has an outcome of its own."""
        self.answer(refusal_frame(re, error), re)

    def answer(self, frame: bytes, re: str) -> None:
        """Answer request ``re`` with an encoded reply, once for every copy of the request.

        Raises ``LocalProtocolError`` for a request that is not in flight, and for a reply that its reader
        would refuse. Nothing is queued once the connection is closed.
        """
        found = self._in_flight.get(re)
        if found is None:
            raise LocalProtocolError("invalid_request", f"re: no request {re[:40]!r} is in flight")
        _check_sent(frame, lambda _: found.request.op)
        del self._in_flight[re]
        for _ in range(found.copies):
            self.queue.reply(frame)

    def forget(self, re: str) -> None:
        """Drop request ``re``: nothing will answer it, since the connection or the host ends."""
        self._in_flight.pop(re, None)

    def publish(self, frame: bytes, session: str) -> bool:
        """Queue an encoded event or text of ``session``.

        False where the client is too far behind: its queued frames of that session are dropped, it is told to
        attach anew, and it counts as detached.
        """
        if self.queue.publish(frame, session):
            return True
        self.resync(session, "this client fell behind")
        return False

    def resync(self, session: str, reason: str) -> None:
        """Drop what is queued of ``session`` and tell the client to attach anew."""
        self.queue.forget(session)
        notice = ResyncRequired(session=session, reason=reason)
        self.queue.reply(encode_frame(NoticeFrame(session=session, notice=notice)))

    def fail(self, error: ProtocolError) -> None:
        """Publish ``protocol_error``; the connection closes when it is sent. A closed one stays closed."""
        if self.state in (ConnectionState.NEW, ConnectionState.READY):
            self._fail(error)

    def lose(self) -> None:
        super().lose()
        self.queue.clear()

    def _queue_refusal(self, re: str, error: ProtocolError) -> None:
        self.queue.reply(refusal_frame(re, error))

    def _fail(self, error: ProtocolError) -> Failed:
        self._step(Step.FAIL)
        self.queue.reply(encode_frame(NoticeFrame(notice=ProtocolFailure(error=error.body))))
        return Failed(remote_error(error))


def too_many() -> ProtocolError:
    """The refusal of a request past ``inFlightRequests``."""
    return ProtocolError("busy", "too many requests without a reply", retryable=True)


def refusal_frame(re: str, error: ProtocolError) -> bytes:
    """The encoded rejected or indeterminate reply to request ``re``."""
    outcome = "indeterminate" if error.code == "indeterminate" else "rejected"
    return encode_frame(Refused(re=re, outcome=outcome, error=error.body))


def published_frame(frame: EventFrame | TextFrame) -> bytes:
    """The encoded event or text, for every connection alike.

    Raises ``LocalProtocolError`` where its reader would refuse it.
    """
    encoded = encode_frame(frame)
    _check_sent(encoded, lambda _: None)
    return encoded


def _check_sent(frame: bytes, op_of: Callable[[str], str | None]) -> None:
    try:
        parse_server_frame(frame[:-1], op_of)
    except ProtocolError as error:
        raise local_error(error) from None
