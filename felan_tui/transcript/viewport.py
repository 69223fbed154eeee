"""The part of the transcript widget that puts blocks on the screen: it draws what is visible and a page
around.

It keeps the reader's place: while it follows the end, what comes is shown; otherwise the first visible row
stays where it is, whatever is inserted, expanded, finished or wrapped anew above or below it. When it
follows is decided in `following.py`, where things stand in `stack.py`; what is in the transcript and what a
person does in `view.py`.
"""

import asyncio
from math import ceil

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.reactive import Reactive, var
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip

from felan_tui.transcript.following import Following
from felan_tui.transcript.line_view import LineView
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, goes_on, row_cells, strip_of
from felan_tui.transcript.selecting import text_between
from felan_tui.transcript.stack import Entry, Stack, ink_above, row_with_ink

GUTTER = 2
"""Cells to the left of the blocks, in which the block cursor stands."""

MAX_MEASURED = 32
"""Changed blocks out of sight that are drawn for their exact height; of more the heights stay estimates."""

MAX_COPIED = 50_000
"""Rows of a selection that are copied."""


MAX_REPAINTED = 8
"""Changed lines that are drawn one by one; of more the whole view is drawn."""


class Viewport(LineView):
    """Draws a `Stack` of blocks by Textual's line API."""

    ALLOW_SELECT = True

    DEFAULT_CSS = """
    Viewport {
        overflow-y: scroll;
    }
    """

    cursor: var[str | None] = var(None)
    # Textual's own lays out the whole screen when a line comes, and sends all of it.
    virtual_size = Reactive(Size(0, 0), repaint=False)

    def __init__(self, *, unicode: bool, name: str | None, id: str | None, classes: str | None) -> None:
        super().__init__(unicode=unicode, name=name, id=id, classes=classes)
        self._stack = Stack()
        self._policy = Following()
        self._anchor: tuple[Entry, int] | None = None
        self._changed: dict[Entry, int] = {}
        self._asked = False
        self._shift = 0
        self._seen = Size()
        self._painted: list[Strip] = []
        self._thumb = (0, 0)
        self._blank = Strip.blank(0, Style())

    def settled(self) -> None:
        """Called when what is visible was drawn and stands in its place."""

    # --- keeping the place ---

    def _has_changed(self, entry: Entry, rows_before: int) -> None:
        """An entry came (with no rows before) or changed."""
        self._changed.setdefault(entry, rows_before)

    def _ask(self) -> None:
        """Sees to it that what is visible is drawn soon, once for all that changes until then."""
        if not self._asked and self.is_running:
            self._asked = True
            self.call_next(self._settle)

    def _styled(self) -> Look:
        """The look that the blocks are drawn with."""
        if self._stack.look is None:
            self._stack.look = self.look
            self._blank = Strip.blank(0, self.ground)
        return self._stack.look

    def _entry_at(self, line: int) -> tuple[Entry, int] | None:
        if not self._stack.entries:
            return None
        index, offset = self._stack.heights.at(line)
        return self._stack.entries[index], offset

    def _draw(self, index: int) -> None:
        entry = self._stack.entries[index]
        rows_before = entry.rows
        if self._stack.draw(index):
            self.run_worker(self._draw_in_thread(entry), group="transcript", exit_on_error=False)
        self._keep_line(entry, rows_before)

    def _keep_line(self, entry: Entry, before: list[Row] | None) -> None:
        """When the block at the top was drawn anew, the same text stays at the top."""
        if self._anchor is None or self._anchor[0] is not entry or before is None or before is entry.rows:
            return
        line = self._anchor[1] - entry.gap
        if line > 0 and entry.rows:
            found = row_with_ink(entry.rows, ink_above(before, line))
            if line < len(before) and found and _is_empty(before[line]) and _is_empty(entry.rows[found - 1]):
                found -= 1  # an empty row was at the top, and still is
            self._anchor = entry, found + entry.gap

    async def _draw_in_thread(self, entry: Entry) -> None:
        stack, stamp, look = self._stack, entry.drawing, self._stack.look
        if look is None:
            return
        rows = await asyncio.to_thread(entry.block.rows, stack.width, look, expanded=entry.expanded)
        if stamp is None or entry.drawing != stamp or stack.get(entry.block.key) is not entry:
            return
        before = entry.rows
        stack.give(entry, rows)
        self._keep_line(entry, before)
        self._ask()

    def _settle(self) -> None:
        """Draws what is visible and a page around it, and puts the reader's place (or the end) where
        it belongs.
        """
        self._asked = False
        stack = self._stack
        width = self.line_width - GUTTER
        if width < 1 or not self.is_attached:
            return
        self._styled()
        self._seen = self.scrollable_content_region.size
        if stack.width != width:
            self._resize(width)
        mark = self._entry_at(self.scroll_offset.y)
        mark_before = self._top_of(mark)
        self._measure_changed()
        if self._policy.on:
            self._measure_up(len(stack.entries) - 1, 2 * self.page)
            top = max(0, stack.heights.total - self.page)
        else:
            top = self._measure_around()
        # What is selected is told by lines, and these moved by what became higher above them.
        self._shift += self._top_of(mark) - mark_before
        total = stack.heights.total
        self.place(top, total)
        self._policy = self._policy.below(total - top - self.page)
        self._repaint()
        self.settled()

    def _top_of(self, mark: tuple[Entry, int] | None) -> int:
        if mark is None or self._stack.get(mark[0].block.key) is not mark[0]:
            return 0
        return self._stack.heights.top(self._stack.index(mark[0]))

    def _resize(self, width: int) -> None:
        if not self._policy.on and self._anchor is None:
            self._anchor = self._entry_at(self.scroll_offset.y)
        self._stack.resize(width)
        self._shift = 0

    def _measure_changed(self) -> None:
        """Draws blocks that changed out of sight too, so that the count of new lines is exact."""
        stack = self._stack
        changed, self._changed = self._changed, {}
        last_visible = self.scroll_offset.y + self.page
        few = len(changed) <= MAX_MEASURED
        for entry, rows_before in changed.items():
            if stack.get(entry.block.key) is not entry:
                continue
            index = stack.index(entry)
            if few:
                self._draw(index)
            else:
                stack.estimate(index)
            if self._anchor is not None and (anchored := stack.get(self._anchor[0].block.key)) is not None:
                # What was inserted above moves the reader's place down and is nothing new below it.
                last_visible = stack.heights.top(stack.index(anchored)) + self._anchor[1] + self.page
            if stack.heights.top(index) + stack.heights[index] > last_visible:
                self._policy = self._policy.grew(
                    entry.count - rows_before + (0 if rows_before else entry.gap)
                )

    def _measure_up(self, index: int, lines: int) -> None:
        """Draws blocks from one upwards until so many lines are exact."""
        while index >= 0 and lines > 0:
            self._draw(index)
            lines -= self._stack.heights[index]
            index -= 1

    def _measure_around(self) -> int:
        """Draws the block at the top, those below and a page above; returns the line that is at the top."""
        stack = self._stack
        if self._anchor is None or stack.get(self._anchor[0].block.key) is not self._anchor[0]:
            self._anchor = self._entry_at(self.scroll_offset.y)
        if self._anchor is None:
            return 0
        index = stack.index(self._anchor[0])
        self._draw(index)
        entry, line = self._anchor
        line = min(line, stack.heights[index] - 1)
        self._anchor = entry, line
        lines = 2 * self.page + line
        below = index
        while below < len(stack.entries) and lines > 0:
            self._draw(below)
            lines -= stack.heights[below]
            below += 1
        self._measure_up(index - 1, self.page)
        end = max(0, stack.heights.total - self.page)
        top = stack.heights.top(index) + line
        if top > end:
            self._measure_up(index - 1, 2 * self.page)
            end = max(0, stack.heights.total - self.page)
            top = stack.heights.top(index) + line
            if top > end:
                top = end
                self._anchor = self._entry_at(top)
        return top

    def set_rows(self, rows: int) -> None:
        size = Size(self.line_width, rows)
        if self.virtual_size != size:
            self.virtual_size = size

    def watch_virtual_size(self, before: Size, size: Size) -> None:
        """Draws the cells of the scrollbar that are others now; Textual would draw, and send, all of them."""
        height = self.styles.height
        if height is not None and height.is_auto and min(before.height, size.height) <= self.page:
            self.refresh(layout=True)  # the view is as high as its text
        bar, page, total = self.vertical_scrollbar, self.page, max(1, size.height)
        bar.set_reactive(ScrollBar.window_virtual_size, size.height)
        bar.set_reactive(ScrollBar.window_size, page)
        thumb = max(1.0, page * page / total)
        top = (page - thumb) * self.scroll_y / max(1, total - page)
        # In eighths of a cell, as they are drawn.
        drawn = int(8 * top), int(8 * top) + ceil(8 * thumb)
        cells = sorted(
            {
                edge // 8
                for old, new in zip(self._thumb, drawn, strict=True)
                if old != new
                for edge in range(min(old, new), max(old, new) + 1)
            }
        )
        self._thumb = drawn
        if len(cells) > MAX_REPAINTED:
            bar.refresh()
        elif cells:
            bar.refresh(*(Region(0, y, 1, 1) for y in cells))

    def _repaint(self) -> None:
        """Draws the lines that are not what they were: a word that comes changes one, and sends one."""
        lines = [self.render_line(y) for y in range(self.page)]
        before, self._painted = self._painted, lines
        changed = [
            y
            for y, line in enumerate(lines)
            if y >= len(before) or (before[y] is not line and before[y] != line)
        ]
        if len(changed) > MAX_REPAINTED:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, self._seen.width, 1) for y in changed))

    def _reveal(self, entry: Entry) -> None:
        """Scrolls as little as shows a block, or as much of it as fits from its beginning."""
        stack = self._stack
        index = stack.index(entry)
        self._draw(index)
        first = stack.heights.top(index) + entry.gap
        after = first + entry.count
        top = self.scroll_offset.y
        if first >= top and after <= top + self.page:
            self.refresh()
            return
        if first < top or entry.count >= self.page:
            self._policy = self._policy.released()
            self._anchor = entry, entry.gap
        elif not self._policy.on:
            self._anchor = self._entry_at(after - self.page)
        self._settle()

    def restyled(self) -> None:
        self._stack.look = None
        self._settle()

    def on_resize(self, _event: events.Resize) -> None:
        self._settle()

    def scrolled(self, before: int, after: int) -> None:
        if self._seen != self.scrollable_content_region.size:
            # Textual moved it, to fit another size.
            self._settle()
            return
        self._policy = self._policy.scrolled(before, after, self.max_scroll_y)
        self._anchor = None if self._policy.on else self._entry_at(after)
        self._settle()

    # --- drawing ---

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self._seen.width
        line = self.scroll_offset.y + y
        found = self._stack.row(line)
        look = self._stack.look
        if found is None or look is None:
            if self._blank.cell_length != width:
                self._blank = Strip.blank(width, self.ground)
            return self._blank
        entry, number, row = found
        place = line - self._shift
        is_cursor = number >= 0 and entry.block.key == self.cursor
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(place)) is not None:
            body = strip_of(row or []).adjust_cell_length(width - GUTTER, Style())
            return self._line(list(self.with_selection(body, *span)), place, is_cursor, look, width)
        # A line costs most by the strips made for it, and most lines are the same in the next frame.
        known = entry.strips.get(number)
        if known is not None and known[0] is row and known[1] == (place, is_cursor, width, look):
            return known[2]
        strip = self._line(row or [], place, is_cursor, look, width)
        if len(entry.strips) > 512:
            entry.strips.clear()
        entry.strips[number] = row, (place, is_cursor, width, look), strip
        return strip

    def _line(self, row: Row, place: int, is_cursor: bool, look: Look, width: int) -> Strip:
        """A row behind its gutter, as wide as the view, with the places that a selection needs."""
        segments = [
            Segment(
                f"{look.glyphs.cursor} " if is_cursor else "  ",
                (look.cursor if is_cursor else Style()) + Style.from_meta({"offset": (0, place)}),
            )
        ]
        at = 0
        for text, style, _ in row:
            if not text:
                continue
            offset = Style.from_meta({"offset": (at, place)})
            segments.append(Segment(text, style + offset if style else offset))
            at += len(text)
        cells = GUTTER + row_cells(row)
        if cells < width:
            segments.append(Segment(" " * (width - cells), Style.from_meta({"offset": (at, place)})))
            cells = width
        strip = Strip(Segment.apply_style(segments, self.ground), cells)
        return strip if cells == width else strip.crop(0, width)

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without what is decoration, of blocks that are out of sight too."""
        stack = self._stack
        look = stack.look
        if look is None or not stack.entries:
            return None
        first = 0 if selection.start is None else max(0, selection.start.y + self._shift)
        last = stack.heights.total - 1 if selection.end is None else selection.end.y + self._shift
        lines: list[str] = []
        line = first
        while line <= min(last, stack.heights.total - 1) and len(lines) < MAX_COPIED:
            index, _ = stack.heights.at(line)
            self._draw(index)
            found = stack.row(line)
            span = selection.get_span(line - self._shift)
            line += 1
            if found is None or span is None:
                continue
            row = found[2] or []
            lines.append(text_between(row, look, *span))
            if line <= last and span[1] < 0 and goes_on(row):
                continue
            lines.append("\n")
        return "".join(lines[:-1]), "\n"


def _is_empty(row: Row) -> bool:
    return not any(segment.text.strip() for segment in row)
