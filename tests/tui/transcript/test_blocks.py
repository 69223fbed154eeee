"""What each block looks like, at two widths, with wide and combining characters."""

import textwrap

import pytest

from felan_tui.transcript.blocks import (
    Block,
    MarkdownBlock,
    NoticeBlock,
    OutcomeBlock,
    ThinkingBlock,
    UserBlock,
)
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.look import look_from_theme
from felan_tui.transcript.rows import row_text
from felan_tui.transcript.tools import ToolBlock
from tests.tui.transcript.drawing import COLOURS, LOOK, draw, shown


def lines(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_what_a_person_sent_stands_behind_a_bar() -> None:
    block = UserBlock("u", "fix the flaky 로그인 테스트 in tests/test_login.py please\nand run it")
    assert shown(block, 40) == lines(
        """
        ▌ fix the flaky 로그인 테스트 in
        ▌ tests/test_login.py please
        ▌ and run it
        """
    )
    assert shown(UserBlock("u", "hi", label="alice@host", note="queued"), 40) == lines(
        """
        ▌ alice@host
        ▌ hi
        ▌ queued
        """
    )


def test_a_long_paste_folds() -> None:
    block = UserBlock("u", "\n".join(f"line {number}" for number in range(100)))
    assert len(draw(block, 80, expanded=False)) < 30
    assert "more characters" in shown(block, 80, expanded=False)
    assert "line 99" in shown(block, 80, expanded=True)


MARKDOWN = """\
# Title 漢字

Some **bold** and *it* with `code`, [a link](https://x.y/z) and <https://auto.link> e\u0301 👩\u200d💻.

- one
  1. deep
     - deeper
- [x] done

> quoted 日本語の長い引用文がここで折り返されるはずです

| name | 値 |
|:-----|---:|
| 漢字 | 1 |
| b | 22 |

```python
def f():
    return 1
```

<b>raw</b>

***
"""


def test_markdown_at_80() -> None:
    assert shown(MarkdownBlock("m", MARKDOWN), 80) == lines(
        """
        Title 漢字

        Some bold and it with code, a link (https://x.y/z) and https://auto.link é 👩‍💻.

        • one
          1. deep
             ▪ deeper
        • ☑ done

        │ quoted 日本語の長い引用文がここで折り返されるはずです

        name │ 値
        ─────┼───
        漢字 │  1
        b    │ 22

          def f():                                                               python
              return 1

        <b>raw</b>

        ────────────────────────────────────────────────────────────────────────────────
        """
    ).replace("é", "e\u0301")


def test_markdown_at_40() -> None:
    assert shown(MarkdownBlock("m", MARKDOWN), 40) == lines(
        """
        Title 漢字

        Some bold and it with code, a link
        (https://x.y/z) and https://auto.link é
        👩‍💻.

        • one
          1. deep
             ▪ deeper
        • ☑ done

        │ quoted 日本語の長い引用文がここで折り
        │ 返されるはずです

        name │ 値
        ─────┼───
        漢字 │  1
        b    │ 22

          def f():                       python
              return 1

        <b>raw</b>

        ────────────────────────────────────────
        """
    ).replace("é", "e\u0301")


def test_a_table_that_is_too_wide_wraps_in_its_cells() -> None:
    table = "| a | b |\n|---|---|\n| " + "word " * 12 + "| " + "漢字" * 12 + " |\n"
    assert shown(MarkdownBlock("m", table), 40) == lines(
        """
        a                   │ b
        ────────────────────┼─────────────────
        word word word word │ 漢字漢字漢字漢字
        word word word word │ 漢字漢字漢字漢字
        word word word word │ 漢字漢字漢字漢字
        """
    ) or all(
        line.count("│") == 1 for line in shown(MarkdownBlock("m", table), 40).split("\n") if "─" not in line
    )


def test_a_table_of_too_many_columns_becomes_a_list() -> None:
    head = "|" + "|".join(f" c{number} " for number in range(12)) + "|"
    table = f"{head}\n|{'---|' * 12}\n|{'|'.join(str(number) for number in range(12))}|\n"
    assert "c11: 11" in shown(MarkdownBlock("m", table), 40)


def test_code_is_coloured_by_its_language() -> None:
    rows = draw(MarkdownBlock("m", "```python\nreturn 'x'  # c\n```"), 40)
    styles = {segment.text.strip(): segment.style for segment in rows[0]}
    assert styles["return"] == LOOK.syntax["keyword"]
    assert styles["'x'"] == LOOK.syntax["string"]
    assert styles["# c"] == LOOK.syntax["comment"]


def test_code_of_an_unknown_language_is_plain() -> None:
    rows = draw(MarkdownBlock("m", "```nope\nreturn 1\n```"), 40)
    assert {segment.style for segment in rows[0] if segment.text.strip()} == {LOOK.block, LOOK.label}


def test_an_unfinished_message_says_so() -> None:
    assert shown(MarkdownBlock("m", "half a", incomplete=True), 40) == "half a\n⊘ not complete"


def test_thinking_is_a_line_until_it_is_expanded() -> None:
    block = ThinkingBlock("t", "first this\nthen that", 4.2)
    assert shown(block, 40) == "▸ thought 4 s"
    assert shown(block, 40, expanded=True) == "▾ thought 4 s\n│ first this\n│ then that"
    assert shown(ThinkingBlock("t", "", running=True), 40) == "▸ thinking"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (ToolBlock("k", "tests/x.py", "read", state="completed"), "✓ read  tests/x.py"),
        (ToolBlock("k", "pytest -k login", "bash", seconds=0.2), "● bash  pytest -k login          running"),
        (ToolBlock("k", "pytest -k login", "bash", seconds=12), "● bash  pytest -k login     running 12 s"),
        (
            ToolBlock("k", "make", "bash", state="failed", seconds=65),
            "✗ bash  make           failed 1 min 05 s",
        ),
        (ToolBlock("k", "", "", "search", state="interrupted"), "⊘ search                     interrupted"),
        (
            ToolBlock("k", "src/a/very/long/path/to/some/file.py", "edit", state="completed"),
            "✓ edit  src/a/very/long…/to/some/file.py",
        ),
        (
            ToolBlock(
                "k", "a.py", "edit", state="completed", diffs=(FileDiff("a.py", "a\nb\n", "a\nc\nd\n"),)
            ),
            "✓ edit  a.py                       +2 −1",
        ),
    ],
)
def test_a_tool_card_is_a_line(block: ToolBlock, expected: str) -> None:
    assert shown(block, 40) == expected


