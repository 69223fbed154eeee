"""The live splice: how a reader classifies text deltas and revisions (session protocol §7). Pure functions."""

from typing import Final, Literal, NamedTuple, Union

from felan_core.protocol.base import Count, Id, Wire
from felan_core.protocol.entries import StreamKind

DeltaVerdict = Literal["start", "append", "duplicate", "gap", "ignore"]
RevisionVerdict = Literal["next", "duplicate", "gap"]


class StreamRef(Wire, kw_only=True):
    """Which stream: the message it belongs to, its id in that message, and its kind."""

    message: Id
    id: Id
    kind: StreamKind


class StreamPosition(StreamRef, kw_only=True):
    """``offset`` counts Unicode scalar values, not UTF-16 units and not bytes."""

    offset: Count


class StreamPrefix(StreamRef, kw_only=True):
    prefix: str


class CompletionOnlyStream(StreamRef, kw_only=True):
    reason: Literal["limit", "lost"]


class ActiveStream(NamedTuple):
    """What a reducer holds of a stream that is under way."""

    kind: StreamKind
    text: str


COMPLETED: Final = "completed"
COMPLETION_ONLY: Final = "completion_only"
StreamState = Union[ActiveStream, Literal["completed", "completion_only"], None]


def classify_text_delta(state: StreamState, position: StreamPosition, text: str) -> DeltaVerdict:
    """What a text frame means to a reducer that holds ``state`` for its (session, message, id).

    Only the delta's own slice of the prefix is compared; the reducer's state is not changed.
    """
    if state == COMPLETED or state == COMPLETION_ONLY:
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
    """``current`` is the last revision that the reducer applied."""
    if incoming == current + 1:
        return "next"
    return "duplicate" if incoming <= current else "gap"
