"""Every change of two texts is in their diff, and nothing of it is invisible."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from felan_tui.text.diff import compare
from tests.harness.work import calls
from tests.tui.text.hostile import ALL, FORBIDDEN

SIGNS = {"same": " ", "added": "+", "removed": "-", "gap": "@", "note": "\\"}


def drawn(old: str | None, new: str | None, **options: Any) -> list[str]:
    return [SIGNS[line.kind] + line.text for line in compare(old, new).lines(**options)]


@pytest.mark.parametrize(
    ("old", "new", "counts", "notes", "lines"),
    [
        (
            "all:\n\tgcc x\n",
            "all:\n        gcc x\n",
            (1, 1),
            ["only white space differs: tabs → spaces"],
            [" all:", "-→   gcc x", "+        gcc x"],
        ),
        (
            "all:\n\tgcc x\n",
            "all:\n    gcc x\n",
            (1, 1),
            ["only white space differs: tabs → spaces"],
            [" all:", "-→   gcc x", "+    gcc x"],
        ),
        (
            "  a\n",
            "\ta\n",
            (1, 1),
            ["only white space differs: spaces → tabs"],
            ["-  a", "+→   a"],
        ),
        (
            "a\nb\n",
            "a\nb",
            (1, 1),
            ["only the newline at the end differs"],
            [" a", "-b", "+b", "\\no newline at the end of the file"],
        ),
        ("x\n", "x \t \n", (1, 1), ["only white space differs"], ["-x", "+x·→ ·"]),
        (
            "a\r\nb\r\nc\r\n",
            "a\nB\nc\n",
            (3, 3),
            ["line ends: CRLF → LF in every line"],
            [" a", "-b", "+B", " c"],
        ),
        (
            "a\nb\n",
            "a\r\nb\r\n",
            (2, 2),
            ["line ends: LF → CRLF in every line"],
            ["@2 lines unchanged but for the end"],
        ),
        (
            "a\rb\r",
            "a\nb\n",
            (2, 2),
            ["line ends: CR → LF in every line"],
            ["@2 lines unchanged but for the end"],
        ),
        ("a\nb\n", "a\r\nb\n", (1, 1), ["line ends: LF → LF and CRLF"], ["-a␊", "+a␍␊", " b"]),
        ("a\nb\n", "a\rb\nb\n", (1, 1), [], ["-a", "+a␍b", " b"]),
        ("\ufeffa\n", "a\n", (1, 1), ["byte order mark removed"], ["-‹U+FEFF›a", "+a"]),
        ("admin\n", "ad\u200bmin\n", (1, 1), [], ["-admin", "+ad‹U+200B›min"]),
        ("if a:\n", "if \u202ea:\n", (1, 1), [], ["-if a:", "+if ‹U+202E›a:"]),
        ("a b\n", "a\xa0b\n", (1, 1), ["only white space differs"], ["-a b", "+a‹U+00A0›b"]),
        (
            "caf\xe9\n",
            "cafe\u0301\n",
            (1, 1),
            [],
            ["-caf\xe9", "+cafe\u0301", "\\looks alike and differs: U+00E9 → U+0065 U+0301"],
        ),
        (None, "a\r\n", (1, 0), ["line ends: CRLF"], ["+a"]),
        ("a\n", None, (0, 1), [], ["-a"]),
        ("", "", (0, 0), [], []),
        ("a\n", "a\n", (0, 0), [], ["@1 line unchanged"]),
    ],
)
def test_a_change_is_shown_and_named(
    old: str | None, new: str | None, counts: tuple[int, int], notes: list[str], lines: list[str]
) -> None:
    found = compare(old, new)
    assert (found.added, found.removed) == counts
    assert list(found.notes) == notes
    assert drawn(old, new) == lines


def test_signs_of_white_space_are_marked_as_signs() -> None:
    (line,) = compare(None, "\u6f22\ta \n").lines()
    assert line.text == "\u6f22→ a·"
    assert [line.text[start:end] for start, end in line.signs] == ["→", "·"]


def test_equal_lines_are_counted_and_those_at_the_edges_only_when_asked() -> None:
    old = "".join(f"{number}\n" for number in range(30))
    new = old.replace("9\n", "nine\n", 1).replace("20\n", "")
    assert drawn(old, new, context=1) == [
        "@8 lines unchanged",
        " 8",
        "-9",
        "+nine",
        " 10",
        "@8 lines unchanged",
        " 19",
        "-20",
        " 21",
        "@8 lines unchanged",
    ]
    assert drawn(old, new, context=0, edges=False) == ["-9", "+nine", "@10 lines unchanged", "-20"]


def test_a_change_far_in_a_long_line_is_shown() -> None:
    before, after = drawn("x" * 9_000 + "old" + "x" * 500, "x" * 9_000 + "new" + "x" * 500, longest=60)[::2]
    assert "old" in before
    assert "new" in after
    assert before.startswith("-… 8,970 characters … ")
    assert before.endswith(" … 473 more characters")


def test_two_changes_in_a_large_file_are_two_changes() -> None:
    old = "".join(f"line {number}\n" for number in range(20_000))
    new = old.replace("line 17\n", "line seventeen\n").replace("line 19000\n", "")
    found = compare(old, new)
    assert (found.added, found.removed) == (1, 2)
    assert [line.text for line in found.lines(context=0) if line.kind != "gap"] == [
        "line 17",
        "line seventeen",
        "line 19000",
    ]


LINES = st.lists(st.sampled_from(["a", "b", "c", "\td", "e "]), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(LINES, LINES, st.integers(0, 3))
def test_both_texts_can_be_read_from_the_whole_diff(old: list[str], new: list[str], context: int) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    found = compare(before, after)
    lines = list(found.lines(context=1000))
    shown = {"\td": {"→   d", "    d"}, "e ": {"e·", "e "}}
    for side, source in (("removed", old), ("added", new)):
        texts = [line.text for line in lines if line.kind in ("same", side)]
        if old != new:
            assert len(texts) == len(source)
            assert all(text in shown.get(raw, {raw}) for text, raw in zip(texts, source, strict=True))
    kinds = [line.kind for line in found.lines(context=context)]
    assert (kinds.count("added"), kinds.count("removed")) == (found.added, found.removed)
    assert len(new) - len(old) == found.added - found.removed


TEXT = st.text(st.sampled_from("a\n\r\t \ufeff\u200b\u202e\xa0e\u0301\xe9"), max_size=12)


@given(TEXT, TEXT)
@example("a", "a\n")
@example("\r", "\n")
@example("\xe9\xa0", "e\u0301\xa0")
def test_texts_that_differ_never_look_the_same(old: str, new: str) -> None:
    found = compare(old, new)
    sides: list[list[str]] = [[], []]
    for line in found.lines(context=1000):
        for side, kind in enumerate(("removed", "added")):
            if line.kind == kind:
                sides[side].append(line.text)
    told = bool(found.notes) or any(line.kind == "note" for line in found.lines())
    assert bool(found.added or found.removed) == (old != new)
    assert old == new or told or sides[0] != sides[1]


@pytest.mark.parametrize("name", ALL)
def test_hostile_texts_are_harmless_on_both_sides(name: str) -> None:
    text = ALL[name][:100_000]
    for old, new in ((text, "x"), ("x", text), (text, text + "\n"), (None, text)):
        for line in compare(old, new).lines():
            assert not FORBIDDEN & set(line.text)
            assert "\n" not in line.text


@pytest.mark.parametrize(
    "line",
    [
        lambda number: f"{number % 7}",
        lambda number: f"{number}",
        lambda number: f"{number // 2}",
        lambda number: "same",
    ],
)
def test_a_huge_change_is_compared_with_a_few_calls_a_line(line: Callable[[int], str]) -> None:
    old = "".join(f"{line(number)}\n" for number in range(50_000))
    new = (
        "".join(f"{line(number + 1) if number % 3 else 'x'}\n" for number in range(50_000)) + "x" * 1_000_000
    )
    assert calls(lambda: compare(old, new)) < 40 * 50_000
