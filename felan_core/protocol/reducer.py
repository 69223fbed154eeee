"""The one reducer: a session's state, and what each event does to it (session protocol §7).

Host and client hold the same ``SessionState``. On the host an event is the only way to change it, so what a
client's replica shows cannot drift from what is stored. Entries are kept by ``seq``; the host keeps the
newest page alone, a client what it has seen.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any, Final, Self, TypeVar

import msgspec

from felan_core.protocol.base import LIMITS, UNSET, Maybe, or_default
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.events import (
    BranchUpdated,
    CatalogUpdated,
    EntryLabelled,
    ExecutionUpdated,
    InteractionUpdated,
    MessageCompleted,
    PolicyUpdated,
    PresentationRemoved,
    PresentationUpdated,
    ProcessUpdated,
    QueueUpdated,
    RunEnded,
    RunStarted,
    SessionClosed,
    SessionEvent,
    SessionUpdated,
    StreamCompletionOnly,
    ToolUpdated,
    UnknownEvent,
)
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.session import (
    Branch,
    Catalogue,
    ExecutionRow,
    History,
    Policy,
    ProcessRow,
    Queue,
    Run,
    SessionHeader,
    SessionSnapshot,
)
from felan_core.protocol.streams import CompletionOnlyStream, StreamPrefix

OPEN_STATES: Final = ("waiting", "deferred")
R = TypeVar("R")


class Entries:
    """Entries by id, in the order of their ``seq``."""

    __slots__ = ("_by_id", "_order", "_times")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._by_id: dict[str, Entry] = {}
        self._order: list[tuple[int, str]] = []
        self._times: list[tuple[int, int, str]] = []
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one with its id."""
        known = self._by_id.get(entry.id)
        if known is not None and (known.seq, known.at) != (entry.seq, entry.at):
            self.remove(known.id)
            known = None
        self._by_id[entry.id] = entry
        if known is None:
            insort(self._order, (entry.seq, entry.id))
            insort(self._times, (entry.at, entry.seq, entry.id))

    def remove(self, entry_id: str) -> None:
        """Take an entry out again."""
        entry = self._by_id.pop(entry_id)
        del self._order[bisect_left(self._order, (entry.seq, entry.id))]
        del self._times[bisect_left(self._times, (entry.at, entry.seq, entry.id))]

    def begun_by(self, instant: int) -> Entry | None:
        """The entry that began last, of those that began at ``instant`` or before. O(log n)."""
        place = bisect_left(self._times, (instant + 1,))
        return self._by_id[self._times[place - 1][2]] if place else None

    def get(self, entry_id: str) -> Entry | None:
        return self._by_id.get(entry_id)

    def newest(self, count: int) -> list[Entry]:
        """The last ``count`` entries, oldest first."""
        return [self._by_id[entry_id] for _, entry_id in self._order[-count:]] if count else []

    def before(self, seq: int) -> list[Entry]:
        """All entries with a lower seq, oldest first."""
        return [self._by_id[entry_id] for _, entry_id in self._order[: bisect_left(self._order, (seq, ""))]]

    def drop_oldest(self, keep: int) -> int:
        """Forget all but the newest ``keep`` entries that have ended; running tools are kept.

        The seq from which on nothing was forgotten, 0 where nothing was.
        """
        if len(self._order) <= keep:
            return 0
        floor = self._order[-keep][0]
        for key in self._order[:-keep]:
            entry = self._by_id[key[1]]
            if not (isinstance(entry, ToolEntry) and entry.state == "running"):
                self.remove(entry.id)
        return floor

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self):
        return iter(self.newest(len(self._order)))


_PLAIN: Final = ("revision", "header", "run", "queue", "branch", "catalogue", "policy")
"""The members of a session that an event replaces whole."""


def _drop(rows: dict[str, R], keep: int, ended: Callable[[R], bool]) -> None:
    # Twice as many before any is dropped: the search costs nothing, spread over the rows that came.
    if len(rows) > 2 * keep:
        over = [id for id, row in rows.items() if ended(row)]
        for id in over[: len(over) - keep] if len(over) > keep else ():
            del rows[id]


