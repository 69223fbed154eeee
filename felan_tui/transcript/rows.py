"""Rows: lines of styled text on their way to the screen, wrapped, folded and joined in terminal cells.

A `Row` is a list of rich segments, a tenth of the weight of a Textual `Strip`; strips are made for what is
visible (`strip_of`). The texts in rows are safe already.
"""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from felan_tui.text.cells import cell_len, cut, fold_spans, wrap_spans

Row = list[Segment]


def row_text(row: Row) -> str:
    """The characters of a row."""
    return "".join(segment.text for segment in row)


def row_cells(row: Row) -> int:
    """The cells that a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def strip_of(row: Row) -> Strip:
    """The row as Textual draws it."""
    return Strip(row, row_cells(row))


def plain(rows: Iterable[Row]) -> str:
    """The text of rows, without the spaces at their ends."""
    return "\n".join(row_text(row).rstrip() for row in rows)


def cut_runs(runs: Sequence[Segment], spans: Sequence[tuple[int, int]]) -> list[Row]:
    """The pieces of styled text between the given character offsets (ascending), one row each."""
    if len(runs) == 1:
        text, style, _ = runs[0]
        return [[Segment(text[start:end], style)] if end > start else [] for start, end in spans]
    rows: list[Row] = []
    index = 0
    before = 0
    for start, end in spans:
        row: Row = []
        while index < len(runs):
            text, style, _ = runs[index]
            after = before + len(text)
            if after > start and before < end:
                row.append(Segment(text[max(0, start - before) : end - before], style))
            if after > end:
                break
            index += 1
            before = after
        rows.append(row)
    return rows


def lines_of(runs: Sequence[Segment]) -> list[list[Segment]]:
    """Styled text cut at its `\\n`."""
    lines: list[list[Segment]] = [[]]
    for text, style, _ in runs:
        if "\n" not in text:
            if text:
                lines[-1].append(Segment(text, style))
            continue
        first, *rest = text.split("\n")
        if first:
            lines[-1].append(Segment(first, style))
        lines += [[Segment(piece, style)] if piece else [] for piece in rest]
    return lines


def wrap_runs(runs: Sequence[Segment], width: int) -> list[Row]:
    """Styled text wrapped at words (`felan_tui.text.cells.wrap_spans`); at least one row."""
    rows: list[Row] = []
    for line in lines_of(runs):
        if not line:
            rows.append([])
            continue
        text = line[0].text if len(line) == 1 else row_text(line)
        rows += cut_runs(line, wrap_spans(text, width))
    return rows


def wrap_text(text: str, style: Style, width: int) -> list[Row]:
    """Text of many lines in one style, wrapped at words."""
    rows: list[Row] = []
    for line in text.split("\n"):
        rows += [
            [Segment(line[start:end], style)] if end > start else [] for start, end in wrap_spans(line, width)
        ]
    return rows


def fold_runs(runs: Sequence[Segment], width: int) -> list[Row]:
    """One styled line cut hard at the width."""
    text = runs[0].text if len(runs) == 1 else row_text(list(runs))
    if text.isascii() and len(text) <= width:
        return [list(runs)]
    return cut_runs(runs, fold_spans(text, width))


def fill(row: Row, width: int, style: Style) -> Row:
    """The row with spaces of the style up to the width."""
    missing = width - row_cells(row)
    return [*row, Segment(" " * missing, style)] if missing > 0 else row


def indent(rows: Sequence[Row], first: Row, rest: Row) -> list[Row]:
    """The rows behind a prefix: one for the first row, another for those below it."""
    return [[*(first if index == 0 else rest), *row] for index, row in enumerate(rows)]


def cut_row(row: Row, width: int, ellipsis: str = "…") -> Row:
    """The row in at most `width` cells, with an ellipsis for what is left out."""
    if row_cells(row) <= width:
        return row
    kept: Row = []
    room = width
    for text, style, _ in row:
        size = cell_len(text)
        if size >= room:
            # One cell more than fits, so that the cut is marked even where a segment ends at the edge.
            kept.append(Segment(cut(text + "  ", room, ellipsis=ellipsis), style))
            break
        kept.append(Segment(text, style))
        room -= size
    return kept
