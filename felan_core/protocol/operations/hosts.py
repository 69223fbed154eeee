"""hello and the operations of a host as a whole (session protocol §4)."""

from typing import Annotated, Literal

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Cursor,
    Id,
    Instant,
    Label,
    Maybe,
    Page,
    PageLimit,
    Structured,
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


Names = Annotated[list[Label], Meta(max_length=LIMITS.page_entries)]
"""Names that a peer may not know: they are kept, and ignored by whoever does not know them."""
Version = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Versions = Annotated[list[Version], Meta(min_length=1, max_length=16)]
LogLevel = Literal["debug", "info", "warning", "error"]


class HelloParams(Wire, frozen=True, kw_only=True):
    """The first request: 1 to 16 protocol versions, who asks, and the UI vocabulary that it knows."""

    protocol_versions: Versions
    client: ClientInfo
    capabilities: Maybe[Names] = UNSET
    interactions: Maybe[Names] = UNSET
    target: Maybe[Target] = UNSET


class HostInfo(Wire, frozen=True, kw_only=True):
    """Which host it is, its version and where in its life it is."""

    namespace: Label
    instance: Id
    root: Text
    version: Label
    lifecycle: Lifecycle


class Capabilities(Wire, frozen=True, kw_only=True):
    """The UI vocabulary that both sides know, and the features that the host has."""

    ui: Names
    features: Names


class Principal(Wire, frozen=True, kw_only=True):
    """Who the host takes the client for: assigned by the host alone."""

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
    """What was agreed: version, and the operations, interactions and capabilities that both sides have."""

    protocol_version: Version
    host: HostInfo
    operations: Names
    interactions: Names
    capabilities: Capabilities
    principal: Principal
    limits: HelloLimits


class HostStatusResult(Wire, frozen=True, kw_only=True):
    """The host's state, what it holds, and the bytes of its storage."""

    lifecycle: Lifecycle
    sessions: Count
    attachments: Count
    runs: Count
    processes: Count
    storage_bytes: Count
    started_at: Instant


class LogsParams(Wire, frozen=True, kw_only=True):
    """A page of the log, from ``level`` up."""

    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    level: Maybe[LogLevel] = UNSET


class LogLine(Wire, frozen=True, kw_only=True):
    """One line of the host's log, cleaned of secrets by whoever wrote it."""

    at: Instant
    level: LogLevel
    message: Text
    fields: Maybe[Structured] = UNSET


class LogsResult(Wire, frozen=True, kw_only=True):
    """One page of the log, newest last."""

    items: Annotated[list[LogLine], Page]
    next_cursor: Maybe[Cursor] = UNSET


class StopHostParams(Wire, frozen=True, kw_only=True):
    """Stop or restart the host that ``target`` names; ``drain`` lets what runs end, within ``graceMs``."""

    target: Target
    mode: Literal["drain", "force"]
    grace_ms: Maybe[Count] = UNSET


class LifecycleResult(Wire, frozen=True, kw_only=True):
    """Where in its life the host is from now on."""

    lifecycle: Lifecycle
