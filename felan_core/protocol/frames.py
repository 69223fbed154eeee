"""From one line, or its plain JSON, to a checked envelope (session protocol §3).

A whole frame is one pass of the decoder: every member of every kind of frame is optional in it, and those
that are present say what it is. A frame that is not plainly right goes the slow way, member by member in the
contract's order, and is refused in words there.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType, convert

from felan_core.protocol.base import (
    PROTOCOL_VERSION,
    Id,
    Instant,
    Json,
    JsonObject,
    Label,
    Maybe,
    Revision,
    Wire,
    as_object,
    kind_of,
)
from felan_core.protocol.catalogue import (
    Operation,
    operation_named,
    parse_operation_params,
    refuse_expected_revision,
)
from felan_core.protocol.envelopes import (
    Accepted,
    Delta,
    EventFrame,
    Notice,
    NoticeFrame,
    Refused,
    Reply,
    Request,
    ServerEnvelope,
    TextFrame,
    Unclaimed,
)
from felan_core.protocol.errors import ErrorBody, ProtocolError, invalid
from felan_core.protocol.events import KnownEvent, parse_plain_event
from felan_core.protocol.ids import normalise_mutation_id
from felan_core.protocol.plain import plain
from felan_core.protocol.streams import StreamPosition
from felan_core.protocol.sure import SURE_BYTES
from felan_core.protocol.validate import Odd, check_utf8, exact, shape_of, untyped

T = TypeVar("T")
OpOf = Callable[[str], str | None]
"""The operation of the outstanding request with this id; None when there is none."""

_decode_text: Final = msgspec.json.Decoder(TextFrame).decode
_encode: Final = msgspec.json.Encoder().encode


class _ServerFrame(Wire, frozen=True, kw_only=True):
    """Every frame of a host at once, its members in the order in which ours are written."""

    session: Maybe[Id] = UNSET
    revision: Maybe[Revision] = UNSET
    at: Maybe[Instant] = UNSET
    event: Maybe[KnownEvent] = UNSET
    stream: Maybe[StreamPosition] = UNSET
    text: Maybe[Delta] = UNSET
    notice: Maybe[Notice] = UNSET
    re: Maybe[Id] = UNSET
    result: Maybe[Raw] = UNSET
    v: Maybe[int] = UNSET
    outcome: Maybe[Literal["accepted", "rejected", "indeterminate"]] = UNSET
    error: Maybe[ErrorBody] = UNSET


@cache
def _accepted(op: str) -> type[Any]:
    """The shape of a whole accepted reply to ``op``. Raises ``ProtocolError`` for an unknown one."""
    outcome = Literal["accepted"]
    members = (("re", Id), ("result", operation_named(op).result), ("v", Literal[1]), ("outcome", outcome))
    return msgspec.defstruct("AcceptedReply", members, bases=(Wire,), frozen=True, kw_only=True)


class _ClientFrame(Wire, frozen=True, kw_only=True):
    v: Maybe[int] = UNSET
    id: Id
    op: Label
    params: Raw
    session: Maybe[Id] = UNSET


class _RequestId(Wire, frozen=True, kw_only=True):
    id: Id


class _RequestOp(Wire, frozen=True, kw_only=True):
    op: Label


class _RequestRest(Wire, frozen=True, kw_only=True):
    params: JsonObject
    session: Maybe[Id] = UNSET


class _EventRest(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision
    at: Instant
    event: JsonObject


class _ReplyRest(Wire, frozen=True, kw_only=True):
    re: Id
    result: JsonObject


# --- from a client ---


def parse_client_frame(line: bytes) -> Request:
    """The request on one line (UTF-8, no LF), its parameters typed by its operation (session protocol §3).

    Checked in the order of §3: frame, version, id, operation, the session that its scope asks for or forbids,
    parameters. A mutation's id must be a UUIDv7. Raises ``ProtocolError``.
    """
    request = _quick(_client_frame, line)
    if request is None:
        check_utf8(line)
        return _client_slowly(untyped(line))
    return request


def parse_client_envelope(raw: Json) -> Request:
    """The request in plain JSON ``raw`` (session protocol §3): ``parse_client_frame`` for what is decoded
    already.

    Raises ``ProtocolError``: ``unsupported_operation``, ``protocol_mismatch``, else ``invalid_request``.
    """
    line = exact(raw)
    request = None if line is None else _quick(_client_frame, line)
    return _client_slowly(raw) if request is None else request


def request_id(line: bytes) -> str | None:
    """The id of a request that was refused, where one can be made out: its refusal is then a reply.

    None for what is not a JSON object with a usable ``id``: then the connection is to close.
    """
    try:
        check_utf8(line)
        frame = as_object(untyped(line))
        identity = None if frame is None else frame.get("id")
        return shape_of(_RequestId).slow({"id": identity}, "").id
    except ProtocolError:
        return None


def _client_frame(line: bytes) -> Request | None:
    frame = shape_of(_ClientFrame).quick(line)
    operation = operation_named(frame.op)
    if frame.op == "config.set":
        return None  # it refuses a member by name, however that is spelt
    if frame.v != PROTOCOL_VERSION or not _well_addressed(operation, frame.id, frame.session):
        return None
    params = shape_of(operation.params).quick(bytes(frame.params))
    return Request(id=frame.id, op=frame.op, session=frame.session, params=params)


def _well_addressed(operation: Operation, identity: str, session: Maybe[str]) -> bool:
    if operation.mutates:
        normalise_mutation_id(identity)
    if operation.scope == "either":
        return True
    return (operation.scope == "host") is isinstance(session, UnsetType)


def _client_slowly(raw: Json) -> Request:
    value = _of_this_version(raw)
    identity = shape_of(_RequestId).slow(value, "").id
    name = shape_of(_RequestOp).slow(value, "").op
    operation = operation_named(name)
    if operation.mutates:
        normalise_mutation_id(identity)
    refuse_expected_revision(name, value.get("params"))
    if operation.scope in ("session", "root") and "session" not in value:
        raise invalid(f"session: {name} needs one")
    if operation.scope == "host" and "session" in value:
        raise invalid(f"session: {name} is of the host and takes none")
    rest = shape_of(_RequestRest).slow(value, "")
    typed = shape_of(operation.params).slow(rest.params, "params")
    if name == "config.set" and not isinstance(rest.session, UnsetType):
        from felan_core.protocol.configuration import check_config_values

        try:
            check_config_values(typed.values, in_session=True)
        except ProtocolError as error:
            raise invalid(f"params.{error.message}") from None
    return Request(id=identity, op=name, session=rest.session, params=typed)


class SessionCommand(Wire, frozen=True, kw_only=True):
    """What a request asks for, without its envelope: ``{op, params}``; ``params``: the operation's typed
    parameters.
    """

    op: Label
    params: Any


def parse_session_command(value: Json) -> SessionCommand:
    """The command in plain JSON ``{op, params}``, its parameters typed (session protocol §3).

    Raises ``ProtocolError`` as ``parse_operation_params``.
    """
    command = as_object(plain(value))
    if command is None:
        raise invalid("command: must be an object")
    name = command.get("op")
    if not isinstance(name, str):
        raise invalid("op: the name of an operation is required")
    if "params" not in command:
        raise invalid("params: is required")
    return SessionCommand(op=name, params=parse_operation_params(name, command["params"]))


# --- from a host ---


def parse_server_frame(line: bytes, op_of: OpOf) -> ServerEnvelope | Unclaimed:
    """The frame of a host on one line (UTF-8, no LF; session protocol §3).

    ``op_of`` names the operation of an outstanding request by its id, since an accepted reply carries ``re``
    and not ``op``; where it names none the reply comes back ``Unclaimed``. Raises ``ProtocolError``.
    """
    try:
        frame = _as_written(line, op_of)
        if frame is not None:
            return frame
    except (Odd, ValueError, RecursionError, ProtocolError):
        pass
    quick = _quick(lambda line: _server_frame(line, op_of), line)
    if quick is None:
        check_utf8(line)
        return _server_slowly(untyped(line), op_of)
    return quick


def _as_written(line: bytes, op_of: OpOf) -> ServerEnvelope | None:
    """The frame on a line as this library writes it: its end says what it is. None, or any error, leaves the
    verdict to the other ways.
    """
    end = line[-8:]
    if end == b'","v":1}' and len(line) <= SURE_BYTES:
        # As ``Shape.quick``, and quicker still, since it is most of what comes.
        frame = _decode_text(line)
        at = frame.stream
        plain = frame.session.isascii() and at.message.isascii() and at.id.isascii()
        return frame if plain and _encode(frame) == line else None
    if end == b'},"v":1}':
        return shape_of(EventFrame).quick(line)
    if end == b'cepted"}' and line.startswith(b'{"re":"'):
        re = line[7 : line.find(b'"', 7)].decode()
        op = op_of(re)
        if op is not None:
            reply = shape_of(_accepted(op)).quick(line)
            return Accepted(re=re, result=reply.result) if reply.re == re else None
    return None


def parse_server_envelope(raw: Json, op: str | None = None) -> ServerEnvelope:
    """The frame of a host in plain JSON ``raw``: a reply, an event, text or a notice (session protocol §3).

    ``op``: the operation of the outstanding request; an accepted reply needs it, since it repeats ``re`` and
    not the operation. Raises ``ProtocolError``: ``protocol_mismatch``, else ``invalid_request``.
    """
    if kind_of(raw) is dict:
        try:
            if "event" in raw:
                return shape_of(EventFrame).quick_plain(raw)
            # Text is most of what comes: as ``quick_plain``, and quicker still.
            stream: JsonObject = raw["stream"]
            if len(raw) == 4 and kind_of(stream) is dict and len(stream) == 4:
                text = convert(raw, TextFrame)
                at = text.stream
                if (
                    type(raw["v"]) is type(stream["offset"]) is int
                    and type(stream["kind"]) is str
                    and type(session := text.session) is str
                    and type(message := at.message) is str
                    and type(identity := at.id) is str
                    and type(said := text.text) is str
                    and session.isascii()
                    and message.isascii()
                    and identity.isascii()
                    and (said.isascii() or said.encode())
                ):
                    return text
        except (Odd, ValueError, TypeError, KeyError, RecursionError):
            pass
    line = exact(raw)
    frame = None if line is None else _quick(lambda line: _server_frame(line, lambda _: op), line)
    if frame is None:
        frame = _server_slowly(raw, lambda _: op)
    if isinstance(frame, Unclaimed):
        raise invalid("re: no request is outstanding that this could answer")
    return frame


def _server_frame(line: bytes, op_of: OpOf) -> ServerEnvelope | Unclaimed | None:
    frame = shape_of(_ServerFrame).quick(line)
    event, stream, notice, outcome = frame.event, frame.stream, frame.notice, frame.outcome
    if frame.v != PROTOCOL_VERSION or (event, stream, notice, outcome).count(UNSET) != 3:
        return None
    session = frame.session
    if not isinstance(event, UnsetType):
        revision, at = frame.revision, frame.at
        if isinstance(session, UnsetType) or isinstance(revision, UnsetType) or isinstance(at, UnsetType):
            return None
        return EventFrame(session=session, revision=revision, at=at, event=event)
    if not isinstance(stream, UnsetType):
        if isinstance(session, UnsetType) or isinstance(frame.text, UnsetType):
            return None
        return TextFrame(session=session, stream=stream, text=frame.text)
    if not isinstance(notice, UnsetType):
        return NoticeFrame(notice=notice, session=session)
    return _reply(frame, op_of)


def _reply(frame: _ServerFrame, op_of: OpOf) -> Reply | Unclaimed | None:
    re = frame.re
    if isinstance(re, UnsetType):
        return None
    outcome = frame.outcome
    if not isinstance(outcome, UnsetType) and outcome != "accepted":
        if isinstance(frame.error, UnsetType):
            return None
        return Refused(re=re, outcome=outcome, error=frame.error)
    if isinstance(frame.result, UnsetType):
        return None
    op = op_of(re)
    if op is None:
        # The slow way checks that it is an object of plain JSON.
        return None
    return Accepted(re=re, result=shape_of(operation_named(op).result).quick(bytes(frame.result)))


def _server_slowly(raw: Json, op_of: OpOf) -> ServerEnvelope | Unclaimed:
    value = _of_this_version(raw)
    present = [name for name in ("outcome", "event", "stream", "notice") if name in value]
    if len(present) != 1:
        raise invalid("frame: exactly one of outcome, event, stream, notice is required")
    match present[0]:
        case "event":
            rest = shape_of(_EventRest).slow(value, "")
            event = parse_plain_event(rest.event)
            return EventFrame(session=rest.session, revision=rest.revision, at=rest.at, event=event)
        case "stream":
            return shape_of(TextFrame).slow(value, "")
        case "notice":
            return shape_of(NoticeFrame).slow(value, "")
        case _:
            pass
    if value["outcome"] != "accepted":
        return shape_of(Refused).slow(value, "")
    reply = shape_of(_ReplyRest).slow(value, "")
    op = op_of(reply.re)
    if op is None:
        return Unclaimed(re=reply.re, result=reply.result)
    result = shape_of(operation_named(op).result).slow(reply.result, "result")
    return Accepted(re=reply.re, result=result)


# --- both ---


def _quick(parse: Callable[[bytes], T | None], line: bytes) -> T | None:
    """What the quick way makes of ``line``; None where it leaves the verdict to the slow one."""
    try:
        return parse(line)
    except (Odd, ProtocolError):
        return None


def _of_this_version(raw: Json) -> JsonObject:
    """The frame as normalised plain JSON, when it is an object of this version."""
    if type(raw) is not dict:
        raise invalid("frame: must be an object")
    value: JsonObject = plain(raw)
    version = value.get("v")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise invalid("v: the protocol version is required, a positive integer")
    if version != PROTOCOL_VERSION:
        raise ProtocolError(
            "protocol_mismatch",
            f"v: this side speaks version {PROTOCOL_VERSION}",
            details={"protocolVersions": [PROTOCOL_VERSION]},
        )
    return value
