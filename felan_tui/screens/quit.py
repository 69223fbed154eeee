"""The question before a quit that would end something: stay, or stop it and go."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from felan_tui.text.widgets import Line


class QuitScreen(ModalScreen[bool]):
    """Dismissed with True to quit. ``reasons`` say what would end, a line each."""

    DEFAULT_CSS = """
    QuitScreen { align: center middle; }
    QuitScreen > Vertical {
        width: 64; max-width: 95%; height: auto; padding: 1 2; background: $surface; border: round $warning;
    }
    QuitScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,escape,s", "stay", "Stay"),
        Binding("2,q", "go", "Stop them and quit"),
    ]

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__()
        self._reasons = reasons

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line(
                ("Quit now?\n\n", "bold"),
                *(f"• {reason}\n" for reason in self._reasons),
                ("\n[1] stay   [2] stop them and quit", "bold $text-accent"),
                ("\n\n`felan -c` brings the session back.", "$text-muted"),
            )

    def action_stay(self) -> None:
        self.dismiss(False)

    def action_go(self) -> None:
        self.dismiss(True)
