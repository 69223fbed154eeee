"""Process output becomes harmless styled lines, however it is cut, and fast."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment

from felan_tui.text.ansi import MAX_LINE, AnsiLines, ansi_lines, plain_text
from tests.tui.text import hostile


def text_of(data: bytes | str) -> str:
    return plain_text(ansi_lines(data))


def styles_of(data: bytes | str) -> list[tuple[str, str]]:
    return [(segment.text, str(segment.style or "")) for line in ansi_lines(data) for segment in line]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb", "a\nb"),
        (b"a\r\nb\r\n", "a\nb"),
        (b"a\n\nb", "a\n\nb"),
        (b"10%\r50%\r100%\n", "100%"),
        (b"working...\rok\x1b[K\n", "ok"),
        (b"abc\rX", "Xbc"),
        (b"abc\x08\x08X", "aXc"),
        (b"abc\x1b[2K\rx", "x  "),
        (b"abc\x1b[1Kd", "   d"),
        (b"a\tb\xe6\xbc\xa2\tc", "a       b漢     c"),
        (b"\xff\xfe ok", "\ufffd\ufffd ok"),
        (b"a\x1b]0;title\x07b\x1b[5;5Hc\x1b(Bd\x1bP1;1|x\ny\x1b\\e", "abcde"),
        (b"a\x1b]0;never ends\nb", "a\nb"),
        ("a\x9b31mb\x9d0;t\x9cc", "abc"),
        ("a\u202eb\u200bc", "abc"),
    ],
)
def test_the_text_is_what_a_terminal_would_leave(data: bytes | str, expected: str) -> None:
    assert text_of(data) == expected


def test_colours_and_attributes() -> None:
    assert styles_of("\x1b[31mred\x1b[1m bold\x1b[0m plain\x1b[38;5;208mo\x1b[48;2;1;2;3mt\x1b[m.") == [
        ("red", "color(1)"),
        (" bold", "bold color(1)"),
        (" plain", ""),
        ("o", "color(208)"),
        ("t", "color(208) on #010203"),
        (".", ""),
    ]
    assert styles_of("\x1b[38:2::10:20:30mx") == [("x", "#0a141e")]
    assert styles_of("\x1b[4mx\x1b[24my") == [("x", "underline"), ("y", "not underline not underline2")]


def test_a_style_goes_on_in_the_next_line() -> None:
    assert styles_of("\x1b[32ma\nb") == [("a", "color(2)"), ("b", "color(2)")]


@pytest.mark.parametrize("text", hostile.ALL.values(), ids=hostile.ALL.keys())
def test_nothing_harmful_is_left(text: str) -> None:
    assert not hostile.harmful(text_of(text))
    assert not hostile.harmful(text_of(text.encode(errors="surrogatepass")))


def test_a_line_without_a_break_is_stored_in_pieces() -> None:
    lines = ansi_lines(b"x" * 1_000_000)
    assert len(lines) == -(-1_000_000 // MAX_LINE)
    assert max(len(segment.text) for line in lines for segment in line) <= MAX_LINE


def test_an_endless_sequence_does_not_swallow_what_follows_for_ever() -> None:
    screen = AnsiLines()
    screen.feed(b"\x1bP")
    for _ in range(40):
        screen.feed(b"x" * 65536)
    assert "still here" in plain_text(screen.feed(b"\nstill here\n"))


def test_the_open_line_is_shown_before_it_ends() -> None:
    screen = AnsiLines()
    assert screen.feed(b"done\nhalf") == [[Segment("done")]]
    assert screen.open_line == [Segment("half")]


PIECES = st.sampled_from(
    [
        *(
            b"a",
            b"b ",
            b"\n",
            b"\r",
            b"\r\n",
            b"\t",
            b"\x08",
            b"\x1b",
            b"[",
            b"]",
            b"\\",
            b"31",
            b";",
            b"m",
            b"K",
        ),
        *(
            b"\x1b[K",
            b"\x1b[1m",
            b"\x1b[38;5;9m",
            b"\x1b]0;t",
            b"\x07",
            b"\x1bP",
            b"\x1bO",
            b"\xc2\x9b",
            b"\xc2\x9d",
        ),
        *(
            "漢".encode(),
            "👩".encode(),
            "\u200d".encode(),
            b"\xff",
            b"\x00",
            "\u202e".encode(),
            "\u0301".encode(),
        ),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=30).map(b"".join), st.data())
def test_in_chunks_as_in_whole(data: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=6)))
    screen = AnsiLines()
    lines = [
        line
        for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)
        for line in screen.feed(data[a:b], final=b == len(data) and a == ([0, *cuts][-1]))
    ]
    lines += screen.feed(b"", final=True)
    assert lines == ansi_lines(data)
    assert not hostile.harmful(plain_text(lines))
