"""Operations: the typed parameters and results of each (session protocol §4)."""

from typing import Annotated, Literal, Union

from msgspec import Meta, field

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Base64,
    Count,
    Cursor,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    NonEmpty,
    PageLimit,
    Revision,
    Text,
    Wire,
)
from felan_core.protocol.entries import Entry
from felan_core.protocol.interactions import InteractionState
from felan_core.protocol.session import (
    ExecutionRow,
    ExecutionState,
    Lifecycle,
    PolicyName,
    ProcessRow,
    ProcessState,
    SessionRow,
    SessionSnapshot,
    SessionState,
    Thinking,
)


class Empty(Wire, frozen=True, kw_only=True):
    """``{}``: no parameters, or a result that says only that it was done."""


class Target(Wire, frozen=True, kw_only=True):
    """Which host is meant: compared whole, ``target_mismatch`` otherwise."""

    namespace: Label
    instance: Id
    root: Text


# hello and the host
# ---------------------------------------------------------------------------------------------


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


# sessions
# -------------------------------------------------------------------------------------------------------


class SessionsFilter(Wire, frozen=True, kw_only=True):
    cwd: Maybe[Text] = UNSET
    query: Maybe[Label] = UNSET
    state: Maybe[SessionState] = UNSET
    parent: Maybe[Id] = UNSET


class SessionsListParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    filter: Maybe[SessionsFilter] = UNSET


class SessionsPage(Wire, frozen=True, kw_only=True):
    items: list[SessionRow]
    next_cursor: Maybe[Cursor] = UNSET


class CreateParams(Wire, frozen=True, kw_only=True):
    """``cwd``: an existing absolute folder. ``extensions``: overrides of extension settings."""

    cwd: NonEmpty
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET
    instructions: Maybe[Annotated[str, Meta(max_length=LIMITS.instructions_bytes)]] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    extensions: Maybe[JsonObject] = UNSET


