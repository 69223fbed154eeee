"""Where the pointer's text is written: a text area, how much of the room is used, and two buttons."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from felan_tui.pointer.facts import MAX_BYTES, size_of
from felan_tui.text.fields import SafeTextArea
from felan_tui.text.safe import safe
from felan_tui.text.widgets import Line, SafeButton


class PointerArea(SafeTextArea):
    """The text. A paste that is too large for a pointer is refused whole, with a notice."""

    class TooLarge(Message):
        """A paste of ``size`` bytes was refused."""

        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size

    def paste_text(self, text: str) -> str:
        if (size := size_of(text)) > MAX_BYTES:
            self.post_message(self.TooLarge(size))
            return ""
        return text


class PointerEditor(Vertical):
    """The editor. It publishes nothing itself: its buttons post messages to the screen."""

    DEFAULT_CSS = """
    PointerEditor { height: 1fr; }
    PointerEditor PointerArea { height: 1fr; min-height: 3; border: none; padding: 0 1; background: $panel; }
    PointerEditor #told { width: 1fr; height: auto; max-height: 2; padding: 0 1; }
    PointerEditor Horizontal { height: 1; }
    PointerEditor SafeButton { margin-right: 2; min-width: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._told = ""
        """The text last reported."""

    def compose(self) -> ComposeResult:
        yield PointerArea(placeholder="The goal, and the next step", compact=True, id="area")
        yield Line(id="told")
        with Horizontal():
            yield SafeButton("Publish (F9)", "primary", compact=True, id="publish")
            yield SafeButton("Back (Esc)", compact=True, id="leave-edit")

    @property
    def area(self) -> PointerArea:
        """The text area."""
        return self.query_one(PointerArea)

    @property
    def text(self) -> str:
        """The text."""
        return self.area.text

    def begin(self, text: str) -> int:
        """Show a text to edit. How many of its characters cannot be shown, and are left out."""
        self.area.set_text(text)
        self.area.move_cursor(self.area.document.end)
        self.tell()
        plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "")
        return max(0, len(plain) - len(safe(plain)))

    def hold(self, held: bool) -> None:
        """While a publish is under way nothing can be typed, since it would not be in it."""
        self.area.read_only = held
        self.query_one("#publish", SafeButton).disabled = held

    def tell(self, problem: str = "") -> None:
        """How much of the room is used, and what is wrong with it as it stands."""
        self._told = self.text
        size = size_of(self.text)
        style = "bold $text-error" if size > MAX_BYTES else "$text-muted"
        told = self.query_one("#told", Line)
        count = (f"{size:,} of {MAX_BYTES:,} bytes", style)
        told.show(count, (f"  {problem}" if problem else "", "$text-error"), layout=True)

    def on_text_area_changed(self, event: SafeTextArea.Changed) -> None:
        if self.text != self._told:
            self.tell()
