"""Shows a view element as a table or a list: rows, a cursor row, and which part of the whole this is."""

from datetime import tzinfo

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ViewElement, ViewItem
from felan_tui.elements.table import (
    Sorting,
    column_at,
    column_label,
    lay_out,
    list_rows,
    mark_of,
    ordered,
    page_words,
)
from felan_tui.text.cells import cut, pad
from felan_tui.text.safe import safe_line
from felan_tui.transcript.line_view import LineView

POINTER = "›"


class ViewPanel(LineView, can_focus=True):
    """The rows of one view below its title and its header, which stay while the rows scroll."""

    DEFAULT_CSS = """
    ViewPanel {
        height: auto; max-height: 60vh; width: 1fr; padding: 0 1; overflow-y: auto; background: transparent;
        & > .view--title { text-style: bold; }
        & > .view--header { color: $text-muted; text-style: underline; }
        & > .view--cursor { background: $panel; text-style: bold; color: $accent; }
        & > .view--page { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"view--title", "view--header", "view--cursor", "view--page"}
    BINDINGS = [
        Binding("up", "move(-1)", "Row up", show=False),
        Binding("down", "move(1)", "Row down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "jump(0)", "First row", show=False),
        Binding("end", "jump(-1)", "Last row", show=False),
        Binding("enter", "choose", "Choose the row", show=False),
        Binding("s", "sort", "Sort by the next column", show=False),
    ]

    class RowChosen(Message):
        """Enter on a row, or a click on the row under the cursor: its actions are asked for."""

        def __init__(self, element_id: str, item: ViewItem) -> None:
            super().__init__()
            self.element_id = element_id
            self.item = item

    def __init__(self, element: ViewElement, *, zone: tzinfo | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self.element = element
        self.cursor: int | None = None
        """Index of the row under the cursor; None until the user moved there."""
        self.sorting: Sorting | None = None
        self._items = ordered(element.items, None)
        self._zone = zone
        self._made: tuple[int, tuple[str, ...], str] | None = None
        self._widths: tuple[int, ...] = ()

    def show(self, element: ViewElement) -> None:
        """The element as it is now. The cursor stays on its item where that is still there."""
        if self.sorting is not None and all(one.id != self.sorting.column for one in element.columns):
            self.sorting = None
        self._arrange(element)
        self._resize()
        self.refresh(layout=True)

    def _arrange(self, element: ViewElement) -> None:
        here = self.current
        self.element = element
        self._items = ordered(element.items, self.sorting)
        self._made = None
        ids = [item.id for item in self._items]
        self.cursor = ids.index(here.id) if here is not None and here.id in ids else None

    def sort(self, sorting: Sorting | None) -> None:
        """Sort the rows of this page; None for the host's own order. The cursor stays on its item."""
        self.sorting = sorting
        self._arrange(self.element)
        if self.cursor is not None:
            self._go(self.cursor)
        self.refresh()

    @property
    def current(self) -> ViewItem | None:
        """The item under the cursor."""
        items = self._items
        return items[self.cursor] if self.cursor is not None and self.cursor < len(items) else None

    # --- layout ---

    @property
    def _above(self) -> int:
        """Rows above the items: the title, and a table's header."""
        return bool(or_default(self.element.title, "")) + (self.element.layout == "table")

    def _rows(self, width: int) -> tuple[tuple[str, ...], str]:
        if self._made is None or self._made[0] != width:
            room = max(1, width - 1)
            if self.element.layout == "table":
                table = lay_out(self.element.columns, self._items, room, self._zone, self.sorting)
                rows, header, self._widths = table.rows, table.header, table.widths
            else:
                listed = replace(self.element, items=self._items)
                rows, header = list_rows(listed, room, self._zone), ""
            self._made = (width, rows, header)
        return self._made[1], self._made[2]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._above + max(1, len(self.element.items)) + 1

    def on_resize(self) -> None:
        self._resize()

    def _resize(self) -> None:
        self.set_rows(self.get_content_height(Size(), Size(), 0))
        if self.cursor is not None:
            # A jump that came before the layout could not scroll; another height may hide the row.
            self.call_after_refresh(self._go, self.cursor)

    def render_line(self, y: int) -> Strip:
        width, height, base = self.line_width, self.scrollable_content_region.height, self.ground
        rows, header = self._rows(width)
        # Title and header are at the top, the page at the bottom, and the rows scroll between them.
        lead: list[tuple[str, str]] = []
        if title := safe_line(or_default(self.element.title, "")).strip():
            lead.append((title, "view--title"))
        if self.element.layout == "table":
            lead.append((f" {header}", "view--header"))
        if y < len(lead):
            text, name = lead[y]
            return self._strip(text, width, base + self.get_component_rich_style(name, partial=True))
        if y == height - 1:
            page = page_words(self.element.page, len(self.element.items)) + self._sorting_words
            return self._strip(page, width, base + self.get_component_rich_style("view--page", partial=True))
        index = y - len(lead) + self.scroll_offset.y
        if not rows and y == len(lead):
            return self._strip(
                "nothing here", width, base + self.get_component_rich_style("view--page", partial=True)
            )
        if index >= len(rows):
            return Strip.blank(width, base)
        here = index == self.cursor
        style = base + self.get_component_rich_style("view--cursor", partial=True) if here else base
        return self._strip(f"{POINTER if here else ' '}{rows[index]}", width, style)

    @staticmethod
    def _strip(text: str, width: int, style: Style) -> Strip:
        return Strip([Segment(pad(cut(text, width), width), style)], width)

    @property
    def _sorting_words(self) -> str:
        """The sorting beside the page: a list has no header that could show it."""
        column = next(
            (one for one in self.element.columns if self.sorting and one.id == self.sorting.column), None
        )
        if column is None:
            return " · s sorts" if len(self._items) > 1 else ""
        return f" · by {column_label(column)} {mark_of(column, self.sorting)} · s next"

    # --- keys and mouse ---

    def _go(self, index: int) -> None:
        if not self.element.items:
            return
        self.cursor = min(len(self.element.items) - 1, max(0, index))
        room = max(1, self.scrollable_content_region.height - self._above - 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1)
        self.refresh()

    def action_move(self, step: int) -> None:
        start = -1 if step > 0 else len(self._items)
        self._go((self.cursor if self.cursor is not None else start) + step)

    def action_page(self, direction: int) -> None:
        self._go(
            (self.cursor or 0) + direction * max(1, self.scrollable_content_region.height - self._above - 1)
        )

    def action_jump(self, index: int) -> None:
        self._go(index if index >= 0 else len(self.element.items) + index)

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.RowChosen(self.element.id, self.current))

    def action_sort(self) -> None:
        """Each column in turn, ascending and descending, then the host's own order."""
        columns = [column.id for column in self.element.columns]
        now = self.sorting
        if now is None:
            self.sort(Sorting(columns[0]) if columns else None)
        elif not now.reverse:
            self.sort(Sorting(now.column, reverse=True))
        else:
            after = columns[columns.index(now.column) + 1 :]
            self.sort(Sorting(after[0]) if after else None)

    def _sort_by_header(self, cell: int) -> None:
        index = column_at(self._widths, cell)
        if index is not None:
            column = self.element.columns[index].id
            self.sort(self.sorting.next_of(column) if self.sorting else Sorting(column))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if self.element.layout == "table" and offset.y == self._above - 1:
            event.stop()
            self._sort_by_header(offset.x - 1)
            return
        index = offset.y - self._above + self.scroll_offset.y
        inside = self._above <= offset.y < self.scrollable_content_region.height - 1
        if inside and index < len(self.element.items):
            event.stop()
            again = index == self.cursor
            self._go(index)
            if again:
                self.action_choose()
