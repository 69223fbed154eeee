from hypothesis import given
from hypothesis import strategies as st

from felan_tui.cards.chooser import DIGITS, Choice, Chooser


def chooser(count: int, *, several: bool = False) -> Chooser:
    return Chooser(
        [Choice(f"o{n}", f"option {n}", f"detail {n}") for n in range(1, count + 1)], several=several
    )


def test_nothing_has_the_cursor_at_first() -> None:
    assert chooser(3).current is None


def test_arrows_go_to_an_end_first_and_stop_at_the_ends() -> None:
    one = chooser(3)
    one.move(1)
    assert one.cursor == 0
    one.move(-1)
    assert one.cursor == 0
    one.move(10)
    assert one.cursor == 2
    other = chooser(3)
    other.move(-1)
    assert other.cursor == 2


def test_digits_name_the_choices_in_the_order_shown() -> None:
    one = chooser(3)
    assert [choice.id if (choice := one.digit(n)) else None for n in (0, 1, 3, 4)] == [None, "o1", "o3", None]


def test_a_long_list_filters_instead_of_taking_digits() -> None:
    one = chooser(DIGITS + 1)
    assert one.digit(1) is None
    assert one.type("10")
    assert [choice.id for choice in one.shown] == ["o10"]
    assert not chooser(DIGITS).type("1")


def test_the_filter_takes_words_in_any_order_and_any_case() -> None:
    one = chooser(200)
    one.type("150 OPTION")
    assert [choice.id for choice in one.shown] == ["o150"]


def test_filtering_takes_the_cursor_away_so_that_enter_chooses_nothing_unseen() -> None:
    one = chooser(200)
    one.move(5)
    one.type("1")
    assert one.current is None
    one.move(1)
    one.erase()
    assert one.current is None
    assert len(one.shown) == 200


def test_marks_are_kept_through_the_filter_and_told_in_the_order_given() -> None:
    one = chooser(20, several=True)
    one.mark(one.choices[4])
    one.type("2")
    one.mark(one.shown[0])
    assert one.marked == ["o2", "o5"]
    one.mark(one.choices[4])
    assert one.marked == ["o2"]


def test_one_of_several_moves_its_mark() -> None:
    one = chooser(3)
    one.mark(one.choices[0])
    one.mark(one.choices[2])
    assert one.marked == ["o3"]


@given(
    st.integers(1, 60),
    st.integers(1, 12),
    st.lists(
        st.one_of(st.integers(-70, 70), st.text("0123456789", min_size=1, max_size=1), st.none()), max_size=12
    ),
)
def test_the_cursor_is_always_shown_and_inside(count: int, rows: int, steps: list[int | str | None]) -> None:
    one = chooser(count)
    for step in steps:
        if isinstance(step, int):
            one.move(step)
        elif step is None:
            one.erase()
        else:
            one.type(step)
        window = one.window(rows)
        assert len(window) <= rows
        assert window.stop <= len(one.shown)
        if one.cursor is not None:
            assert one.cursor in window
            assert one.current is one.shown[one.cursor]
