"""The keys of an editor in the composer: undo, kill and yank, search, $EDITOR, and every width."""

import re
import stat
from pathlib import Path

import pytest

from felan_tui.composer.draft import Draft
from felan_tui.composer.editor import EditorError, editor_command
from felan_tui.composer.killed import Killed
from felan_tui.composer.search import HistorySearch
from tests.tui.composer.support import Writing, shown, write

WORDS = " ".join(f"word{number}" for number in range(45))
CJK = "漢字仮名交じり文テスト" * 14


@pytest.mark.parametrize("text", [WORDS, CJK], ids=["ascii", "cjk"])
async def test_every_word_is_on_the_screen_after_every_resize(text: str) -> None:
    app = Writing()
    async with app.run_test(size=(80, 40)) as pilot:
        app.composer.set_draft(text)
        for width in (*range(60, 100), *range(100, 60, -3)):
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            visible = re.sub(r"[\s›─]", "", shown(app))
            assert text.replace(" ", "") in visible, width


async def test_undo_and_redo() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "one ")
        app.composer.area.history.checkpoint()
        await write(pilot, "two")
        await pilot.press("ctrl+underscore")
        assert app.composer.text == "one "
        await pilot.press("ctrl+y")
        assert app.composer.text == "one two"


async def test_a_cut_word_is_put_back_where_the_cursor_is() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "fix the test", "ctrl+w", "ctrl+w")
        assert app.composer.text == "fix "
        await pilot.press("home", "ctrl+y")
        assert app.composer.text == "the testfix "
        await pilot.press("ctrl+k")
        await pilot.pause()
        assert app.composer.text == "the test"
        await pilot.press("ctrl+u", "ctrl+y")
        assert app.composer.text == "the testfix "


def test_kills_in_a_row_add_up_in_the_order_of_the_text() -> None:
    killed = Killed()
    killed.cut("two ", "left")
    killed.cut("one ", "left")
    killed.cut("three", "right")
    assert killed.text == "one two three"
    killed.end()
    killed.cut("", "left")
    assert killed.text == "one two three"
    killed.cut("new", "right")
    assert killed.text == "new"


async def test_the_history_is_searched_and_the_choice_is_not_sent() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        for text in ("run the tests", "fix the parser", "run the benchmarks"):
            app.composer.history.add(Draft(text))
        await write(pilot, "half a thought", "ctrl+r")
        assert "type to search" in shown(app)
        await write(pilot, "run")
        assert "history: run" in shown(app) and "2 found" in shown(app)
        assert "fix the parser" not in shown(app) and "half a thought" in shown(app)
        await pilot.press("ctrl+r", "enter")
        assert app.composer.text == "run the tests"
        assert app.said == [] and "history:" not in shown(app)


@pytest.mark.parametrize("key", ["escape", "ctrl+g"])
async def test_a_search_that_is_left_changes_nothing(key: str) -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.history.add(Draft("other"))
        await write(pilot, "half a thought", "ctrl+r", "oth")
        await pilot.press(key)
        assert app.composer.text == "half a thought"
        assert not app.composer.searching and app.escapes == 0


def test_a_search_finds_every_word_in_any_case_newest_first() -> None:
    search = HistorySearch([Draft("Fix the parser"), Draft("the tests"), Draft("FIX tests")])
    search.type("fix t")
    assert [entry.text for entry in search.found] == ["FIX tests", "Fix the parser"]
    search.move(1)
    assert search.choice == Draft("Fix the parser")
    search.move(5)
    assert search.choice == Draft("Fix the parser")
    search.type("zz")
    assert search.choice is None and list(search.window()) == []
    for _ in range(2):
        search.delete()
    assert len(search.found) == 2


def test_the_editor_is_the_persons_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "my editor"
    program.touch()
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert editor_command({"EDITOR": "nowhere", "VISUAL": f"'{program}' --wait"}) == [str(program), "--wait"]
    for broken in ("'", "no-such-editor-here"):
        with pytest.raises(EditorError):
            editor_command({"EDITOR": broken})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EditorError, match="No editor"):
        editor_command({})


async def test_an_editor_that_is_missing_leaves_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-here")
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "text", "ctrl+g")
        await pilot.pause()
        assert app.composer.text == "text"
        assert app.problems == [
            "no-such-editor-here is not found; set $EDITOR to an editor that is installed."
        ]
