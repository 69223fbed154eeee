"""The transcript of a session: the view, with a reader's keys and what it asks the screen for."""

from collections.abc import Callable

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widget import Widget

from felan_tui.screens.policy import is_typed
from felan_tui.transcript.blocks import Block
from felan_tui.transcript.view import TranscriptView


class SessionTranscript(TranscriptView):
    """Posts ``AtTop`` when a reader comes to the first line, ``Opened`` and ``Copied`` for the chosen
    block.

    What is typed here and is none of its keys goes to ``writer()``, and so does the focus. The block cursor
    is there while the transcript has the focus.
    """

    BINDING_GROUP_TITLE = "Transcript"
    BINDINGS = [
        Binding("up", "cursor_up", "Block above", id="felan.transcript.up"),
        Binding("down", "cursor_down", "Block below", id="felan.transcript.down"),
        Binding("enter", "open", "Expand or fold", id="felan.transcript.open"),
        Binding("y", "copy", "Copy the block", id="felan.transcript.copy"),
    ]

    class AtTop(Message):
        """The first line that is known is in sight: what came before it may be fetched."""

    class Opened(Message):
        """Enter on a block that nothing folds in."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Copied(Message):
        """The text of a block is to go to the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, writer: Callable[[], Widget | None] = lambda: None) -> None:
        super().__init__()
        self._writer = writer
        self._left_at: str | None = None

    def _forward_event(self, event: events.Event) -> None:
        # Where Textual chooses who gets a key, and at once: the next key is for the writer already.
        writer = self._writer() if isinstance(event, events.Key) else None
        if isinstance(event, events.Key) and writer and is_typed(event.key, event.is_printable):
            self.screen.set_focus(writer)
            writer._forward_event(event)
        else:
            super()._forward_event(event)

    def _on_focus(self, event: events.Focus) -> None:
        super()._on_focus(event)
        if self.cursor is None:
            known = self._left_at is not None and self.block(self._left_at) is not None
            if known:
                self.cursor = self._left_at
            elif (block := self.last_visible()) is not None:
                self.cursor = block.key
            self.refresh()

    def _on_blur(self, event: events.Blur) -> None:
        super()._on_blur(event)
        self._left_at, self.cursor = self.cursor, None
        self.refresh()

    def last_visible(self) -> Block | None:
        """The block whose first line is the lowest in sight; a longer one where none begins in sight."""
        entries = self._stack.entries
        if not entries:
            return None
        line = min(self.scroll_offset.y + self.page, self._stack.heights.total) - 1
        return entries[self._stack.heights.at(max(0, line))[0]].block

    def settled(self) -> None:
        super().settled()
        if not self.following and self.scroll_offset.y == 0 and self.blocks_known:
            self.post_message(self.AtTop())

    @property
    def blocks_known(self) -> int:
        """How many blocks there are."""
        return len(self._stack.entries)

    def action_open(self) -> None:
        """Expand or fold the block at the cursor; one that has a place of its own opens there."""
        block = self.selected_block()
        if block is None:
            self.move_cursor(-1)
        elif block.folds:
            self.toggle(block.key)
        else:
            self.post_message(self.Opened(block.key))

    def action_copy(self) -> None:
        """Copy the block at the cursor."""
        if self.cursor is not None and (text := self.copy_text(self.cursor)):
            self.post_message(self.Copied(text))
