"""A vertical layout for a bounded height: parts give up rows in a declared order, never the important ones.

Each widget wants some rows; `squeeze_steps` says which of them it gives up, and when: `((3, 2), (1, 0))` goes
down to two rows among the parts of rank 3, and to none among those of rank 1. The highest rank gives first.
A widget without steps keeps its rows; one that is laid out by a `Squeeze` itself gives what its parts give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

Step = tuple[int, int]
"""Rank, and the rows that are left after it."""


@dataclass(frozen=True)
class Wish:
    """The rows that a part wants, and its steps."""

    rows: int
    steps: tuple[Step, ...] = ()

    @property
    def least(self) -> int:
        """The rows that it keeps."""
        return min((rows for _, rows in self.steps), default=self.rows)


def squeezed(wishes: Sequence[Wish], room: int) -> list[int]:
    """Return the rows of each part; together they fit into `room` where the steps allow it."""
    rows = [wish.rows for wish in wishes]
    for rank in sorted({rank for wish in wishes for rank, _ in wish.steps}, reverse=True):
        for index, wish in enumerate(wishes):
            for step, left in wish.steps:
                over = sum(rows) - room
                if step == rank and over > 0:
                    rows[index] = max(min(rows[index], left), rows[index] - over)
    return rows


class Squeeze(Layout):
    """Parts one below the other, each as wide as the parent and its own maximum let it be."""

    name = "squeeze"

    def wish(self, widget: Widget, size: Size, viewport: Size) -> Wish:
        """What a part wants in `size`, the parent's."""
        size = Size(_width(widget, size, viewport), size.height)
        width = size.width - widget.gutter.width
        layout = widget.layout if widget.is_container else None
        gutter = widget.gutter.height
        if isinstance(layout, Squeeze):
            inner = layout.wishes(list(widget.displayed_children), Size(width, size.height), viewport)
            rows = sum(wish.rows for wish in inner) + gutter
            least = sum(wish.least for wish in inner) + gutter
            return Wish(rows, ((cast("int", getattr(widget, "squeeze_rank", 1)), least),))
        rows = _bounded(widget, widget.get_content_height(size, viewport, width) + gutter, size, viewport)
        steps = cast("tuple[Step, ...]", getattr(widget, "squeeze_steps", ()))
        return Wish(rows, tuple((rank, min(rows, left)) for rank, left in steps))

    def wishes(self, children: list[Widget], size: Size, viewport: Size) -> list[Wish]:
        """What all parts want."""
        return [self.wish(child, size, viewport) for child in children]

    def get_content_height(self, widget: Widget, container: Size, viewport: Size, width: int) -> int:
        size = Size(width, container.height)
        return sum(wish.rows for wish in self.wishes(list(widget.displayed_children), size, viewport))

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        parent.pre_layout(self)
        viewport = parent.screen.size
        wishes = self.wishes(children, size, viewport)
        placements: list[WidgetPlacement] = []
        y = 0
        for child, rows in zip(children, squeezed(wishes, size.height), strict=True):
            region = Region(0, y, _width(child, size, viewport), rows)
            placements.append(WidgetPlacement(region, NULL_OFFSET, Spacing(), child))
            y += rows
        return placements


def _width(widget: Widget, size: Size, viewport: Size) -> int:
    """All of the width, within the maximum of the widget's style."""
    widest = widget.styles.max_width
    return size.width if widest is None else min(size.width, int(widest.resolve(size, viewport)))


def _bounded(widget: Widget, rows: int, size: Size, viewport: Size) -> int:
    """The rows within the minimum and maximum of the widget's style."""
    highest, lowest = widget.styles.max_height, widget.styles.min_height
    if highest is not None:
        rows = min(rows, int(highest.resolve(size, viewport)))
    if lowest is not None:
        rows = max(rows, int(lowest.resolve(size, viewport)))
    return rows


class Gap(Widget):
    """An empty row, the first thing to go where there is little room."""

    squeeze_steps = ((9, 0),)

    DEFAULT_CSS = """
    Gap { height: 1; width: 1fr; }
    """

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1

    def render(self) -> str:
        return ""
