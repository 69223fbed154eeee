"""Untrusted text comes out harmless, whole and fast."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_tui.text import SafeStream, safe, safe_line, visible
from felan_tui.text.cells import cell_len
from tests.harness.work import calls
from tests.tui.text import hostile

PIECES = st.sampled_from(
    [
        *(
            "a",
            "b ",
            "\n",
            "\r",
            "\r\n",
            "\t",
            "\x1b",
            "[",
            "]",
            "\\",
            "2J",
            "52;c;aGk=",
            "\x07",
            "\x9b",
            "\x9d",
        ),
        *(
            "\x9c",
            "\x1b[31m",
            "\x1b]0;t",
            "\x1bP",
            "O",
            "(",
            " ",
            "漢",
            "\u0301",
            "\u0301" * 9,
            "👩",
            "\u200d",
        ),
        *("\ufe0f", "\u202e", "\u200c", "م", "\x00", "\x85", "\u2028", "\x8f", "é", "\ud800"),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=25).map("".join), st.text(max_size=60))


@pytest.mark.parametrize("text", hostile.ALL.values(), ids=hostile.ALL.keys())
def test_nothing_harmful_is_left(text: str) -> None:
    assert not hostile.harmful(safe(text))
    assert not hostile.harmful(safe_line(text))
    assert "\n" not in safe_line(text)
    assert not hostile.harmful(visible(text))


@pytest.mark.parametrize("text", hostile.MARKUP.values(), ids=hostile.MARKUP.keys())
def test_what_looks_like_markup_is_kept_as_it_is(text: str) -> None:
    assert safe(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
        ("a\x1b]52;c;aGk=\x07b", "ab"),
        ("a\x1b]52;c;aGk=\nb", "a\nb"),
        ("a\x1b[2Jb", "ab"),
        ("a\x1b[38;2;1;2;3mb\x1b[0m", "ab"),
        ("ab\x1b[31", "ab"),
        ("ab\x1b", "ab"),
        ("a\x1bP1|x\x1b\\b", "ab"),
        ("a\x1bOPb", "ab"),
        ("a\x1b(Bb", "ab"),
        ("a\x9b2Jb", "ab"),
        ("a\x9d0;t\x9cb", "ab"),
        ("a\x1b[1\x1b[2mb", "ab"),
        ("a\r\nb\rc\x85d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"),
        ("a\x00\x07\x7fb", "ab"),
        ("a\ud800b", "a\ufffdb"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("ad\u200dmin", "admin"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("e\u0301", "e\u0301"),
        ("a" + "\u0301" * 400, "a" + "\u0301" * 16),
    ],
)
def test_sequences_go_whole_and_text_stays(text: str, expected: str) -> None:
    assert safe(text) == expected


def test_tabs_reach_the_next_stop_in_cells() -> None:
    assert safe("a\tb") == "a       b"
    assert safe("漢\tb\n\tc", tab=4) == "漢  b\n    c"


def test_a_line_has_a_mark_where_lines_ended() -> None:
    assert safe_line("a\nb\r\nc\n", mark="⏎") == "a⏎b⏎c"


def test_what_is_hidden_is_shown_where_a_person_approves() -> None:
    assert visible("rm\x1b[2K -rf\x00") == "rm␛[2K -rf␀"
    assert visible("a\u202eb\tc\x9bd") == "a‹U+202E›b␉c‹U+009B›d"
    assert visible("x\xa0y\u3164") == "x‹U+00A0›y‹U+3164›"
    assert visible("a\r\nb") == "a␍\nb"
    assert visible("👩\u200d💻 漢") == "👩\u200d💻 漢"


@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_any_text_is_harmless(text: str) -> None:
    for shown in (safe(text), visible(text)):
        assert not hostile.harmful(shown)
        shown.encode()
    assert safe(safe(text)) == safe(text)


@settings(deadline=None)
@given(TEXTS, st.data())
def test_in_pieces_as_in_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    stream = SafeStream()
    shown = (
        "".join(stream.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True))
        + stream.close()
    )
    assert shown == safe(text)


def test_a_line_end_with_a_sequence_inside_is_one_in_pieces_too() -> None:
    stream = SafeStream()
    assert stream.feed("a\r\x1b") + stream.feed("[31m") + stream.feed("\n") + stream.close() == "a\n"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "\x1b" * 1_000_000,
        "\x1b]" * 500_000,
        "\x9b1" * 500_000,
        "\x90\n" * 500_000,
        "\x1b[" + "1;" * 500_000,
        "漢" * 1_000_000,
        "\u0301" * 1_000_000,
        "👩\u200d" * 500_000,
        "漢\t" * 200_000,
    ],
    ids=lambda text: repr(text[:4]),
)
def test_a_megabyte_takes_work_that_grows_as_it_does(text: str) -> None:
    few, more = text[: len(text) // 64], text[: len(text) // 16]
    assert calls(lambda: safe(more)) < 6 * calls(lambda: safe(few))
    safe(text)  # a pattern that goes back and forth through a megabyte comes to no end
    assert cell_len(safe_line(text[:100])) <= 200 * 8
