"""Lays out tables in terminal cells: columns as wide as what is in them, shrunk fairly when they do not
fit.
"""

from collections.abc import Sequence
from typing import Literal

from rich.segment import Segment

from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, row_cells, wrap_runs

Align = Literal["left", "right", "center"]
Cell = list[Segment]

MIN_COLUMN = 4
GAP = 3
"""Cells between two columns: a space, the line, a space."""


def column_widths(natural: Sequence[int], width: int) -> list[int]:
    """How wide each column may be in a table of `width` cells: narrow columns keep what they need, the
    others share.
    """
    room = width - GAP * (len(natural) - 1)
    widths = [max(1, size) for size in natural]
    if sum(widths) <= room:
        return widths
    left = set(range(len(widths)))
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


def fits(columns: int, width: int) -> bool:
    """Whether so many columns can stand side by side at all."""
    return columns * (MIN_COLUMN + GAP) - GAP <= width


def table_rows(grid: Sequence[Sequence[Cell]], aligns: Sequence[Align], width: int, look: Look) -> list[Row]:
    """The rows of a table whose first line is its heading. Too many columns for the width become `name:
    value` lines.
    """
    if not grid or not grid[0]:
        return []
    columns = len(grid[0])
    if not fits(columns, width):
        return _records(grid, width, look)
    natural = [
        max(row_cells(line[column]) for line in grid if column < len(line)) for column in range(columns)
    ]
    widths = column_widths(natural, width)
    rows = line_rows(grid[0], aligns, widths, look)
    rows.append(rule(widths, look))
    for line in grid[1:]:
        rows += line_rows(line, aligns, widths, look)
    return rows


def rule(widths: Sequence[int], look: Look) -> Row:
    """The line under a table's heading."""
    dash = look.glyphs.rule
    return [Segment((dash + look.glyphs.cross + dash).join(dash * size for size in widths), look.bar)]


def line_rows(line: Sequence[Cell], aligns: Sequence[Align], widths: Sequence[int], look: Look) -> list[Row]:
    """One line of a table, as many rows high as its tallest cell."""
    empty: Cell = []
    cells = [
        wrap_runs(line[column] if column < len(line) else empty, size) for column, size in enumerate(widths)
    ]
    border = Segment(f" {look.glyphs.bar} ", look.bar)
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
    for number, line in enumerate(grid[1:]):
        if number:
            rows.append([])
        for name, cell in zip(grid[0], line, strict=False):
            rows += wrap_runs([*name, Segment(": ", look.muted), *cell], width)
    return rows
