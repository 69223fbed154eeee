"""Rows: lines of styled text on their way to the screen, wrapped, folded and joined in terminal cells.

A `Row` is a list of rich segments, a tenth of the weight of a Textual `Strip`; strips are made for what is
visible (`strip_of`). The texts in rows are safe already.

A row knows what a copy of it is: a segment whose style has a source (`source_of`) is drawn as one text and
copied as another, as a tab is; and a row that goes on in the next one ends in a segment without text whose
source is the space between them (`goes_on`).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from felan_tui.compat import has_meta
from felan_tui.text.cells import cell_len, cut, fold_spans, wrap_spans
from felan_tui.text.safe import TAB

Row = list[Segment]

PROSE = 100
"""Columns that running text takes at most; longer lines are hard to read."""

CARD = 120
"""Columns that cards and lists take at most. Code and tables may be as wide as the view."""


# --- what is copied ---


@lru_cache(maxsize=256)
def _sourced(style: Style | None, source: str) -> Style:
    return (style or Style()) + Style(meta={"source": source})


def drawn_as(text: str, source: str, style: Style | None) -> Segment:
    """A text that stands for another in what is copied."""
    return Segment(text, _sourced(style, source))


def source_of(segment: Segment) -> str:
    """What is copied for a segment: its source, or its text."""
    style = segment.style
    if style is None or not has_meta(style):
        return segment.text
    return str(style.meta.get("source", segment.text))


def source_between(runs: Iterable[Segment], start: int, end: int) -> str:
    """What is copied for the characters from start to end; for a part of a text that is drawn for another
    one, all of that.
    """
    kept: list[str] = []
    at = 0
    for run in runs:
        if at >= end:
            break
        after = at + len(run.text)
        if after > start:
            source = source_of(run)
            kept.append(source[max(0, start - at) : end - at] if source is run.text else source)
        at = after
    return "".join(kept)


def _joint(runs: Iterable[Segment], start: int, end: int) -> Segment:
    """The end of a row that goes on in the next, with the characters of the runs from start to end between
    them, which are drawn nowhere.
    """
    return drawn_as("", source_between(runs, start, end), None)


def goes_on(row: Row) -> bool:
    """Whether the next row is the rest of this one, wrapped."""
    return any(not text and style is not None and has_meta(style) for text, style, _ in row)


def expand_tabs(runs: Sequence[Segment], tab: int = TAB) -> list[Segment]:
    """The runs of one line with its tabs as spaces up to the next stop, each copied as a tab."""
    if not any("\t" in run.text for run in runs):
        return list(runs)
    expanded: list[Segment] = []
    column = 0
    for text, style, _ in runs:
        first, *rest = text.split("\t")
        if first:
            expanded.append(Segment(first, style))
            column += cell_len(first)
        for piece in rest:
            cells = tab - column % tab
            expanded.append(drawn_as(" " * cells, "\t", style))
            if piece:
                expanded.append(Segment(piece, style))
            column += cells + cell_len(piece)
    return expanded


# --- rows ---


def row_text(row: Row) -> str:
    """The characters of a row."""
    return "".join(segment.text for segment in row)


def row_cells(row: Row) -> int:
    """The cells that a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def strip_of(row: Row) -> Strip:
    """The row as Textual draws it."""
    return Strip([segment for segment in row if segment.text], row_cells(row))


def plain(rows: Iterable[Row]) -> str:
    """The text of rows, without the spaces at their ends."""
    return "\n".join(row_text(row).rstrip() for row in rows)


def cut_runs(runs: Sequence[Segment], spans: Sequence[tuple[int, int]]) -> list[Row]:
    """The pieces of one styled line between the given character offsets (ascending), one row each, all but
    the last of which go on in the next.
    """
    rows: list[Row] = []
    index = 0
    before = 0
    last = len(spans) - 1
    for number, (start, end) in enumerate(spans):
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
        if number < last:
            rest = (runs[at] for at in range(index, len(runs)))
            row.append(_joint(rest, end - before, spans[number + 1][0] - before))
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
        rows += wrap_runs(expand_tabs([Segment(line, style)]), width) if line else [[]]
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
