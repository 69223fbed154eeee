"""Requests that happen once: their canonical identity, and how long their records are kept (session protocol
§8).
"""

from typing import Literal

import msgspec

from felan_core.protocol.base import (
    LIMITS,
    STORAGE_VERSION,
    UNSET,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    Wire,
)
from felan_core.protocol.ids import uuid7_time

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
    v: int = STORAGE_VERSION


def canonical_request_payload(op: str, session: str | None, params: msgspec.Struct) -> str:
    """Canonical JSON (RFC 8785) of the normalised meaning, without id and wire version; no defaults filled
    in.
    """
    import rfc8785  # loaded at first use: a reader that sends no mutation never pays for it

    meaning: JsonObject = {"op": op, "params": msgspec.to_builtins(params)}
    if session is not None:
        meaning["session"] = session
    return rfc8785.dumps(meaning).decode()


def compare_request_payload(stored: StoredRequestRecord | None, payload: str) -> Comparison:
    """Whether a request repeats what is stored under its id. It runs nothing."""
    if stored is None or stored.v != STORAGE_VERSION:
        return "unavailable"
    return "same" if stored.payload == payload else "conflict"


def request_retain_until(mutation_id: str, admitted_at: int) -> int:
    """Until when the record is kept: 7 days past the later of the UUID's own time and admission (ms)."""
    return max(uuid7_time(mutation_id), admitted_at) + LIMITS.request_retain_ms
