"""The questions before something that would end other things: stay, or let them end and go on."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from felan_tui.text.widgets import Line


class EndingScreen(ModalScreen[bool]):
    """Dismissed with True to go on. ``reasons`` say what would end, a line each."""

    DEFAULT_CSS = """
    EndingScreen { align: center middle; }
    EndingScreen > Vertical {
        width: 64; max-width: 95%; height: auto; padding: 1 2; background: $surface; border: round $warning;
    }
    EndingScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,escape,s", "stay", "Stay"),
        Binding("2", "go", "Go on"),
    ]
    QUESTION: ClassVar = ""
    OPTIONS: ClassVar = ""
    AFTER: ClassVar = ""
    """What can still be done then."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__()
        self._reasons = reasons

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line(
                (f"{self.QUESTION}\n\n", "bold"),
                *(f"• {reason}\n" for reason in self._reasons),
                (f"\n{self.OPTIONS}", "bold $text-accent"),
                (f"\n\n{self.AFTER}", "$text-muted"),
            )

    def action_stay(self) -> None:
        self.dismiss(False)

    def action_go(self) -> None:
        self.dismiss(True)


class QuitScreen(EndingScreen):
    """Before a quit."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "go", "Stop them and quit")]
    QUESTION = "Quit now?"
    OPTIONS = "[1] stay   [2] stop them and quit"
    AFTER = "felan -c brings the session back."


class ClearScreen(EndingScreen):
    """Before a new session takes the place of this one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "go", "End them and clear")]
    QUESTION = "Clear now?"
    OPTIONS = "[1] stay   [2] end them and clear"
    AFTER = "This session is closed and kept, with its task pointer."


class AgentScreen(ClearScreen):
    """Before a session with another agent takes the place of this one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "go", "End them and change")]
    QUESTION = "Change the agent now?"
    OPTIONS = "[1] stay   [2] end them and change"
