"""A button of a form: one row, with a bracket at each end, pressed by Enter, Space or the mouse."""

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from felan_tui.cards.entry import Keeper
from felan_tui.text.safe import safe_line


class Press(Widget, can_focus=True):
    """`[ label ]`. Disabled, it says so by brackets that are gone, not by colour alone."""

    DEFAULT_CSS = """
    Press {
        width: auto; height: 1; margin-right: 2; color: $text;
        &:focus { text-style: bold reverse; }
        &:disabled { color: $text-muted; }
    }
    """

    class Pressed(Message):
        """The button was pressed."""

        def __init__(self, press: "Press") -> None:
            super().__init__()
            self.press = press

    def __init__(self, label: str, *, card: Keeper, id: str | None = None) -> None:
        super().__init__(id=id)
        self._label = safe_line(label).strip()
        self._card = card

    def render(self) -> Content:
        return Content(f"  {self._label}  " if self.disabled else f"[ {self._label} ]")

    async def _on_key(self, event: events.Key) -> None:
        if not self._card.admits(event):
            event.stop()
            event.prevent_default()
        elif event.key in ("enter", "space"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Pressed(self))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self._card.admits_click():
            self.post_message(self.Pressed(self))
