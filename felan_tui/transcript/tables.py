"""Lays out tables in terminal cells: columns as wide as what is in them, shrunk fairly when they do not
fit.
"""

from collections.abc import Sequence
from typing import Literal

from rich.segment import Segment

from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, drawn_as, lines_of, row_cells, wrap_runs

Align = Literal["left", "right", "center"]
Cell = list[Segment]

MIN_COLUMN = 4
GAP = 3
"""Cells between two columns: a space, the line, a space."""


def column_widths(grid: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """How wide each column is in a table of at most `width` cells: narrow columns keep what they need, the
    others share. None when so many columns cannot stand side by side.
    """
    columns = max(map(len, grid), default=0)
    if columns * (MIN_COLUMN + GAP) - GAP > width:
        return []
    widths = [
        max(1, *(row_cells(piece) for line in grid if at < len(line) for piece in lines_of(line[at])))
        for at in range(columns)
    ]
    room = width - GAP * (columns - 1)
    if sum(widths) <= room:
        return widths
    left = set(range(columns))
    while left:
        share = max(MIN_COLUMN, room // len(left))
        content = {index for index in left if widths[index] <= share}
        if not content:
            for extra, index in enumerate(sorted(left)):
                widths[index] = share + (1 if extra < room - share * len(left) else 0)
            break
        room -= sum(widths[index] for index in content)
        left -= content
    return widths


def table_rows(
    grid: Sequence[Sequence[Cell]],
    aligns: Sequence[Align],
    widths: Sequence[int],
    width: int,
    look: Look,
    *,
    continued: bool = False,
) -> list[Row]:
    """The rows of a table whose first line is its heading, which `continued` leaves out.

    A line may have more cells than the heading: none is lost. Without `widths` each line becomes `name:
    value` lines.
    """
    if not grid or not grid[0]:
        return []
    if not widths:
        return _records(grid, width, look)
    rows: list[Row] = [] if continued else [*_line_rows(grid[0], aligns, widths, look), _rule(widths, look)]
    for line in grid[1:]:
        rows += _line_rows(line, aligns, widths, look)
    return rows


def _rule(widths: Sequence[int], look: Look) -> Row:
    """The line under a table's heading."""
    dash = look.glyphs.rule
    return [Segment((dash + look.glyphs.cross + dash).join(dash * size for size in widths), look.bar)]


def _line_rows(line: Sequence[Cell], aligns: Sequence[Align], widths: Sequence[int], look: Look) -> list[Row]:
    """One line of a table, as many rows high as its tallest cell."""
    empty: Cell = []
    if len(line) > len(widths):
        # A line of a table that is still coming has more cells than those before it: none is lost.
        *first, last = line[: len(widths)]
        line = [*first, [run for cell in (last, *line[len(widths) :]) for run in (*cell, Segment(" "))]]
    cells = [
        wrap_runs(line[column] if column < len(line) else empty, size) for column, size in enumerate(widths)
    ]
    border = drawn_as(f" {look.glyphs.bar} ", "\t", look.bar)
    rows: list[Row] = []
    for index in range(max(map(len, cells))):
        row: Row = []
        for column, size in enumerate(widths):
            piece = cells[column][index] if index < len(cells[column]) else empty
            missing = max(0, size - row_cells(piece))
            align = aligns[column] if column < len(aligns) else "left"
            before = missing if align == "right" else missing // 2 if align == "center" else 0
            if column:
                row.append(border)
            if before:
                row.append(Segment(" " * before, look.bar))
            row += piece
            if missing - before and column < len(widths) - 1:
                row.append(Segment(" " * (missing - before), look.bar))
        rows.append(row)
    return rows


def _records(grid: Sequence[Sequence[Cell]], width: int, look: Look) -> list[Row]:
    rows: list[Row] = []
    colon = Segment(": ", look.muted)
    for number, line in enumerate(grid[1:]):
        if number:
            rows.append([])
        for at, cell in enumerate(line):
            rows += wrap_runs([*grid[0][at], colon, *cell] if at < len(grid[0]) else cell, width)
    return rows