def test_prose_and_cards_are_capped_on_a_wide_screen() -> None:
    words = "word " * 100
    for block, columns in (
        (UserBlock("u", words), 100),
        (ThinkingBlock("t", words), 100),
        (NoticeBlock("n", "error", words, words, words), 100),
        (OutcomeBlock("o", "completed", words), 120),
        (ToolBlock("k", words, "bash", seconds=9), 120),
    ):
        widest = max(len(line) for line in shown(block, 200, expanded=True).split("\n"))
        assert columns - 6 < widest <= columns


def test_a_state_has_a_glyph_and_a_colour() -> None:
    heads = {
        state: draw(ToolBlock("k", "x", state=state), 40)[0][0]
        for state in ("running", "completed", "failed", "interrupted")
    }
    assert len({head.text for head in heads.values()}) == 4
    assert len({head.style for head in heads.values()}) == 4


def test_an_expanded_card_shows_arguments_diff_and_output() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 21))
    new = old.replace("line 10\n", "line ten\nand more\n")
    block = ToolBlock(
        "k",
        "a.py",
        "edit",
        state="completed",
        output="\x1b[32mok\x1b[0m done\n",
        diffs=(FileDiff("src/a.py", old, new),),
        arguments='{"path": "a.py"}',
    )
    assert shown(block, 60, expanded=True) == lines(
        """
        ✓ edit  a.py                                           +2 −1
        │ arguments
        │ {"path": "a.py"}
        │ src/a.py  +2 −1
        │  7  7   line 7
        │  8  8   line 8
        │  9  9   line 9
        │ 10    - line 10
        │    10 + line ten
        │    11 + and more
        │ 11 12   line 11
        │ 12 13   line 12
        │ 13 14   line 13
        │ output
        │ ok done
        """
    )
    rows = draw(block, 60, expanded=True)
    styles = {segment.text: segment.style for row in rows for segment in row}
    assert styles["+ "] == LOOK.added
    assert styles["- "] == LOOK.removed
    assert styles["ok"] != styles[" done"]


