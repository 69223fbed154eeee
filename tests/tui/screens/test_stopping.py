"""Cancel, clear and quit: nothing ends by accident, and what would be lost is asked about."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_tui.screens.quit import QuitScreen
from felan_tui.session.start import Start
from tests.core.host.rig import Puppet, Stagehand
from tests.tui.screens.stage import asks, confirm, forever, stage, work


async def test_esc_cancels_the_turn_and_the_line_says_how_it_ended(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("● running")
        await on.write("half")
        await on.pilot.press("escape")
        await on.idle()
        await on.sees("– stopped")
        assert on.composer.text == "half"
        await on.pilot.press("escape")
        assert on.composer.text == "half"


async def test_ctrl_c_clears_the_draft_then_cancels_and_twice_asks_to_quit(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever, forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await on.write("draft")
        await on.pilot.press("ctrl+c")
        await on.sees("Draft cleared")
        assert on.composer.is_empty and on.link.state.run is not None
        on.session._last_interrupt -= 10
        await on.pilot.press("ctrl+c")
        await on.idle()
        await on.pilot.press("up")
        assert on.composer.text == "draft"
        await on.say("again")
        await on.runs()
        on.session._last_interrupt -= 10
        await on.pilot.press("ctrl+c", "ctrl+c")
        await on.until(lambda: not on.app.is_running or isinstance(on.app.screen, QuitScreen))


async def test_ctrl_c_clears_what_was_typed_since_the_last_one_before_it_quits(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.press("ctrl+c")
        await on.write("typed since")
        await on.pilot.press("ctrl+c")
        await on.sees("Draft cleared")
        assert on.app.is_running and not on.app._exit
        await on.pilot.press("ctrl+c")
        await on.until(lambda: on.app._exit)


async def test_ctrl_c_copies_what_is_selected_in_the_composer_and_cancels_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await on.write("copy me")
        on.composer.area.select_all()
        await on.pilot.press("ctrl+c")
        await on.sees("Copied by OSC 52")
        assert on.app.clipboard == "copy me"
        assert on.composer.text == "copy me" and on.link.state.run is not None


async def test_ctrl_d_quits_only_with_an_empty_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.write("ab")
        await on.pilot.press("home", "ctrl+d")
        assert on.composer.text == "b" and on.app.is_running
        await on.pilot.press("ctrl+d", "ctrl+d")
        await on.until(lambda: on.app._exit)
        assert on.app.return_code == 0


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_a_quit_that_would_end_something_says_what_and_stay_keeps_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    answers: list[Any] = []
    hand = Stagehand(scripts=[asks(confirm(), answers, deferrable=True)])
    async with stage(tmp_path, hand, size=size) as on:
        await on.attached()
        await on.say("! exec sleep 60")
        await on.sees("1 running")
        await on.say("begin")
        await on.until(lambda: on.session._view.can_answer)
        await on.pilot.press("ctrl+d")
        await on.sees(
            "Quit now?",
            "a turn is running",
            "1 question can still be answered",
            "1 process would be stopped",
            "[1] stay",
            "[2] stop them and quit",
        )
        await on.write("x")
        await on.pilot.press("1")
        await on.sees_no("Quit now?")
        assert on.link.state.run is not None and on.session._view.can_answer
        assert any(row.state == "running" for row in on.link.state.processes.values())
        assert on.composer.area.has_focus and on.composer.is_empty
        await on.pilot.press("ctrl+d", "2")
        await on.until(lambda: on.app._exit)


async def test_the_question_names_what_would_end_now_and_not_what_has_ended(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await gate.wait()
        return "completed"

    async with stage(tmp_path, Stagehand(scripts=[script])) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        process = await on.link.shell("exec sleep 60")
        await on.until(lambda: on.link.state.processes)
        await on.pilot.press("ctrl+d")
        await on.sees("a turn is running", "1 process would be stopped")
        await on.link.stop(process, "kill")
        await on.sees_no("would be stopped")
        await on.sees("a turn is running")
        gate.set()
        await on.sees("nothing runs or waits any more", "Quit now?")


async def test_ctrl_q_belongs_to_the_terminal(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.press("ctrl+q")
        await on.write("still here")
        assert on.composer.text == "still here" and not on.app._exit


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+d"])
async def test_the_start_card_can_be_left(tmp_path: Path, key: str) -> None:
    async with stage(tmp_path, start=Start(kind="ask", cwd=work(tmp_path))) as on:
        await on.sees("Which agent should work here?")
        await on.pilot.press(key)
        await on.until(lambda: on.app._exit)
        assert not on.hand.puppets


async def test_ctrl_c_twice_leaves_a_page_in_front_too(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.press("f1")
        await on.sees("Esc close")
        await on.pilot.press("ctrl+c", "ctrl+c")
        await on.until(lambda: on.app._exit)


async def test_the_draft_of_an_app_that_ends_is_there_the_next_time(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.composer.loaded()
        await on.write("unfinished")
        on.app.leave()
    async with stage(tmp_path, start=Start(kind="continue", cwd=work(tmp_path))) as on:
        await on.until(lambda: on.composer.text == "unfinished")
