"""The first row of a card: what is asked on the left, how long it has been waiting on the right."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from felan_tui.text.cells import cell_len, pad, wrap

RIGHT = 22
"""Cells of the right side; a span of time never needs more."""


class Head(Widget):
    """Words that wrap beside the right side, which changes each second and costs no layout."""

    DEFAULT_CSS = """
    Head { height: auto; width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._words = ""
        self._right = ("", "")

    def show(self, words: str, right: tuple[str, str]) -> None:
        """Safe words, and safe words with a style for the right side."""
        if words != self._words:
            self._words = words
            self.refresh(layout=True)
        if right != self._right:
            self._right = right
            self.refresh()

    def _rows(self, width: int) -> list[str]:
        return wrap(self._words, max(8, width - RIGHT - 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width)) if self._words else 0

    def render(self) -> Content:
        width = self.content_size.width
        first, *rest = self._rows(width)
        words, style = self._right
        left = pad(first, max(0, width - cell_len(words)))
        rows = [Content.assemble((left, "bold"), (words, style) if style else words)]
        return Content("\n").join([*rows, *(Content.assemble((row, "bold")) for row in rest)])
