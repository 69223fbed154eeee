"""The blocks of a transcript one below the other: their order, their heights, and the rows of those that
were seen.

Pure bookkeeping, without a widget: which block and which of its rows stands at a line, how high all is. The
height of a block that was not drawn yet is estimated; it is exact from then on. The rows of blocks that
were not looked at for long are let go, their heights are kept.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from textual.strip import Strip

from felan_tui.transcript.blocks import Block
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, row_text

Order = int | tuple[int, ...]
"""Where a block stands among the others; equal ones stand in the order in which they were put."""

MAX_ROWS = 40_000
"""Rows that are kept; then those of the blocks that were drawn longest ago go."""


class Entry:
    """A block in its place."""

    __slots__ = (
        "block",
        "count",
        "count_for",
        "drawing",
        "drawn_for",
        "expanded",
        "gap",
        "rows",
        "rows_width",
        "sort",
        "strips",
    )

    def __init__(self, block: Block, sort: tuple[tuple[int, ...], int]) -> None:
        self.block = block
        self.sort = sort
        self.expanded = False
        self.gap = 0
        self.rows: list[Row] | None = None
        self.rows_width = 0
        self.drawn_for: object = None
        self.drawing: object = None
        self.count = 1
        self.count_for: object = None
        self.strips: dict[int, tuple[Row | None, tuple[int, bool, int, Look], Strip]] = {}

    def toggle(self) -> None:
        """A person expanded or folded it: it stays so when another block takes its place."""
        self.expanded = not self.expanded

    def replace(self, block: Block) -> None:
        """Another block under the same key; what a person made of the one before stays."""
        self.block = block
        self.changed()

    def changed(self) -> None:
        """What was drawn no longer holds."""
        self.drawn_for = self.count_for = self.drawing = None


class Heights:
    """Heights of things one below the other, and the sums of those above each."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tops: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def reset(self, heights: Iterable[int]) -> None:
        """All heights anew."""
        self._heights = list(heights)
        self._tops = [0]

    def insert(self, index: int, height: int) -> None:
        """One more."""
        self._heights.insert(index, height)
        del self._tops[index + 1 :]

    def remove(self, index: int) -> None:
        """One less."""
        del self._heights[index]
        del self._tops[index + 1 :]

    def set(self, index: int, height: int) -> None:
        """Another height for one."""
        if self._heights[index] != height:
            self._heights[index] = height
            del self._tops[index + 1 :]

    def _sum(self) -> list[int]:
        tops = self._tops
        known = len(tops) - 1
        if known < len(self._heights):
            sums = accumulate(self._heights[known:], initial=tops[-1])
            next(sums)
            tops += sums
        return tops

    @property
    def total(self) -> int:
        """All together."""
        return self._sum()[-1]

    def top(self, index: int) -> int:
        """What is above one."""
        tops = self._tops
        return tops[index] if index < len(tops) else self._sum()[index]

    def at(self, line: int) -> tuple[int, int]:
        """Which one is at a line, and how far below its top that is."""
        tops = self._sum()
        index = min(max(0, bisect_right(tops, line) - 1), len(self._heights) - 1)
        # Those without a height stand nowhere.
        return index, line - tops[index]


