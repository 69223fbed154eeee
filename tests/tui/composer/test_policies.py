"""The composer's pure parts: guard, folds, history and completion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_tui.composer.commands import MOST, Completion
from felan_tui.composer.draft import Draft, Folds
from felan_tui.composer.history import MAX_ENTRIES, History, draft_line, read_draft
from felan_tui.composer.pastes import PasteGuard, clean_paste, is_large
from tests.tui.text import hostile


def test_an_earlier_time_does_not_shorten_the_wait() -> None:
    guard = PasteGuard()
    guard.pasted(5.0)
    guard.pasted(4.0)
    assert guard.enter_is_newline(5.1)
    assert not guard.enter_is_newline(5.2)


@given(st.text())
def test_cleaning_keeps_every_plain_character(text: str) -> None:
    cleaned = clean_paste(text)
    assert not hostile.harmful(cleaned.replace("\t", ""))
    assert clean_paste(cleaned) == cleaned
    assert cleaned.count("\t") <= text.count("\t")
    plain = "".join(c for c in text if c.isascii() and c.isprintable())
    if not hostile.harmful(text):
        assert "".join(c for c in cleaned if c.isascii() and c.isprintable()) == plain


@pytest.mark.parametrize(
    ("text", "large"),
    [("", False), ("a\n" * 39, False), ("a\n" * 40, True), ("x" * 2048, False), ("a\n" + "x" * 2049, True)],
)
def test_large_is_by_size_lines_or_a_line(text: str, large: bool) -> None:
    assert is_large(text) == large


words = st.text(alphabet="ab \n[]#1pasted", max_size=60)


@given(st.lists(st.tuples(words, st.text(alphabet="xy\n", min_size=1, max_size=200)), max_size=4))
def test_a_draft_comes_back_from_its_line_and_from_another_composer(parts: list[tuple[str, str]]) -> None:
    folds = Folds()
    text = "".join(words + folds.fold(paste) for words, paste in parts)
    draft = folds.draft(text)
    assert read_draft(draft_line(draft)) == draft
    other = Folds()
    other.fold("something else")
    adopted = other.adopt(draft)
    assert other.draft(adopted).expanded == draft.expanded


def test_markers_of_two_drafts_do_not_mix() -> None:
    one, two = Folds(), Folds()
    first, second = one.draft(one.fold("a\nb")), two.draft(two.fold("c\nd"))
    assert first.text == second.text
    folds = Folds()
    text = folds.adopt(first) + folds.adopt(second)
    assert folds.draft(text).expanded == "a\nbc\nd"


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"text": 3}', b'{"text": "a", "pastes": []}', b"\xff", b"[" * 100_000]
)
def test_a_line_that_is_no_draft_is_passed_over(line: bytes) -> None:
    assert read_draft(line) is None


def test_history_remembers_the_same_words_once_and_where_they_were_said_last() -> None:
    history = History()
    for text in ("a", "b", "a", "  ", "c"):
        history.add(Draft(text))
    assert [entry.text for entry in history.entries] == ["b", "a", "c"]


def test_history_is_capped() -> None:
    history = History()
    history.load(Draft(str(number)) for number in range(MAX_ENTRIES + 5))
    assert len(history.entries) == MAX_ENTRIES
    assert history.entries[-1].text == str(MAX_ENTRIES + 4)


def test_entries_of_this_run_come_after_the_loaded_ones() -> None:
    history = History()
    history.add(Draft("new"))
    history.load([Draft("old"), Draft("new")])
    assert [entry.text for entry in history.entries] == ["old", "new"]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6), st.text(max_size=3))
def test_walking_back_and_forth_ends_where_it_began(said: list[str], present: str) -> None:
    history = History(Draft(text) for text in said)
    shown = Draft(present)
    steps = 0
    while (entry := history.older(shown)) is not None:
        assert entry != shown
        shown = entry
        steps += 1
        assert steps <= len(said)
    for _ in range(steps + 5):
        if (entry := history.newer()) is not None:
            shown = entry
    assert shown == Draft(present)


def completion(typed: str, *names: str) -> Completion:
    found = Completion()
    found.set_commands((name, "") for name in names)
    found.type(typed)
    return found


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("/", ["review", "release", "prepare"]),
        ("/RE", ["review", "release", "prepare"]),
        ("/pre", ["prepare"]),
        ("/prepare", []),
        ("/x", []),
        ("", []),
        ("a/", []),
        ("/re view", []),
        ("/re\n", []),
    ],
)
def test_commands_are_found_by_beginning_and_then_by_part(typed: str, names: list[str]) -> None:
    found = completion(typed, "review", "release", "prepare").found
    assert [command.name for command in found] == names


def test_the_marked_one_is_always_among_those_shown() -> None:
    many = completion("/", *(f"c{number}" for number in range(20)))
    for by in [1] * 25 + [-1] * 30:
        many.move(by)
        assert many.marked in many.window()
        assert len(many.window()) == MOST
