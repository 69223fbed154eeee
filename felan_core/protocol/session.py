"""The session's state as a client sees it: snapshot, rows, queue, runs, processes, catalogue (session
protocol §7).
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Cursor,
    Id,
    Instant,
    Integer,
    Label,
    Maybe,
    Page,
    Revision,
    Structured,
    Text,
    Wire,
)
from felan_core.protocol.checks import unique, weight
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import AnyOrigin, Entry, MessageOutcome, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.problems import Problem
from felan_core.protocol.streams import CompletionOnlyStream, StreamPrefix, StreamRef

SessionStateName = Literal["idle", "running", "waiting", "closed"]
KnownLifecycle = Literal["starting", "running", "draining", "stopping"]
Lifecycle = Annotated[str, Meta(min_length=1, max_length=LIMITS.label_bytes)]
"""``KnownLifecycle``, or what a newer host has: a reader keeps it, so that hello stays readable."""
ProcessState = Literal["running", "exited", "signalled", "lost"]
ExecutionState = Literal["running", "completed", "failed", "cancelled"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
PolicyName = Literal["default", "acp-strict"]


class SessionRow(Wire, frozen=True, kw_only=True):
    """One row of ``sessions.list``. ``waiting``: how many interactions wait for an answer.

    ``problem``: why the session cannot be opened, where its row cannot be read; it counts as idle then.
    """

    id: Id
    root_id: Id
    cwd: Text
    created_at: Instant
    updated_at: Instant
    revision: Revision
    state: SessionStateName
    waiting: Count
    parent_id: Maybe[Id] = UNSET
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    problem: Maybe[Label] = UNSET


class Run(Wire, frozen=True, kw_only=True):
    """A run that is under way."""

    id: Id
    started_at: Instant
    origin: AnyOrigin


class QueueItem(Wire, frozen=True, kw_only=True):
    """A message that waits for its turn, or for a moment in the turn that runs."""

    id: Id
    text: Text
    mode: Literal["steer", "follow_up"]
    at: Instant
    origin: AnyOrigin


class Queue(Wire, frozen=True, kw_only=True):
    """``held``: nothing is taken from it until somebody sends or releases (after a cancel or a failed
    turn).
    """

    items: Annotated[list[QueueItem], Page]
    held: bool

    def verify(self) -> None:
        unique((item.id for item in self.items), lambda index: f".items[{index}].id", "the item")


class Command(Wire, frozen=True, kw_only=True):
    """A registered extension, skill or agent command, called with ``command.invoke``."""

    name: Label
    description: Maybe[Text] = UNSET
    hint: Maybe[Label] = UNSET


class ToolSpec(Wire, frozen=True, kw_only=True):
    """A tool that the agent has. ``parameters``: the JSON Schema of its arguments."""

    name: Label
    description: Maybe[Text] = UNSET
    parameters: Maybe[Structured] = UNSET


class Model(Wire, frozen=True, kw_only=True):
    """A model that can be set, and the thinking levels that it has."""

    id: Id
    name: Label
    thinking: Maybe[list[Thinking]] = UNSET


class AgentMode(Wire, frozen=True, kw_only=True):
    """The mode of the agent that decides what it asks. ``id`` and ``name`` are the agent's own, and empty
    where it has no such modes; ``asks``: whether it asks a person before it acts, absent where that is not
    known.
    """

    id: Label
    name: Label
    asks: Maybe[bool] = UNSET


class AgentInfo(Wire, frozen=True, kw_only=True):
    """Which backend the session has. ``memory``: whether it remembers the session's earlier turns.
    ``mode``: absent until the agent has published one.
    """

    kind: Label
    name: Label
    state: Literal["none", "starting", "ready", "gone"]
    memory: bool
    mode: Maybe[AgentMode] = UNSET


class Catalogue(Wire, frozen=True, kw_only=True):
    """The session's capabilities. ``operations`` lists only those that its backend supports."""

    operations: Annotated[list[Label], Page]
    commands: Annotated[list[Command], Page]
    tools: Annotated[list[ToolSpec], Page]
    models: Annotated[list[Model], Page]


