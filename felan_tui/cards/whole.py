"""Shows all of what an interaction is about: the whole command, message or diff, to scroll through."""

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.strip import Strip

from felan_core.protocol.interactions import Interaction
from felan_tui.cards.lines import Lines
from felan_tui.cards.subject import SubjectLine, request_lines
from felan_tui.cards.wording import header
from felan_tui.text.cells import pad
from felan_tui.transcript.line_view import LineView

# Style of a line to the component class that has its colour; a line of strips takes no style of content.
_CLASSES = {
    "$text-success": "whole--added",
    "$text-error": "whole--removed",
    "$text-warning": "whole--note",
    "$text-muted": "whole--aside",
    "bold": "whole--main",
}


class WholeLines(LineView, can_focus=True):
    """All lines, folded at the width; only what is on the screen is drawn."""

    DEFAULT_CSS = """
    WholeLines {
        height: 1fr; width: 1fr; padding: 0 1; background: $surface;
        & > .whole--added { color: $text-success; }
        & > .whole--removed { color: $text-error; }
        & > .whole--note { color: $text-warning; }
        & > .whole--aside { color: $text-muted; }
        & > .whole--main { text-style: bold; }
    }
    """
    COMPONENT_CLASSES = set(_CLASSES.values())

    def __init__(self, interaction: Interaction, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[SubjectLine] = list(request_lines(interaction.request))
        self._folded: tuple[int, list[tuple[str, str]]] | None = None

    def rows(self, width: int) -> list[tuple[str, str]]:
        """Each row as its text and its style."""
        width = max(2, width)
        if self._folded is None or self._folded[0] != width:
            rows = [(lead + piece, line.style) for line in self._lines for lead, piece in line.rows(width)]
            self._folded = (width, rows)
        return self._folded[1]

    def on_resize(self) -> None:
        if self.line_width > 0:
            self.set_rows(len(self.rows(self.line_width)))

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        rows = self.rows(width)
        index = y + self.scroll_offset.y
        style = self.ground
        if index >= len(rows):
            return Strip.blank(width, style)
        text, name = rows[index]
        if component := _CLASSES.get(name):
            style += self.get_component_rich_style(component, partial=True)
        return Strip([Segment(pad(text, width), style)], width)


class WholeSubject(ModalScreen[None]):
    """The subject over the whole screen. It answers nothing: Esc, q or o closes it."""

    DEFAULT_CSS = """
    WholeSubject { layout: vertical; background: $surface; }
    WholeSubject > Lines { padding: 0 1; background: $panel; }
    """
    AUTO_FOCUS = "WholeLines"
    BINDINGS = [Binding("escape,q,o", "close", "Close", id="felan.whole.close")]

    def __init__(self, interaction: Interaction, *, agent: str = "") -> None:
        super().__init__()
        self._interaction = interaction
        self._agent = agent

    def compose(self) -> ComposeResult:
        head = header(self._interaction.request, self._agent)
        yield Lines([Content.assemble((head, "bold"), ("   Esc close", "$text-muted"))], one_row=True)
        yield WholeLines(self._interaction)

    def action_close(self) -> None:
        self.dismiss(None)
