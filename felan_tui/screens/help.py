"""The help screen: every key, from the one table of actions."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from felan_tui.actions import ACTIONS, FURTHER
from felan_tui.text.cells import pad
from felan_tui.text.widgets import Line, Piece


def help_pieces() -> Iterator[Piece]:
    """The table as text, a group after the other."""
    rows = [(act.group, act.shown, act.help) for act in ACTIONS] + list(FURTHER)
    for group in dict.fromkeys(row[0] for row in rows):
        yield (f"{group}\n", "bold $text-accent")
        for _, keys, help_ in (row for row in rows if row[0] == group):
            yield (f"  {pad(keys, 10)} ", "bold")
            yield f"{help_}\n"
        yield "\n"


class HelpScreen(ModalScreen[None]):
    """All keys; any of Esc, q and F1 leads back."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 90%; max-width: 92; height: auto; max-height: 90%; padding: 1 2;
        background: $surface; border: round $accent;
    }
    HelpScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,enter", "leave", "Back")]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(*help_pieces(), ("Esc leads back.", "$text-muted"))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_leave(self) -> None:
        self.dismiss(None)
