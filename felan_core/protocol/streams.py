"""The live splice: how a reader classifies text deltas and revisions (session protocol §7). Pure."""

from typing import Annotated, Final, Literal, NamedTuple, Protocol, Union

from msgspec import Meta

from felan_core.protocol.base import LIMITS, Count, Id, Wire
from felan_core.protocol.entries import StreamKind

DeltaVerdict = Literal["start", "append", "duplicate", "gap", "ignore"]
RevisionVerdict = Literal["next", "duplicate", "gap"]


class StreamRef(Wire, frozen=True, kw_only=True):
    """Which stream: the message it belongs to, its id in that message, and its kind."""

    message: Id
    id: Id
    kind: StreamKind


class StreamPosition(StreamRef, frozen=True, kw_only=True):
    """``offset`` counts Unicode scalar values, not UTF-16 units and not bytes."""

    offset: Count


class StreamPrefix(StreamRef, frozen=True, kw_only=True):
    """A stream that is under way, and its text so far."""

    prefix: Annotated[str, Meta(max_length=LIMITS.stream_bytes)]


class CompletionOnlyStream(StreamRef, frozen=True, kw_only=True):
    """A stream whose text comes with its completed message alone, and why."""

    reason: Literal["limit", "lost"]


class Prefix(Protocol):
    """The text in a reducer: a ``str``, or a buffer that is cheap to append to."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: slice, /) -> str: ...


class ActiveStream(NamedTuple):
    """A reducer's state of an open stream."""

    kind: StreamKind
    text: Prefix


class TextBuffer:
    """A prefix that grows by chunks, at a cost that does not depend on how long it is."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, text: str = "") -> None:
        self._chunks = [text] if text else []
        self._length = len(text)

    def append(self, text: str) -> None:
        """Add ``text`` at the end."""
        self._chunks.append(text)
        self._length += len(text)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: slice, /) -> str:
        return str(self)[key]

    def __str__(self) -> str:
        if len(self._chunks) > 1:
            self._chunks[:] = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""


COMPLETED: Final = "completed"
COMPLETION_ONLY: Final = "completion_only"
StreamState = Union[ActiveStream, Literal["completed", "completion_only"], None]


def classify_text_delta(state: StreamState, position: StreamPosition, text: str) -> DeltaVerdict:
    """What a text frame means to a reducer that holds ``state`` for its (session, message, id) (session
    protocol §7). Offsets count Unicode scalar values, Python's ``len``. It raises nothing.

    Only the delta's own slice of the prefix is compared; the reducer's state is not changed.
    """
    if state in (COMPLETED, COMPLETION_ONLY):
        return "ignore"
    if state is None or isinstance(state, str):
        return "start" if position.offset == 0 else "gap"
    if position.kind != state.kind:
        return "gap"
    held = len(state.text)
    if position.offset == held:
        return "append"
    end = position.offset + len(text)
    if end <= held and state.text[position.offset : end] == text:
        return "duplicate"
    return "gap"


def classify_revision(current: int, incoming: int) -> RevisionVerdict:
    """What a frame's revision means to a reducer whose last applied one is ``current`` (session protocol
    §7): ``next``, ``duplicate`` (it is applied already) or ``gap``. It raises nothing.
    """
    if incoming == current + 1:
        return "next"
    return "duplicate" if incoming <= current else "gap"
