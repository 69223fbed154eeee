"""Following the end and pacing, told by events alone."""

from felan_tui.transcript.following import Following
from felan_tui.transcript.pacing import Pacing


def test_it_follows_until_the_reader_moves_up() -> None:
    policy = Following()
    assert policy.grew(5) == policy
    policy = policy.scrolled(100, 99, 100)
    assert not policy.on


def test_moving_down_is_no_release_and_at_the_end_follows_again() -> None:
    policy = Following(on=False, new_lines=4)
    assert not policy.scrolled(10, 20, 100).on
    assert policy.scrolled(90, 100, 100) == Following()
    assert policy.to_end() == Following()


def test_moving_up_at_the_end_releases_even_when_all_fits() -> None:
    assert not Following().scrolled(3, 0, 5).on


def test_what_comes_below_is_counted_and_what_was_passed_is_not() -> None:
    policy = Following().released().grew(10).grew(2)
    assert policy.new_lines == 12
    assert policy.mark == "↓ 12 new"
    assert policy.below(7).new_lines == 7
    assert policy.below(100).new_lines == 12
    assert policy.grew(-20).new_lines == 0
    assert Following(new_lines=3).mark == ""


def test_the_first_piece_is_drawn_at_once_and_the_next_wait() -> None:
    pacing = Pacing(0.05)
    assert pacing.wait(10.0) == 0
    pacing.drew(10.0)
    assert abs(pacing.wait(10.02) - 0.03) < 1e-9
    assert pacing.wait(10.05) == 0
    assert pacing.wait(99.0) == 0


def test_a_second_of_pieces_is_drawn_at_most_twenty_times() -> None:
    pacing = Pacing()
    drawn = 0
    for step in range(1000):
        if not pacing.wait(step / 1000):
            pacing.drew(step / 1000)
            drawn += 1
    assert drawn <= 21
