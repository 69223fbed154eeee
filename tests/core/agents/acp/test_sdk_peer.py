"""Our layer against an agent on the protocol's own SDK."""

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import AgentGone
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.entries import ToolDiff, ToolText
from felan_core.protocol.interactions import ApprovalRequest, FormAnswer
from tests.core.agents.acp.conftest import HARNESS, Stage
from tests.harness.acp.recorder import Question


class Demo:
    """The demo agent on a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.session = stage.session
        self.put_up()

    def put_up(self, *flags: str) -> None:
        state = Path(self.session.cwd) / "state.json"
        agent = [sys.executable, str(HARNESS / "demo_agent.py"), str(state), *flags]
        self.stage.put_up(shlex.join(agent), rule=self.session.rule)

    async def start(self, memory: dict[str, Any] | None = None) -> bool:
        return await self.stage.backend.start(memory)

    async def turn(self, text: str) -> str:
        return await self.stage.take_turn(text)

    def card(self, title: str) -> dict[str, Any]:
        return next(card for card in self.session.tools.values() if card["title"] == title)


@pytest.fixture
def demo(stage: Stage) -> Demo:
    return Demo(stage)


def obliging(question: Question) -> None:
    if isinstance(question.request, ApprovalRequest):
        question.choose("allow_once")
    else:
        question.answer(FormAnswer(action="submit", values={"colour": "blue"}))


async def test_one_turn_with_all_of_it(demo: Demo) -> None:
    demo.session.rule = obliging
    assert await demo.start()
    assert demo.stage.backend.name == "Demo agent"
    assert await demo.turn("full circle") == "completed"
    said = demo.session.said()
    assert said.endswith("echo: circle") and '"colour":"blue"' in said.replace(" ", "")
    assert demo.session.said("thinking") == "Let me think... "
    assert [diff for diff in demo.card("Edit demo.txt")["content"] if isinstance(diff, ToolDiff)]
    assert demo.card("Run `echo hi`")["content"] == [ToolText(text="hi\n")]
    assert isinstance(demo.session.elements["acp.plan"], ViewElement)
    assert [(call.used, call.size) for call in demo.session.named("usage")] == [(1234, 100000)]
    assert not demo.stage.traffic.violations("c2a")
    await demo.session.until(lambda: demo.session.named("offer"))


async def test_permissions_answered_and_cancelled_and_a_question_after_the_turn(demo: Demo) -> None:
    await demo.start()
    for effect, state, shown in (
        ("allow_once", "completed", "hi\n"),
        ("allow_always", "completed", "hi\n"),
        ("reject_once", "failed", "not run: id-reject_once"),
        ("reject_always", "failed", "not run: id-reject_always"),
    ):
        demo.session.rule = lambda question, effect=effect: question.choose(effect)
        assert await demo.turn("perm") == "completed"
        card = list(demo.session.tools.values())[-1]
        assert (card["state"], card["content"]) == (state, [ToolText(text=shown)])
    asked, demo.session.rule = len(demo.session.questions), None
    turn = asyncio.create_task(demo.turn("perm"))
    question = await demo.session.question(asked)
    await demo.stage.backend.cancel()
    assert await turn == "cancelled"
    assert question.withdrawn == "the turn was cancelled"
    turn = asyncio.create_task(demo.turn("slow 30"))
    await demo.session.until(lambda: "0 1 " in demo.session.said())
    await demo.stage.backend.cancel()
    assert await turn == "cancelled"
    assert await demo.turn("echo again") == "completed"
    assert demo.session.said().endswith("echo: again")
    assert await demo.turn("noise") == "completed"
    asked = len(demo.session.questions)
    assert await demo.turn("late") == "completed"
    (await demo.session.question(asked)).choose("allow_once")
    await demo.session.until(lambda: list(demo.session.tools.values())[-1]["state"] == "completed")
    assert "[late] " in demo.session.said()


async def test_a_crash_and_new_lives_with_the_same_memory_resumed_and_loaded(demo: Demo) -> None:
    await demo.start()
    assert await demo.turn("echo one") == "completed"
    with pytest.raises(AgentGone, match="Demo agent exited with code 3") as caught:
        await demo.turn("crash")
    assert "crashing as told" in caught.value.details
    assert await demo.start(demo.session.memory) is True
    assert demo.stage.traffic.sent("session/resume")
    assert await demo.turn("echo two") == "completed"

    await demo.stage.backend.close()
    seen = len(demo.session.calls)
    demo.put_up("--load-only")
    assert await demo.start(demo.session.memory) is True
    assert demo.stage.traffic.sent("session/load")
    await demo.turn("echo three")
    shown = "".join(call.text for call in demo.session.calls[seen:] if call.name == "text")
    assert shown == "echo: three", "what was replayed is not shown again"
