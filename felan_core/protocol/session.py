"""The session's state as a client sees it: snapshot, rows, queue, runs, processes, catalogue (session
protocol §7).
"""

from typing import Annotated, Literal, Union

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Cursor,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    Revision,
    Text,
    Wire,
)
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import AnyOrigin, Entry, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.streams import CompletionOnlyStream, StreamPrefix

SessionState = Literal["idle", "running", "waiting", "closed"]
Lifecycle = Literal["starting", "running", "draining", "stopping"]
ProcessState = Literal["running", "exited", "signalled", "lost"]
ExecutionState = Literal["running", "completed", "failed", "cancelled"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
PolicyName = Literal["default", "acp-strict"]


class SessionRow(Wire, frozen=True, kw_only=True):
    """One row of ``sessions.list``. ``waiting``: how many interactions wait for an answer."""

    id: Id
    root_id: Id
    cwd: Text
    created_at: Instant
    updated_at: Instant
    revision: Revision
    state: SessionState
    waiting: Count
    parent_id: Maybe[Id] = UNSET
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET


class Run(Wire, frozen=True, kw_only=True):
    """A run that is under way."""

    id: Id
    started_at: Instant
    origin: AnyOrigin


class QueueItem(Wire, frozen=True, kw_only=True):
    id: Id
    text: Text
    mode: Literal["steer", "follow_up"]
    at: Instant
    origin: AnyOrigin


class Queue(Wire, frozen=True, kw_only=True):
    """``held``: nothing is taken from it until somebody sends or releases (after a cancel or a failed
    turn).
    """

    items: Annotated[list[QueueItem], Meta(max_length=LIMITS.page_entries)]
    held: bool


class Command(Wire, frozen=True, kw_only=True):
    """A registered extension, skill or agent command, called with ``command.invoke``."""

    name: Label
    description: Maybe[Text] = UNSET
    hint: Maybe[Label] = UNSET


class ToolSpec(Wire, frozen=True, kw_only=True):
    name: Label
    description: Maybe[Text] = UNSET
    parameters: Maybe[JsonObject] = UNSET


class Model(Wire, frozen=True, kw_only=True):
    id: Id
    name: Label
    thinking: Maybe[list[Thinking]] = UNSET


class AgentInfo(Wire, frozen=True, kw_only=True):
    """Which backend the session has. ``memory``: whether it remembers the session's earlier turns."""

    kind: Label
    name: Label
    state: Literal["none", "starting", "ready", "gone"]
    memory: bool


class Catalogue(Wire, frozen=True, kw_only=True):
    """What this session can do. What its backend cannot do is not in ``operations``."""

    operations: list[Label]
    commands: list[Command]
    tools: list[ToolSpec]
    models: list[Model]


class Policy(Wire, frozen=True, kw_only=True):
    name: PolicyName


class Blocker(Wire, frozen=True, kw_only=True):
    """Why a new turn would not start now."""

    kind: Label
    message: Text


class ProcessOutput(Wire, frozen=True, kw_only=True):
    """Absolute offsets in decoded bytes of what the spool still holds."""

    start: Count
    end: Count


class ProcessRow(Wire, frozen=True, kw_only=True):
    id: Id
    title: Label
    command: Text
    cwd: Text
    state: ProcessState
    started_at: Instant
    stdin: bool
    pty: bool
    output: ProcessOutput
    ended_at: Maybe[Instant] = UNSET
    exit_code: Maybe[int] = UNSET
    signal: Maybe[Label] = UNSET


class ExecutionRow(Wire, frozen=True, kw_only=True):
    id: Id
    session: Id
    title: Label
    state: ExecutionState
    started_at: Instant
    ended_at: Maybe[Instant] = UNSET


class Branch(Wire, frozen=True, kw_only=True):
    """The active branch. ``leaf`` absent: nothing was said yet."""

    leaf: Maybe[Id] = UNSET


class History(Wire, frozen=True, kw_only=True):
    """The newest entries of the active branch, oldest first. ``cursor``: where older ones are to be had."""

    entries: Annotated[list[Entry], Meta(max_length=LIMITS.page_entries)]
    cursor: Maybe[Cursor] = UNSET


class SessionHeader(Wire, frozen=True, kw_only=True):
    """What ``session.updated`` replaces."""

    state: SessionState
    cwd: Text
    agent: AgentInfo
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET
    blockers: Maybe[list[Blocker]] = UNSET


Listed = Meta(max_length=LIMITS.page_entries)


class SessionSnapshot(Wire, frozen=True, kw_only=True):
    """All that a client needs to show a session. No environment, no callbacks, no runtime objects."""

    session: Id
    root: Id
    revision: Revision
    created_at: Instant
    header: SessionHeader
    branch: Branch
    history: History
    queue: Queue
    catalogue: Catalogue
    policy: Policy
    tools: Annotated[list[ToolEntry], Listed]
    interactions: Annotated[list[Interaction], Listed]
    children: Annotated[list[ExecutionRow], Listed]
    processes: Annotated[list[ProcessRow], Listed]
    presentation: Annotated[list[Element], Meta(max_length=LIMITS.elements)]
    streams: Annotated[list[StreamPrefix], Meta(max_length=LIMITS.active_streams)]
    completion_only_streams: Annotated[list[CompletionOnlyStream], Meta(max_length=LIMITS.active_streams)]
    parent: Maybe[Id] = UNSET
    run: Maybe[Run] = UNSET


RunOutcome = Literal["completed", "cancelled", "failed", "interrupted"]
StreamList = Union[StreamPrefix, CompletionOnlyStream]
