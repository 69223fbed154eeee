"""The pointer's text and its history beside it. Looking back changes nothing; the newest row is followed."""

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll

from felan_tui.elements.figures import instant
from felan_tui.pointer.facts import PointerHistory, Seen
from felan_tui.text.lists import SafeOptionList, option
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Line, Piece, SafeButton, set_titles

_FIRST = 200
"""Characters of a text's first line that a row may show."""


def row_pieces(row: Seen) -> list[Piece]:
    """A row of the history: state, when it was seen, and how its text begins."""
    at = instant(row.at)[-8:]
    first = next((line for one in row.text.splitlines() if (line := safe_line(one[:_FIRST]).strip())), "")
    if row.pointer is None:
        return [("✎ yours", "bold $text-accent"), (f" {at}  ", "$text-muted"), first]
    sign, style = row.pointer.sign
    pieces: list[Piece] = [(f"{sign} {row.pointer.name}", f"bold {style}"), (f" {at}  ", "$text-muted")]
    if row.missed:
        pieces.append((f"{row.missed} before it not seen  ", "$text-warning"))
    pieces.append(first)
    if row.pointer.code and row.pointer.readable:
        pieces.append((f"  {row.pointer.code}", "$text-warning"))  # last: a narrow row must not lose the text
    return pieces


class PointerLook(Vertical):
    """Both panes, and a button for each thing to do. The buttons post messages to the screen."""

    DEFAULT_CSS = """
    PointerLook { height: 1fr; }
    PointerLook #panes { height: 1fr; layout: vertical; }
    PointerLook #text {
        height: 2fr; width: 1fr; min-height: 3; padding: 0 1; scrollbar-size-vertical: 1;
        border-top: solid $panel; border-title-color: $text-muted;
    }
    PointerLook #text:focus { border-top: solid $accent; }
    PointerLook #whole { width: 1fr; }
    PointerLook #seen {
        height: 1fr; width: 1fr; min-height: 3; border-top: solid $panel; border-title-color: $text-muted;
    }
    PointerLook #seen:focus-within { border-top: solid $accent; }
    PointerLook #history {
        height: 1fr; background: $surface; padding: 0; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    PointerLook Horizontal { height: 1; }
    PointerLook SafeButton { margin-right: 2; min-width: 1; }
    """

    def __init__(self, history: PointerHistory, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._history = history
        self._past: int | None = None
        """The row that is looked at; None follows the current pointer."""

    def compose(self) -> ComposeResult:
        with Container(id="panes"):
            with VerticalScroll(id="text"):
                yield Line(id="whole")
            with Vertical(id="seen"):
                yield SafeOptionList(id="history")
        with Horizontal():
            yield SafeButton("Edit (e)", "primary", compact=True, id="edit-button")
            yield SafeButton("Clear (x)", compact=True, id="clear-button")
            yield SafeButton("Back (Esc)", compact=True, id="leave-button")

    def on_mount(self) -> None:
        set_titles(self.query_one("#seen"), "Since you came")

    @property
    def _names(self) -> SafeOptionList:
        return self.query_one("#history", SafeOptionList)

    @property
    def pane(self) -> VerticalScroll:
        """Where the text scrolls."""
        return self.query_one("#text", VerticalScroll)

    @property
    def shown(self) -> Seen | None:
        """The row whose text is shown."""
        rows = self._history.rows
        if self._past is not None:
            return next((row for row in rows if row.number == self._past), None)
        return next((row for row in reversed(rows) if row.pointer is not None), None)

    def follow(self) -> None:
        """Back to the current pointer."""
        self._past = None

    def draw(self) -> None:
        """Show the current history. An earlier row that is selected stays selected."""
        self._draw_names()
        self._draw_text()

    def _draw_names(self) -> None:
        rows = self._history.rows
        if self._past is not None and all(row.number != self._past for row in rows):
            self._past = None  # it is older than what is kept
        made = [option(*row_pieces(row), id=str(row.number)) for row in reversed(rows)]
        names = self._names
        standing = next((i for i, row in enumerate(reversed(rows)) if row.pointer is not None), None)
        with self.prevent(SafeOptionList.OptionHighlighted):
            if [one.id for one in names.options] != [one.id for one in made]:
                names.set_rows(made)
            if self._past is None:
                names.highlighted = standing

    def _draw_text(self) -> None:
        row, whole = self.shown, self.query_one("#whole", Line)
        title = "Text"
        if self._past is not None and row is not None:
            title = "Yours, not published" if row.pointer is None else f"{row.pointer.name}, as it was"
        set_titles(self.pane, title)
        if row is not None and row.text:
            whole.show(row.text, layout=True)
        elif self._past is not None:
            whole.show(("No text.", "$text-muted"), layout=True)
        else:
            whole.show(
                ("There is no task. e writes the first one: a goal and the next step.", "$text-muted"),
                layout=True,
            )

    def on_option_list_option_highlighted(self, event: SafeOptionList.OptionHighlighted) -> None:
        event.stop()
        chosen = next((row for row in self._history.rows if str(row.number) == event.option.id), None)
        if chosen is None:
            return
        standing = chosen.pointer is not None and chosen.pointer is self._history.latest
        self._past = None if standing else chosen.number
        self._draw_text()
        self.pane.scroll_home(animate=False)
