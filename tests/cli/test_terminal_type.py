"""Which terminal types are refused."""

import pytest

from felan_tui.cli.terminal_type import GOOD, refusal


@pytest.mark.parametrize("term", ["", None, "dumb", "unknown"])
def test_a_type_that_cannot_place_the_cursor_is_refused_with_one_that_can(term: str | None) -> None:
    said = refusal(term)
    assert GOOD in said and "\n" not in said
    assert term is None or term in said


@pytest.mark.parametrize("term", [GOOD, "tmux-256color", "linux", "vt100", "xterm-ghostty", "tomorrow"])
def test_a_type_that_can_or_that_nobody_knows_is_tried(term: str) -> None:
    assert refusal(term) == ""
