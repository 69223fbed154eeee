"""Requests that happen once: their canonical identity, and how long their records are kept (session protocol
§8).
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from felan_core.protocol.base import (
    LIMITS,
    STORAGE_VERSION,
    UNSET,
    Id,
    Instant,
    Json,
    JsonObject,
    Label,
    Maybe,
    Revision,
    Wire,
)
from felan_core.protocol.catalogue import Durability, parse_operation_params
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.events import parse_session_event
from felan_core.protocol.ids import normalise_mutation_id, uuid7_time
from felan_core.protocol.plain import plain
from felan_core.protocol.validate import parse_schema

RowVersion = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Comparison = Literal["same", "conflict", "unavailable"]


class StoredRequestRecord(Wire, frozen=True, kw_only=True):
    """A request as it is kept. ``payload``: the whole canonical string. ``reply`` absent: not finished."""

    id: Id
    principal: Id
    op: Label
    payload: str
    admitted_at: Instant
    retain_until: Instant
    session: Maybe[Id] = UNSET
    reply: Maybe[JsonObject] = UNSET
    v: RowVersion = STORAGE_VERSION


class StoredEventRow(Wire, frozen=True, kw_only=True):
    """An event as it is kept: control data, no second transcript and no proof that anything was done."""

    session: Id
    revision: Revision
    at: Instant
    event: JsonObject
    v: Literal[1] = STORAGE_VERSION


def parse_stored_request_record(value: Json) -> StoredRequestRecord:
    """The typed row in plain JSON (session protocol §8). Instants are milliseconds since the Unix epoch.

    ``v`` is required, and may be another than ``STORAGE_VERSION``: such a row compares as ``unavailable``.
    Its id is a normalised UUIDv7. Raises ``ProtocolError('invalid_request')``.
    """
    record = parse_schema(StoredRequestRecord, value, "row")
    _require_version(value)
    try:
        normal = normalise_mutation_id(record.id) == record.id
    except ProtocolError as error:
        raise invalid(f"row.{error.message}") from None
    if not normal:
        raise invalid("row.id: must be lower-case")
    return record


def parse_stored_event_row(value: Json) -> StoredEventRow:
    """The typed row in plain JSON, of ``STORAGE_VERSION`` alone (session protocol §8).

    Its event is checked, and kept as the JSON of what was checked.

    Raises ``ProtocolError('invalid_request')``.
    """
    row = parse_schema(StoredEventRow, value, "row")
    _require_version(value)
    try:
        event: JsonObject = msgspec.to_builtins(parse_session_event(row.event))
    except ProtocolError as error:
        raise invalid(f"row.{error.message}") from None
    return replace(row, event=event)


def _require_version(value: Json) -> None:
    if "v" not in value:
        raise invalid("row.v: is required")


def canonical_request_payload(op: str, session: str | None, params: msgspec.Struct | JsonObject) -> str:
    """Canonical JSON (RFC 8785) of the normalised meaning, without id and wire version; no defaults are
    filled in (session protocol §8).

    ``params``: the operation's typed parameters, or plain JSON, which is parsed first. Raises
    ``ProtocolError``.
    """
    import rfc8785  # loaded at first use: a reader that sends no mutation never pays for it

    typed = params if isinstance(params, msgspec.Struct) else parse_operation_params(op, params)
    try:
        meaning: JsonObject = {"op": op, "params": msgspec.to_builtins(typed)}
    except (TypeError, ValueError, RecursionError):
        raise invalid("params: not plain JSON") from None
    if session is not None:
        meaning["session"] = session
    try:
        return rfc8785.dumps(meaning).decode()
    except (rfc8785.CanonicalizationError, RecursionError):
        # No parser made these parameters. The walk says what is wrong with them, and where.
        return rfc8785.dumps(plain(meaning)).decode()


def compare_request_payload(stored: StoredRequestRecord | None, payload: str) -> Comparison:
    """Whether a request repeats what is stored under its id (session protocol §8). It runs nothing, and
    raises nothing.

    ``same``; ``conflict``: another payload; ``unavailable``: none is stored, or a row of a version that is
    not known here. Session and principal are the caller's to compare: the payload holds the session.
    """
    if stored is None or stored.v != STORAGE_VERSION:
        return "unavailable"
    return "same" if stored.payload == payload else "conflict"


def request_retain_until(mutation_id: str, admitted_at: int) -> int:
    """Until when the record is kept: 7 days past the later of the UUID's own time and admission (session
    protocol §8).

    Instants are milliseconds since the Unix epoch. Raises ``ProtocolError('invalid_request')`` for an id that
    is no UUIDv7.
    """
    own = uuid7_time(normalise_mutation_id(mutation_id))
    return max(own, admitted_at) + LIMITS.request_retain_ms


def is_retained(retain_until: int, now: int) -> bool:
    """Whether a host has to keep a record at ``now``: up to ``retain_until``, that instant excluded (session
    protocol §8). Instants are milliseconds since the Unix epoch.
    """
    return now < retain_until


def check_request_capacity(durability: Durability, *, in_session: int, in_namespace: int) -> None:
    """Whether one more request record may be reserved, beside those that are retained (session protocol §1).

    An ordinary request leaves ``reservedControlSlots`` of the namespace free, and counts against its session;
    a control request may use them, and no session holds it back: it must stay possible to cancel and close.
    Raises ``ProtocolError('request_capacity')``; nothing is ever evicted to make room.
    """
    control = durability == "control"
    free = LIMITS.requests_per_namespace - (0 if control else LIMITS.reserved_control_slots)
    if in_namespace >= free or (not control and in_session >= LIMITS.requests_per_session):
        raise ProtocolError("request_capacity", "no room for another request record", retryable=True)
