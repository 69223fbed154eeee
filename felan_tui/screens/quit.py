"""The questions before something that would end other things: stay, or let them end and go on."""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from felan_tui.text.widgets import Line, Piece

NOTHING: Final = "nothing runs or waits any more"


class EndingScreen(ModalScreen[bool]):
    """Dismissed with True to go on.

    ``reasons`` returns what would end, a line each; it is asked each second, since things end meanwhile.
    """

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

    def __init__(self, reasons: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._reasons = reasons
        self._shown: list[str] = list(reasons())

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line(*self._pieces())

    def on_mount(self) -> None:
        self.set_interval(1.0, self._look_again)

    def _look_again(self) -> None:
        if (reasons := list(self._reasons())) != self._shown:
            self._shown = reasons
            self.query_one(Line).show(*self._pieces(), layout=True)

    def _pieces(self) -> Iterator[Piece]:
        yield (f"{self.QUESTION}\n\n", "bold")
        for reason in self._shown or [NOTHING]:
            yield f"• {reason}\n"
        yield (f"\n{self.OPTIONS}", "bold $text-accent")
        yield (f"\n\n{self.AFTER}", "$text-muted")

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
