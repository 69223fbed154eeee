"""Questions on the screen: never in the way of what is typed, never lost, answered on purpose."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import AgentGone, Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_tui.screens.policy import ESCAPE_SECONDS
from tests.core.host.rig import Puppet, Stagehand
from tests.tui.screens.stage import SIZES, approval, asks, confirm, question, says, stage


@pytest.mark.parametrize("size", SIZES[1:])
async def test_a_question_takes_no_key_until_f2_goes_there_and_a_digit_answers(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    answers: list[Any] = []
    async with stage(tmp_path, Stagehand(scripts=[asks(approval(), answers)]), size=size) as on:
        await on.attached()
        await on.write("go")
        await on.pilot.press("enter")
        await on.write("1 2 ")
        await on.sees("wants to run", "$ git push --force", "1 Allow once", "F2 answer")
        await on.write("1y")
        await on.settle_card()
        await on.pilot.press("1")
        assert on.composer.text == "1 2 1y1" and not answers
        await on.pilot.press("f2")
        await on.sees("1–3 answer · o whole")
        # One line names the keys, and each of them once.
        assert on.text.count("Esc ") == on.text.count("Esc back") == 1 and "F2" not in on.text
        await on.settle_card()
        await on.pilot.press("1")
        await on.until(lambda: answers)
        assert answers[0].option == "yes"
        await on.sees("approved once by you: git push --force", "Thank you.")
        await on.until(lambda: on.composer.area.has_focus)
        assert on.composer.text == "1 2 1y1"


async def test_esc_leaves_a_question_waiting_and_a_second_one_cancels_the_turn(tmp_path: Path) -> None:
    answers: list[Any] = []
    async with stage(tmp_path, Stagehand(scripts=[asks(approval(), answers)])) as on:
        await on.attached()
        await on.say("go")
        await on.sees("1 Allow once")
        await on.pilot.press("f2")
        await on.until(lambda: not on.composer.area.has_focus)
        await on.pilot.press("escape")
        await on.until(lambda: on.composer.area.has_focus)
        assert on.session._view.can_answer
        await on.pilot.press("escape")  # within a second: it is not to stop the turn by accident
        await on.sees_no("Esc")
        assert on.link.state.run is not None and on.session._view.can_answer
        on.session._last_left -= ESCAPE_SECONDS
        await on.pilot.press("escape")
        await on.idle()
        await on.until(lambda: not on.session._view.can_answer)
        assert not answers


async def test_f2_says_when_nothing_waits(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.press("f2")
        await on.sees("Nothing waits for an answer")


async def test_a_refused_answer_is_said_on_the_card_and_can_be_given_again(tmp_path: Path) -> None:
    answers: list[Any] = []
    async with stage(tmp_path, Stagehand(scripts=[asks(question(), answers)])) as on:
        await on.attached()
        await on.say("go")
        await on.sees("Which name?")
        honest = on.link.client.answer

        async def refuse(*_: object) -> None:
            on.link.client.answer = honest
            raise ProtocolError("unavailable", "not just now")

        on.link.client.answer = refuse
        await on.pilot.press("f2")
        await on.settle_card()
        await on.write("Felan")
        await on.pilot.press("enter")
        await on.sees("not just now", "Felan")
        await on.settle_card()
        await on.pilot.press("enter")
        await on.until(lambda: answers)
        await on.sees("Thank you.")


async def test_what_is_answered_elsewhere_folds_and_says_by_whom(tmp_path: Path) -> None:
    answers: list[Any] = []
    async with stage(tmp_path, Stagehand(scripts=[asks(confirm(), answers)])) as on:
        await on.attached()
        await on.say("go")
        await on.sees("Shall I go on?")
        await on.pilot.press("f2")
        info = op.ClientInfo(kind="headless", name="phone", version="0")
        other = HostClient(on.door.connect(), info)
        await other.connect()
        await other.attach(on.link.id)
        waiting = next(iter(on.link.state.interactions))
        await other.answer(on.link.id, waiting, {"confirmed": True})
        await on.sees("confirmed by phone")
        await on.until(lambda: on.composer.area.has_focus)
        await other.close()


async def test_several_questions_are_counted_and_each_can_be_reached(tmp_path: Path) -> None:
    answers: list[Any] = []

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        both = (puppet.session.ask(confirm(f"Question {number}?")) for number in (1, 2))
        answers.extend(await asyncio.gather(*both))
        return "completed"

    async with stage(tmp_path, Stagehand(scripts=[script])) as on:
        await on.attached()
        await on.say("go")
        await on.sees("Question 1?", "+1 more waiting", "◷ 2")
        await on.pilot.press("f2", "ctrl+n")
        await on.settle_card()
        await on.until(lambda: on.session._view.cards.current.interaction.request.title == "Question 2?")
        assert not on.composer.area.has_focus


async def test_r_asks_again_what_an_agent_that_went_away_had_asked(tmp_path: Path) -> None:
    dies = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        asking = asyncio.create_task(puppet.session.ask(approval()))
        await dies.wait()
        asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        raise AgentGone("The agent ended with exit code 1", "Traceback: boom")

    hand = Stagehand(scripts=[script])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("do the thing")
        await on.sees("1 Allow once")
        dies.set()
        await on.sees("r ask again", "The agent ended with exit code 1")
        assert on.composer.area.has_focus
        hand.scripts.append(says("Asked anew."))
        await on.idle()
        await on.pilot.press("f2")
        await on.settle_card()
        await on.pilot.press("r")
        await on.sees("Asked anew.")
        assert [turn.text for turn in hand.turns] == ["do the thing", "do the thing"]
        assert on.composer.area.has_focus


async def test_o_opens_a_long_command_whole_and_esc_comes_back_to_the_card(tmp_path: Path) -> None:
    command = "\n".join(f"echo line-{number}" for number in range(60))
    async with stage(tmp_path, Stagehand(scripts=[asks(approval(command), [])])) as on:
        await on.attached()
        await on.say("go")
        await on.sees("more lines · o", "1 Allow once", "F2 answer")
        assert "line-50" not in on.text
        await on.pilot.press("f2")
        await on.settle_card()
        await on.pilot.press("o")
        await on.pilot.press("end")
        await on.sees("line-59")
        await on.pilot.press("escape")
        await on.sees("1 Allow once")
        assert not on.composer.area.has_focus and on.session._view.can_answer
