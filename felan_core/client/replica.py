"""SessionReplica: snapshot + events + text → the session as a screen shows it (session protocol §7)."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from felan_core.protocol.base import MAX_INTEGER, UNSET, Maybe
from felan_core.protocol.entries import Entry, StreamKind, ToolEntry
from felan_core.protocol.envelopes import EventFrame, TextFrame
from felan_core.protocol.events import MessageCompleted, SessionEvent, StreamCompletionOnly, ToolUpdated
from felan_core.protocol.operations import HistoryPage
from felan_core.protocol.reducer import SessionState
from felan_core.protocol.session import SessionSnapshot
from felan_core.protocol.streams import (
    ActiveStream,
    TextBuffer,
    classify_revision,
    classify_text_delta,
)


class LiveText(NamedTuple):
    """Text of a message that is still streaming, in the order in which its parts began."""

    id: str
    kind: StreamKind
    text: str


class Change(NamedTuple):
    """What a frame changed. ``event`` for a revisioned change; else the text that was added to a stream."""

    event: SessionEvent | None
    message: str = ""
    stream: str = ""
    kind: StreamKind = "assistant"
    text: str = ""


class Missing(NamedTuple):
    """A stretch of history that the host has and this replica has not: between the seqs ``after`` (0: from
    the first entry on) and ``before``. ``cursor`` is that of the page before ``before``.
    """

    after: int
    before: int
    cursor: str


NEWEST: Final = MAX_INTEGER
"""``before`` where a snapshot came without any entry."""

Verdict = Literal["applied", "ignored", "gap"]


class SessionReplica:
    """One attached session. ``on_change`` is called after each frame that changed something.

    ``apply`` says ``gap`` when the frame does not follow; the caller then asks for a fresh snapshot, at most
    one for each stream, and ``reset`` takes it.

    ``missing`` are the stretches of history that are not here, oldest first; ``take_page`` fills them.
    """

    def __init__(self, snapshot: SessionSnapshot, on_change: Callable[[Change], None] | None = None) -> None:
        self.on_change = on_change
        self.history_limit = 64
        """How many entries a fresh snapshot is to have."""
        self._live: dict[str, dict[str, ActiveStream]] = {}
        self._asked: set[tuple[str, str]] = set()
        self.state = SessionState.from_snapshot(snapshot)
        self.missing = _before(snapshot)
        self._take_streams(snapshot)

    def reset(self, snapshot: SessionSnapshot) -> None:
        """Start again from a fresh snapshot. Older entries that are known stay, in front of what is missing
        between them and its history.
        """
        before = self.state
        self.state = SessionState.from_snapshot(snapshot)
        self._take_streams(snapshot)
        older, self.missing = self.missing, _before(snapshot)
        if not self.missing or not snapshot.history.entries:
            return  # its history begins with the first entry, or has none: all of it is fetched again
        first = snapshot.history.entries[0]
        known = before.entries.before(first.seq)
        # What ran when it was seen last may have ended since: it is fetched again.
        stale = next((one.seq for one in known if _may_have_changed(one, self.state)), first.seq)
        known = [one for one in known if one.seq < stale]
        if not known:
            return
        last = known[-1].seq
        older = [one._replace(before=known[0].seq) if one.before == NEWEST else one for one in older]
        kept = [one for one in older if one.before <= last]
        meets = stale == first.seq and before.entries.get(first.id) is not None
        self.missing = kept if meets else [*kept, self.missing[0]._replace(after=last)]
        for entry in known:
            if self.state.entries.get(entry.id) is None:
                self.state.entries.put(entry)

    @property
    def cursor(self) -> Maybe[str]:
        """That of the page before the oldest entry; absent where that is the first of the session."""
        return self.missing[0].cursor if self.missing and not self.missing[0].after else UNSET

    def take_page(self, cursor: str, page: HistoryPage) -> list[Entry]:
        """Take the page of a missing stretch; its entries that were not here. None for an outdated cursor."""
        place = next((place for place, one in enumerate(self.missing) if one.cursor == cursor), None)
        if place is None:
            return []  # a fresh snapshot came meanwhile: its own history counts
        stretch = self.missing.pop(place)
        low = page.items[0].seq if page.items else stretch.after
        if page.next_cursor is not UNSET and low > stretch.after:
            rest = Missing(stretch.after, low, str(page.next_cursor))
            self.missing.insert(place, rest)
        new = [entry for entry in page.items if self.state.entries.get(entry.id) is None]
        for entry in new:
            self.state.entries.put(entry)
        return new

    def _take_streams(self, snapshot: SessionSnapshot) -> None:
        self._live.clear()
        for stream in snapshot.streams:
            parts = self._live.setdefault(stream.message, {})
            parts[stream.id] = ActiveStream(stream.kind, TextBuffer(stream.prefix))

    def live_messages(self) -> dict[str, list[LiveText]]:
        """The text of each message that is streaming, by message id."""
        return {
            message: [LiveText(part, active.kind, str(active.text)) for part, active in parts.items()]
            for message, parts in self._live.items()
        }

    def apply(self, frame: EventFrame | TextFrame) -> Verdict:
        """Take one frame of this session."""
        return self._apply_text(frame) if isinstance(frame, TextFrame) else self._apply_event(frame)

    def _apply_event(self, frame: EventFrame) -> Verdict:
        verdict = classify_revision(self.state.revision, frame.revision)
        if verdict != "next":
            return "gap" if verdict == "gap" else "ignored"
        event: SessionEvent = frame.event
        self.state.apply(event, frame.revision)
        match event:
            case MessageCompleted():
                self._live.pop(event.entry.id, None)
            case ToolUpdated():
                self._live.pop(event.tool.id, None)
            case StreamCompletionOnly():
                parts = self._live.get(event.stream.message, {})
                parts.pop(event.stream.id, None)
                if not parts:
                    self._live.pop(event.stream.message, None)
            case _:
                pass
        if self.on_change is not None:
            self.on_change(Change(event))
        return "applied"

    def _apply_text(self, frame: TextFrame) -> Verdict:
        position = frame.stream
        parts = self._live.get(position.message, {})
        active = parts.get(position.id)
        if self.state.entries.get(position.message) is not None:
            return "ignored"
        if (position.message, position.id) in self.state.completion_only:
            return "ignored"
        match classify_text_delta(active, position, frame.text):
            case "start":
                active = ActiveStream(position.kind, TextBuffer())
                self._live.setdefault(position.message, {})[position.id] = active
            case "append":
                pass
            case "gap":
                return self._gap(position.message, position.id)
            case _:
                return "ignored"
        assert active is not None and isinstance(active.text, TextBuffer)
        active.text.append(frame.text)
        if self.on_change is not None:
            self.on_change(Change(None, position.message, position.id, position.kind, frame.text))
        return "applied"

    def _gap(self, message: str, stream: str) -> Verdict:
        """A gap asks for one fresh snapshot a stream; what a second one would ask for is ignored."""
        if (message, stream) in self._asked:
            return "ignored"
        self._asked.add((message, stream))
        return "gap"


def _before(snapshot: SessionSnapshot) -> list[Missing]:
    """What is missing before the history of a snapshot."""
    history = snapshot.history
    if history.cursor is UNSET:
        return []
    return [Missing(0, history.entries[0].seq if history.entries else NEWEST, str(history.cursor))]


def _may_have_changed(entry: Entry, state: SessionState) -> bool:
    running = isinstance(entry, ToolEntry) and entry.state == "running"
    return running and state.entries.get(entry.id) is None
