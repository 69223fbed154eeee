"""The box with the text that a card is about: its first rows, and whether there is more of it."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from felan_tui.cards.subject import Line, preview

MOST = 5_000
"""Lines of a subject that are kept for the preview; more than any screen has."""


class Boxed(Widget):
    """The first `rows` rows of some lines, folded to the width; the last one says how to see the rest."""

    DEFAULT_CSS = """
    Boxed { height: auto; width: 1fr; padding: 0 1; background: $panel; border-left: outer $accent; }
    """

    def __init__(self, lines: Sequence[Line], *, rows: int, more: str = "… o opens it whole") -> None:
        super().__init__()
        self._lines = lines
        self._rows = rows
        self._more = more
        self._made: tuple[tuple[int, int], list[Content]] | None = None
        self.display = bool(lines)

    @property
    def has_lines(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._lines)

    def make_room(self, rows: int) -> None:
        """Show at most `rows` rows."""
        if rows != self._rows:
            self._rows = rows
            self.refresh(layout=True)

    def _content(self, width: int) -> list[Content]:
        key = (max(4, width), max(1, self._rows))
        if self._made is None or self._made[0] != key:
            shown = preview(self._lines, *key)
            lines = list(shown.lines)
            if not shown.whole:
                # The rest is named in place of the last row, so that the height stays.
                lines = lines[: max(1, key[1] - 1)]
                lines.append(Content.assemble((self._more, "bold $warning")))
            self._made = (key, lines)
        return self._made[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._content(width))

    def render(self) -> Content:
        return Content("\n").join(self._content(self.content_size.width))
