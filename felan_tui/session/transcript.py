"""The transcript of a session: the view, with a reader's keys and what it asks the screen for."""

from textual.binding import Binding
from textual.message import Message

from felan_tui.transcript.view import TranscriptView


class SessionTranscript(TranscriptView):
    """Posts ``AtTop`` when a reader comes to the first line, ``Opened`` and ``Copied`` for the chosen
    block.
    """

    BINDING_GROUP_TITLE = "Transcript"
    BINDINGS = [
        Binding("up", "cursor_up", "Block above", id="felan.transcript.up"),
        Binding("down", "cursor_down", "Block below", id="felan.transcript.down"),
        Binding("enter,space", "open", "Expand or fold", id="felan.transcript.open"),
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
