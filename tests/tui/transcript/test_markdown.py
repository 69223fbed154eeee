"""Markdown is drawn as CommonMark reads it, and nothing that was written is lost from view."""

import pytest

from felan_tui.transcript.blocks import MarkdownBlock
from felan_tui.transcript.commonmark import is_cjk, parse_inline
from felan_tui.transcript.rows import goes_on, row_text, source_of
from tests.tui.transcript.drawing import LOOK, draw, text_of


def drawn(text: str, width: int = 60) -> list[str]:
    return text_of(draw(MarkdownBlock("m", text), width))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("- a\n\t- b\n\t\t- c\n- d\n", ["• a", "  ◦ b", "    ▪ c", "• d"]),
        ("1.\tone\n2.\ttwo\n", ["1. one", "2. two"]),
        ("- item\n\n\t```\n\tls\n\t```\n- next\n", ["• item", "", "    ls", "", "• next"]),
        ("\tcode\n\t\tmore\n", ["  code", "          more"]),
        ("1. a\n5. b\n6. c\n8. d\n", ["1. a", "5. b", "6. c", "8. d"]),
        ("3) a\n3) b\n", ["3) a", "3) b"]),
        ("- a\n- b\n", ["• a", "• b"]),
        ("- a\n\n- b\n", ["• a", "", "• b"]),
        ("- a\n  - b\n\n- c\n", ["• a", "  ◦ b", "", "• c"]),
        ("- a\n\n  - b\n- c\n", ["• a", "", "  ◦ b", "", "• c"]),
        (
            "1. A:\n\n   ```\n   x\n   ```\n\n2. B\n",
            ["1. A:", "", "     x", "", "2. B"],
        ),
        ("a<br>b<br/>c<BR />d\n", ["a", "b", "c", "d"]),
        ("a\n\n<br>\n\nb\n", ["a", "", "", "", "b"]),
        (
            "| a | b |\n|---|---|\n| one<br>two | x |\n| 1 | 2 | third |\n",
            ["a   │ b │", "────┼───┼──────", "one │ x │", "two │   │", "1   │ 2 │ third"],
        ),
        ('[t](http://x.example "the title")', ['t (http://x.example "the title")']),
        ('[http://x.example](http://x.example "t")', ['http://x.example ("t")']),
        ('![pic](a.png "t")', ['pic (a.png "t")']),
        ("[a](docs/说明.md) [b](docs/%E8%AF%B4.md)", ["a (docs/说明.md) b (docs/说.md)"]),
        ("[a](x%20y%2Fz) [b](%E2%80%AE) [c](%FF%FE)", ["a (x%20y%2Fz) b (%E2%80%AE) c (%FF%FE)"]),
        (
            "see [a]\n\n[a]: /x\n[b]: http://lost.example 'why'\n",
            ["see a (/x)", "", "[a]: /x", "[b]: http://lost.example 'why'"],
        ),
        (
            "> quote\n>\n> [q]: http://in.example\n\nafter\n",
            ["│ quote", "│", "│ [q]: http://in.example", "", "after"],
        ),
    ],
)
def test_what_was_written_is_drawn(text: str, rows: list[str]) -> None:
    assert drawn(text) == rows


def test_the_info_of_a_fence_stands_at_the_right_of_its_first_row() -> None:
    assert drawn('```python title="src/app.py"\nx = 1\n```', 50) == [
        "  x = 1" + " " * 17 + 'python title="src/app.py"'
    ]
    assert drawn("```js:src/main.js\n" + "y" * 40 + "\n```", 50)[0].strip() == "js:src/main.js"
    rows = draw(MarkdownBlock("m", "```python:a.py\nreturn 1\n```"), 50)
    assert rows[0][1].style == LOOK.syntax["keyword"]


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("**重要：**本文です。含**「重点」**内容", ["重要：", "「重点」"]),
        ("これは**（注）**です", ["（注）"]),
        ("**이 별표는 강조 표시로 인식(괄호)**이 문장", ["이 별표는 강조 표시로 인식(괄호)"]),
        ("a**(b)**c", []),
        ("**a.**b", []),
        ("**plain** text", ["plain"]),
        ("👩**“x”**y", []),
    ],
)
def test_emphasis_beside_cjk_text_is_read_as_the_amendment_says(text: str, strong: list[str]) -> None:
    found: list[str] = []
    open_ = False
    for token in parse_inline(text, {}):
        if token.type in ("strong_open", "strong_close"):
            open_ = token.type == "strong_open"
        elif open_ and token.content:
            found.append(token.content)
    assert found == strong


def test_cjk_characters_are_wide_and_no_emoji_or_hangul() -> None:
    assert all(is_cjk(one) for one in "漢あア한가、（〜ｱ")
    assert not any(is_cjk(one) for one in "aé“…👩✅⌚")


def test_rows_know_what_a_copy_of_them_is() -> None:
    rows = draw(MarkdownBlock("m", "some words that wrap and\tgo on\n\n```\n\tx\n```"), 16)
    assert [goes_on(row) for row in rows] == [True, True, False, False, False]
    assert "".join(source_of(part) for row in rows[:3] for part in row) == "some words that wrap and\tgo on"
    assert "".join(source_of(part) for part in rows[4]).strip(" ") == "\tx"
    assert "\t" not in "".join(map(row_text, rows))


def test_prose_is_at_most_a_hundred_columns_and_code_and_tables_may_be_wider() -> None:
    rows = drawn("word " * 80 + "\n\n- " + "item " * 80 + "\n\n```\n" + "c" * 150 + "\n```\n", 160)
    prose = [row for row in rows if "word" in row or "item" in row]
    assert 95 <= max(map(len, prose)) <= 100
    assert "  " + "c" * 150 in rows
    table = drawn("| a | b |\n|---|---|\n|" + "x" * 70 + "|" + "y" * 70 + "|\n", 160)
    assert len(table) == 3
