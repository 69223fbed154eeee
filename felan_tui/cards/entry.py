"""Text fields inside of cards and forms: each key and paste is admitted first, and Enter is a message."""

from typing import Protocol

from textual import events
from textual.message import Message

from felan_tui.text.fields import SafeInput, SafeTextArea

NEWLINE_KEYS = ("ctrl+j", "shift+enter", "shift+\r")
"""Ctrl+J always; Shift+Enter in both of the ways in which it arrives, where it does."""


class Keeper(Protocol):
    """Who decides what may act on a field: the card around it, or the actions of an element."""

    def admits(self, event: events.Key) -> bool: ...

    def admits_click(self) -> bool: ...

    def admits_paste(self) -> bool: ...


class LineEntry(SafeInput):
    """A field of one line."""

    DEFAULT_CSS = """
    LineEntry {
        height: 1; border: none; padding: 0; background: $surface; width: 1fr;
        &:focus { border: none; background: $panel; }
    }
    """

    class Entered(Message):
        """Enter in the field."""

        def __init__(self, entry: "LineEntry | BlockEntry", text: str) -> None:
            super().__init__()
            self.entry = entry
            self.text = text

    def __init__(self, *, card: Keeper, text: str = "", placeholder: str = "", id: str | None = None) -> None:
        super().__init__(text, placeholder=placeholder, id=id, compact=True)
        self._card = card
        # What is preset or half written is not to be replaced by the first key.
        self.select_on_focus = False

    @property
    def written(self) -> str:
        """What is in the field."""
        return self.value

    async def _on_key(self, event: events.Key) -> None:
        if not self._card.admits(event) or event.key == "ctrl+j":
            event.stop()
            event.prevent_default()
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Entered(self, self.value))

    def _on_paste(self, event: events.Paste) -> None:
        if not self._card.admits_paste():
            event.stop()
            event.prevent_default()


class BlockEntry(SafeTextArea):
    """A field of many lines: Enter is a message, Ctrl+J is a new line."""

    squeeze_steps = ((3, 2),)

    DEFAULT_CSS = """
    BlockEntry {
        height: auto; min-height: 2; max-height: 8; width: 1fr;
        border: none; padding: 0; background: $surface;
        &:focus { border: none; background: $panel; }
    }
    """

    def __init__(self, *, card: Keeper, text: str = "", placeholder: str = "", id: str | None = None) -> None:
        super().__init__(text, placeholder=placeholder, id=id, compact=True)
        self._card = card

    @property
    def written(self) -> str:
        """What is in the field."""
        return self.text

    async def _on_key(self, event: events.Key) -> None:
        if not self._card.admits(event):
            event.stop()
            event.prevent_default()
        elif event.key in NEWLINE_KEYS:
            event.stop()
            event.prevent_default()
            result = self.replace("\n", *self.selection, maintain_selection_offset=False)
            self.move_cursor(result.end_location)
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(LineEntry.Entered(self, self.text))

    async def _on_paste(self, event: events.Paste) -> None:
        if not self._card.admits_paste():
            event.stop()
            event.prevent_default()
