import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_tui.cards.squeeze import Wish, squeezed

CARD = [Wish(1), Wish(40, ((5, 2),)), Wish(1, ((9, 0),)), Wish(4, ((2, 3),)), Wish(1)]
"""Head, excerpt, gap, options, keys."""


@pytest.mark.parametrize(
    ("room", "rows"),
    [
        (50, [1, 40, 1, 4, 1]),
        (46, [1, 40, 0, 4, 1]),
        (20, [1, 14, 0, 4, 1]),
        (8, [1, 2, 0, 4, 1]),
        (7, [1, 2, 0, 3, 1]),
        (3, [1, 2, 0, 3, 1]),
    ],
)
def test_what_a_card_is_about_gives_rows_before_its_options_do(room: int, rows: list[int]) -> None:
    assert squeezed(CARD, room) == rows


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)))), max_size=6
    ),
    st.integers(0, 60),
)
def test_no_part_gets_more_than_it_wants_or_less_than_it_keeps(
    parts: list[tuple[int, list[tuple[int, int]]]], room: int
) -> None:
    wishes = [Wish(rows, tuple((rank, min(left, rows)) for rank, left in steps)) for rows, steps in parts]
    found = squeezed(wishes, room)
    assert all(wish.least <= rows <= wish.rows for wish, rows in zip(wishes, found, strict=True))
    wanted = sum(wish.rows for wish in wishes)
    assert sum(found) == max(min(room, wanted), sum(wish.least for wish in wishes))
