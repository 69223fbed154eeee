"""Envelopes: requests, replies, events, text and notices (session protocol §3)."""

from typing import Any, Literal, Union

from msgspec import UNSET, UnsetType

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
from felan_core.protocol.catalogue import operation_named, parse_operation_result
from felan_core.protocol.errors import ErrorBody, ProtocolError, invalid
from felan_core.protocol.events import SessionEvent, parse_session_event
from felan_core.protocol.ids import normalise_mutation_id
from felan_core.protocol.plain import convert, plain
from felan_core.protocol.streams import StreamPosition


class Request(Wire, frozen=True, kw_only=True):
    """``{v, id, op, session?, params}``; ``params`` is checked by the operation's own shape."""

    v: Literal[1] = PROTOCOL_VERSION
    id: Id
    op: Label
    params: JsonObject
    session: Maybe[Id] = UNSET


class Accepted(Wire, frozen=True, kw_only=True):
    """``{v, re, outcome:"accepted", result}``; an empty result is ``{}``."""

    re: Id
    result: Any
    v: Literal[1] = PROTOCOL_VERSION
    outcome: Literal["accepted"] = "accepted"


class Refused(Wire, frozen=True, kw_only=True):
    """A rejected or indeterminate reply: ``{v, re, outcome, error}``."""

    re: Id
    outcome: Literal["rejected", "indeterminate"]
    error: ErrorBody
    v: Literal[1] = PROTOCOL_VERSION


class EventFrame(Wire, frozen=True, kw_only=True):
    """``{v, session, revision, at, event}``: one event, one change, one revision."""

    session: Id
    revision: Revision
    at: Instant
    event: Any
    v: Literal[1] = PROTOCOL_VERSION


class TextFrame(Wire, frozen=True, kw_only=True):
    """``{v, session, stream, text}``: not revisioned; ``text`` is not empty."""

    session: Id
    stream: StreamPosition
    text: str
    v: Literal[1] = PROTOCOL_VERSION


class ResyncRequired(Wire, tag_field="type", tag="resync_required", frozen=True, kw_only=True):
    session: Id
    reason: Label


class ProtocolFailure(Wire, tag_field="type", tag="protocol_error", frozen=True, kw_only=True):
    """The connection closes after it."""

    error: ErrorBody


class NoticeFrame(Wire, frozen=True, kw_only=True):
    notice: Union[ResyncRequired, ProtocolFailure]
    v: Literal[1] = PROTOCOL_VERSION
    session: Maybe[Id] = UNSET


Reply = Union[Accepted, Refused]
ServerEnvelope = Union[Accepted, Refused, EventFrame, TextFrame, NoticeFrame]


class _EventOuter(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision
    at: Instant
    event: JsonObject


class _AcceptedOuter(Wire, frozen=True, kw_only=True):
    re: Id
    result: JsonObject


class _RequestOuter(Wire, frozen=True, kw_only=True):
    id: Id
    op: Label
    params: JsonObject
    session: Maybe[Id] = UNSET


def _check_version(raw: Json) -> JsonObject:
    if not isinstance(raw, dict):
        raise invalid("frame: not an object")
    value: JsonObject = plain(raw)
    version = value.get("v")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise invalid("v: the protocol version is required")
    if version != PROTOCOL_VERSION:
        raise ProtocolError(
            "protocol_mismatch",
            f"v: this side speaks version {PROTOCOL_VERSION}",
            details={"protocolVersions": [PROTOCOL_VERSION]},
        )
    return value


def parse_client_envelope(raw: Json) -> Request:
    """The request in plain JSON ``raw``.

    The envelope alone is checked here, in the order of §3 (version, id, operation, session as the scope
    says); the parameters are typed by ``parse_operation_params``. A mutation's id must be a UUIDv7. Raises
    ``ProtocolError``.
    """
    value = _check_version(raw)
    request = convert(value, _RequestOuter, "request")
    operation = operation_named(request.op)
    if operation.mutates:
        normalise_mutation_id(request.id)
    if request.op == "config.set" and "expectedRevision" in request.params:
        raise invalid("params.expectedRevision: config.set merges without a revision")
    if operation.scope in ("session", "root") and isinstance(request.session, UnsetType):
        raise invalid(f"session: {request.op} needs one")
    if operation.scope == "host" and not isinstance(request.session, UnsetType):
        raise invalid(f"session: {request.op} is of the host and takes none")
    return Request(id=request.id, op=request.op, session=request.session, params=request.params)


def parse_server_envelope(raw: Json, op: str | None = None) -> ServerEnvelope:
    """The frame of a host in plain JSON ``raw``.

    ``op``: the operation of the outstanding request; an accepted reply needs it, since it repeats ``re`` and
    not the operation. Raises ``ProtocolError``.
    """
    value = _check_version(raw)
    present = [name for name in ("outcome", "event", "stream", "notice") if name in value]
    if len(present) != 1:
        raise invalid("frame: exactly one of outcome, event, stream, notice is required")
    match present[0]:
        case "outcome":
            return _parse_reply(value, op)
        case "event":
            outer = convert(value, _EventOuter, "event frame")
            event: SessionEvent = parse_session_event(outer.event)
            return EventFrame(session=outer.session, revision=outer.revision, at=outer.at, event=event)
        case "stream":
            frame = convert(value, TextFrame, "text frame")
            if not frame.text:
                raise invalid("text: empty")
            return frame
        case _:
            return convert(value, NoticeFrame, "notice frame")


def _parse_reply(value: JsonObject, op: str | None) -> Reply:
    if value["outcome"] == "accepted":
        if op is None:
            raise invalid("reply: no request is outstanding that it could answer")
        outer = convert(value, _AcceptedOuter, "reply")
        return Accepted(re=outer.re, result=parse_operation_result(op, outer.result))
    return convert(value, Refused, "reply")


def reply_id(raw: Json) -> str | None:
    """The ``re`` of a reply, before it is parsed; None for every other frame."""
    frame = as_object(raw)
    if frame is None or "outcome" not in frame:
        return None
    re = frame.get("re")
    return re if isinstance(re, str) else None
