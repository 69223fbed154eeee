"""Feed: the transcript's blocks, from a replica and its changes."""

import time
from collections.abc import Callable
from typing import Final

from felan_core.client.replica import Change, SessionReplica
from felan_core.protocol.entries import Entry, StreamKind, ToolEntry
from felan_core.protocol.events import InteractionUpdated, MessageCompleted, StreamCompletionOnly, ToolUpdated
from felan_core.protocol.interactions import Interaction
from felan_tui.session.shown import LIVE, Place, Placed, entry_blocks, interaction_block, stream_key
from felan_tui.transcript.blocks import NoticeBlock
from felan_tui.transcript.live import LiveKind
from felan_tui.transcript.view import TranscriptView

_KINDS: Final[dict[StreamKind, LiveKind]] = {"assistant": "markdown", "thinking": "thinking"}


def _now() -> int:
    return time.time_ns() // 1_000_000


class Feed:
    """Shows one replica in one view. ``me``: this client's name; ``now``: milliseconds since the epoch."""

    def __init__(
        self, view: TranscriptView, replica: SessionReplica, *, me: str, now: Callable[[], int] = _now
    ) -> None:
        self._view = view
        self._replica = replica
        self._me = me
        self._now = now

    def all(self) -> None:
        """Everything that is known, anew: after attaching, and after a fresh snapshot."""
        state = self._replica.state
        placed = [one for entry in state.entries for one in self._entry(entry)]
        for interaction in state.interactions.values():
            placed += self._ended(interaction)
        self._view.set_blocks(placed)
        for message, parts in self._replica.live_messages().items():
            for index, part in enumerate(parts):
                self._view.append_text(
                    stream_key(message, part.id), _KINDS[part.kind], part.text, (LIVE, index)
                )
        for stream in state.completion_only.values():
            self._incomplete(stream.message, stream.id)

    def older(self) -> None:
        """A page of history came in above."""
        for entry in self._replica.state.entries:
            for one in self._entry(entry):
                if self._view.block(one.block.key) is None:
                    self._view.put(*one)

    def take(self, change: Change) -> None:
        """One change."""
        match change.event:
            case None:
                key = stream_key(change.message, change.stream)
                self._view.append_text(key, _KINDS[change.kind], change.text, (LIVE, _number(change.stream)))
            case MessageCompleted() as event:
                self._put(event.entry)
            case ToolUpdated() as event:
                self._put(event.tool)
            case InteractionUpdated() as event:
                for one in self._ended(event.interaction):
                    self._view.put(*one)
            case StreamCompletionOnly() as event:
                self._incomplete(event.stream.message, event.stream.id)
            case _:
                pass

    def tick(self) -> None:
        """A second passed: the times of running tools go on."""
        for entry in self._replica.state.entries.newest(32):
            if isinstance(entry, ToolEntry) and entry.state == "running":
                self._put(entry)

    def _put(self, entry: Entry) -> None:
        for one in self._entry(entry):
            self._view.put(*one)

    def _entry(self, entry: Entry) -> list[Placed]:
        return entry_blocks(entry, me=self._me, now=self._now())

    def _ended(self, interaction: Interaction) -> list[Placed]:
        block = interaction_block(interaction, me=self._me)
        return [] if block is None else [Placed(block, self._place(interaction))]

    def _place(self, interaction: Interaction) -> Place:
        """After the tool call that asked, or after what had begun when it was asked."""
        entries = self._replica.state.entries
        tool = entries.get(interaction.scope.tool or "")
        if tool is not None:
            return (tool.seq, 9)
        before = [entry.seq for entry in entries if entry.at <= interaction.created_at]
        return (max(before, default=0), 9)

    def _incomplete(self, message: str, stream: str) -> None:
        """The rest of a stream comes only with the whole message: no text is made up for it."""
        words = "A long message is coming; its text is shown when it is whole."
        notice = NoticeBlock(stream_key(message, stream), "info", words)
        self._view.put(notice, (LIVE, _number(stream)))


def _number(stream: str) -> int:
    """The place of a stream in its message: the host numbers them as they begin."""
    return int(stream[1:]) if stream[1:].isdigit() else 0