class SessionState:
    """A session as host and clients know it. ``apply`` is the only way to change it."""

    def __init__(
        self,
        *,
        session: str,
        root: str,
        parent: Maybe[str],
        created_at: int,
        revision: int,
        header: SessionHeader,
        queue: Queue,
        catalogue: Catalogue,
        policy: Policy,
        branch: Branch | None = None,
        run: Run | None = None,
        entries: Iterable[Entry] = (),
        interactions: Iterable[Interaction] = (),
        children: Iterable[ExecutionRow] = (),
        processes: Iterable[ProcessRow] = (),
        presentation: Iterable[Element] = (),
    ) -> None:
        self.session = session
        self.root = root
        self.parent = parent
        self.created_at = created_at
        self.revision = revision
        self.header = header
        self.queue = queue
        self.catalogue = catalogue
        self.policy = policy
        self.branch = branch or Branch()
        self.run = run
        self.entries = Entries(entries)
        self.interactions = {one.id: one for one in interactions}
        self._open: dict[str, str] = {}
        """The state of each interaction that is open: a commit asks for it, and does not search."""
        for one in self.interactions.values():
            self._note(one.id)
        self.children = {one.id: one for one in children}
        self.processes = {one.id: one for one in processes}
        self.presentation = {one.id: one for one in presentation}
        self.completion_only: dict[tuple[str, str], CompletionOnlyStream] = {}

    @classmethod
    def from_snapshot(cls, snapshot: SessionSnapshot) -> Self:
        """The state that ``snapshot`` captured; its streams are the caller's to keep."""
        state = cls(
            session=snapshot.session,
            root=snapshot.root,
            parent=snapshot.parent,
            created_at=snapshot.created_at,
            revision=snapshot.revision,
            header=snapshot.header,
            queue=snapshot.queue,
            catalogue=snapshot.catalogue,
            policy=snapshot.policy,
            branch=snapshot.branch,
            run=snapshot.run if isinstance(snapshot.run, Run) else None,
            entries=snapshot.history.entries,
            interactions=snapshot.interactions,
            children=snapshot.children,
            processes=snapshot.processes,
            presentation=snapshot.presentation,
        )
        for tool in snapshot.tools:
            state.entries.put(tool)
        for stream in snapshot.completion_only_streams:
            state.completion_only[stream.message, stream.id] = stream
        return state

    def to_snapshot(
        self,
        *,
        history: History,
        tools: list[ToolEntry],
        streams: list[StreamPrefix],
        completion_only: list[CompletionOnlyStream],
    ) -> SessionSnapshot:
        """What a client needs to show the session. ``tools``: those that run and are not in ``history``."""
        return SessionSnapshot(
            session=self.session,
            root=self.root,
            parent=self.parent,
            revision=self.revision,
            created_at=self.created_at,
            header=self.header,
            branch=self.branch,
            history=history,
            queue=self.queue,
            run=self.run or UNSET,
            catalogue=self.catalogue,
            policy=self.policy,
            tools=tools,
            interactions=self._listed_interactions(),
            children=list(self.children.values())[-LIMITS.page_entries :],
            processes=list(self.processes.values())[-LIMITS.page_entries :],
            presentation=list(self.presentation.values()),
            streams=streams,
            completion_only_streams=completion_only,
        )

    def _listed_interactions(self) -> list[Interaction]:
        """Every open interaction, and the newest of the others, as far as a page goes."""
        ordered = list(self.interactions.values())
        open_ones = [one for one in ordered if one.state in OPEN_STATES][: LIMITS.page_entries]
        room = LIMITS.page_entries - len(open_ones)
        ended = [one for one in ordered if one.state not in OPEN_STATES][-room:] if room else []
        keep = {one.id for one in (*open_ones, *ended)}
        return [one for one in ordered if one.id in keep]

    @property
    def open_interactions(self) -> int:
        """How many interactions nobody has answered yet."""
        return len(self._open)

    @property
    def is_waiting(self) -> bool:
        """Whether an interaction waits for a person now."""
        return "waiting" in self._open.values()

    def _note(self, interaction: str) -> None:
        row = self.interactions.get(interaction)
        if row is not None and row.state in OPEN_STATES:
            self._open[interaction] = row.state
        else:
            self._open.pop(interaction, None)

    def undo(self, event: SessionEvent) -> Callable[[], None]:
        """A function that takes ``event`` back, to be made right before it is applied. The last one first."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        tables: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        entry: Entry | None = None
        match event:
            case MessageCompleted():
                entry = event.entry
            case ToolUpdated():
                entry = event.tool
            case PresentationRemoved():
                tables = [(self.presentation, dict(self.presentation))]  # its order counts, and it is small
            case _:
                pass
        if entry is not None or isinstance(event, StreamCompletionOnly):
            tables = [(self.completion_only, dict(self.completion_only))]
        known = self.entries.get(entry.id) if entry is not None else None
        changed = self._row_of(event)
        before = changed and changed[0].get(changed[1])

        def back() -> None:
            for name, value in plain.items():
                setattr(self, name, value)
            if known is not None:
                self.entries.put(known)
            elif entry is not None:
                self.entries.remove(entry.id)
            if changed is not None and before is not None:
                changed[0][changed[1]] = before
            elif changed is not None:
                del changed[0][changed[1]]
            if isinstance(event, InteractionUpdated):
                self._note(event.interaction.id)
            for table, rows in tables:
                table.clear()
                table.update(rows)

        return back

    def _row_of(self, event: SessionEvent) -> tuple[dict[str, Any], str] | None:
        """The table and the id of the row that an event replaces."""
        match event:
            case InteractionUpdated():
                return self.interactions, event.interaction.id
            case PresentationUpdated():
                return self.presentation, event.element.id
            case ProcessUpdated():
                return self.processes, event.process.id
            case ExecutionUpdated():
                return self.children, event.execution.id
            case _:
                return None

    def drop_ended(self, keep: int) -> None:
        """Forget all ended questions and processes but the newest ``keep`` of each, once there are more than
        twice as many.
        """
        _drop(self.interactions, keep, lambda one: one.state not in OPEN_STATES)
        _drop(self.processes, keep, lambda one: one.state != "running" and not or_default(one.leftovers, 0))

    def apply(self, event: SessionEvent, revision: int) -> None:
        """Take one event that follows the current revision. An unknown type only advances the revision."""
        self.revision = revision
        match event:
            case SessionUpdated():
                self.header = event.header
            case SessionClosed():
                self.header = msgspec.structs.replace(self.header, state="closed")
            case RunStarted():
                self.run = event.run
            case RunEnded():
                if self.run is not None and self.run.id == event.run:
                    self.run = None
            case MessageCompleted():
                self._complete(event.entry)
            case ToolUpdated():
                self._complete(event.tool)
            case StreamCompletionOnly():
                ref = event.stream
                self.completion_only[ref.message, ref.id] = CompletionOnlyStream(
                    message=ref.message, id=ref.id, kind=ref.kind, reason="limit"
                )
            case QueueUpdated():
                self.queue = event.queue
            case InteractionUpdated():
                self.interactions[event.interaction.id] = event.interaction
                self._note(event.interaction.id)
            case PresentationUpdated():
                self.presentation[event.element.id] = event.element
            case PresentationRemoved():
                self.presentation.pop(event.element, None)
            case ProcessUpdated():
                self.processes[event.process.id] = event.process
            case ExecutionUpdated():
                self.children[event.execution.id] = event.execution
            case BranchUpdated():
                self.branch = event.branch
            case CatalogUpdated():
                self.catalogue = event.catalogue
            case PolicyUpdated():
                self.policy = event.policy
            case EntryLabelled() | UnknownEvent():
                pass

    def _complete(self, entry: Entry) -> None:
        self.entries.put(entry)
        newest = self.entries.newest(1)
        if newest and newest[0].id == entry.id:
            self.branch = Branch(leaf=entry.id)
        for key in [key for key in self.completion_only if key[0] == entry.id]:
            del self.completion_only[key]
