"""The help screen: every key, from the one table of actions."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from felan_tui.actions import ACTIONS, FURTHER
from felan_tui.text.cells import cell_len, pad, wrap
from felan_tui.text.widgets import Line, Piece, set_titles

WIDEST = 92
FRAME = 8
"""Cells of the frame, its padding and the scroll bar."""


def help_pieces(width: int) -> Iterator[Piece]:
    """The table as text in ``width`` cells, a group after the other; what a key does is wrapped in its
    column.
    """
    rows = [(act.group, act.shown, act.help) for act in ACTIONS]
    rows += [(one.group, one.shown, one.help) for one in FURTHER]
    column = max(cell_len(keys) for _, keys, _ in rows) + 2
    for group in dict.fromkeys(row[0] for row in rows):
        yield (f"{group}\n", "bold $text-accent")
        for _, keys, help_ in (row for row in rows if row[0] == group):
            yield (f" {pad(keys, column)}", "bold")
            yield f"\n{' ' * (column + 1)}".join(wrap(help_, max(12, width - column - 1))) + "\n"
        yield "\n"


class HelpScreen(ModalScreen[None]):
    """All keys; any of Esc, q, Enter and F1 leads back."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 94%; max-width: 92; height: auto; max-height: 94%; padding: 0 1;
        background: $surface; border: round $accent; border-title-color: $text-accent;
        border-subtitle-color: $text-muted; scrollbar-size-vertical: 1;
    }
    HelpScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,enter", "leave", "Back")]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Line()

    def on_mount(self) -> None:
        box = self.query_one(VerticalScroll)
        set_titles(box, "Keys", "↑↓ scroll · Esc close")
        box.focus()
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = min(WIDEST, self.size.width * 94 // 100) - FRAME
        self.query_one(Line).show(*help_pieces(width), layout=True)

    def action_leave(self) -> None:
        self.dismiss(None)
