"""Hostile text in every field of every block is shown harmlessly and in time."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_tui.transcript.blocks import (
    Block,
    MarkdownBlock,
    NoticeBlock,
    OutcomeBlock,
    ThinkingBlock,
    UserBlock,
)
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.live import LiveBlock, LiveKind
from felan_tui.transcript.rows import row_cells, row_text
from felan_tui.transcript.tools import ToolBlock
from tests.harness.work import calls
from tests.tui.text import hostile
from tests.tui.transcript.drawing import LOOK, draw


def live(kind: LiveKind, text: str) -> Block:
    block = LiveBlock("k", kind)
    for at in range(0, len(text), max(1, len(text) // 50)):
        block.append(text[at : at + max(1, len(text) // 50)])
    return block


MAKERS: dict[str, Callable[[str], Block]] = {
    "user": lambda text: UserBlock("k", text, text, text),
    "markdown": lambda text: MarkdownBlock("k", text),
    "code": lambda text: MarkdownBlock("k", f"```{text}\n{text}\n```\n\n    {text}\n"),
    "table": lambda text: MarkdownBlock("k", f"| a | b |\n|---|---|\n| {text} | `{text}` |\n"),
    "nested": lambda text: MarkdownBlock(
        "k", f"- > - **{text}**\n\n[{text}](<{text}> '{text}')\n\n![{text}](x)"
    ),
    "thinking": lambda text: ThinkingBlock("k", text, 3),
    "tool": lambda text: ToolBlock(
        "k", text, text, text, "failed", 3, text, (FileDiff(text, text, text + "x"),), text
    ),
    "notice": lambda text: NoticeBlock("k", "error", text, text, text),
    "outcome": lambda text: OutcomeBlock("k", "cancelled", text, text, text),
    "live markdown": lambda text: live("markdown", text),
    "live thinking": lambda text: live("thinking", text),
    "live plain": lambda text: live("plain", text),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("width", [20, 80])
def test_every_block_is_harmless(make: Callable[[str], Block], width: int) -> None:
    for name, text in hostile.SHORT.items():
        block = make(text)
        for expanded in (False, True):
            for rows in (draw(block, width, expanded=expanded), block.draft(width, LOOK, expanded=expanded)):
                for row in rows:
                    assert not hostile.harmful(row_text(row) + "\n"), name
                    assert "\n" not in row_text(row), name
                    assert row_cells(row) <= width, name
        controls = {one for one in block.plain_text() if unicodedata.category(one) in ("Cc", "Cs")}
        assert controls <= {"\t", "\n", "\r"}, name


@pytest.mark.parametrize(
    ("make", "text"),
    [
        *((make, hostile.LONG["1 MB without a break"]) for make in MAKERS.values()),
        *((MAKERS[name], hostile.LONG["1 MB of ideographs"]) for name in ("user", "markdown", "tool")),
    ],
    ids=[*MAKERS, "user, ideographs", "markdown, ideographs", "tool, ideographs"],
)
def test_a_megabyte_without_a_break_is_drawn_with_work_that_grows_as_it_does(
    make: Callable[[str], Block], text: str
) -> None:
    few, more = (make(text[:size]) for size in (8_000, 32_000))
    draw(make("warm up"), 80, expanded=True)  # what is loaded once belongs to neither
    assert calls(lambda: draw(more, 80, expanded=True)) < 5 * calls(lambda: draw(few, 80, expanded=True))
    block = make(text)
    rows = draw(block, 80, expanded=True)
    assert all(row_cells(row) <= 80 for row in rows[:1000])
    assert block.estimate(80, expanded=True) >= 1


@pytest.mark.parametrize("text", hostile.MARKUP.values(), ids=hostile.MARKUP.keys())
def test_what_looks_like_markup_is_shown_as_it_is(text: str) -> None:
    for make in (MAKERS["user"], MAKERS["tool"], MAKERS["notice"], MAKERS["outcome"]):
        shown = "\n".join(row_text(row) for row in draw(make(text), 80, expanded=True))
        assert text in shown


@pytest.mark.parametrize(
    "text", ["&#x1b;[2J", "&#x9b;2J", "&#8238;abc", "&#x200b;x", "[a](http://x/&#8238;y)", "&#0;"]
)
def test_what_an_entity_stands_for_is_made_safe_too(text: str) -> None:
    for block in (MarkdownBlock("k", text), live("markdown", text)):
        shown = "".join(row_text(row) for row in draw(block, 80))
        assert not hostile.harmful(shown)


def test_the_address_of_a_link_is_always_shown() -> None:
    shown = "".join(
        row_text(row) for row in draw(MarkdownBlock("k", "[https://good.example](https://evil.example)"), 80)
    )
    assert "https://evil.example" in shown


@pytest.mark.parametrize(
    ("piece", "count"),
    [
        ("[", 20_000),
        ("*", 20_000),
        ("`", 20_000),
        ("*a ", 8_000),
        ("![[", 8_000),
        ("<", 20_000),
        ("> ", 8_000),
        ("- ", 8_000),
        ("_a*", 8_000),
        ("[a](", 4_000),
        ("|a |-", 8_000),
        ("a\n", 8_000),
        ("```", 8_000),
        ("&", 20_000),
        ("1. ", 8_000),
        ("[a]: x\n", 2_000),
        ("~~a ", 8_000),
        ("\\", 20_000),
    ],
    ids=repr,
)
def test_markdown_made_to_be_slow_is_drawn_with_work_that_grows_as_it_does(piece: str, count: int) -> None:
    def text(times: int) -> str:
        if piece == "|a |-":  # a head and what makes a table of it
            return "|a" * times + "\n" + "|-" * times + "\n"
        return piece * times

    few, more = text(count // 2), text(count)
    for make in (lambda one: MarkdownBlock("k", one), lambda one: live("markdown", one)):
        draw(make(few), 80)
        work = [calls(lambda one=one, make=make: draw(make(one), 80)) for one in (few, more)]
        assert work[1] < 3 * work[0]


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_drawn_within_the_width(text: str) -> None:
    for make in MAKERS.values():
        for row in draw(make(text), 30, expanded=True):
            shown = row_text(row)
            assert not hostile.harmful(shown)
            assert row_cells(row) <= 30
