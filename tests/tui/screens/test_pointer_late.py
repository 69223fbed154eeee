from pathlib import Path

import pytest

from felan_tui.pointer.conflict import PointerConflict
from felan_tui.pointer.editor import PointerEditor
from tests.tui.screens.pointing import (
    WIDE,
    Other,
    comes_too_late,
    edits,
    knows,
    latest,
    opened,
    screen,
)
from tests.tui.screens.stage import SIZES, stage


@pytest.mark.parametrize("size", SIZES[1:])
async def test_a_late_publish_shows_both_texts_and_changes_nothing(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with stage(tmp_path, size=size) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other, mine="what I wrote", theirs="what they wrote")
        await on.sees("what I wrote", "what they wrote", "1 Keep mine", "2 Take theirs", "3 Merge")
        rows = [next(i for i, row in enumerate(on.lines) if text in row) for text in ("what I", "what they")]
        assert (rows[0] == rows[1]) == (size[0] >= 100)
        assert (other.state.revision, other.state.pointer_text) == (2, "what they wrote")


async def test_keep_mine_publishes_over_theirs_and_over_nothing_newer(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other)
        await on.sees("1 publishes yours as r3, over theirs")
        await on.pilot.press("1")
        await on.sees("Published: CLEAN r3", "theirs")  # theirs is still in the history
        assert (other.state.revision, other.state.pointer_text) == (3, "mine")


async def test_what_came_in_while_choosing_is_asked_about_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other)
        other.publishes("newer than that")
        await on.sees("Theirs: ● CLEAN r3", "newer than that")
        await on.pilot.press("1")  # too early: it was meant for the text that stood there
        await on.pilot.pause(0.05)
        assert other.state.revision == 3
        await on.settle_card()
        await on.pilot.press("1")
        await on.sees("Published: CLEAN r4")
        assert other.state.pointer_text == "mine"


async def test_take_theirs_publishes_nothing_and_keeps_mine_to_read(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other, mine="my own words")
        await on.pilot.press("2")
        await on.sees("Theirs is kept", "✎ yours", "my own words")
        assert (other.state.revision, other.state.pointer_text) == (2, "theirs")
        assert on.session._view.pointer.draft is None
        await on.pilot.press("tab", "home")
        await on.sees("Yours, not published")
        await on.pilot.press("e")
        await on.until(lambda: screen(on).query_one(PointerEditor).area.has_focus)
        assert screen(on).query_one(PointerEditor).text == "my own words"
        assert latest(on).revision == 2


async def test_merge_puts_both_into_the_editor_and_publishes_what_is_made_of_them(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other)
        await on.pilot.press("3")
        editor = screen(on).query_one(PointerEditor)
        await on.until(lambda: editor.display and editor.area.has_focus)
        assert editor.text == "mine\n\n----- theirs, CLEAN r2 -----\ntheirs"
        editor.area.select_all()
        editor.area.replace("mine and theirs", *editor.area.selection)
        await on.pilot.press("f9")
        await on.sees("Published: CLEAN r3")
        assert (other.state.revision, other.state.pointer_text) == (3, "mine and theirs")


async def test_a_prompt_meanwhile_makes_it_late_and_says_that_the_text_is_the_same(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        await knows(on, 1)
        await opened(on)
        await edits(on, "goal, and more")
        other.prompts()
        await on.sees("Changed meanwhile: DIRTY r2")
        await on.pilot.press("f9")
        await on.sees("Theirs: ◆ DIRTY r2", "Their text is the one that you began from")
        assert other.state.status == "DIRTY"


async def test_a_clear_meanwhile_makes_it_late_and_there_is_nothing_to_merge(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        await knows(on, 1)
        await opened(on)
        await edits(on, "still wanted")
        other.store.clear(other.id)
        await on.pilot.press("f9")
        await on.sees("Theirs: ○ CLEARED r2", "There is no text")
        await on.settle_card()
        await on.pilot.press("3")
        await on.pilot.pause()
        assert screen(on).query_one(PointerConflict).display
        await on.pilot.press("1")
        await on.sees("Published: CLEAN r3")
        assert other.state.pointer_text == "still wanted"
