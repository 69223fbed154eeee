"""hello and the operations of a host as a whole (session protocol §4)."""

from typing import Annotated, Literal

from msgspec import Meta

from felan_core.protocol.base import (
    UNSET,
    Count,
    Cursor,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    PageLimit,
    Text,
    Wire,
)
from felan_core.protocol.operations.common import Target
from felan_core.protocol.session import Lifecycle


class ClientInfo(Wire, frozen=True, kw_only=True):
    """Provenance alone: a kind gives no privilege."""

    kind: Label
    name: Label
    version: Label


class HelloParams(Wire, frozen=True, kw_only=True):
    protocol_versions: Annotated[list[Annotated[int, Meta(ge=1)]], Meta(min_length=1, max_length=16)]
    client: ClientInfo
    capabilities: Maybe[list[Label]] = UNSET
    interactions: Maybe[list[Label]] = UNSET
    target: Maybe[Target] = UNSET


class HostInfo(Wire, frozen=True, kw_only=True):
    namespace: Label
    instance: Id
    root: Text
    version: Label
    lifecycle: Lifecycle


class Capabilities(Wire, frozen=True, kw_only=True):
    ui: list[Label]
    features: list[Label]


class Principal(Wire, frozen=True, kw_only=True):
    id: Id
    kind: Label


class HelloLimits(Wire, frozen=True, kw_only=True):
    """The table of numbers that a client has to know, and how often to show a sign of life."""

    frame_bytes: Count
    unsent_bytes: Count
    in_flight_requests: Count
    page_entries: Count
    page_bytes: Count
    process_read_bytes: Count
    process_write_bytes: Count
    heartbeat_ms: Count


class HelloResult(Wire, frozen=True, kw_only=True):
    protocol_version: Annotated[int, Meta(ge=1)]
    host: HostInfo
    operations: list[Label]
    interactions: list[Label]
    capabilities: Capabilities
    principal: Principal
    limits: HelloLimits


class HostStatusResult(Wire, frozen=True, kw_only=True):
    lifecycle: Lifecycle
    sessions: Count
    attachments: Count
    runs: Count
    processes: Count
    storage_bytes: Count
    started_at: Instant


class LogsParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    level: Maybe[Literal["debug", "info", "warning", "error"]] = UNSET


class LogLine(Wire, frozen=True, kw_only=True):
    at: Instant
    level: Literal["debug", "info", "warning", "error"]
    message: Text
    fields: Maybe[JsonObject] = UNSET


class LogsResult(Wire, frozen=True, kw_only=True):
    items: list[LogLine]
    next_cursor: Maybe[Cursor] = UNSET


class StopHostParams(Wire, frozen=True, kw_only=True):
    target: Target
    mode: Literal["drain", "force"]
    grace_ms: Maybe[Count] = UNSET


class LifecycleResult(Wire, frozen=True, kw_only=True):
    lifecycle: Lifecycle
