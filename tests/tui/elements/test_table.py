from datetime import UTC
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_core.protocol.elements import ViewElement
from felan_tui.elements.table import Sorting, column_at, lay_out, list_rows, ordered, page_words
from felan_tui.text.cells import cell_len
from tests.tui.gallery_samples import COLUMNS, ROWS
from tests.tui.text.hostile import ALL, FORBIDDEN


def view(rows: list[dict[str, Any]], columns: list[dict[str, Any]] = COLUMNS, **members: Any) -> ViewElement:
    items = [{"id": f"r{n}", "fields": fields} for n, fields in enumerate(rows)]
    page = {"index": 0, "size": 256, "hasMore": False}
    plain = {
        "id": "v",
        "revision": 1,
        "layout": "table",
        "columns": columns,
        "items": items,
        "page": page,
        **members,
    }
    return msgspec.convert(plain, ViewElement)


FILES = view([{"name": name, "size": size, "ok": ok, "at": 1_700_000_000_000} for name, size, ok in ROWS])


def test_columns_stand_in_line_whatever_the_width_of_the_characters() -> None:
    table = lay_out(FILES.columns, FILES.items, 70, UTC)
    assert {cell_len(row) for row in (table.header, *table.rows)} == {70}
    starts = {cell_len(row[: row.index("2023-11-14")]) for row in table.rows}
    assert starts == {cell_len(table.header[: table.header.index("Changed")])}
    assert table.hidden == 0


def test_numbers_stand_right_and_every_type_is_written_for_people() -> None:
    rows = lay_out(FILES.columns, FILES.items, 70, UTC).rows
    assert "1,200  ✓ yes  2023-11-14 22:13:20" in rows[0]
    assert "    7  ✗ no   2023-11-14 22:13:20" in rows[1]


def test_an_absent_field_is_a_dash() -> None:
    assert lay_out(FILES.columns, view([{"name": "a"}]).items, 40).rows[0].split() == ["a", "–", "–", "–"]


def test_text_gives_way_before_numbers_and_then_columns_from_the_right() -> None:
    narrow = lay_out(FILES.columns, FILES.items, 42, UTC)
    assert "1,234,567" in narrow.rows[2]
    assert "…" in narrow.rows[1]
    tiny = lay_out(FILES.columns, FILES.items, 12, UTC)
    assert tiny.hidden > 0
    assert tiny.widths[0] > 0
    assert {cell_len(row) for row in (tiny.header, *tiny.rows)} == {12}


@pytest.mark.parametrize("name", ALL)
def test_hostile_cells_and_labels_are_harmless_and_keep_the_columns(name: str) -> None:
    text = ALL[name]
    columns = [
        {"id": "a", "label": text[:300], "type": "string"},
        {"id": "n", "label": "N", "type": "number"},
    ]
    one = view([{"a": text, "n": 1}, {"a": "b", "n": 22}], columns)
    table = lay_out(one.columns, one.items, 50)
    assert {cell_len(row) for row in (table.header, *table.rows)} == {50}
    assert not FORBIDDEN & set("".join((table.header, *table.rows, *list_rows(one, 50))))


@given(
    st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=6),
    st.integers(1, 100),
)
def test_rows_have_the_width_that_was_asked_for(rows: list[list[str]], width: int) -> None:
    columns = [{"id": f"c{n}", "label": f"column {n}", "type": "string"} for n in range(3)]
    one = view([{f"c{n}": text for n, text in enumerate(row)} for row in rows], columns)
    table = lay_out(one.columns, one.items, width)
    assert {cell_len(row) for row in (table.header, *table.rows)} == {width}


@pytest.mark.parametrize(
    ("page", "shown", "words"),
    [
        ({"index": 0, "size": 50, "total": 120, "hasMore": True}, 3, "3 of 120"),
        ({"index": 1, "size": 50, "total": 120, "hasMore": True}, 50, "51 to 100 of 120"),
        ({"index": 0, "size": 50, "hasMore": True}, 50, "50, and more"),
        ({"index": 0, "size": 50, "hasMore": False}, 7, "7 in all"),
        ({"index": 2, "size": 50, "total": 100, "hasMore": False}, 0, "none of 100"),
    ],
)
def test_the_page_says_which_part_this_is(page: dict[str, Any], shown: int, words: str) -> None:
    assert page_words(view([], page=page).page, shown) == words


MIXED = [{"a": "b", "n": 2}, {"a": "A", "n": 10}, {"a": "c"}, {"a": "a", "n": 2}]
PAIR = [{"id": "a", "label": "A", "type": "string"}, {"id": "n", "label": "N", "type": "number"}]


@pytest.mark.parametrize(
    ("sorting", "expected"),
    [
        (None, ["b", "A", "c", "a"]),
        (Sorting("a"), ["A", "a", "b", "c"]),
        (Sorting("n"), ["b", "a", "A", "c"]),
        (Sorting("n", reverse=True), ["A", "b", "a", "c"]),
    ],
)
def test_rows_are_sorted_and_those_without_a_value_come_last(
    sorting: Sorting | None, expected: list[str]
) -> None:
    assert [item.fields["a"] for item in ordered(view(MIXED, PAIR).items, sorting)] == expected


def test_a_click_on_a_heading_sorts_up_then_down_then_as_the_host_has_it() -> None:
    first = Sorting("a")
    second = Sorting("a", reverse=True)
    assert first.next_of("a") == second
    assert second.next_of("a") is None
    assert second.next_of("n") == Sorting("n")


def test_the_heading_of_the_sorted_column_is_marked_and_its_cells_are_known() -> None:
    one = view(MIXED, PAIR)
    table = lay_out(one.columns, one.items, 40, sorting=Sorting("n", reverse=True))
    assert "N↓" in table.header and "A↓" not in table.header
    start = table.header.index("N↓")
    assert column_at(table.widths, 0) == 0
    assert column_at(table.widths, start) == 1
    assert column_at(table.widths, 39) is None