class Stack:
    """The entries, drawn at one width and look."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.heights = Heights()
        self.width = 0
        self.look: Look | None = None
        self._by_key: dict[str, Entry] = {}
        self._serial = 0
        self._kept: dict[Entry, int] = {}
        self._kept_rows = 0

    def get(self, key: str) -> Entry | None:
        """The entry of a block's key."""
        return self._by_key.get(key)

    def index(self, entry: Entry) -> int:
        """Where an entry stands."""
        return bisect_left(self.entries, entry.sort, key=lambda one: one.sort)

    def _sort(self, order: Order) -> tuple[tuple[int, ...], int]:
        self._serial += 1
        return (order if isinstance(order, tuple) else (order,)), self._serial

    def last_order(self) -> tuple[int, ...]:
        """The order of the last block."""
        return self.entries[-1].sort[0] if self.entries else ()

    def put(self, block: Block, order: Order) -> Entry:
        """Inserts a block, or replaces the one with its key, where it is or at another place."""
        entry = self._by_key.get(block.key)
        place = order if isinstance(order, tuple) else (order,)
        if entry is not None and entry.sort[0] == place:
            entry.replace(block)
            if entry.rows is None:
                self.estimate(self.index(entry))
            return entry
        if entry is not None:
            # It moves, and keeps its rows as a draft and what a person made of it.
            self._take_out(entry)
            entry.replace(block)
            entry.sort = self._sort(order)
        else:
            entry = self._by_key[block.key] = Entry(block, self._sort(order))
        index = bisect_right(self.entries, entry.sort, key=lambda one: one.sort)
        self.entries.insert(index, entry)
        self.heights.insert(index, 1)
        if entry.rows is None:
            self.estimate(index)
        else:
            self._place(index)
            if index + 1 < len(self.entries):
                self._place(index + 1)
        return entry

    def _take_out(self, entry: Entry) -> None:
        index = self.index(entry)
        del self.entries[index]
        self.heights.remove(index)
        if index < len(self.entries):
            self._place(index)

    def set(self, blocks: Iterable[tuple[Block, Order]]) -> None:
        """All blocks anew; those that a person expanded or folded stay so."""
        expanded = {key for key, entry in self._by_key.items() if entry.expanded}
        self.clear()
        for block, order in blocks:
            entry = Entry(block, self._sort(order))
            entry.expanded = block.key in expanded
            self._by_key[block.key] = entry
        self.entries = sorted(self._by_key.values(), key=lambda one: one.sort)
        self.estimate_all()

    def remove(self, key: str) -> Entry | None:
        """Takes a block away; returns its entry."""
        entry = self._by_key.pop(key, None)
        if entry is None:
            return None
        self._take_out(entry)
        self._let_go(entry)
        return entry

    def clear(self) -> None:
        """Takes all away."""
        self.entries.clear()
        self._by_key.clear()
        self.heights.reset(())
        self._kept.clear()
        self._kept_rows = 0

    # --- heights ---

    def _stamp(self, entry: Entry) -> tuple[int, Look | None, bool, Block]:
        return self.width, self.look, entry.expanded, entry.block

    def _gap(self, index: int) -> int:
        """Empty rows above an entry: one, but none above the first and between two single lines."""
        if not index:
            return 0
        above, entry = self.entries[index - 1], self.entries[index]
        return 0 if above.block.compact(above.expanded) and entry.block.compact(entry.expanded) else 1

    def _place(self, index: int) -> None:
        entry = self.entries[index]
        entry.gap = self._gap(index)
        self.heights.set(index, entry.gap + entry.count)

    def estimate(self, index: int) -> None:
        """Gives an entry a height without drawing it, and the one below it its gap."""
        entry = self.entries[index]
        if entry.count_for != (self.width, entry.expanded):
            entry.count = max(1, entry.block.estimate(self.width or 80, expanded=entry.expanded))
        self._place(index)
        if index + 1 < len(self.entries):
            self._place(index + 1)

    def estimate_all(self) -> None:
        """Estimates all heights, at another width or of other blocks."""
        width = self.width or 80
        above = None
        heights: list[int] = []
        for entry in self.entries:
            block, expanded = entry.block, entry.expanded
            entry.count = max(1, block.estimate(width, expanded=expanded))
            compact = block.compact(expanded)
            entry.gap = 0 if above is None or (compact and above) else 1
            above = compact
            heights.append(entry.gap + entry.count)
        self.heights.reset(heights)

    def resize(self, width: int) -> None:
        """Another width: heights are estimates again, and rows are drawn anew when they are seen."""
        self.width = width
        self.estimate_all()

    # --- rows ---

    def is_drawn(self, entry: Entry) -> bool:
        """Whether its rows are those of the block as it is now."""
        return entry.rows is not None and entry.drawn_for == self._stamp(entry)

    def draw(self, index: int) -> bool:
        """Sees to it that the rows of an entry are there; True when it is to be drawn once more in a thread.

        For that a draft is shown: what was drawn of the block before (the live text of a finished message),
        or what the block has for it.
        """
        entry = self.entries[index]
        look = self.look
        if look is None or not self.width:
            return False
        if self.is_drawn(entry):
            self._touch(entry)
            return False
        block, expanded = entry.block, entry.expanded
        if not block.heavy(expanded):
            self.give(entry, block.rows(self.width, look, expanded=expanded))
            return False
        stamp = self._stamp(entry)
        if entry.drawing == stamp:
            return False
        entry.drawing = stamp
        stale = entry.rows if entry.rows_width == self.width else None
        self.give(entry, stale or block.draft(self.width, look, expanded=expanded))
        entry.drawn_for = None
        return True

    def give(self, entry: Entry, rows: list[Row]) -> None:
        """The rows of an entry, as they are now."""
        entry.rows = rows
        entry.rows_width = self.width
        entry.count = max(1, len(rows))
        entry.count_for = (self.width, entry.expanded)
        entry.drawn_for = self._stamp(entry)
        self._touch(entry)
        self._place(self.index(entry))
        below = self.index(entry) + 1
        if below < len(self.entries):
            self._place(below)

    def _touch(self, entry: Entry) -> None:
        self._kept_rows += entry.count - self._kept.pop(entry, 0)
        self._kept[entry] = entry.count
        if self._kept_rows > MAX_ROWS and len(self._kept) > 64:
            for old in list(self._kept)[: len(self._kept) // 2]:
                self._let_go(old)

    def _let_go(self, entry: Entry) -> None:
        self._kept_rows -= self._kept.pop(entry, 0)
        entry.rows = None
        entry.drawn_for = entry.drawing = None
        entry.strips.clear()

    def row(self, line: int) -> tuple[Entry, int, Row | None] | None:
        """The entry at a line, the number of its row there (negative for the gap above it), and that row."""
        if not self.entries or not 0 <= line < self.heights.total:
            return None
        index, offset = self.heights.at(line)
        entry = self.entries[index]
        number = offset - entry.gap
        rows = entry.rows
        return entry, number, rows[number] if rows is not None and 0 <= number < len(rows) else None


def ink_above(rows: list[Row], line: int) -> int:
    """How many characters that are not space stand above a row: the reader's place, whatever the width."""
    return sum(len(row_text(row).replace(" ", "")) for row in rows[:line])


def row_with_ink(rows: list[Row], ink: int) -> int:
    """The row in which a place is that `ink_above` told."""
    for number, row in enumerate(rows):
        size = len(row_text(row).replace(" ", ""))
        if ink < size:
            return number
        ink -= size
    return max(0, len(rows) - 1)
