"""Which key does what in which state, and what the hint rule shows of it: plain functions."""

from itertools import product
from typing import get_args

import pytest

from felan_tui.screens.hints import Focus, Situation, key_hints
from felan_tui.screens.policy import (
    ESCAPE_SECONDS,
    QUIT_SECONDS,
    Escape,
    escape,
    interrupt,
    is_typed,
    pane_key,
)

LONG_AGO = float("inf")


def esc(
    *,
    away: bool = False,
    running: bool = False,
    stopping: bool = False,
    held: bool = False,
    since_left: float = LONG_AGO,
) -> Escape:
    return escape(away=away, running=running, stopping=stopping, held=held, since_left=since_left)


def test_esc_leaves_first_then_stops_then_takes_back() -> None:
    assert esc(away=True, running=True, held=True) == "leave"
    assert esc(running=True, held=True) == "stop"
    assert esc(held=True) == "take_back"
    assert esc() == "nothing"
    assert esc(running=True, stopping=True) == "nothing"


@pytest.mark.parametrize(("running", "held"), list(product((False, True), repeat=2)))
def test_esc_right_behind_an_esc_that_left_does_nothing(running: bool, held: bool) -> None:
    assert esc(running=running, held=held, since_left=ESCAPE_SECONDS - 0.01) == "nothing"
    assert esc(running=True, held=held, since_left=ESCAPE_SECONDS) == "stop"
    assert esc(away=True, running=running, held=held, since_left=0.0) == "leave"


def test_ctrl_c_copies_clears_stops_and_quits_in_that_order() -> None:
    now = QUIT_SECONDS - 0.1
    assert interrupt(selected=True, since_last=now, empty=False, running=True) == "copy"
    assert interrupt(selected=False, since_last=now, empty=False, running=True) == "clear"
    assert interrupt(selected=False, since_last=now, empty=True, running=True) == "quit"
    assert interrupt(selected=False, since_last=QUIT_SECONDS, empty=True, running=True) == "stop"
    assert interrupt(selected=False, since_last=QUIT_SECONDS, empty=True, running=False) == "ask"


def test_the_key_of_a_pane_enters_it_and_then_hides_it() -> None:
    assert pane_key(exists=False, shown=False, inside=False) == "none"
    assert pane_key(exists=True, shown=False, inside=False) == "show"
    assert pane_key(exists=True, shown=True, inside=False) == "enter"
    assert pane_key(exists=True, shown=True, inside=True) == "hide"


@pytest.mark.parametrize(
    ("key", "printable", "typed"),
    [
        ("a", True, True),
        ("space", True, True),
        ("slash", True, True),
        ("y", True, False),
        ("enter", False, False),
        ("home", False, False),
        ("up", False, False),
    ],
)
def test_letters_in_the_transcript_are_typed_but_for_its_own(key: str, printable: bool, typed: bool) -> None:
    assert is_typed(key, printable) is typed


def words(now: Situation) -> list[str]:
    return [f"{one.key} {one.does}" for one in key_hints(now)]


@pytest.mark.parametrize(
    ("focus", "what", "waiting"), list(product(get_args(Focus), get_args(Escape), (False, True)))
)
def test_esc_has_one_meaning_at_a_time_and_f1_is_always_there(
    focus: Focus, what: Escape, waiting: bool
) -> None:
    shown = words(Situation(focus=focus, escape=what, waiting=waiting, readable=True, processes=1))
    assert sum(one.startswith("Esc ") for one in shown) == (0 if what == "nothing" else 1)
    assert "F1 keys" in shown
    assert ("F2 answer" in shown) == (waiting and focus != "card")


def test_the_rule_is_quiet_in_a_new_session() -> None:
    assert words(Situation()) == ["F1 keys", "Ctrl+P actions"]


def test_the_rule_shows_what_enter_does() -> None:
    assert words(Situation(escape="stop", verb="steer"))[:3] == ["Esc stop", "Enter steer", "Ctrl+T queue"]
    assert words(Situation(escape="stop", verb="follow_up"))[:2] == ["Esc stop", "Enter queue"]
    assert words(Situation(escape="take_back", held=True))[:2] == ["Esc take back", "Enter send the queue"]
    assert "Enter send the queue" not in words(Situation(held=True, written=True, verb="follow_up"))
    assert words(Situation(shell=True, verb="steer"))[0] == "Enter run in a shell"


def test_what_is_new_is_named_and_only_one_answer_is_loud() -> None:
    hints = key_hints(Situation(waiting=True, document="Install guide", side=True, new_lines=12))
    assert [one.key for one in hints if one.loud] == ["F2"]
    shown = words(Situation(document="Install guide", side=True, new_lines=12))
    assert "F5 Install guide" in shown and "F7 ↓ 12 new" in shown and "F5 side pane" not in shown
    assert not [one for one in key_hints(Situation(running=True, escape="stop")) if one.loud]


def test_a_pane_shows_its_own_keys() -> None:
    assert words(Situation(focus="transcript", escape="leave", readable=True))[:4] == [
        "↑↓ block",
        "Enter open",
        "y copy",
        "Esc back",
    ]
    assert words(Situation(focus="panel", escape="leave", panel=True))[:3] == [
        "Esc back",
        "F3 hide",
        "F4 full screen",
    ]
    assert "F5 hide" in words(Situation(focus="side", escape="leave", side=True))
