"""From one line, or its plain JSON, to a checked envelope (session protocol §3).

A whole frame is one pass of the decoder: every member of every kind of frame is optional in it, and those
that are present say what it is. A frame that is not plainly right goes the slow way, member by member in the
contract's order, and is refused in words there.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

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
from felan_core.protocol.problems import Problem
from felan_core.protocol.streams import StreamPosition
from felan_core.protocol.validate import Odd, check_utf8, exact, refusal, shape_of, untyped

T = TypeVar("T")
OpOf = Callable[[str], str | None]
"""The operation of the outstanding request with this id; None when there is none."""

_TEXT_MEMBERS: Final = 8
_SHORT: Final = 1024
_HEAD: Final = 240
"""Where a frame says what it is, when its ids are of the usual length."""
_decode_text: Final = msgspec.json.Decoder(TextFrame).decode
_EVENT_MEMBERS: Final = {"session", "revision", "at", "event", "v"}


class _ServerFrame(Wire, frozen=True, kw_only=True):
    """Every frame of a host at once."""

    v: Maybe[int] = UNSET
    session: Maybe[Id] = UNSET
    revision: Maybe[Revision] = UNSET
    at: Maybe[Instant] = UNSET
    event: Maybe[KnownEvent] = UNSET
    stream: Maybe[StreamPosition] = UNSET
    text: Maybe[Delta] = UNSET
    re: Maybe[Id] = UNSET
    outcome: Maybe[Literal["accepted", "rejected", "indeterminate"]] = UNSET
    result: Maybe[Raw] = UNSET
    error: Maybe[ErrorBody] = UNSET
    notice: Maybe[Notice] = UNSET


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
    """The request on one line (UTF-8, no LF), its parameters typed by its operation.

    Checked in the order of §3: frame, version, id, operation, the session that its scope asks for or forbids,
    parameters. A mutation's id must be a UUIDv7. Raises ``ProtocolError``.
    """
    request = _quick(_client_frame, line)
    if request is None:
        check_utf8(line)
        return _client_slowly(untyped(line))
    return request


def parse_client_envelope(raw: Json) -> Request:
    """The request in plain JSON ``raw``: ``parse_client_frame`` for what is decoded already. Raises
    ``ProtocolError``.
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
    params = _part(operation.params, frame.params, len(line), "params")
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
    """The frame of a host on one line (UTF-8, no LF).

    ``op_of`` names the operation of an outstanding request by its id, since an accepted reply carries ``re``
    and not ``op``; where it names none the reply comes back ``Unclaimed``. Raises ``ProtocolError``.
    """
    # What comes most often is proven by one decoding each, where it says its version last (ours) or first.
    # Text has exactly eight members.
    try:
        if line.endswith(b',"v":1}') or line.startswith(b'{"v":1,"'):
            if len(line) < _SHORT and line.count(b'":') == _TEXT_MEMBERS:
                frame = _decode_text(line)
                if (line.isascii() and b"\\u" not in line) or _ascii_names(frame):
                    return frame
            elif line.find(b'"event":{', 0, _HEAD) > 0:
                return shape_of(EventFrame).quick(line, full=True)
    except (Odd, ValueError, RecursionError):
        pass
    except Problem as problem:
        raise refusal(problem, "") from None
    quick = _quick(lambda line: _server_frame(line, op_of), line)
    if quick is None:
        check_utf8(line)
        return _server_slowly(untyped(line), op_of)
    return quick


def parse_server_envelope(raw: Json, op: str | None = None) -> ServerEnvelope:
    """The frame of a host in plain JSON ``raw``.

    ``op``: the operation of the outstanding request; an accepted reply needs it, since it repeats ``re`` and
    not the operation. Raises ``ProtocolError``.
    """
    frame: ServerEnvelope | Unclaimed | None = _plain_text(raw)
    if frame is not None:
        return frame
    line = exact(raw)
    if line is not None:
        members = as_object(raw)
        if members is not None and members.keys() == _EVENT_MEMBERS and type(members["v"]) is int:
            try:
                return shape_of(EventFrame).quick_plain(raw, line)
            except Odd:
                pass
            except Problem as problem:
                raise refusal(problem, "") from None
        frame = _quick(lambda line: _server_frame(line, lambda _: op), line)
    if frame is None:
        frame = _server_slowly(raw, lambda _: op)
    if isinstance(frame, Unclaimed):
        raise invalid("re: no request is outstanding that this could answer")
    return frame


def _plain_text(raw: Json) -> TextFrame | None:
    """The text frame in ``raw``, where it is one of exactly its members; None where that is not plain."""
    if type(raw) is not dict or len(cast(JsonObject, raw)) != 4 or "stream" not in raw or "v" not in raw:
        return None
    members = cast(JsonObject, raw)
    stream: Json = members["stream"]
    if type(stream) is not dict or len(cast(JsonObject, stream)) != 4:
        return None
    try:
        frame = msgspec.convert(members, TextFrame)
    except (ValueError, RecursionError):
        return None
    at, text = frame.stream, frame.text
    if not (
        type(text) is type(frame.session) is type(at.message) is type(at.id) is str
        and type(at.offset) is type(members["v"]) is int
        and _ascii_names(frame)
    ):
        return None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return None
    return frame


def _ascii_names(frame: TextFrame) -> bool:
    at = frame.stream
    return frame.session.isascii() and at.message.isascii() and at.id.isascii()


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
    return _reply(frame, len(line), op_of)


def _reply(frame: _ServerFrame, size: int, op_of: OpOf) -> Reply | Unclaimed | None:
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
    return Accepted(re=re, result=_part(operation_named(op).result, frame.result, size, "result"))


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
    except Problem as problem:
        raise refusal(problem, "") from None


def _part(shape: type[T], raw: Raw, size: int, where: str) -> T:
    """One member of a frame, read by its own shape. ``size``: of the frame."""
    try:
        return shape_of(shape).quick_part(raw, size)
    except Problem as problem:
        raise problem.under(where) from None


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
