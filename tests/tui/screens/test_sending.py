"""What Enter does: send, steer, queue; and that nothing written is ever lost."""

import asyncio
from pathlib import Path

import pytest

from felan_core.agents.backend import Abilities
from felan_core.protocol import ProtocolError
from felan_tui.session.start import Start
from tests.core.host.rig import Stagehand
from tests.tui.screens.stage import SIZES, forever, says, stage, work

CANNOT_STEER = Abilities(steer=False, deferrable=True)


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_written_goes_to_the_agent_and_its_answer_is_shown(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    hand = Stagehand(scripts=[says("I **will** ", "do it.")])
    async with stage(tmp_path, hand, size=size) as on:
        await on.attached()
        assert "Write what is to be done" in on.text
        await on.write("fix it")
        await on.pilot.press("enter")
        await on.sees("▌ fix it", "I will do it.")
        assert [turn.text for turn in hand.turns] == ["fix it"]
        assert on.composer.is_empty
        assert "Write what is to be done" not in on.text


async def test_while_a_turn_runs_enter_steers_and_the_composer_says_so(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[forever])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("Enter steer", "Ctrl+T queue", "● running", "Esc stop")
        await on.say("rather the other one")
        await on.until(lambda: hand.steered == ["rather the other one"])
        on.composer.set_draft("and then this")
        await on.pilot.press("ctrl+t")
        await on.sees("follow-up · you", "and then this")
        assert hand.steered == ["rather the other one"]
        await on.pilot.press("escape")
        await on.idle()


async def test_an_agent_that_cannot_be_steered_gets_a_follow_up_and_the_composer_says_so(
    tmp_path: Path,
) -> None:
    hand = Stagehand(scripts=[forever], abilities=CANNOT_STEER)
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("Enter queue")
        assert "steer" not in on.text
        await on.say("next thing")
        await on.until(lambda: [one.text for one in on.link.state.queue.items] == ["next thing"])
        await on.sees("follow-up · you", "next thing")
        assert not hand.steered


async def test_a_held_queue_is_released_by_enter_on_an_empty_composer(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[forever], abilities=CANNOT_STEER)
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await on.say("later")
        await on.sees("later")
        await on.pilot.press("escape")
        await on.sees("held", "Enter send the queue", "– stopped")
        await on.pilot.press("enter")
        await on.until(lambda: [turn.text for turn in hand.turns] == ["begin", "later"])
        await on.sees_no("held")


async def test_esc_takes_a_held_queue_back_into_the_composer_before_what_is_written(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[forever], abilities=CANNOT_STEER)
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("begin")
        await on.runs()
        await on.say("later")
        await on.sees("later")
        await on.pilot.press("escape")
        await on.sees("held")
        await on.write("now")
        await on.pilot.press("escape")
        await on.until(lambda: on.composer.text == "later\nnow")
        await on.sees_no("held")
        assert len(hand.turns) == 1


async def test_what_is_sent_before_the_session_is_there_is_sent_once_it_is(tmp_path: Path) -> None:
    gate, hand = asyncio.Event(), Stagehand()
    async with stage(tmp_path, hand, opens=gate.wait) as on:
        await on.sees("type a message", "starting")
        await on.write("early bird")
        await on.pilot.press("enter")
        await on.until(lambda: on.composer.is_empty)
        await on.write("second")
        await on.pilot.press("enter")
        gate.set()
        await on.until(lambda: [turn.text for turn in hand.turns] == ["early bird", "second"])


async def test_keys_that_need_a_session_do_no_harm_before_there_is_one(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with stage(tmp_path, opens=gate.wait) as on:
        for key in ("f2", "f3", "f4", "f5", "f6", "f7", "pageup", "pagedown", "escape"):
            await on.pilot.press(key)
        on.composer.set_draft("! ls")
        await on.pilot.press("enter")
        await on.sees("The session is not there yet")
        assert on.composer.text == "! ls"
        gate.set()
        await on.attached()


async def test_what_the_host_refuses_comes_back_with_the_reason(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()

        async def refuse(*_: object) -> None:
            raise ProtocolError("unavailable", "the disk is full")

        on.link.client.prompt = refuse
        await on.say("keep me")
        await on.sees("Not sent: the disk is full")
        assert on.composer.text == "keep me"


async def test_a_host_that_is_lost_is_said_and_takes_no_draft_along(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[says("An answer.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("hello")
        await on.sees("An answer.")
        await on.write("my draft")
        on.door.lose()
        await on.sees("host is gone", "my draft", "An answer.")
        await on.pilot.press("enter")
        await on.sees("Not sent")
        assert on.composer.text == "my draft"
        await on.pilot.press("f2", "f3", "escape")


async def test_a_prompt_of_the_command_line_is_sent_first(tmp_path: Path) -> None:
    gate, hand = asyncio.Event(), Stagehand()
    start = Start(kind="agent", cwd=work(tmp_path), prompt="from the shell")
    (tmp_path / "work").mkdir()
    async with stage(tmp_path, hand, start=start, opens=gate.wait) as on:
        await on.say("typed meanwhile")
        gate.set()
        await on.until(lambda: [turn.text for turn in hand.turns] == ["from the shell", "typed meanwhile"])


async def test_a_shell_command_runs_as_a_process_and_its_output_is_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.say("! echo from-$((40 + 2)); exec sleep 60")
        await on.sees("from-42")
        assert on.composer.area.has_focus
        await on.sees("1 running")
        await on.pilot.press("f3")  # goes into the panel that is shown
        await on.sees("from-42", "F3 hide")
        await on.pilot.press("f3")
        await on.sees_no("from-42")
        assert on.composer.area.has_focus
        await on.pilot.press("f3")
        await on.sees("from-42")
        await on.pilot.press("x", "x")
        await on.until(lambda: all(row.state != "running" for row in on.link.state.processes.values()))
        await on.sees("TERM")
        await on.pilot.press("escape")
        assert on.composer.area.has_focus


async def test_a_session_of_the_same_folder_is_continued_with_all_that_was_said(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[says("Said earlier.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("first")
        await on.sees("Said earlier.")
    async with stage(tmp_path, Stagehand(), start=Start(kind="continue", cwd=work(tmp_path))) as on:
        await on.sees("▌ first", "Said earlier.")
