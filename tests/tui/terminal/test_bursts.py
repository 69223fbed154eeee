"""What counts as typed and what as a paste, with times of our own."""

import pytest

from felan_tui.terminal.bursts import MAX_TEXT, RUN_SECONDS, TAIL_SECONDS, Bursts
from felan_tui.terminal.events import Event, Focus, Paste
from felan_tui.terminal.reader import Reader


def typed(text: str) -> list[Event]:
    return Reader().feed(text.encode())


def test_eight_keys_in_one_read_are_typed_and_nine_are_a_paste() -> None:
    assert Bursts().take(typed("12345678"), 1.0) == typed("12345678")
    bursts = Bursts()
    assert bursts.take(typed("line 1\rx\t2"), 1.0) == []
    assert bursts.deadline == 1.0 + TAIL_SECONDS
    assert bursts.due(1.0 + TAIL_SECONDS / 2) == []
    assert bursts.due(1.0 + TAIL_SECONDS) == [Paste("line 1\nx\t2")]
    assert bursts.deadline is None


def test_a_paste_in_many_reads_is_one_paste() -> None:
    bursts = Bursts()
    at = 1.0
    for _ in range(50):
        assert bursts.take(typed("0123456789\r"), at) == []
        at += 0.005
    assert bursts.due(at + TAIL_SECONDS) == [Paste("0123456789\n" * 50)]


def test_keys_that_follow_each_other_faster_than_a_held_key_repeats_are_a_run() -> None:
    bursts = Bursts()
    passed = [bursts.take(typed("j"), 1.0 + number * RUN_SECONDS / 2) for number in range(12)]
    assert [len(events) for events in passed] == [1] * 8 + [0] * 4
    bursts = Bursts()
    assert all(bursts.take(typed("j"), 1.0 + number * 0.016) for number in range(100))


def test_keys_that_write_nothing_are_no_run() -> None:
    up = Reader().feed(b"\x1b[A" * 20)
    assert Bursts().take(up, 1.0) == up


@pytest.mark.parametrize("after", [0.0, 0.001, TAIL_SECONDS * 0.9])
def test_what_follows_a_paste_is_text_or_nothing(after: float) -> None:
    bursts = Bursts()
    paste = Reader().feed(b"\x1b[200~a\x1b[201~")
    keys = Reader().feed(b"1\x1b[A\x03\ry\x1bOP")
    if after:
        assert bursts.take(paste, 1.0) == paste
        assert bursts.take(keys, 1.0 + after) == []
    else:
        assert bursts.take([*paste, *keys], 1.0) == paste
    assert bursts.take(typed("z"), 1.0 + after + TAIL_SECONDS) == [Paste("1\ny"), *typed("z")]


def test_each_read_that_follows_extends_the_tail() -> None:
    bursts = Bursts()
    bursts.take([Paste("a")], 1.0)
    for number in range(1, 10):
        assert bursts.take(typed("\r"), 1.0 + number * TAIL_SECONDS * 0.9) == []
    assert bursts.due(9.0) == [Paste("\n" * 9)]


def test_a_second_paste_comes_behind_the_tail_of_the_first() -> None:
    bursts = Bursts()
    bursts.take([Paste("a")], 1.0)
    assert bursts.take([*typed("b"), Paste("c")], 1.001) == [Paste("b"), Paste("c")]


def test_events_that_are_no_keys_pass() -> None:
    bursts = Bursts()
    assert bursts.take([Paste("a"), Focus(False)], 1.0) == [Paste("a"), Focus(False)]


def test_a_paste_that_does_not_end_is_passed_on_in_pieces() -> None:
    bursts = Bursts()
    piece = typed("x" * 65536)
    sizes = []
    for number in range(40):
        for event in bursts.take(piece, 1.0 + number * 0.001):
            assert isinstance(event, Paste)
            sizes.append(len(event.text))
    assert len(sizes) == 2
    assert all(MAX_TEXT < size <= MAX_TEXT + 65536 for size in sizes)
