import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from felan_core.agents.rehearsal.words import (
    chunks,
    fill,
    found_at,
    last_line,
    one_line,
    plain_markdown,
    pointer_told,
    variables_of,
)


@given(st.text(), st.integers(1, 50))
def test_chunks_join_to_the_text_and_none_is_large(text: str, size: int) -> None:
    found = list(chunks(text, size))
    assert "".join(found) == text
    assert all(0 < len(chunk) <= size * 5 for chunk in found)


def test_what_is_filled_in_is_never_looked_at_again() -> None:
    variables = {"a": "${b}", "b": "no", "c.d": "x"}
    assert fill("${a} ${c.d} ${unbound}| $${a} $x {b}", variables) == "${b} x | ${a} $x {b}"


def test_a_variable_that_is_none_is_named() -> None:
    assert variables_of("${a} ${b.c} $${d}") == {"a", "b.c"}
    with pytest.raises(ValueError, match=r"\$\{A B\}"):
        variables_of("x ${A B}")


@given(st.text(st.characters(exclude_categories=["C"], exclude_characters=["\u2028", "\u2029"])))
def test_a_value_in_a_document_stays_text(value: str) -> None:
    html = MarkdownIt("commonmark").render(f"Said: {plain_markdown(value)}.")
    shown = html.removeprefix("<p>").rstrip("\n").removesuffix("</p>")
    for entity, mark in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, mark)
    assert shown.split() == f"Said: {' '.join(value.split())}.".split()


def test_words_are_found_whole_and_the_earliest_counts() -> None:
    assert found_at("please EDIT this", ["edit"]) == (1, -1)
    assert found_at("the credits", ["edit"]) is None
    assert found_at("show me around", ["around", "show me around"]) == (0, -3)
    assert found_at("run, then edit", ["edit", "run"]) == (0, -1)
    assert found_at("", ["edit"]) is None


def test_the_last_line_of_output_is_plain() -> None:
    assert last_line("one\n\x1b[1;32mtwo\x1b[0m \x07\n\n") == "two"
    assert last_line("") == ""
    assert one_line("a\n b\tc " + "x" * 300, 10) == "a b c xxx…"


def test_what_a_context_says_of_the_pointer() -> None:
    context = """UNKNOWN_RECOVERY:IO_ERROR
TASK_POINTER_V2
status: DIRTY
revision: 7
recovery_mode: MERGE_FIRST
note: nothing: of this
pointer_text: 20 bytes
| Goal: one
|\x20
| status: none of yours"""
    assert pointer_told(context) == {
        "status": "DIRTY",
        "revision": "7",
        "mode": "MERGE_FIRST",
        "text": "Goal: one\n\nstatus: none of yours",
    }
    assert set(pointer_told("").values()) == {""}
