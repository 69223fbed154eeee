import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_tui.cards.guard import GRACE, PASTE_TAIL, TERMINAL_CLICK, Guard
from tests.tui.cards.looking import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_counts_at_first(clock: Clock) -> None:
    guard = Guard(clock)
    clock.wait(GRACE - 0.01)
    assert not guard.open
    assert not guard.key()
    assert not guard.click()


def test_a_key_counts_after_the_grace_time(clock: Clock) -> None:
    guard = Guard(clock)
    clock.wait(GRACE)
    assert guard.open
    assert guard.key()
    assert guard.click()


def test_a_held_key_never_counts_however_long_it_repeats(clock: Clock) -> None:
    guard = Guard(clock)
    for _ in range(200):
        clock.wait(0.03)
        assert not guard.key()
    clock.wait(GRACE)
    assert guard.key()


def test_a_click_in_the_grace_time_does_not_start_it_anew(clock: Clock) -> None:
    guard = Guard(clock)
    clock.wait(GRACE - 0.1)
    assert not guard.click()
    clock.wait(0.1)
    assert guard.click()


@pytest.mark.parametrize("event", ["appeared", "focused"])
def test_appearing_and_getting_the_focus_start_the_time_anew(clock: Clock, event: str) -> None:
    guard = Guard(clock)
    clock.wait(10)
    assert guard.key()
    getattr(guard, event)()
    assert not guard.key()


def test_what_comes_right_behind_a_paste_is_a_part_of_it(clock: Clock) -> None:
    guard = Guard(clock)
    clock.wait(10)
    guard.pasted()
    for _ in range(50):
        clock.wait(PASTE_TAIL / 2)
        assert not guard.key()
    clock.wait(PASTE_TAIL)
    assert guard.key()


def test_the_click_that_focuses_the_terminal_does_not_count(clock: Clock) -> None:
    guard = Guard(clock)
    clock.wait(10)
    guard.terminal_focused()
    clock.wait(TERMINAL_CLICK - 0.01)
    assert not guard.click()
    assert guard.key()
    clock.wait(0.02)
    assert guard.click()


@given(st.lists(st.floats(min_value=0.001, max_value=GRACE - 0.001), max_size=60))
def test_no_rhythm_of_keys_faster_than_the_grace_time_gets_through(gaps: list[float]) -> None:
    clock = Clock()
    guard = Guard(clock)
    for gap in gaps:
        clock.wait(gap)
        assert not guard.key()
