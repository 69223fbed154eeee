"""TranscriptPresenter: the transcript's blocks, from a replica and its changes."""

import time
from collections.abc import Callable, Iterable
from typing import Final

from felan_core.client.replica import Change, SessionReplica
from felan_core.protocol.entries import Entry, StreamKind, ToolEntry
from felan_core.protocol.events import (
    InteractionUpdated,
    MessageCompleted,
    RunEnded,
    StreamCompletionOnly,
    ToolUpdated,
)
from felan_core.protocol.interactions import Interaction
from felan_tui.session.shown import LIVE, Place, Placed, entry_blocks, interaction_block, stream_key
from felan_tui.transcript.blocks import NoticeBlock
from felan_tui.transcript.groups import ToolGroups
from felan_tui.transcript.live import LiveKind
from felan_tui.transcript.view import TranscriptView

_MISSING: Final = "Entries are missing here. Enter fetches them."
_MARK: Final = "missing/"
_KINDS: Final[dict[StreamKind, LiveKind]] = {"assistant": "markdown", "thinking": "thinking"}


def _now() -> int:
    return time.time_ns() // 1_000_000


def missing_key(before: int) -> str:
    """The key of the line in the place of entries that are missing before this seq."""
    return f"{_MARK}{before}"


def missing_seq(key: str) -> int | None:
    """The seq of ``missing_key``; None for the key of any other block."""
    seq = key.removeprefix(_MARK)
    return int(seq) if seq != key and seq.isdigit() else None


class TranscriptPresenter:
    """Shows one replica in one view. ``me``: this client's name; ``now``: milliseconds since the epoch."""

    def __init__(
        self, view: TranscriptView, replica: SessionReplica, *, me: str, now: Callable[[], int] = _now
    ) -> None:
        self._view = view
        self._groups = ToolGroups(view, lambda: replica.state.run is not None)
        self._replica = replica
        self._me = me
        self._now = now
        self._live: dict[str, set[str]] = {}
        """The keys of what streams, by message."""
        self._places: dict[str, Place] = {}

    def all(self) -> None:
        """Everything that is known, anew. What a reader had fetched from before that stays, in its place."""
        state = self._replica.state
        placed = [one for entry in state.entries for one in self._entry(entry)]
        for interaction in state.interactions.values():
            placed += self._ended(interaction)
        first = min((entry.seq for entry in state.entries), default=0)
        keep = {one.block.key for one in placed}
        for key, (seq, _) in list(self._places.items()):
            if seq >= first and key not in keep:
                self._remove(key)
        self._live.clear()
        if self._places:
            self._show(placed)
        else:
            self._places = {one.block.key: one.place for one in placed}
            self._groups.set(placed)
        self._mark_missing()
        for message, parts in self._replica.live_messages().items():
            for index, part in enumerate(parts):
                key = stream_key(message, part.id)
                self._stream(message, key, part.kind, part.text, (LIVE, index))
        for stream in state.completion_only.values():
            self._incomplete(stream.message, stream.id)

    def older(self, entries: Iterable[Entry]) -> None:
        """A page of history came in."""
        self._mark_missing()
        page = list(entries)
        ids = {entry.id for entry in page}
        placed = [one for entry in page for one in self._entry(entry)]
        for interaction in self._replica.state.interactions.values():
            if (interaction.scope.tool or "") in ids or interaction.id not in self._places:
                placed += self._ended(interaction)
        self._show(placed)

    def _mark_missing(self) -> None:
        """A line where entries between two known ones are missing; what is older than all has none."""
        seqs = [one.before for one in self._replica.missing if one.after]
        marks = {missing_key(seq): (seq, -1) for seq in seqs}
        for key in [key for key in self._places if missing_seq(key) is not None and key not in marks]:
            self._remove(key)
        self._show(Placed(NoticeBlock(key, "info", _MISSING), place) for key, place in marks.items())

    def take(self, change: Change) -> None:
        """One change."""
        match change.event:
            case None:
                key, place = stream_key(change.message, change.stream), (LIVE, _number(change.stream))
                self._stream(change.message, key, change.kind, change.text, place)
            case MessageCompleted() as event:
                self._complete(event.entry)
            case ToolUpdated() as event:
                self._complete(event.tool)
            case InteractionUpdated() as event:
                self._show(self._ended(event.interaction))
            case StreamCompletionOnly() as event:
                self._incomplete(event.stream.message, event.stream.id)
            case RunEnded():
                self._groups.finish()
            case _:
                pass

    def tick(self) -> bool:
        """A second passed: the times of running tools go on. Whether a tool runs."""
        newest = self._replica.state.entries.newest(32)
        running = [entry for entry in newest if isinstance(entry, ToolEntry) and entry.state == "running"]
        for entry in running:
            self._show(self._entry(entry))
        return bool(running)

    def _stream(self, message: str, key: str, kind: StreamKind, text: str, place: Place) -> None:
        self._live.setdefault(message, set()).add(key)
        is_new = key not in self._places
        self._places[key] = place
        self._view.append_text(key, _KINDS[kind], text, place)
        if is_new:
            self._groups.follows(key)

    def _complete(self, entry: Entry) -> None:
        """An entry is whole: what streamed of it and is no part of it goes."""
        placed = self._entry(entry)
        for key in self._live.pop(entry.id, set()) - {one.block.key for one in placed}:
            self._remove(key)
        self._show(placed)

    def _show(self, placed: Iterable[Placed]) -> None:
        known = list(placed)
        self._places.update((one.block.key, one.place) for one in known)
        self._groups.put(known)

    def _remove(self, key: str) -> None:
        self._places.pop(key, None)
        self._groups.remove(key)

    def _entry(self, entry: Entry) -> list[Placed]:
        return entry_blocks(entry, me=self._me, now=self._now())

    def _ended(self, interaction: Interaction) -> list[Placed]:
        block = interaction_block(interaction, me=self._me)
        place = self._place(interaction) if block is not None else None
        return [] if block is None or place is None else [Placed(block, place)]

    def _place(self, interaction: Interaction) -> Place | None:
        """After the tool call that asked, or after what had begun when it was asked. None: that is in a
        page of history that was not fetched.
        """
        entries = self._replica.state.entries
        tool = entries.get(interaction.scope.tool or "")
        if tool is not None:
            return (tool.seq, 9)
        before = entries.begun_by(interaction.created_at)
        if before is not None:
            return (before.seq, 9)
        return None if self._replica.cursor else (0, 9)

    def _incomplete(self, message: str, stream: str) -> None:
        """The rest of a stream comes only with the whole message: no text is made up for it."""
        words = "A long message is coming; its text is shown when it is whole."
        key = stream_key(message, stream)
        self._live.setdefault(message, set()).add(key)
        self._show([Placed(NoticeBlock(key, "info", words), (LIVE, _number(stream)))])


def _number(stream: str) -> int:
    """The place of a stream in its message: the host numbers them as they begin."""
    return int(stream[1:]) if stream[1:].isdigit() else 0
