import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from felan_core.agents.acp.agent_connection import Times
from felan_core.agents.acp.backend import AcpBackend
from felan_core.agents.backend import AgentGone, Turn
from felan_core.protocol.interactions import ApprovalRequest
from tests.harness.acp.real import RealAgent
from tests.harness.acp.recorder import Question, RecordingSession
from tests.harness.acp.traffic import Traffic

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]


class Bench:
    """One real agent in a folder of its own, driven through the backend interface."""

    def __init__(self, agent: RealAgent, folder: Path) -> None:
        self.agent = agent
        self.folder = folder
        self.session = RecordingSession(cwd=str(folder))
        self.traffic = Traffic()
        self.backend = self._backend()

    def _backend(self) -> AcpBackend:
        times = Times(handshake=120.0, cancel=30.0)
        return AcpBackend(self.session, self.agent.command, times=times, trace=self.traffic)

    async def another_host(self) -> None:
        """As after a restart of the host: a new backend that has the memory alone."""
        await self.backend.close()
        self.backend = self._backend()

    def turn(self, text: str) -> asyncio.Task[str]:
        return asyncio.create_task(self.backend.turn(Turn(run="run_1", text=text)))

    async def question(self, number: int) -> Question:
        await self.session.until(lambda: len(self.session.questions) > number, 90)
        return self.session.questions[number]

    async def still_works(self) -> None:
        assert await self.turn(self.agent.prompt({"text": "Here I am again."})) == "completed"
        assert self.session.said().endswith("Here I am again.")

    @property
    def pid(self) -> int:
        life = self.backend._agent  # pyright: ignore[reportPrivateUsage] - no user sees a pid
        assert life is not None and life._process is not None  # pyright: ignore[reportPrivateUsage]
        return life._process.pid  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
async def bench(agent: RealAgent, tmp_path: Path) -> AsyncIterator[Bench]:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Bench(agent, folder)
    yield made
    await made.backend.close()


def approval(question: Question) -> ApprovalRequest:
    assert isinstance(question.request, ApprovalRequest)
    return question.request


async def test_files_change_and_commands_run_after_the_approval_and_not_before(bench: Bench) -> None:
    agent, target = bench.agent, bench.folder / "target.txt"
    target.write_text("before\n")
    made = bench.folder / "made.txt"
    text = agent.prompt(
        {"think": "let me see"},
        {"text": "I change the file."},
        agent.edit(target, "before", "after"),
        {"text": "Now a command."},
        agent.run(f"echo from-the-command > {made}; cat {made}"),
        {"text": "All done."},
    )
    assert await bench.backend.start(None)
    turn = bench.turn(text)

    edit = await bench.question(0)
    subject = approval(edit).subject
    assert target.read_text() == "before\n" and not made.exists()
    assert str(target) in f"{subject.paths} {subject.command}"
    if agent.name == "opencode":
        assert [(diff.old, diff.new) for diff in subject.diff or []] == [("before\n", "after\n")]
    edit.choose("allow_once")

    run = await bench.question(1)
    assert target.read_text() == "after\n" and not made.exists()
    assert "from-the-command" in str(approval(run).subject.command)
    run.choose("allow_once")

    assert await turn == "completed"
    assert made.read_text() == "from-the-command\n"
    assert "All done." in bench.session.said()
    assert {card["state"] for card in bench.session.tools.values()} == {"completed"}
    shown = str([card["content"] for card in bench.session.tools.values()])
    assert "from-the-command" in shown
    assert not bench.traffic.violations("c2a")


async def test_a_reject_and_two_cancels_leave_the_agent_working(bench: Bench) -> None:
    agent, target = bench.agent, bench.folder / "target.txt"
    target.write_text("before\n")
    change = agent.prompt(agent.edit(target, "before", "after"), {"text": "Done."})
    assert await bench.backend.start(None)

    turn = bench.turn(change)
    rejected = await bench.question(0)
    rejected.choose("reject_once")
    assert await turn in ("completed", "cancelled")
    assert rejected.tool is not None
    card = bench.session.tools[rejected.tool]
    assert (card["state"], card["details"].reason) == ("failed", "rejected")

    turn = bench.turn(change)
    withdrawn = await bench.question(1)
    await bench.backend.cancel()
    async with asyncio.timeout(30):
        assert await turn == "cancelled"
    assert withdrawn.withdrawn == "the turn was cancelled"
    assert "running" not in {card["state"] for card in bench.session.tools.values()}
    assert target.read_text() == "before\n"

    turn = bench.turn(agent.prompt({"text": "word " * 200, "chunks": 200, "delay": 0.1}))
    await bench.session.until(lambda: "word" in bench.session.said(), 90)
    await bench.backend.cancel()
    async with asyncio.timeout(30):
        assert await turn == "cancelled"
    await bench.still_works()
    assert not bench.traffic.violations("c2a")


async def test_after_a_kill_in_a_turn_the_agents_own_session_is_found_again(bench: Bench) -> None:
    assert await bench.backend.start(None)
    turn = bench.turn(bench.agent.prompt({"text": "word " * 200, "chunks": 200, "delay": 0.1}))
    await bench.session.until(lambda: "word" in bench.session.said(), 90)
    os.kill(bench.pid, signal.SIGKILL)
    with pytest.raises(AgentGone, match="was ended by SIGKILL"):
        await turn
    memory, seen = bench.session.memory, len(bench.session.calls)
    assert memory is not None
    await bench.another_host()
    assert await bench.backend.start(memory) is True
    shown = [call.name for call in bench.session.calls[seen:] if call.name in ("text", "tool", "ask")]
    assert not shown, "what was said before is not shown again"
    await bench.still_works()


async def test_a_session_that_the_agent_does_not_know_starts_without_memory(bench: Bench) -> None:
    known = {"opencode": "ses_0000000000000000000000000000", "codex": "01a20000-0000-7000-8000-000000000000"}
    assert await bench.backend.start({"sessionId": known[bench.agent.name]}) is False
    await bench.still_works()
