"""Form fields that choose: yes or no, one of some options, or several. Those with the focus are open."""

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Chooser
from felan_tui.cards.entry import Keeper
from felan_tui.cards.lines import Lines
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line

ROWS = 6
SAID_MOST = 200
"""Cells of what was chosen that a closed field says."""


class OptionField(Widget, can_focus=True):
    """One of the chooser's choices, or none; any number of them where it takes marks. `flow` keeps them in
    one row, always open.
    """

    DEFAULT_CSS = """
    OptionField { height: auto; width: 1fr; background: $surface; }
    OptionField:focus { background: $panel; }
    """

    class Entered(Message):
        """Enter where there is nothing to choose any more: on to the next field."""

        def __init__(self, field: "OptionField") -> None:
            super().__init__()
            self.field = field

    def __init__(
        self, chooser: Chooser, *, card: Keeper, clears: bool, flow: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.chooser = chooser
        self._card = card
        self._clears = clears
        self._flow = flow
        self.choices = Choices(chooser, admits_click=card.admits_click, flow=flow, rows=ROWS)
        self._said = Lines(one_row=True)

    @property
    def chosen(self) -> str | None:
        """The id of the choice."""
        marked = self.chooser.marked
        return marked[0] if marked else None

    def compose(self) -> ComposeResult:
        yield self.choices
        yield self._said

    def on_mount(self) -> None:
        self._open(False)

    def _open(self, opened: bool) -> None:
        opened = opened or self._flow
        self.choices.display = opened
        marked = [choice for choice in self.chooser.choices if self.chooser.is_marked(choice)]
        if opened:
            self._said.show([])
        elif marked:
            sign = "☑ " if self.chooser.several else "● "
            labels = [safe_line(choice.label).strip() or safe_line(choice.id) for choice in marked]
            self._said.show([Content.assemble((sign, "$accent"), cut(", ".join(labels), SAID_MOST))])
        else:
            self._said.show([Content.assemble((f"○ none of {len(self.chooser.choices)}", "$text-muted"))])

    def _on_focus(self, event: events.Focus) -> None:
        self._open(True)

    def make_room(self, rows: int) -> None:
        """Show at most `rows` rows when it is open."""
        self.choices.make_room(max(1, min(ROWS, rows - 1)))

    def _on_blur(self, event: events.Blur) -> None:
        self._open(False)

    async def _on_key(self, event: events.Key) -> None:
        if not self._card.admits(event):
            event.stop()
            event.prevent_default()
        elif self._press(event):
            event.stop()
            event.prevent_default()
            self.choices.refresh()

    def _press(self, event: events.Key) -> bool:
        chooser, key = self.chooser, event.key
        current = chooser.current
        # Marks are set by Space: Enter goes on, as in a list that is done.
        if key == "enter" and (chooser.several or current is None or chooser.is_marked(current)):
            self.post_message(self.Entered(self))
            return True
        if key == "space" and not chooser.query:
            if current is None:
                chooser.move(1)
            else:
                chooser.mark(current)
            return True
        if key == "delete" or (key == "backspace" and not chooser.query and not chooser.several):
            if self._clears:
                chooser.clear()
            return True
        if self._flow and event.key in ("y", "n"):
            chooser.mark(chooser.choices[0 if event.key == "y" else 1])
            return True
        return self.choices.press(event)

    def on_choices_changed(self, event: Choices.Changed) -> None:
        event.stop()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.chooser.mark(event.choice)
        self.choices.refresh()
