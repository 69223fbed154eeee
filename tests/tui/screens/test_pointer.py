"""The pointer's screen on a real host: opened, read, edited, published, cleared; and what comes too late."""

from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_tui.bars import PointerBar
from felan_tui.pointer.conflict import PointerConflict
from felan_tui.pointer.editor import PointerEditor
from felan_tui.screens.pointer import PointerScreen
from felan_tui.screens.quit import QuitScreen
from tests.core.host.rig import Stagehand
from tests.tui.screens.stage import SIZES, Stage, forever, stage

WIDE = (110, 24)
TASK = "6f1c1e1e-0000-4000-8000-000000000001"


class Other:
    """Another writer of the same pointer: an agent's publisher, or another terminal."""

    def __init__(self, on: Stage, folder: Path) -> None:
        self.store = PointerStore(str(folder / "data" / "pointers"))
        self.id: str = on.link.id

    @property
    def state(self) -> State:
        state = self.store.read(self.id)
        assert state is not None
        return state

    def publishes(self, text: str) -> State:
        now = self.store.read(self.id)
        generation, revision = ("ABSENT", 0) if now is None else (now.generation, now.revision)
        return self.store.publish(self.id, generation, revision, TASK, "CLEAN", text)

    def prompts(self) -> State:
        return self.store.prompt(self.id)


def screen(on: Stage) -> PointerScreen:
    front = on.app.screen
    assert isinstance(front, PointerScreen)
    return front


async def opened(on: Stage) -> PointerScreen:
    await on.pilot.press("f8")
    await on.until(lambda: isinstance(on.app.screen, PointerScreen) and on.app.screen.focused is not None)
    return screen(on)


def latest(on: Stage) -> Any:
    return on.session._parts.pointer.latest


async def knows(on: Stage, revision: int) -> None:
    await on.until(lambda: latest(on) is not None and latest(on).revision == revision)


async def told(on: Stage, *texts: str) -> None:
    """Like ``sees``, wherever the lines are broken."""

    def flat() -> str:
        return " ".join(" ".join(row.strip(" │F›─▌") for row in on.lines).split())

    await on.until(lambda: all(text in flat() for text in texts))


async def edits(on: Stage, text: str) -> PointerEditor:
    """Into the editor, and ``text`` in place of what is there."""
    await on.pilot.press("e")
    editor = screen(on).query_one(PointerEditor)
    await on.until(lambda: editor.display and editor.area.has_focus)
    editor.area.select_all()
    editor.area.replace(text, *editor.area.selection)
    editor.area.move_cursor(editor.area.document.end)
    await on.pilot.pause()
    return editor


async def comes_too_late(on: Stage, other: Other, *, mine: str = "mine", theirs: str = "theirs") -> None:
    """An edit that somebody else's publish overtakes, up to the question what is to be done."""
    other.publishes("from the start")
    await knows(on, 1)
    await opened(on)
    await edits(on, mine)
    other.publishes(theirs)
    await on.pilot.press("f9")
    conflict = screen(on).query_one(PointerConflict)
    await on.until(lambda: conflict.display)
    await told(on, "Nothing is overwritten", "Yours, begun from CLEAN r1", "Theirs: ● CLEAN r2")
    await on.settle_card()


@pytest.mark.parametrize("size", SIZES)
async def test_it_opens_by_key_with_all_there_is_to_know(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, size=size) as on:
        await on.attached()
        state = Other(on, tmp_path).publishes("fix the login\n→ run CI")
        await knows(on, 1)
        await opened(on)
        await on.sees("● CLEAN r1", state.generation[:10], TASK, "just now", "fix the login", "→ run CI")
        await on.sees("Since you came", "Edit (e)")
        assert all(len(row) <= size[0] for row in on.lines)
        await on.pilot.press("escape")
        await on.until(lambda: on.app.screen is on.session)
        assert on.composer.area.has_focus


async def test_a_click_on_the_bar_opens_it_and_f8_leaves_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.click(PointerBar)
        await on.until(lambda: isinstance(on.app.screen, PointerScreen))
        await on.sees("ABSENT", "There is no task")
        await on.pilot.press("f8")
        await on.until(lambda: on.app.screen is on.session)


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_written_is_published_and_stands_on_disk(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, size=size) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        other.prompts()
        await knows(on, 2)
        await opened(on)
        await on.sees("◆ DIRTY r2")
        await on.pilot.press("e")
        await on.until(lambda: screen(on).query_one(PointerEditor).area.has_focus)
        await on.pilot.press("enter")
        await on.write("next step")
        await on.sees("14 of 8,192 bytes")
        await on.pilot.press("f9")
        await on.sees("Published: CLEAN r3", "● CLEAN r3")
        state = other.state
        assert (state.status, state.revision, state.pointer_text) == ("CLEAN", 3, "goal\nnext step")
        assert state.task_id == TASK
        assert on.session._parts.pointer.draft is None


