"""Where each line of output stands when long lines are cut at a width: line numbers to rows and back. Pure.

Rows are counted from the first line that was folded, which stands at row 1 (row 0 is for what is said above
it), and dropping the oldest lines renumbers nothing, so that a place stays the same place while output comes
at one end and goes at the other.
"""

from bisect import bisect_right
from collections.abc import Iterable

from felan_tui.text.cells import fold_spans


def height(text: str, width: int) -> int:
    """The rows that a line takes at a width; at least one."""
    size = len(text)
    if text.isascii():
        return -(-size // width) or 1
    # No character takes more than two cells.
    return 1 if 2 * size <= width else len(fold_spans(text, width))


class Fold:
    """The rows of the lines from `first` to `end`, at `width` cells."""

    def __init__(self, width: int, first: int) -> None:
        self.width = max(2, width)
        self.first = first
        self._starts: list[int] = []
        self.row_end = 1

    @property
    def end(self) -> int:
        """The number of the line that is to be added next."""
        return self.first + len(self._starts)

    @property
    def base(self) -> int:
        """The first row of the first line."""
        return self._starts[0] if self._starts else self.row_end

    def extend(self, texts: Iterable[str]) -> None:
        """Adds lines at the end."""
        row = self.row_end
        for text in texts:
            self._starts.append(row)
            row += height(text, self.width)
        self.row_end = row

    def trim(self, first: int) -> None:
        """Forgets the lines before `first`."""
        if first > self.first:
            del self._starts[: first - self.first]
            self.first = first

    def row_of(self, line: int) -> int:
        """The first row of a line; of one that is not there the nearest."""
        index = line - self.first
        if index >= len(self._starts):
            return self.row_end
        return self._starts[max(0, index)] if self._starts else self.row_end

    def at(self, row: int) -> tuple[int, int]:
        """The line at a row, and which of its rows it is. Before the first row this is negative, and after
        the last more than the line has.
        """
        if not self._starts:
            return self.first, row - self.row_end
        index = max(0, bisect_right(self._starts, row) - 1)
        return self.first + index, row - self._starts[index]
