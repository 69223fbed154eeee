"""Lays a view's items out in columns, in terminal cells. Pure: protocol structs in, plain safe rows out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Literal

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import Column, ViewElement, ViewItem, ViewPage
from felan_tui.elements.figures import instant, number
from felan_tui.text.cells import cell_len, cut, pad
from felan_tui.text.safe import safe_line

GAP = 2
"""Cells between two columns."""

NARROWEST = 3
WIDEST = 60
"""Cells of a column before the width that is left over is shared out."""

Align = Literal["left", "right", "center"]


@dataclass(frozen=True)
class Sorting:
    """The column by which a view is sorted, and whether its greatest value comes first."""

    column: str
    reverse: bool = False

    def next_of(self, column: str) -> "Sorting | None":
        """The sorting after a click on ``column``: ascending, descending, the host's own order."""
        if column != self.column:
            return Sorting(column)
        return None if self.reverse else Sorting(column, reverse=True)


@dataclass(frozen=True)
class Table:
    """A header and rows of equal width, and how wide each column came out: 0 when it did not fit."""

    header: str
    rows: tuple[str, ...]
    widths: tuple[int, ...]

    @property
    def hidden(self) -> int:
        """Columns for which there was no room."""
        return sum(1 for width in self.widths if not width)


def cell(column: Column, item: ViewItem, zone: tzinfo | None = None) -> str:
    """One field as safe text in one line; `–` when it is absent."""
    value: Any = item.fields.get(column.id)
    if value is None:
        return "–"
    if column.type == "boolean" and isinstance(value, bool):
        return "✓ yes" if value else "✗ no"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return instant(value, zone) if column.type == "time" else number(value)
    if isinstance(value, str):
        return safe_line(value, mark="⏎")
    return safe_line(str(value), mark="⏎")


def column_label(column: Column) -> str:
    """The heading of a column."""
    return safe_line(column.label).strip() or safe_line(column.id)


def mark_of(column: Column, sorting: Sorting | None) -> str:
    """`↑` or `↓` behind the heading of the sorted column."""
    if sorting is None or sorting.column != column.id:
        return ""
    return "↓" if sorting.reverse else "↑"


def _align(column: Column) -> Align:
    return "right" if column.type == "number" else "left"


def _share(wanted: Sequence[int], numbers: Sequence[bool], width: int) -> list[int]:
    """Column widths: the natural ones if there is room; else text shrinks before numbers and times."""
    widths = [min(WIDEST, max(NARROWEST, want)) for want in wanted]
    while widths and sum(map(bool, widths)) and _total(widths) > width:
        soft = [index for index, one in enumerate(widths) if one > NARROWEST and not numbers[index]]
        hard = [index for index, one in enumerate(widths) if one > NARROWEST]
        if soft or hard:
            widest = max(soft or hard, key=lambda index: widths[index])
            widths[widest] -= max(1, min(widths[widest] - NARROWEST, (_total(widths) - width) // 4))
        elif sum(map(bool, widths)) > 1:
            widths[max(index for index, one in enumerate(widths) if one)] = 0
        else:
            widths = [max(1, width) if one else 0 for one in widths]
            break
    spare = width - _total(widths)
    if spare > 0:
        for index, one in enumerate(widths):
            more = min(spare, wanted[index] - one)
            if one and more > 0:
                widths[index] += more
                spare -= more
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [one for one in widths if one]
    return sum(shown) + GAP * max(0, sum(map(bool, shown)) - 1)


def lay_out(
    columns: Sequence[Column],
    items: Sequence[ViewItem],
    width: int,
    zone: tzinfo | None = None,
    sorting: Sorting | None = None,
) -> Table:
    """The items as a table of at most `width` cells; the header marks the sorted column."""
    labels = [column_label(column) + mark_of(column, sorting) for column in columns]
    texts = [[cell(column, item, zone) for column in columns] for item in items]
    most = max(width, WIDEST)
    wanted = [
        max([cell_len(labels[index]), *(min(most, cell_len(row[index][: 2 * most])) for row in texts)])
        for index in range(len(columns))
    ]
    widths = _share(wanted, [column.type != "string" for column in columns], width)

    def line(cells: Sequence[str]) -> str:
        shown = [
            pad(text, widths[index], align=_align(columns[index]))
            for index, text in enumerate(cells)
            if widths[index]
        ]
        return pad((" " * GAP).join(shown), width)

    return Table(line(labels), tuple(line(row) for row in texts), tuple(widths))


def ordered(items: Sequence[ViewItem], sorting: Sorting | None) -> list[ViewItem]:
    """The items in their order; those without a value come last, and equal ones keep the host's order."""
    if sorting is None:
        return list(items)
    there = [item for item in items if item.fields.get(sorting.column) is not None]
    absent = [item for item in items if item.fields.get(sorting.column) is None]

    def key(item: ViewItem) -> Any:
        value: Any = item.fields[sorting.column]
        return value.casefold() if isinstance(value, str) else value

    return [*sorted(there, key=key, reverse=sorting.reverse), *absent]


def column_at(widths: Sequence[int], cell: int) -> int | None:
    """The index of the column whose header is at this cell; None between two columns and behind the last."""
    start = 0
    for index, width in enumerate(widths):
        if not width:
            continue
        if start <= cell < start + width:
            return index
        start += width + GAP
    return None


def list_rows(view: ViewElement, width: int, zone: tzinfo | None = None) -> tuple[str, ...]:
    """The items of a list: the first column leads, the others follow as `label: value`."""
    rows: list[str] = []
    for item in view.items:
        lead, *rest = view.columns
        parts = [cell(lead, item, zone)]
        parts += [
            f"{safe_line(column.label).strip()}: {cell(column, item, zone)}"
            for column in rest
            if item.fields.get(column.id) is not None
        ]
        rows.append(pad(cut(" · ".join(parts), width), width))
    return tuple(rows)


def page_words(page: ViewPage, shown: int) -> str:
    """`3 of 120`, or `rows 51 to 100 of 120`; without a total, the known part."""
    first = page.index * page.size
    total = or_default(page.total, None)
    if first == 0 and not page.has_more:
        return f"{shown} of {total}" if total is not None else f"{shown} in all"
    of = f" of {total}" if total is not None else (", and more" if page.has_more else "")
    if not shown:
        return f"none{of}"
    return f"{first + 1} to {first + shown}{of}" if first else f"{shown}{of or ', and more'}"
