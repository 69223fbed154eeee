"""The lists above the composer: the commands that fit the typed text, and the search in the history."""

from textual.content import Content
from textual.widget import Widget

from felan_tui.composer.commands import Completion
from felan_tui.composer.search import HistorySearch
from felan_tui.text.cells import cut, pad
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import line_content


class ComposerList(Widget):
    """A list that is hidden while it is empty."""

    DEFAULT_CSS = """
    ComposerList { height: auto; width: 1fr; display: none; padding: 0 1; background: $surface; }
    ComposerList.-open { display: block; }
    """

    def _show(self, open: bool) -> None:
        self.set_class(open, "-open")
        self.refresh(layout=True)

    @property
    def _cells(self) -> int:
        return self.content_size.width or 80


class CommandLines(ComposerList):
    """The commands that fit the typed text."""

    def __init__(self, completion: Completion) -> None:
        super().__init__()
        self._completion = completion

    def show(self) -> None:
        """Draw the completion as it is now."""
        self._show(self._completion.open)

    def render(self) -> Content:
        found, cells = self._completion.found, self._cells
        rows: list[Content] = []
        for index in self._completion.window():
            command, marked = found[index], index == self._completion.marked
            name = pad(f"{'›' if marked else ' '} /{command.name}", min(28, cells))
            about = cut(command.about, max(0, cells - 30))
            rows.append(
                line_content((name, "bold $text-accent" if marked else "$text"), "  ", (about, "$text-muted"))
            )
        return Content("\n").join(rows)


class SearchLines(ComposerList):
    """The query, and the entries of the history that contain it, newest first."""

    def __init__(self) -> None:
        super().__init__()
        self._search: HistorySearch | None = None

    def show(self, search: HistorySearch | None) -> None:
        """Draw the search; None hides it."""
        self._search = search
        self._show(search is not None)

    def render(self) -> Content:
        search, cells = self._search, self._cells
        if search is None:
            return Content()
        count = f"{len(search.found)} found" if search.query else "type to search"
        rows = [
            line_content(
                ("history: ", "$text-muted"),
                (cut(search.query, max(0, cells - 30)), "bold $text"),
                ("▏", "$text-accent"),
                (f"  {count}", "$text-muted"),
            )
        ]
        for index in search.window():
            marked = index == search.marked
            text = cut(f"{'›' if marked else ' '} {safe_line(search.found[index].text)}", cells)
            rows.append(line_content((text, "bold $text-accent" if marked else "$text")))
        return Content("\n").join(rows)