async def test_the_button_publishes_a_first_task_where_there_is_none(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await opened(on)
        await edits(on, "the first task")
        await on.pilot.click("#publish")
        await on.sees("Published: CLEAN r1")
        assert Other(on, tmp_path).state.pointer_text == "the first task"


async def test_it_is_published_while_the_agent_works(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await knows(on, 1)
        await opened(on)
        await on.sees("○ CLEARED r1")
        await edits(on, "begun under way")
        await on.pilot.press("f9")
        await on.sees("Published: CLEAN r2")
        assert on.link.state.run is not None
        assert Other(on, tmp_path).state.pointer_text == "begun under way"


@pytest.mark.parametrize("size", SIZES)
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
        await on.sees("Published: CLEAN r3")
        assert (other.state.revision, other.state.pointer_text) == (3, "mine")
        assert "theirs" in on.text  # still in the history


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
        await on.sees("Theirs stands", "✎ yours", "my own words")
        assert (other.state.revision, other.state.pointer_text) == (2, "theirs")
        assert on.session._parts.pointer.draft is None
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


async def test_esc_leads_back_step_by_step_and_loses_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        await comes_too_late(on, other, mine="half a thought")
        await on.pilot.press("escape")
        editor = screen(on).query_one(PointerEditor)
        await on.until(lambda: editor.display and editor.area.has_focus)
        assert editor.text == "half a thought"
        await on.sees("Changed meanwhile: CLEAN r2")
        await on.pilot.press("escape")
        await on.sees("Your draft, begun from CLEAN r1, is kept")
        await on.pilot.press("escape")
        await on.until(lambda: on.app.screen is on.session)
        await on.pilot.press("ctrl+d")
        await on.until(lambda: isinstance(on.app.screen, QuitScreen))
        await on.sees("what you wrote into the task pointer")
        await on.pilot.press("escape")
        await on.until(lambda: on.app.screen is on.session)
        await opened(on)
        await on.sees("is kept")
        await on.pilot.press("e")
        await on.until(lambda: screen(on).query_one(PointerEditor).area.has_focus)
        assert screen(on).query_one(PointerEditor).text == "half a thought"
        assert other.state.pointer_text == "theirs"


async def test_a_draft_that_is_not_wanted_is_set_aside_and_can_be_read(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as on:
        await on.attached()
        Other(on, tmp_path).publishes("goal")
        await knows(on, 1)
        await opened(on)
        await edits(on, "not so good")
        await on.pilot.press("escape")
        await on.sees("d sets it aside")
        await on.pilot.press("d")
        await on.sees("✎ yours", "not so good", "set aside")
        await on.pilot.press("e")
        await on.until(lambda: screen(on).query_one(PointerEditor).area.has_focus)
        assert screen(on).query_one(PointerEditor).text == "goal"


async def test_an_edit_that_changed_nothing_leaves_no_draft(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        Other(on, tmp_path).publishes("goal")
        await knows(on, 1)
        await opened(on)
        await edits(on, "goal")
        await on.pilot.press("escape", "escape")
        await on.until(lambda: on.app.screen is on.session)
        assert on.session._parts.pointer.draft is None


async def test_clear_asks_first_and_leaves_the_text_in_the_history(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as on:
        await on.attached()
        other = Other(on, tmp_path)
        before = other.publishes("goal")
        await knows(on, 1)
        await opened(on)
        await on.pilot.press("x")
        await on.sees("Clear the task pointer (CLEAN r1)?")
        await on.pilot.press("n")
        await on.until(lambda: isinstance(on.app.screen, PointerScreen))
        assert other.state == before
        await on.pilot.press("x")
        await on.sees("Clear the task pointer")
        await on.pilot.press("y")
        await on.sees("Cleared.", "○ CLEARED r2")
        assert other.state.status == "CLEARED" and other.state.generation != before.generation
        assert "● CLEAN r1" in on.text and "goal" in on.text


async def test_a_clear_does_not_fall_on_what_was_not_seen(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        await knows(on, 1)
        await opened(on)
        await on.pilot.press("x")
        await on.sees("Clear the task pointer (CLEAN r1)?")
        other.publishes("better goal")
        await knows(on, 2)
        await on.pilot.press("y")
        await on.sees("Not cleared", "better goal")
        assert other.state.pointer_text == "better goal"


async def test_it_follows_what_changes_and_looks_back(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("first text")
        await knows(on, 1)
        await opened(on)
        await on.sees("first text")
        other.publishes("second text")
        await on.sees("● CLEAN r2", "● CLEAN r1", "second text")
        await on.pilot.press("tab", "down")
        await on.sees("CLEAN r1, as it was")
        other.publishes("third text")
        await on.sees("● CLEAN r3", "CLEAN r1, as it was")  # who looks back goes on doing so
        await on.pilot.press("home")
        await on.sees_no("as it was")
        pane = screen(on).query_one("#whole")
        assert "third text" in str(pane.render())


async def test_what_is_being_written_is_not_replaced_by_what_comes_in(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        await knows(on, 1)
        await opened(on)
        editor = await edits(on, "mine")
        other.publishes("theirs")
        await on.sees("Changed meanwhile: CLEAN r2")
        await on.write("e x q 1")
        assert editor.text == "minee x q 1" and editor.area.has_focus


async def test_bytes_are_counted_and_too_many_are_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await opened(on)
        editor = await edits(on, "로" * 2730 + "ab")
        await on.sees("8,192 of 8,192 bytes")
        editor.area.insert("é")
        await on.sees("8,194 of 8,192 bytes")
        await on.pilot.press("f9")
        await on.sees("It is 2 bytes too long")
        assert latest(on).revision == 0
        editor.area.action_delete_left()
        await on.sees_no("too long")
        await on.pilot.press("f9")
        await on.sees("Published: CLEAN r1")
        text = Other(on, tmp_path).state.pointer_text
        assert text is not None and len(text.encode()) == 8192


async def test_an_empty_text_is_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await opened(on)
        await edits(on, " \n\u3000")
        await on.pilot.press("f9")
        await on.sees("It is empty: write the goal")
        assert latest(on).revision == 0


async def test_a_paste_that_no_pointer_can_hold_is_refused_whole(tmp_path: Path) -> None:
    from textual import events

    async with stage(tmp_path) as on:
        await on.attached()
        await opened(on)
        editor = await edits(on, "mine")
        editor.area.post_message(events.Paste("x" * 8193))
        await on.sees("Not pasted: 8,193 bytes")
        assert editor.text == "mine"


async def test_hostile_text_is_shown_as_it_is_and_does_nothing(tmp_path: Path) -> None:
    hostile = "[red]goal[/red]\n[@click=app.quit]x[/]\x1b]52;c;aGk=\x07\x1b[2J\u202eevil"
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes(hostile)
        await knows(on, 1)
        await opened(on)
        await on.sees("[red]goal[/red]", "[@click=app.quit]x[/]evil")
        assert not any(mark in on.text for mark in ("\x1b", "\x07", "\u202e"))
        await on.pilot.press("e")
        await on.sees("hidden characters are left out here")
        assert screen(on).query_one(PointerEditor).text == "[red]goal[/red]\n[@click=app.quit]x[/]evil"
        await on.pilot.press("escape")
        assert on.session._parts.pointer.draft is None


async def test_one_that_cannot_be_read_says_the_code_and_what_to_do(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        other = Other(on, tmp_path)
        other.publishes("goal")
        await knows(on, 1)
        file = tmp_path / "data" / "pointers" / other.id / "state.json"
        file.write_text("{")
        await on.until(lambda: latest(on).code == "STATE_INVALID")
        await opened(on)
        await told(on, "! unreadable STATE_INVALID", "It cannot be read", "Move the file aside")
        await edits(on, "anew")
        await on.pilot.press("f9")
        await on.sees("Not published: STATE_INVALID")
        assert file.read_text() == "{" and screen(on).query_one(PointerEditor).text == "anew"
        file.unlink()
        await on.sees_no("unreadable")
        await on.pilot.press("f9")
        await on.sees("Published: CLEAN r1")
        assert other.state.pointer_text == "anew"


async def test_a_host_that_is_gone_is_said_and_the_draft_stays(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await opened(on)
        await edits(on, "mine")
        await on.door.ends[0].close()
        await on.pilot.press("f9")
        words = screen(on).query_one("#told")  # a notice about the host lies over it
        await on.until(lambda: "Not published: the host is gone" in str(words.render()))
        assert screen(on).query_one(PointerEditor).text == "mine"


async def test_ctrl_c_copies_what_is_selected_here_and_cancels_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await opened(on)
        editor = await edits(on, "copy me")
        editor.area.select_all()
        await on.pilot.press("ctrl+c")
        await on.sees("Sent to the terminal's clipboard")
        assert on.app.clipboard == "copy me" and on.link.state.run is not None
