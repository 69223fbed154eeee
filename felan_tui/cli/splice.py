"""The live splice of a recorded stream: revisions without gaps, text at known offsets (session protocol §7).

It follows each session as a client does: from the snapshot of ``attach``, or from the first event of a
recording that begins later. Several connections may be in one recording, so a repeated frame is no problem.
"""

from felan_core.protocol import (
    COMPLETED,
    COMPLETION_ONLY,
    ActiveStream,
    EventFrame,
    MessageCompleted,
    SessionSnapshot,
    StreamCompletionOnly,
    StreamPosition,
    StreamState,
    TextBuffer,
    TextFrame,
    classify_revision,
    classify_text_delta,
)


class _Session:
    """``revision``: of the last event, None before the first. ``streams``: by message and id."""

    def __init__(self) -> None:
        self.revision: int | None = None
        self.streams: dict[tuple[str, str], StreamState] = {}
        self.completed: set[str] = set()


class Splice:
    """The sessions of a recording. Each method returns what is wrong with its frame, None for nothing.

    A gap is reported once: the session goes on from the frame behind it, its stream is followed no more.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def attach(self, snapshot: SessionSnapshot) -> None:
        """A snapshot replaces what was known of its session."""
        session = self._sessions[snapshot.session] = _Session()
        session.revision = snapshot.revision
        for stream in snapshot.streams:
            held = ActiveStream(stream.kind, TextBuffer(stream.prefix))
            session.streams[stream.message, stream.id] = held
        for only in snapshot.completion_only_streams:
            session.streams[only.message, only.id] = COMPLETION_ONLY
        session.completed = {entry.id for entry in snapshot.history.entries}

    def forget(self, session: str) -> None:
        """``resync_required``: what follows begins anew."""
        self._sessions.pop(session, None)

    def event(self, frame: EventFrame) -> str | None:
        session = self._of(frame.session)
        match frame.event:
            case MessageCompleted(entry=entry):
                session.completed.add(entry.id)
                for key in [key for key in session.streams if key[0] == entry.id]:
                    del session.streams[key]
            case StreamCompletionOnly(stream=stream):
                session.streams[stream.message, stream.id] = COMPLETION_ONLY
            case _:
                pass
        return self.revision(frame.session, frame.revision)

    def revision(self, session: str, incoming: int) -> str | None:
        """Also for an event that was refused: its revision counts."""
        found = self._of(session)
        current = incoming - 1 if found.revision is None else found.revision
        verdict = classify_revision(current, incoming)
        found.revision = max(current, incoming)
        if verdict != "gap":
            return None
        alone = incoming == current + 2
        missing = f"{current + 1} is" if alone else f"{current + 1} to {incoming - 1} are"
        return f"revision: {incoming} follows {current}; {missing} missing"

    def text(self, frame: TextFrame) -> str | None:
        session, at = self._of(frame.session), frame.stream
        state = COMPLETED if at.message in session.completed else session.streams.get((at.message, at.id))
        verdict = classify_text_delta(state, at, frame.text)
        if verdict == "start":
            session.streams[at.message, at.id] = ActiveStream(at.kind, TextBuffer(frame.text))
        elif verdict == "append" and isinstance(state, ActiveStream) and isinstance(state.text, TextBuffer):
            state.text.append(frame.text)
        elif verdict == "gap":
            session.streams[at.message, at.id] = COMPLETION_ONLY
            return _why(state, at)
        return None

    def _of(self, session: str) -> _Session:
        return self._sessions.setdefault(session, _Session())


def _why(state: StreamState, at: StreamPosition) -> str:
    """Why the text at this position is a gap."""
    if not isinstance(state, ActiveStream):
        return f"stream.offset: {at.offset}, but the recording has no text of this stream before it"
    if at.kind != state.kind:
        return f"stream.kind: {at.kind}, but the stream is {state.kind}"
    if at.offset > len(state.text):
        return f"stream.offset: {at.offset}, but the stream has {len(state.text)} characters before it"
    return f"text: other than the text of this stream at {at.offset}"
