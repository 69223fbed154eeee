from pathlib import Path

import pytest

from felan_tui.bars import PointerBar
from felan_tui.pointer.editor import PointerEditor
from felan_tui.screens.pointer import PointerScreen
from felan_tui.screens.quit import QuitScreen
from tests.core.host.rig import Stagehand
from tests.tui.screens.pointing import (
    TASK,
    WIDE,
    Other,
    comes_too_late,
    edits,
    knows,
    latest,
    opened,
    screen,
    told,
)
from tests.tui.screens.stage import SIZES, forever, stage


@pytest.mark.parametrize("size", SIZES[1:])
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


@pytest.mark.parametrize("size", SIZES[1:])
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
        assert on.session._view.pointer.draft is None


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
        await on.sees("the draft of the task pointer")
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
        assert on.session._view.pointer.draft is None


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
        assert on.session._view.pointer.draft is None


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
        on.door.lose()
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
