"""Text that comes in pieces looks as the whole text does, whatever the pieces, and its cost does not grow."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_tui.text import safe
from felan_tui.transcript.blocks import MarkdownBlock
from felan_tui.transcript.live import LiveBlock, LiveText
from tests.harness.work import calls
from tests.tui.transcript.drawing import LOOK, draw, text_of

PARAGRAPH = "Some **bold** text and `code` with [a link](https://x.y) 日本語の文 that goes on and on. "
DOCUMENTS = {
    "mixed": (
        "# Title\n\nHello **bold** and\nmore.\n\n- one\n- two\n  1. deep\n\n> quote\n> more\n\n"
        "| a | b |\n|---|--:|\n| 漢字 | 3 |\n\n```python\nx = 1\n```\n\n    code\n\n---\n\nEnd.\n\n"
    )
    * 12,
    "a long fence": "```\n" + "".join(f"line {number} of 漢字\n" for number in range(300)) + "```\nafter\n",
    "a short fence": "before\n\n```python\nreturn 1\n```\n",
    "a fence that never closes": "```python\n" + "x = 1\n" * 400,
    "a long list": "".join(f"- item {number} with **bold** and more text to wrap\n" for number in range(120)),
    "a nested list": "".join(f"{'  ' * (n % 4)}- item {n} and `code`\n" for n in range(150)),
    "a numbered list": "".join(f"{n}. item\n\n" for n in range(1, 150)),
    "a list with code": "- item\n\n  ```py\n" + "  x = 1\n" * 200 + "  ```\n- next\n",
    "a long paragraph": PARAGRAPH * 40,
    "lines of a paragraph": "a line of words that is short\n" * 100,
    "a long table": "| name | 値 |\n|---|--:|\n" + "| some | 漢字 |\n" * 150 + "\nafter\n",
    "a long quote": "> words of a quote\n" * 100 + ">\n> - a list\n" * 50,
    "a word without an end": "x" * 5000,
    "html": "<div>\n" + "text in it\n" * 200 + "</div>\n\nafter\n",
    "indented code": "before\n\n" + "    code here\n" * 150 + "\nafter\n",
    "tasks": "- [ ] open\n- [x] done\n" * 60,
    "two kinds of lists": "- a\n- b\n" * 90 + "* c\n* d\n" * 20,
}


def in_pieces(text: str, seed: int, width: int = 60) -> LiveText:
    chance = random.Random(seed)
    live = LiveText(width, LOOK)
    at = 0
    while at < len(text):
        size = chance.choice((1, 2, 7, 40, 300))
        live.append(text[at : at + size])
        at += size
    return live


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_pieces_it_ends_as_the_whole_text(name: str, seed: int) -> None:
    text = DOCUMENTS[name]
    live = in_pieces(text, seed)
    live.close()
    assert text_of(live.rows) == text_of(draw(MarkdownBlock("m", text), 60))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_shown_meanwhile_has_all_the_words(name: str) -> None:
    text = DOCUMENTS[name]
    for end in (len(text) // 3, len(text) // 2, len(text) - 2):
        live = in_pieces(text[:end], end)
        words = "".join("".join(text_of(live.rows)).split())
        expected = "".join("".join(text_of(draw(MarkdownBlock("m", text[:end]), 60))).split())
        # The last characters may wait for what decides them.
        assert len(words) >= len(expected) - 40


def test_final_rows_stay_the_same_objects() -> None:
    text = "".join(DOCUMENTS.values())
    live = LiveText(60, LOOK)
    seen: list[object] = []
    for at in range(0, len(text), 97):
        live.append(text[at : at + 97])
        for before, row in zip(seen, live.rows, strict=False):
            assert before is row
        seen = list(live.rows[: live.final])


PIECES = st.sampled_from(
    [
        *(
            "word ",
            "**",
            "`",
            "\n",
            "\n\n",
            "- ",
            "1. ",
            "> ",
            "```\n",
            "# ",
            "| a | b |\n",
            "|---|---|\n",
            "    ",
        ),
        *(
            "漢字",
            "漢字**「字」**",
            "<br>",
            "\n\n  para",
            "\n  - nested",
            "\n- item",
            "| 1 | 2 | 3 |\n",
            "\t",
            "[x](y)",
            "---\n",
            "===\n",
            "<b>\n",
            "\x1b[31m",
            "\x1b]0;t\x07",
            "\r\n",
            "👩\u200d💻",
            "~~~\n",
        ),
        *("word " * 300, "- item of a list\n" * 80, "> quote\n" * 150, "x" * 1500),
        *("| 1 | 2 |\n" * 100, "\n    code" * 90, "\n```\n" + "line\n" * 300, "\n\n1. a\n\n   b" * 60),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=20).map("".join), st.integers(0, 1000))
def test_any_text_in_pieces_ends_as_the_whole_text(text: str, seed: int) -> None:
    live = in_pieces(text, seed)
    live.close()
    assert text_of(live.rows) == text_of(draw(MarkdownBlock("m", text), 60))


def test_a_very_long_block_keeps_its_rows_and_loses_no_line() -> None:
    for line in ("- item {} with **bold**\n", "> quote {}\n>\n", "word {} of a paragraph\n", "1. {}\n\n"):
        text = "".join(line.format(number) for number in range(2_000)) + "\nThe end.\n"
        live = in_pieces(text, 7)
        live.close()
        shown = "\n".join(text_of(live.rows))
        assert all(str(number) in shown for number in range(2_000))
        assert shown.endswith("The end.")


def test_a_definition_counts_for_the_links_below_it() -> None:
    live = in_pieces("[docs]: http://a.example\n\nfirst\n\nsee [docs]\n\nlast\n", 3)
    live.close()
    assert text_of(live.rows) == [
        "[docs]: http://a.example",
        "",
        "first",
        "",
        "see docs (http://a.example)",
        "",
        "last",
    ]


@given(st.lists(PIECES, max_size=8).map("".join), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_plain_text_in_pieces_is_the_text(text: str, seed: int) -> None:
    chance = random.Random(seed)
    live = LiveText(30, LOOK, markdown=False)
    at = 0
    while at < len(text):
        size = chance.choice((1, 5, 100))
        live.append(text[at : at + size])
        at += size
    live.close()
    assert "".join("".join(text_of(live.rows)).split()) == "".join(safe(text).split())


def test_a_live_block_is_drawn_again_at_another_width() -> None:
    block = LiveBlock("m", "markdown")
    block.append("**some words** that wrap at ten cells")
    assert text_of(draw(block, 80)) == ["some words that wrap at ten cells"]
    assert text_of(draw(block, 12)) == ["some words", "that wrap at", "ten cells"]
    block.append(" and more")
    assert text_of(draw(block, 80)) == ["some words that wrap at ten cells and more"]
    assert block.plain_text() == "**some words** that wrap at ten cells and more"


def test_folded_thinking_draws_nothing_of_its_text() -> None:
    block = LiveBlock("t", "thinking")
    block.append("secret\nthoughts")
    assert text_of(draw(block, 40, expanded=False)) == ["▸ thinking"]
    assert text_of(draw(block, 40, expanded=True)) == ["▾ thinking", "│ secret", "│ thoughts"]


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + "x = f(1)  # text\n" * 2500,
        "- an item with **bold** text and more\n" * 1100,
        PARAGRAPH * 480,
        "x" * 40_000,
    ],
    ids=["fence", "list", "paragraph", "one word"],
)
def test_a_piece_costs_the_same_at_the_end_as_at_the_beginning(text: str) -> None:
    text = text[:12_000]
    live = LiveText(80, LOOK)
    live.append("A block before it.\n\n")
    costs: list[int] = []
    for at in range(0, len(text), 80):
        costs.append(calls(lambda at=at: live.append(text[at : at + 80])))
    tenth = len(costs) // 10
    first, last = sorted(costs[tenth : 2 * tenth]), sorted(costs[-tenth:])
    # Medians: what grows with the message grows by more than this.
    assert last[tenth // 2] < 2 * first[tenth // 2]
