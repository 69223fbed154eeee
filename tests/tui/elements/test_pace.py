import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_tui.elements.figures import amount, instant, number
from felan_tui.elements.pace import ENOUGH, STALE, WINDOW, Pace
from tests.tui.cards.looking import Clock


def test_nothing_is_estimated_before_there_is_enough_to_go_by() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.rate is None
    assert pace.left(10) is None
    pace.sample(1)
    clock.wait(ENOUGH / 2)
    pace.sample(2)
    assert pace.rate is None


def test_a_steady_pace_is_told_as_it_is() -> None:
    clock = Clock()
    pace = Pace(clock)
    for value in range(11):
        pace.sample(value * 5)
        clock.wait(1)
    clock.wait(-1)
    assert pace.rate == pytest.approx(5)
    assert pace.left(100) == pytest.approx(10)


def test_the_rate_is_that_of_the_last_while_not_of_the_whole() -> None:
    clock = Clock()
    pace = Pace(clock)
    for second in range(200):
        pace.sample(second if second < 100 else 100 + (second - 100) * 10)
        clock.wait(1)
    assert WINDOW < 100
    assert pace.rate == pytest.approx(10, rel=0.1)


def test_a_value_that_goes_back_starts_anew() -> None:
    clock = Clock()
    pace = Pace(clock)
    for value in (0, 50, 100, 3):
        pace.sample(value)
        clock.wait(2)
    assert pace.rate is None


def test_no_time_left_is_named_when_nothing_moves() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.sample(0)
    clock.wait(5)
    pace.sample(50)
    assert pace.left(100) == pytest.approx(5)
    clock.wait(STALE + 1)
    assert pace.left(100) is None


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1e9)), max_size=200))
def test_whatever_the_samples_rate_and_time_left_are_never_negative(
    samples: list[tuple[float, float]],
) -> None:
    clock = Clock()
    pace = Pace(clock)
    for gap, value in samples:
        clock.wait(gap)
        pace.sample(value)
        assert pace.rate is None or pace.rate > 0
        left = pace.left(1e9)
        assert left is None or left >= 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1200, "1,200"), (3.0, "3"), (3.14159, "3.14"), (0.001, "0.001"), (1e20, "1e+20"), (-5, "-5")],
)
def test_numbers_without_noise(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (512, "bytes", "512 B"),
        (1536, "B", "1.5 KiB"),
        (3 * 1024**3, "bytes", "3.0 GiB"),
        (7, "files", "7 files"),
        (7, "", "7"),
    ],
)
def test_amounts_with_their_unit(value: float, unit: str, shown: str) -> None:
    assert amount(value, unit) == shown


def test_an_instant_that_no_calendar_has_is_still_shown() -> None:
    assert instant(2**53) == "9.01e+15"
