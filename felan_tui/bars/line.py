"""A line that fits itself into its width: what it says is a function of the cells that it has."""

from textual.content import Content
from textual.widget import Widget

from felan_tui.text.widgets import Piece, line_content


class FittedLine(Widget):
    """One row. A subclass says what stands on it in `pieces`, and calls `refresh` when that changes."""

    DEFAULT_CSS = """
    FittedLine { height: 1; width: 1fr; padding: 0 1; }
    """

    def pieces(self, cells: int) -> list[Piece]:
        """What to show in at most `cells` cells."""
        return []

    def render(self) -> Content:
        return line_content(*self.pieces(self.content_size.width))