class SessionResult(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision


class ImportSource(Wire, frozen=True, kw_only=True):
    path: Maybe[NonEmpty] = UNSET
    jsonl: Maybe[str] = UNSET


class ImportParams(Wire, frozen=True, kw_only=True):
    source: ImportSource
    name: Maybe[Label] = UNSET
    require_policy: Maybe[PolicyName] = UNSET


class ImportResult(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision
    entries: Count
    skipped: Count


class AttachParams(Wire, frozen=True, kw_only=True):
    target: Maybe[Target] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    history_limit: Maybe[PageLimit] = UNSET


class AttachResult(Wire, frozen=True, kw_only=True):
    snapshot: SessionSnapshot


class RevisionResult(Wire, frozen=True, kw_only=True):
    revision: Revision


class Image(Wire, frozen=True, kw_only=True):
    media_type: Label
    data: Base64


class PromptParams(Wire, frozen=True, kw_only=True):
    text: NonEmpty
    images: Maybe[list[Image]] = UNSET


class RunResult(Wire, frozen=True, kw_only=True):
    """``runId``: admitted or started, never finished."""

    run_id: Id


class QueuedResult(Wire, frozen=True, kw_only=True):
    """Either ``itemId`` or ``status: "handled"``, never both."""

    item_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET


class CancelParams(Wire, frozen=True, kw_only=True):
    run_id: Maybe[Id] = UNSET
    queue: Maybe[bool] = UNSET


class CancelResult(Wire, frozen=True, kw_only=True):
    """``returned``: the texts of queued items that were dropped."""

    cancelled: bool
    returned: Maybe[list[Text]] = UNSET


class SetModelParams(Wire, frozen=True, kw_only=True):
    model: Label


class SetThinkingParams(Wire, frozen=True, kw_only=True):
    level: Thinking


class ModelResult(Wire, frozen=True, kw_only=True):
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET


class CompactParams(Wire, frozen=True, kw_only=True):
    instructions: Maybe[Text] = UNSET


class ForkFrom(Wire, frozen=True, kw_only=True):
    entry: Maybe[Id] = UNSET
    position: Maybe[Count] = UNSET


class ForkParams(Wire, frozen=True, kw_only=True):
    source: ForkFrom = field(name="from")
    name: Maybe[Label] = UNSET


class ForkResult(Wire, frozen=True, kw_only=True):
    session: Id
    text: Text


class CommandParams(Wire, frozen=True, kw_only=True):
    name: Label
    arguments: Maybe[Text] = UNSET


class CommandResult(Wire, frozen=True, kw_only=True):
    run_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET


class AnswerParams(Wire, frozen=True, kw_only=True):
    interaction: Id
    answer: JsonObject


class AnswerResult(Wire, frozen=True, kw_only=True):
    state: InteractionState


class UiActionParams(Wire, frozen=True, kw_only=True):
    element: Id
    revision: Revision
    action: Id
    item: Maybe[Id] = UNSET
    values: Maybe[JsonObject] = UNSET


class PtySize(Wire, frozen=True, kw_only=True):
    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]


class ShellParams(Wire, frozen=True, kw_only=True):
    """``share``: put the output in the agent's context. ``cwd``: an existing absolute folder."""

    command: NonEmpty
    cwd: Maybe[NonEmpty] = UNSET
    pty: Maybe[PtySize] = UNSET
    share: Maybe[bool] = UNSET


class ShellResult(Wire, frozen=True, kw_only=True):
    process: Id


class RenameParams(Wire, frozen=True, kw_only=True):
    name: Label


class PageParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class TreeRow(Wire, frozen=True, kw_only=True):
    id: Id
    kind: Label
    at: Instant
    preview: Label
    parent_id: Union[Id, None] = None
    label: Maybe[Label] = UNSET


class TreePage(Wire, frozen=True, kw_only=True):
    items: list[TreeRow]
    leaf: Union[Id, None] = None
    next_cursor: Maybe[Cursor] = UNSET


class BranchSelectParams(Wire, frozen=True, kw_only=True):
    entry: Id
    expected_revision: Maybe[Revision] = UNSET


class BranchSelectResult(Wire, frozen=True, kw_only=True):
    revision: Revision
    leaf: Id


class LabelParams(Wire, frozen=True, kw_only=True):
    entry: Id
    label: Union[Label, None]
    expected_revision: Maybe[Revision] = UNSET


class CloneParams(Wire, frozen=True, kw_only=True):
    name: Maybe[Label] = UNSET


class SessionOnlyResult(Wire, frozen=True, kw_only=True):
    session: Id


class ExportParams(Wire, frozen=True, kw_only=True):
    format: Literal["jsonl", "markdown", "html"]
    cursor: Maybe[Cursor] = UNSET


class ExportPage(Wire, frozen=True, kw_only=True):
    data: str
    next_cursor: Maybe[Cursor] = UNSET


class DeleteParams(Wire, frozen=True, kw_only=True):
    expected_revision: Revision


class HistoryParams(Wire, frozen=True, kw_only=True):
    """Pages go back in time. ``entry``: the page that ends with that entry of the captured branch."""

    cursor: Maybe[Cursor] = UNSET
    entry: Maybe[Id] = UNSET
    limit: Maybe[PageLimit] = UNSET


class HistoryPage(Wire, frozen=True, kw_only=True):
    """Oldest first within the page."""

    items: list[Entry]
    next_cursor: Maybe[Cursor] = UNSET


class QueueUpdateParams(Wire, frozen=True, kw_only=True):
    item: Id
    action: Literal["remove", "move"]
    before: Maybe[Id] = UNSET


class ConfigGetParams(Wire, frozen=True, kw_only=True):
    keys: Maybe[list[Label]] = UNSET


class ConfigGetResult(Wire, frozen=True, kw_only=True):
    values: JsonObject
    stored: JsonObject


class ConfigSetParams(Wire, frozen=True, kw_only=True):
    values: JsonObject


class ConfigSetResult(Wire, frozen=True, kw_only=True):
    values: JsonObject


# child executions and processes
# ---------------------------------------------------------------------------------


class ExecutionsListParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    state: Maybe[ExecutionState] = UNSET


class ExecutionsPage(Wire, frozen=True, kw_only=True):
    items: list[ExecutionRow]
    next_cursor: Maybe[Cursor] = UNSET


class ExecutionReadParams(Wire, frozen=True, kw_only=True):
    execution: Id
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class ExecutionSteerParams(Wire, frozen=True, kw_only=True):
    execution: Id
    text: NonEmpty
    images: Maybe[list[Image]] = UNSET


class ExecutionCancelParams(Wire, frozen=True, kw_only=True):
    execution: Id


class ProcessesPage(Wire, frozen=True, kw_only=True):
    items: list[ProcessRow]
    next_cursor: Maybe[Cursor] = UNSET


class ProcessReadParams(Wire, frozen=True, kw_only=True):
    process: Id
    offset: Count
    limit: Maybe[Annotated[int, Meta(ge=1, le=LIMITS.process_read_bytes)]] = UNSET
    wait_ms: Maybe[Annotated[int, Meta(ge=0, le=30_000)]] = UNSET


class ProcessReadResult(Wire, frozen=True, kw_only=True):
    """``data`` begins at ``offset``, which is ``start`` where older output is gone. ``eof``: ended, and all
    read.
    """

    data: Base64
    offset: Count
    next_offset: Count
    start: Count
    end: Count
    eof: bool


class ProcessWriteParams(Wire, frozen=True, kw_only=True):
    process: Id
    data: Base64


class ProcessWriteResult(Wire, frozen=True, kw_only=True):
    written: Count


class ProcessResizeParams(Wire, frozen=True, kw_only=True):
    process: Id
    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]


class ProcessStopParams(Wire, frozen=True, kw_only=True):
    process: Id
    signal: Maybe[Literal["int", "term", "kill"]] = UNSET
    grace_ms: Maybe[Annotated[int, Meta(ge=0, le=60_000)]] = UNSET


class ProcessStopResult(Wire, frozen=True, kw_only=True):
    state: ProcessState
