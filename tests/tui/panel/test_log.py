import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_tui.panel.fold import Fold, height
from felan_tui.panel.log import MAX_BYTES, SLICE, Note, OutputLog, slices
from felan_tui.text.ansi import ansi_lines, plain_text
from felan_tui.text.cells import fold_spans


def fed(data: bytes, **bounds: int) -> OutputLog:
    log = OutputLog(**bounds)
    at = 0
    for part in slices(data):
        log.feed(part, at)
        at += len(part)
    return log


def shown(log: OutputLog) -> str:
    return plain_text(log.lines(log.first, log.end))


def test_short_output_is_kept_whole_and_its_open_line_apart() -> None:
    log = fed(b"one\n\x1b[31mtwo\x1b[0m\nthr")
    assert shown(log) == "one\ntwo"
    assert plain_text([log.open_line]) == "thr"
    assert (log.first, log.end, log.begins_at, log.next_offset) == (0, 2, 0, 20)
    log.finish()
    assert shown(log) == "one\ntwo\nthr"


def test_the_newest_lines_are_kept_and_the_offset_of_the_oldest_is_exact() -> None:
    data = b"".join(b"line %06d\n" % number for number in range(30_000))
    log = fed(data, max_lines=1000)
    assert 1000 - SLICE // 12 <= log.end - log.first <= 1000
    assert log.end == 30_000
    oldest = plain_text([log.line(log.first)])
    assert data[log.begins_at :].startswith(oldest.encode() + b"\n")
    assert log.first == int(oldest.split()[1])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"x" * 400 + b"\n", id="long lines"),
        pytest.param(b"\x1b[38;2;%d;2;3mx\x1b[38;2;9;9;%dm\n" * 2 % (7, 8, 9, 1), id="colours"),
        pytest.param(b"".join(b"\x1b[3%dmx" % (n % 8) for n in range(3000)), id="colours without a line end"),
        pytest.param(b"\n" * 100, id="empty lines"),
        pytest.param("日本語のログ\n".encode() * 3, id="wide characters"),
        pytest.param(b"\x00\xff\x1b[\x1b]0;" * 50, id="noise"),
    ],
)
def test_memory_stays_bounded_whatever_comes(data: bytes) -> None:
    times = 400_000 // len(data)
    log = fed(data * times, max_lines=5_000, max_bytes=1 << 20)
    assert log.weight <= 1 << 20
    assert log.end - log.first <= 5_000
    assert log.next_offset == times * len(data)


def test_a_progress_line_without_an_end_leaves_one_line_and_no_pile_of_slices() -> None:
    log = fed(b"".join(b"\r%d %%" % (number % 101) for number in range(20_000)))
    assert log.end == 0
    assert plain_text([log.open_line]).endswith("%")
    assert len(log._slices) < 3


def test_a_gap_is_said_where_it_is_and_the_half_line_after_it_left_out() -> None:
    log = fed(b"first\nhalf")
    log.feed(b"rest of some line\nlast\n", 5_000_000)
    kept = log.lines(log.first, log.end)
    assert plain_text([kept[0], kept[1], kept[3]]) == "first\nhalf\nlast"
    assert isinstance(kept[2], Note)
    assert plain_text([kept[2]]) == "… 4.8 MiB not shown, bytes 10 to 5,000,018"


def test_output_that_begins_late_says_where_and_has_no_note() -> None:
    log = OutputLog()
    log.feed(b"cut line\nwhole\n", 1_000_000)
    assert shown(log) == "whole"
    assert log.begins_at == 1_000_009


def test_a_gap_at_the_top_is_not_said_twice() -> None:
    log = OutputLog(max_lines=4)
    log.feed(b"a\nb\n", 0)
    log.feed(b"x\nc\nd\ne\n", 1000)
    log.feed(b"f\n", 1008)
    assert shown(log) == "c\nd\ne\nf"
    assert log.begins_at == 1002


def test_what_is_being_read_is_not_dropped_and_the_log_says_that_it_is_full() -> None:
    log = OutputLog(max_lines=10)
    log.feed(b"old\n" * 8, 0)
    log.hold = 4
    log.feed(b"new\n" * 8, 32)
    assert (log.first, log.full) == (0, True)
    log.hold = None
    log.trim()
    assert log.full is False
    assert log.first == 8


texts = st.text(st.sampled_from("ab 日e\u0301👍🏽é"), max_size=60)


@given(st.lists(texts, max_size=20), st.integers(2, 30))
def test_every_row_of_a_fold_belongs_to_the_line_that_is_drawn_there(texts: list[str], width: int) -> None:
    fold = Fold(width, 0)
    fold.extend(texts)
    row = fold.base
    for number, text in enumerate(texts):
        rows = len(fold_spans(text, width))
        assert height(text, width) == rows
        assert [fold.at(row + part) for part in range(rows)] == [(number, part) for part in range(rows)]
        assert fold.row_of(number) == row
        row += rows
    assert fold.row_end == row


def test_dropping_the_oldest_lines_renumbers_no_row() -> None:
    fold = Fold(10, 0)
    fold.extend(["x" * 25, "second", "y" * 11, "last"])
    third = fold.row_of(2)
    fold.trim(2)
    assert (fold.base, fold.row_of(2), fold.at(third + 1), fold.end) == (third, third, (2, 1), 4)


@given(
    st.lists(st.sampled_from([b"a", b"bc", "日".encode(), b"\n", b"\x1b[31m", b"\x1b[0m", b"\x1b[38;5;9m"]))
)
def test_lines_come_out_as_they_went_in(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    log = fed(data)
    log.finish()
    assert log.lines(0, 999) == ansi_lines(data)
    assert log.texts(0, 999) == [plain_text([line]) for line in ansi_lines(data)]


def test_kept_lines_are_nothing_to_the_garbage_collector() -> None:
    log = fed(b"".join(b"\x1b[3%dmok\x1b[0m line %d\n" % (n % 8, n) for n in range(5_000)))
    gc.collect()
    assert not [line for line in log._lines if gc.is_tracked(line)]


@given(st.binary(max_size=20_000))
def test_slices_joined_are_the_data_and_none_is_too_long(data: bytes) -> None:
    parts = list(slices(data))
    assert b"".join(parts) == data
    assert all(0 < len(part) <= SLICE for part in parts)


def test_the_bounds_are_those_that_are_promised() -> None:
    log = fed(b"y" * 79 + b"\n", max_lines=20_000)
    assert log.weight < 400
    assert MAX_BYTES == 8 << 20
