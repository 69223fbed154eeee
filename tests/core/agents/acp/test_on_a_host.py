"""The backend on a whole host: what a person at a client sees of an ACP agent."""

import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from felan_core.agents.acp.backend import AcpBackend
from felan_core.agents.backend import Backend, Session
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.protocol import operations as op
from felan_core.protocol.base import UNSET, JsonObject, or_default
from felan_core.protocol.entries import MessageEntry, NoticeEntry, ToolDetails, ToolEntry
from felan_core.protocol.interactions import ApprovalRequest, Interaction
from felan_core.protocol.session import AgentMode
from tests.core.agents.acp.conftest import HARNESS, QUICK
from tests.core.host.rig import Clock, Rig, Stagehand, rig, until


@dataclass
class Scripted(Stagehand):
    """Gives every session a scripted ACP agent."""

    agent: str = ""
    file: str = "scripted.py"

    def create(self, session: Session, settings: JsonObject) -> Backend:
        command = [sys.executable, "-S", "-E", str(HARNESS / self.file), self.agent]
        return AcpBackend(session, shlex.join(command), times=QUICK)


class Seat:
    """A client at a session."""

    def __init__(self, host: Rig, hand: Scripted, folder: Path, clock: Clock) -> None:
        self.host = host
        self.clock = clock
        self.hand = hand
        self.folder = folder
        self.client: HostClient
        self.replica: SessionReplica

    async def prompt(self, agent: str) -> None:
        self.hand.agent = agent
        self.client = await self.host.client()
        self.replica = await self.host.session(self.client, self.folder)
        await self.again()

    async def again(self) -> None:
        await self.client.prompt(self.replica.state.session, "go")

    async def question(self, number: int = 0) -> Interaction:
        await until(lambda: len(self.replica.state.interactions) > number)
        return list(self.replica.state.interactions.values())[number]

    async def idle(self) -> None:
        await until(lambda: self.replica.state.header.state == "idle")

    def entries(self, kind: type) -> list:
        return [entry for entry in self.replica.state.entries if isinstance(entry, kind)]


@pytest.fixture
async def seat(tmp_path: Path) -> AsyncIterator[Seat]:
    hand, folder, clock = Scripted(), tmp_path / "work", Clock()
    folder.mkdir()
    async with rig(tmp_path / "data", hand, clock) as host:
        yield Seat(host, hand, folder, clock)
    assert host.faults == []


async def test_a_permission_is_a_question_about_its_tool_and_the_answer_reaches_the_agent(seat: Seat) -> None:
    await seat.prompt("unknown_tool")
    question = await seat.question()
    assert isinstance(question.request, ApprovalRequest)
    (tool,) = seat.entries(ToolEntry)
    assert or_default(question.scope.tool, "") == tool.id and tool.state == "running" and tool.waiting is True
    seat.clock.now += 60_000
    answer = {"option": question.request.options[0].id}
    await seat.client.answer(seat.replica.state.session, question.id, answer)
    await seat.idle()
    (said,) = [entry for entry in seat.entries(MessageEntry) if entry.role == "assistant"]
    assert '"optionId": "o-allow_once"' in said.text
    (begun,) = seat.entries(ToolEntry)
    assert begun.waiting is UNSET and begun.started_at >= tool.started_at + 60_000


async def test_the_questions_of_an_agent_that_died_say_so_and_the_session_goes_on(seat: Seat) -> None:
    await seat.prompt("dies_while_asking")
    question = await seat.question()
    await seat.idle()
    ended = seat.replica.state.interactions[question.id]
    assert (ended.state, ended.reason) == ("cancelled", "the agent that asked is gone")
    notices = " ".join(f"{entry.title} {or_default(entry.text, '')}" for entry in seat.entries(NoticeEntry))
    assert "exited with code 9" in notices
    (tool,) = seat.entries(ToolEntry)
    assert tool.state == "interrupted" and or_default(tool.details, ToolDetails()).reason == "not_run"
    assert tool.ended_at == tool.started_at and tool.waiting is UNSET

    seat.hand.agent = "says_nothing_after_reject"
    await seat.again()
    assert (await seat.question(1)).state == "waiting"


async def test_a_cancel_takes_the_question_down_and_closes_its_tool(seat: Seat) -> None:
    await seat.prompt("asks_and_cancels")
    question = await seat.question()
    await seat.client.cancel(seat.replica.state.session)
    await seat.idle()
    ended = seat.replica.state.interactions[question.id]
    assert ended.state == "cancelled"
    (tool,) = seat.entries(ToolEntry)
    assert tool.state == "interrupted" and or_default(tool.details, ToolDetails()).reason == "cancelled"


async def test_what_an_agent_says_after_its_turn_is_no_part_of_the_next_answer(seat: Seat) -> None:
    seat.hand.file = "hostile.py"
    await seat.prompt("speaks_late")

    def published() -> str:
        live = [one.text for parts in seat.replica.live_messages().values() for one in parts]
        return " ".join([*live, *(one.text for one in seat.entries(MessageEntry))])

    await until(lambda: "one more thing" in published())
    await seat.idle()
    await seat.again()
    await until(lambda: len([one for one in seat.entries(MessageEntry) if one.role == "assistant"]) == 3)
    said = [(one.role, one.text) for one in seat.entries(MessageEntry)]
    assert said == [
        ("user", "go"),
        ("assistant", "first"),
        ("assistant", "PS: one more thing."),
        ("user", "go"),
        ("assistant", "alive"),
    ]


async def test_the_mode_of_an_agent_is_in_the_header_and_goes_with_it(seat: Seat) -> None:
    seat.hand.file = "hostile.py"
    await seat.prompt("modes")
    await seat.idle()
    header = seat.replica.state.header
    assert header.agent.mode == AgentMode(id="default", name="Ask", asks=True)
    await seat.client.close_session(seat.replica.state.session)
    await until(lambda: seat.replica.state.header.agent.mode is UNSET)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("ending", ["stop", "close", "exit"])
async def test_what_an_agent_left_running_is_a_process_of_the_session_until_it_is_ended(
    seat: Seat, ending: str
) -> None:
    seat.host.processes._look_seconds = 0.02  # pyright: ignore[reportPrivateUsage]
    seat.hand.file = "hostile.py"
    await seat.prompt("leaves")
    await until(lambda: seat.replica.state.processes)
    (row,) = seat.replica.state.processes.values()
    assert (row.state, row.title, row.leftovers) == ("running", "left running by scripted", 1)
    assert "time.sleep(600)" in row.command
    await seat.idle()
    session = seat.replica.state.session
    (message,) = [one for one in seat.entries(MessageEntry) if one.role == "assistant"]
    left = int(message.parts[0].text)
    assert alive(left)
    if ending == "exit":
        await seat.again()
        await until(lambda: seat.replica.state.header.agent.state == "gone")
        assert alive(left), "it is a person's to end"
    if ending == "close":
        await seat.client.close_session(session)
    else:
        stop = op.ProcessStopParams(process=row.id, grace_ms=100)
        assert (await seat.client.processes_stop(session, stop)).state == "exited"
    assert not alive(left)
    await until(lambda: seat.replica.state.processes[row.id].state == "exited")
    ended = seat.replica.state.processes[row.id]
    assert (ended.leftovers, ended.stopped, ended.exit_code) == (UNSET, True, UNSET)