def test_a_new_and_a_deleted_file_are_named_so() -> None:
    block = ToolBlock(
        "k", "x", "edit", diffs=(FileDiff("new.py", None, "a\tb\n"), FileDiff("old.py", "a\n", None))
    )
    text = shown(block, 60, expanded=True)
    assert "new.py  +1 −0  new file" in text
    assert "1 + a→  b" in text
    assert "old.py  +0 −1  deleted" in text
    assert "2 files +1 −1" in text


def test_a_diff_with_gaps_and_too_many_lines_says_what_it_leaves_out() -> None:
    old = "".join(f"{number}\n" for number in range(4000))
    new = "".join(f"{number if number % 10 else 'x'}\n" for number in range(4000))
    text = shown(ToolBlock("k", "x", "edit", diffs=(FileDiff("a", old, new),)), 60, expanded=True)
    assert "more lines of this diff are not shown" in text
    assert "+400 −400" in text or "+3991 −3991" in text


def test_a_long_output_shows_its_beginning_and_its_end() -> None:
    block = ToolBlock("k", "x", "bash", output="\n".join(f"line {number}" for number in range(5000)))
    text = shown(block, 60, expanded=True)
    assert "4,500 lines are not shown here" in text
    assert "line 99\n" in text
    assert "line 4999" in text
    assert "line 100\n" not in text


def test_a_notice_is_a_card_and_an_outcome_a_line() -> None:
    block = NoticeBlock("n", "error", "The agent died", "Exit code 1.", "Traceback")
    assert shown(block, 40) == "│ ✗ The agent died\n│ Exit code 1.\n│ ▸ details"
    assert shown(block, 40, expanded=True) == "│ ✗ The agent died\n│ Exit code 1.\n│ ▾ details\n│ Traceback"
    assert shown(NoticeBlock("n", "info", "attached"), 40) == "• attached"
    assert (
        shown(OutcomeBlock("o", "completed", "approved by you: git push"), 60)
        == "✓ approved by you: git push"
    )
    gone = OutcomeBlock("o", "cancelled", "cancelled: the agent that asked is gone", "r asks again")
    assert shown(gone, 60) == "⊘ cancelled: the agent that asked is gone — r asks again"
    assert shown(gone, 40) == "⊘ cancelled: the agent t… — r asks again"


def test_without_unicode_the_chrome_is_ascii() -> None:
    look = look_from_theme(COLOURS, unicode=False)
    blocks: list[Block] = [
        ToolBlock("k", "make", "bash", output="x", arguments="y"),
        ThinkingBlock("t", "x", 4),
        NoticeBlock("n", "error", "x", "y", "z"),
        OutcomeBlock("o", "cancelled", "x", "y"),
        MarkdownBlock("m", "- a\n\n> b\n\n| a | b |\n|--|--|\n| c | d |\n\n---\n", incomplete=True),
        UserBlock("u", "x", label="somebody else", note="a note that is long"),
        ToolBlock("k", "a/long/path/to/cut.py", "edit", diffs=(FileDiff("a/long/path/to/cut.py", "a", "b"),)),
        OutcomeBlock("o", "cancelled", "words that have to be cut", "and a hint"),
    ]
    for block in blocks:
        for width in (16, 40):
            for expanded in (False, True):
                for row in draw(block, width, expanded=expanded, look=look):
                    assert row_text(row).isascii()


def test_the_terminals_own_palette_is_used_as_it_is() -> None:
    look = look_from_theme(
        {"foreground": "ansi_default", "background": "ansi_default", "text-error": "ansi_red"}
    )
    assert look.error.color is not None
    assert look.error.color.name == "color(1)"
    assert look_from_theme({}).glyphs.failed == "✗"


def test_a_copy_is_the_text_without_decoration() -> None:
    assert MarkdownBlock("m", "**a**\n\n```py\nx\n```").plain_text() == "**a**\n\n```py\nx\n```"
    assert "│" not in ToolBlock("k", "make", "bash", output="\x1b[31mx\x1b[0m").plain_text()
