"""SessionReplica: snapshot + events + text → the session as a screen shows it (session protocol §7)."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from felan_core.protocol.entries import StreamKind
from felan_core.protocol.envelopes import EventFrame, TextFrame
from felan_core.protocol.events import MessageCompleted, SessionEvent, StreamCompletionOnly, ToolUpdated
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


Verdict = Literal["applied", "ignored", "gap"]


class SessionReplica:
    """One attached session. ``on_change`` is called after each frame that changed something.

    ``apply`` says ``gap`` when the frame does not follow; the caller then asks for a fresh snapshot, at most
    one for each stream, and ``reset`` takes it.
    """

    def __init__(self, snapshot: SessionSnapshot, on_change: Callable[[Change], None] | None = None) -> None:
        self.on_change = on_change
        self.history_limit = 64
        """How many entries a fresh snapshot is to have."""
        self._live: dict[str, dict[str, ActiveStream]] = {}
        self._asked: set[tuple[str, str]] = set()
        self.state = SessionState.from_snapshot(snapshot)
        self.cursor = snapshot.history.cursor
        self._take_streams(snapshot)

    def reset(self, snapshot: SessionSnapshot) -> None:
        """Start again from a fresh snapshot."""
        self.state = SessionState.from_snapshot(snapshot)
        self.cursor = snapshot.history.cursor
        self._take_streams(snapshot)

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
