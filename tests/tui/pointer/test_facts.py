"""What the pointer says, as pure functions: the rules of a text, the history, the merge."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from felan_core.pointer.rules import State
from felan_core.pointer.values import MAX_TEXT_BYTES, text_fault
from felan_tui.actions import FURTHER
from felan_tui.pointer.facts import MAX_BYTES, Pointer, PointerHistory, age, merged, pointer_of, text_problem
from felan_tui.pointer.look import row_pieces
from felan_tui.screens.pointer import PointerScreen

CLEAN = Pointer(3, "CLEAN", "g-" + "a" * 32, 4, "task", "goal", 1_000)


def host_element(state: State | None, code: str | None = None):
    from felan_core.host.pointer import pointer_element

    return pointer_element(state, code)


@given(st.text(st.characters(), max_size=40))
@example("\x1c\x1f")
@example("\x85\u2028\u3000 ")
@example("a\0")
@example("\ud800")
@example("é" * 4096)
@example("é" * 4096 + "a")
def test_a_text_is_refused_here_exactly_when_the_pointer_refuses_it(text: str) -> None:
    assert (text_problem(text) is None) == (text_fault(text) is None)


def test_the_bound_is_the_pointer_s() -> None:
    assert MAX_BYTES == MAX_TEXT_BYTES
    assert text_problem("로" * 2730 + "ab") is None
    assert text_problem("로" * 2731) == "It is 1 byte too long: a pointer holds 8,192."


def test_it_reads_what_the_host_shows() -> None:
    state = State("s", "g-" + "1" * 32, 7, "DIRTY", "t", "the goal", "2026-01-02T03:04:05Z")
    pointer = pointer_of(host_element(state, "STALE_REVISION"))
    assert pointer == Pointer(
        1, "DIRTY", state.generation, 7, "t", "the goal", 1_767_323_045_000, "STALE_REVISION"
    )
    assert pointer is not None and pointer.expected == (state.generation, 7) and pointer.name == "DIRTY r7"
    absent = pointer_of(host_element(None))
    assert absent is not None and absent.expected == ("ABSENT", 0) and absent.readable


@pytest.mark.parametrize(
    ("pointer", "readable"),
    [
        (Pointer(1, "ABSENT", code="STATE_INVALID"), False),
        (Pointer(1, "ABSENT", code="STALE_REVISION"), True),
        (Pointer(1, "SOMETHING"), False),
        (replace(CLEAN, code="LOCK_TIMEOUT"), True),
    ],
)
def test_a_state_that_is_not_there_is_told_from_one_that_cannot_be_read(
    pointer: Pointer, readable: bool
) -> None:
    assert pointer.readable == readable


def test_the_history_holds_each_revision_once_and_says_what_was_not_seen() -> None:
    history = PointerHistory(lambda: 5)
    assert history.take(CLEAN)
    assert not history.take(replace(CLEAN, element=9))
    assert history.latest == replace(CLEAN, element=9)
    assert history.take(replace(CLEAN, element=10, code="STALE_REVISION"))
    assert history.take(replace(CLEAN, element=12, revision=8, text="later"))
    assert [(row.text, row.missed, row.at) for row in history.rows] == [
        ("goal", 0, 5),
        ("goal", 0, 5),
        ("later", 3, 5),
    ]


def test_the_history_is_bounded_and_never_loses_what_stands() -> None:
    history = PointerHistory(lambda: 0, keep=4)
    for revision in range(1, 9):
        history.take(replace(CLEAN, revision=revision))
    assert [row.pointer.revision for row in history.rows if row.pointer] == [5, 6, 7, 8]
    for number in range(9):
        history.set_aside(f"mine {number}")
    assert history.latest is not None and history.latest.revision == 8
    assert [row.text for row in history.rows] == ["goal", "mine 6", "mine 7", "mine 8"]


def test_a_merge_holds_both_texts_whole() -> None:
    both = merged("mine\nmore\n\n", CLEAN)
    assert both == "mine\nmore\n\n----- theirs, CLEAN r4 -----\ngoal"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (59, "just now"), (60, "1 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")],
)
def test_an_age_is_told_in_words(seconds: int, words: str) -> None:
    assert age(1_000_000, 1_000_000 + seconds * 1000) == words
    assert age(None, 5) == ""


def test_every_key_that_the_help_names_is_bound_on_the_screen() -> None:
    bound = PointerScreen._merge_bindings().key_to_bindings
    named = [key for one in FURTHER if one.group == "Task pointer" for key in one.shown.split()]
    assert named and all(key in bound for key in named)
    assert {"f8", "f9", "escape"} <= set(bound)


def test_a_row_of_the_history_shows_its_text_before_a_code_that_a_narrow_screen_may_cut() -> None:
    seen = PointerHistory(lambda: 5)
    seen.take(replace(CLEAN, code="STALE_REVISION"))
    pieces = [piece if isinstance(piece, str) else piece[0] for piece in row_pieces(seen.rows[-1])]
    assert "".join(pieces[2:]) == f"{CLEAN.text}  STALE_REVISION"
