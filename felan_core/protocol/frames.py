"""From one line, or its plain JSON, to a checked envelope (session protocol §3).

A line is decoded once: every member of every kind of frame is optional in that
shape, and the members that are present name the kind. Everything else is checked member by member, in the
contract's order, and refused there with the place and the rule.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Literal, TypeVar

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
    Request,
    ServerEnvelope,
    TextFrame,
    Unclaimed,
)
from felan_core.protocol.errors import ErrorBody, ProtocolError, invalid
from felan_core.protocol.events import EVENT_TYPES, KnownEvent, parse_plain_event
from felan_core.protocol.ids import normalise_mutation_id
from felan_core.protocol.streams import StreamPosition
from felan_core.protocol.validate import Undecided, check_utf8, normalised, shape_of, untyped

T = TypeVar("T")
OpOf = Callable[[str], str | None]
"""The operation of the outstanding request with this id; None when there is none."""


_REPLY: Final = b'{"re":"'
_ACCEPTED: Final = re.compile(_REPLY + rb'([\w.:-]+)","result":')
"""The beginning of an accepted reply as ours are written."""


class _ServerFrame(Wire, frozen=True, kw_only=True):
    """Every frame of a host but an accepted reply, its members in the order in which ours are written."""

    session: Maybe[Id] = UNSET
    revision: Maybe[Revision] = UNSET
    at: Maybe[Instant] = UNSET
    event: Maybe[KnownEvent] = UNSET
    stream: Maybe[StreamPosition] = UNSET
    text: Maybe[Delta] = UNSET
    notice: Maybe[Notice] = UNSET
    re: Maybe[Id] = UNSET
    v: Maybe[Literal[1]] = UNSET
    outcome: Maybe[Literal["accepted", "rejected", "indeterminate"]] = UNSET
    error: Maybe[ErrorBody] = UNSET


class _ClientFrame(Wire, frozen=True, kw_only=True):
    v: Maybe[Literal[1]] = UNSET
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
    try:
        return _read_request(line)
    except (Undecided, ProtocolError):
        pass
    check_utf8(line)
    return _check_request(untyped(line))


def parse_client_envelope(raw: Json) -> Request:
    """The request in plain JSON ``raw`` (session protocol §3): ``parse_client_frame`` for what is decoded
    already.

    Raises ``ProtocolError``: ``unsupported_operation``, ``protocol_mismatch``, else ``invalid_request``.
    """
    return _check_request(raw)


def request_id(line: bytes) -> str | None:
    """The id of a request that was refused, where one can be made out: its refusal is then a reply.

    None for what is not a JSON object with a usable ``id``: then the connection is to close.
    """
    try:
        check_utf8(line)
        frame = as_object(untyped(line))
        identity = None if frame is None else frame.get("id")
        return shape_of(_RequestId).convert({"id": identity}, "").id
    except ProtocolError:
        return None


def _read_request(line: bytes) -> Request:
    frame = shape_of(_ClientFrame).read(line)
    operation = operation_named(frame.op)
    # config.set refuses a member by name, however that is spelt: the full check looks for it.
    if frame.op == "config.set" or frame.v != PROTOCOL_VERSION:
        raise Undecided
    if not _well_addressed(operation, frame.id, frame.session):
        raise Undecided
    params = shape_of(operation.params).read(bytes(frame.params))
    return Request(id=frame.id, op=frame.op, session=frame.session, params=params)


def _well_addressed(operation: Operation, identity: str, session: Maybe[str]) -> bool:
    if operation.mutates:
        normalise_mutation_id(identity)
    if operation.scope == "either":
        return True
    return (operation.scope == "host") is isinstance(session, UnsetType)


def _check_request(raw: Json) -> Request:
    value = _of_this_version(raw)
    identity = shape_of(_RequestId).convert(value, "").id
    name = shape_of(_RequestOp).convert(value, "").op
    operation = operation_named(name)
    if operation.mutates:
        normalise_mutation_id(identity)
    refuse_expected_revision(name, value.get("params"))
    if operation.scope in ("session", "root") and "session" not in value:
        raise invalid(f"session: {name} needs one")
    if operation.scope == "host" and "session" in value:
        raise invalid(f"session: {name} is of the host and takes none")
    rest = shape_of(_RequestRest).convert(value, "")
    typed = shape_of(operation.params).convert(rest.params, "params")
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
    command = as_object(normalised(value))
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
        return _read_server_frame(line, op_of)
    except (Undecided, ProtocolError):
        pass
    check_utf8(line)
    return _check_server_frame(untyped(line), op_of)


def parse_server_envelope(raw: Json, op: str | None = None) -> ServerEnvelope:
    """The frame of a host in plain JSON ``raw``: a reply, an event, text or a notice (session protocol §3).

    ``op``: the operation of the outstanding request; an accepted reply needs it, since it repeats ``re`` and
    not the operation. Raises ``ProtocolError``: ``protocol_mismatch``, else ``invalid_request``.
    """
    frame = _check_server_frame(raw, lambda _: op)
    if isinstance(frame, Unclaimed):
        raise invalid("re: no request is outstanding that this could answer")
    return frame


def _read_server_frame(line: bytes, op_of: OpOf) -> ServerEnvelope:
    if line.startswith(_REPLY) and (found := _ACCEPTED.match(line)):
        return _read_accepted(line, found[1].decode(), op_of)
    frame = shape_of(_ServerFrame).read(line)
    event, stream, notice, outcome = frame.event, frame.stream, frame.notice, frame.outcome
    if frame.v != PROTOCOL_VERSION or (event, stream, notice, outcome).count(UNSET) != 3:
        raise Undecided
    session = frame.session
    if not isinstance(stream, UnsetType):
        if isinstance(session, UnsetType) or isinstance(frame.text, UnsetType):
            raise Undecided
        return TextFrame(session=session, stream=stream, text=frame.text)
    if not isinstance(event, UnsetType):
        revision, at = frame.revision, frame.at
        if isinstance(session, UnsetType) or isinstance(revision, UnsetType) or isinstance(at, UnsetType):
            raise Undecided
        return EventFrame(session=session, revision=revision, at=at, event=event)
    if not isinstance(notice, UnsetType):
        return NoticeFrame(notice=notice, session=session)
    re, error = frame.re, frame.error
    if isinstance(re, UnsetType) or isinstance(error, UnsetType):
        raise Undecided
    if isinstance(outcome, UnsetType) or outcome == "accepted":
        raise Undecided
    return Refused(re=re, outcome=outcome, error=error)


def _read_accepted(line: bytes, re: str, op_of: OpOf) -> Accepted:
    op = op_of(re)
    if op is None:
        raise Undecided
    frame = shape_of(_accepted_shape(operation_named(op).result)).read(line)
    if frame.re != re or frame.v != PROTOCOL_VERSION or frame.outcome != "accepted":
        raise Undecided
    if (frame.event, frame.stream, frame.notice).count(UNSET) != 3:
        raise Undecided
    return Accepted(re=re, result=frame.result)


@cache
def _accepted_shape(result: type[msgspec.Struct]) -> Any:
    """The shape of an accepted reply that carries ``result``, its members in the order in which ours are
    written; a member of another kind of frame is seen.
    """
    members = [("re", Id), ("result", result), ("v", Any, UNSET), ("outcome", Any, UNSET)]
    others = [(name, Any, UNSET) for name in ("event", "stream", "notice")]
    return msgspec.defstruct("_Accepted", [*members, *others], bases=(Wire,), frozen=True, kw_only=True)


def _check_server_frame(raw: Json, op_of: OpOf) -> ServerEnvelope | Unclaimed:
    value = _of_this_version(raw)
    present = [name for name in ("outcome", "event", "stream", "notice") if name in value]
    if len(present) != 1:
        raise invalid("frame: exactly one of outcome, event, stream, notice is required")
    match present[0]:
        case "event":
            event = as_object(value["event"])
            kind = None if event is None else event.get("type")
            if isinstance(kind, str) and kind in EVENT_TYPES:
                return shape_of(EventFrame).convert(value, "")
            rest = shape_of(_EventRest).convert(value, "")
            event = parse_plain_event(rest.event)
            return EventFrame(session=rest.session, revision=rest.revision, at=rest.at, event=event)
        case "stream":
            return shape_of(TextFrame).convert(value, "")
        case "notice":
            return shape_of(NoticeFrame).convert(value, "")
        case _:
            pass
    if value["outcome"] != "accepted":
        return shape_of(Refused).convert(value, "")
    reply = shape_of(_ReplyRest).convert(value, "")
    op = op_of(reply.re)
    if op is None:
        return Unclaimed(re=reply.re, result=reply.result)
    result = shape_of(operation_named(op).result).convert(reply.result, "result")
    return Accepted(re=reply.re, result=result)


# --- both ---


def _of_this_version(raw: Json) -> JsonObject:
    """The frame as normalised plain JSON, when it is an object of this version."""
    if type(raw) is not dict:
        raise invalid("frame: must be an object")
    value: JsonObject = normalised(raw)
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
