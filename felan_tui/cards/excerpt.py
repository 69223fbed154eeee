"""What a card is about, in the rows that are free: it scrolls, and says how much of it is out of sight."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from felan_tui.cards.subject import SubjectLine, row_content
from felan_tui.text.cells import cut

MOST = 5_000
"""Lines that are kept; `o` opens the rest."""

LONGEST = 8_000
"""Characters of one line that are shown here; `o` opens the rest."""


class Excerpt(Widget):
    """Lines folded at the width. Where they do not fit, the last row counts those below."""

    squeeze_steps = ((5, 2),)

    DEFAULT_CSS = """
    Excerpt { height: auto; width: 1fr; padding: 0 0 0 2; }
    """

    def __init__(self, lines: Iterable[SubjectLine]) -> None:
        super().__init__()
        kept = list(islice(lines, MOST + 1))
        self._more = len(kept) > MOST
        self._lines = kept[:MOST]
        self._rows: tuple[int, list[tuple[int, Content]]] = (-1, [])
        self._top = 0
        self.display = bool(kept)

    @property
    def has_lines(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._lines)

    def rows(self, width: int) -> list[tuple[int, Content]]:
        """Each row at this width, with the index of its line."""
        width = max(4, width)
        if self._rows[0] != width:
            rows: list[tuple[int, Content]] = []
            for index, line in enumerate(self._lines):
                more = len(line.text) - LONGEST
                if more > 0:
                    short = f"{line.text[:LONGEST]} … {more:,} more characters · o"
                    line = replace(line, text=short)
                rows += [(index, row_content(line, lead, piece)) for lead, piece in line.rows(width)]
            self._rows = (width, rows)
        return self._rows[1]

    def scroll_rows(self, by: int) -> bool:
        """Scroll down by so many rows; up by a negative number. False where all of it is in sight."""
        most = self._last_top
        if not most:
            return False
        self._top = min(most, max(0, self._top + by))
        self.refresh()
        return True

    @property
    def page(self) -> int:
        """The rows that a page key scrolls by."""
        return max(1, self.content_size.height - 2)

    @property
    def _last_top(self) -> int:
        """The first row in sight when the end is."""
        height = self.content_size.height
        over = len(self.rows(self.content_size.width)) - height
        return over + 1 if over > 0 or self._more else 0

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self.scroll_rows(2):
            event.stop()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self.scroll_rows(-2):
            event.stop()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows(width)) + self._more

    def render(self) -> Content:
        width, height = self.content_size
        rows = self.rows(width)
        if height <= 0:
            return Content("")
        if len(rows) <= height and not self._more:
            self._top = 0
            return Content("\n").join(content for _, content in rows)
        self._top = min(self._top, self._last_top)
        if height == 1:
            return self._hidden(rows, 0, 0, width)
        shown = rows[self._top : self._top + height - 1]
        hidden = self._hidden(rows, self._top, self._top + len(shown), width)
        return Content("\n").join([*(content for _, content in shown), hidden])

    def _hidden(self, rows: list[tuple[int, Content]], top: int, end: int, width: int) -> Content:
        """How much is out of sight. A line that is folded counts until its last row is seen."""
        below = len(self._lines) - (rows[end][0] if end < len(rows) else len(self._lines))
        above = rows[top][0] if top < len(rows) else 0
        parts: list[str] = []
        if below or self._more:
            number = f"{below:,}+" if self._more else f"{below:,}"
            parts.append(f"{number} more line{'' if number == '1' else 's'}")
        if above:
            parts.append(f"{above:,} above")
        elif top:
            parts.append("the line's start above")
        return Content.assemble((cut(f"… {', '.join(parts)} · o", max(4, width)), "bold $text-warning"))