class Policy(Wire, frozen=True, kw_only=True):
    """The session's policy, by its name."""

    name: PolicyName


class Blocker(Wire, frozen=True, kw_only=True):
    """Why a new turn would not start now."""

    kind: Label
    message: Text


class ProcessOutput(Wire, frozen=True, kw_only=True):
    """Absolute offsets in decoded bytes of what the spool still holds."""

    start: Count
    end: Count

    def verify(self) -> None:
        if self.start > self.end:
            raise Problem(".start", "past the end")


class ProcessRow(Wire, frozen=True, kw_only=True):
    """A process of the session's root. Its id is the authority; a PID is not on the wire.

    ``stopped``: true where it ended because a person, its agent or the end of the host stopped it.
    ``leftovers``: how many processes run on that it started and that outlived it or left its session;
    ``processes.stop`` ends them.
    """

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
    exit_code: Maybe[Integer] = UNSET
    signal: Maybe[Label] = UNSET
    stopped: Maybe[bool] = UNSET
    leftovers: Maybe[Count] = UNSET


class ExecutionRow(Wire, frozen=True, kw_only=True):
    """A child execution, and the session that it is."""

    id: Id
    session: Id
    title: Label
    state: ExecutionState
    started_at: Instant
    ended_at: Maybe[Instant] = UNSET


class Branch(Wire, frozen=True, kw_only=True):
    """The active branch. ``leaf`` absent: the branch is empty."""

    leaf: Maybe[Id] = UNSET


class History(Wire, frozen=True, kw_only=True):
    """The newest entries of the active branch, oldest first. ``cursor``: where older ones are to be had."""

    entries: Annotated[list[Entry], Page]
    cursor: Maybe[Cursor] = UNSET

    def verify(self) -> None:
        unique((entry.id for entry in self.entries), lambda index: f".entries[{index}].id", "the entry")


class SessionHeader(Wire, frozen=True, kw_only=True):
    """The members that ``session.updated`` replaces."""

    state: SessionStateName
    cwd: Text
    agent: AgentInfo
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET
    blockers: Maybe[Annotated[list[Blocker], Page]] = UNSET


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
    tools: Annotated[list[ToolEntry], Page]
    interactions: Annotated[list[Interaction], Page]
    children: Annotated[list[ExecutionRow], Page]
    processes: Annotated[list[ProcessRow], Page]
    presentation: Annotated[list[Element], Meta(max_length=LIMITS.elements)]
    streams: Annotated[list[StreamPrefix], Meta(max_length=LIMITS.active_streams)]
    completion_only_streams: Annotated[list[CompletionOnlyStream], Meta(max_length=LIMITS.active_streams)]
    parent: Maybe[Id] = UNSET
    run: Maybe[Run] = UNSET

    def verify(self) -> None:
        for name in ("tools", "interactions", "children", "processes", "presentation"):
            rows: list[ToolEntry | Interaction | ExecutionRow | ProcessRow | Element] = getattr(self, name)
            _unique_rows(rows, name)
        streams: list[StreamRef] = [*self.streams, *self.completion_only_streams]
        if len(streams) > LIMITS.active_streams:
            raise Problem(".streams", f"more than {LIMITS.active_streams} with the completion-only ones")
        # With its length before it: an id may hold any character, a blank too.
        keys = (f"{len(stream.message)} {stream.message} {stream.id}" for stream in streams)
        unique(keys, lambda _: ".streams", "the stream")
        total = sum(len(stream.prefix.encode()) for stream in self.streams)
        if total > LIMITS.stream_total_bytes:
            raise Problem(".streams", f"more than {LIMITS.stream_total_bytes} bytes of text together")

    def weigh(self, size: int) -> None:
        if size > LIMITS.snapshot_bytes and weight(self) > LIMITS.snapshot_bytes:
            raise Problem("", f"more than {LIMITS.snapshot_bytes} bytes")


def _unique_rows(
    rows: Sequence[ToolEntry | Interaction | ExecutionRow | ProcessRow | Element], name: str
) -> None:
    unique((row.id for row in rows), lambda index: f".{name}[{index}].id", "the id")


RunOutcome = MessageOutcome
