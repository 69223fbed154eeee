import asyncio
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from felan_core.agents.backend import Turn
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.agents.rehearsal.load import Scenario, shipped
from felan_core.agents.rehearsal.steps import Run
from felan_core.protocol.elements import ProgressElement, ViewElement
from felan_core.protocol.entries import ToolDiff, ToolProcess
from felan_core.protocol.interactions import ApprovalRequest, FormRequest, InteractionRequest
from tests.core.agents.rehearsal.fakes import FakeSession, agree, kind_of, refuse, soon


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[FakeSession]:
    session = FakeSession(tmp_path)
    yield session
    assert await session.close() == []


def with_a_short_command() -> dict[str, Scenario]:
    """The shipped scenarios, the tour's process being over at once: many tours are played here."""
    tour = shipped()["tour"]
    steps = tuple(
        msgspec.structs.replace(step, command="echo done") if isinstance(step, Run) else step
        for step in tour.steps
    )
    return {**shipped(), "tour": dataclasses.replace(tour, steps=steps)}


async def started(session: FakeSession, *, short: bool = False) -> RehearsalBackend:
    scenarios = with_a_short_command() if short else None
    backend = RehearsalBackend(session, {"rehearsal.pace": 0}, scenarios=scenarios)
    assert await backend.start(session.memory)
    return backend


async def test_the_tour_shows_every_question_and_element_and_leaves_the_folder_as_it_was(
    session: FakeSession, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    backend = await started(session)

    assert await backend.turn(Turn("r1", "/tour")) == "completed"

    assert session.kinds_asked() == {"approval", "confirm", "select", "input", "form"}
    assert {kind_of(element) for element in session.shown} == {"status", "progress", "document", "view"}
    moved = [
        one.value for one in session.shown if isinstance(one, ProgressElement) and isinstance(one.value, int)
    ]
    assert moved == sorted(moved) and len(set(moved)) > 5
    view = next(one for one in session.shown if isinstance(one, ViewElement))
    assert {column.type for column in view.columns} == {"string", "number", "boolean", "time"}
    assert len(session.pointer) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]
    assert session.elements == {}
    assert all(tool["state"] == "completed" for tool in session.tools.values())
    assert any(kind == "thinking" for message in session.messages for kind, _ in message)


async def test_its_tools_hold_real_diffs_and_the_real_process(session: FakeSession, tmp_path: Path) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "tour"))
    tools = list(session.tools.values())
    assert [tool["name"] for tool in tools] == ["write", "read", "edit", "bash", "delete"]
    [diff] = tools[2]["content"]
    assert isinstance(diff, ToolDiff)
    assert diff.old and "- [ ] write a file" in str(diff.old)
    assert "- [x] write a file, 5 lines long" in diff.new
    [process] = tools[3]["content"]
    assert isinstance(process, ToolProcess)
    output = (await session.outputs[process.process]).decode()
    assert "beat 10 of 10" in output and "\x1b[3" in output
    assert tools[3]["details"].exit_code == 0
    assert "done by process" in session.said


async def test_the_answers_are_told_back(session: FakeSession) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "tour"))
    for told in ("| readable | yes |", "| work | Fix bugs |", "| name | Ada |", "| density | Compact |"):
        assert told in session.said


async def test_a_tour_of_somebody_who_rejects_everything_changes_and_runs_nothing(
    session: FakeSession, tmp_path: Path
) -> None:
    session.answer = refuse
    backend = await started(session)
    assert await backend.turn(Turn("r1", "tour")) == "completed"
    assert list(tmp_path.iterdir()) == []
    assert session.processes == {}
    assert [tool["state"] for tool in session.tools.values()] == ["failed", "failed"]
    assert all(tool["details"].reason == "rejected" for tool in session.tools.values())
    assert all(tool["details"].message == "not on my machine" for tool in session.tools.values())
    assert "nothing was written" in session.said and "Not run, then." in session.said


async def test_a_file_of_that_name_is_left_alone(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path / "rehearsal.md").write_text("theirs")
    backend = await started(session)
    await backend.turn(Turn("r1", "tour"))
    assert (tmp_path / "rehearsal.md").read_text() == "theirs"
    assert "`rehearsal-2.md` is there now" in session.said


async def test_a_refused_pointer_does_not_stop_the_tour(session: FakeSession) -> None:
    session.refuse_pointer = True
    backend = await started(session)
    assert await backend.turn(Turn("r1", "tour")) == "completed"
    assert "I published the **task pointer" not in session.said
    assert "That was the tour" in session.said


async def test_at_its_natural_pace_the_tour_takes_about_a_minute(session: FakeSession) -> None:
    rested: list[float] = []

    async def sleep(seconds: float) -> None:
        rested.append(seconds)
        await asyncio.sleep(0)

    # The process is not played: its seconds are real ones.
    def answer(request: InteractionRequest) -> dict[str, Any] | None:
        run = isinstance(request, ApprovalRequest) and request.subject.category == "execute"
        return refuse(request) if run else agree(request)

    session.answer = answer
    backend = RehearsalBackend(session, {}, sleep=sleep)
    await backend.start(None)
    await backend.turn(Turn("r1", "tour"))
    chunks = [payload for name, payload in session.calls if name == "text"]
    assert 40 <= sum(rested) + 5 <= 60  # and a person takes some seconds for each of nine answers
    assert len(chunks) > 150
    assert max(rested) <= 5


async def calls_of_a_tour(tmp_path: Path) -> int:
    session = FakeSession(tmp_path)
    backend = await started(session, short=True)
    await backend.turn(Turn("r1", "tour"))
    await session.close()
    return len(session.calls)


def whole_states(tmp_path: Path) -> bool:
    """Whether what is on disk is one of the tour's three states of its file, and nothing else."""
    found = {one.name: one.read_text() for one in tmp_path.iterdir()}
    if not found:
        return True
    first = "# Notes of a rehearsal\n\n- [ ] write a file\n- [ ] change it\n- [ ] run something\n"
    second = first.replace("- [ ] write a file", "- [x] write a file, 5 lines long")
    return found in ({"rehearsal.md": first}, {"rehearsal.md": second})


async def check_cancelled(
    session: FakeSession, backend: RehearsalBackend, outcome: str, tmp_path: Path
) -> None:
    assert outcome == "cancelled"
    assert whole_states(tmp_path)
    for tool in session.tools.values():
        assert tool["state"] != "running"
        if tool["name"] == "write" and tool["state"] == "completed" and session.memory:
            assert (tmp_path / "rehearsal.md").exists() or "delete" in str(session.tools)
    assert all(kind_of(one) != "status" for one in session.elements.values())
    assert all(
        not isinstance(one, ProgressElement) or one.state != "running" for one in session.elements.values()
    )
    assert not session._open
    assert await session.close() == []
    # The next prompt works, and clears away what was left.
    assert await backend.turn(Turn("r2", "help")) == "completed"
    assert session.elements == {}


async def test_a_cancel_at_any_call_ends_the_turn_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    count = await calls_of_a_tour(tmp_path)
    assert count > 90
    for at in range(1, count - 1):  # the first is the offer of commands; after the last one there is no turn
        folder = tmp_path / str(at)
        folder.mkdir()
        session = FakeSession(folder)
        backend = await started(session, short=True)

        def cancel(number: int, name: str, at: int = at, backend: RehearsalBackend = backend) -> None:
            if number == at:
                soon(backend.cancel())

        session.on_call = cancel
        async with asyncio.timeout(5):
            outcome = await backend.turn(Turn("r1", "tour"))
            if outcome == "completed":
                assert at >= count - 4
                await session.close()
                continue
            await check_cancelled(session, backend, outcome, folder)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(turns=st.integers(0, 900), twice=st.booleans())
def test_a_cancel_at_any_moment_of_the_loop_does_so_too(
    tmp_path_factory: pytest.TempPathFactory, turns: int, twice: bool
) -> None:
    async def once() -> None:
        folder = tmp_path_factory.mktemp("folder")
        session = FakeSession(folder)
        backend = await started(session, short=True)
        turn = asyncio.ensure_future(backend.turn(Turn("r1", "tour")))
        await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        await backend.cancel()
        if twice:
            await asyncio.sleep(0)
            await backend.cancel()
        async with asyncio.timeout(5):
            outcome = await turn
            if outcome == "cancelled":
                await check_cancelled(session, backend, outcome, folder)
        await session.close()

    asyncio.run(once())


async def test_a_cancel_while_a_question_waits_withdraws_it(session: FakeSession) -> None:
    session.answer = lambda request: None
    backend = await started(session)
    turn = asyncio.ensure_future(backend.turn(Turn("r1", "tour")))
    async with asyncio.timeout(5):
        await session.asking.wait()
        await backend.cancel()
        assert await turn == "cancelled"
    [tool] = session.tools.values()
    assert (tool["state"], tool["details"].reason) == ("interrupted", "cancelled")


@pytest.mark.parametrize("moment", ["start_process", "started", "process_end"])
async def test_a_cancel_stops_the_process(session: FakeSession, moment: str) -> None:
    backend = RehearsalBackend(session, {"rehearsal.pace": 0.02})
    await backend.start(None)

    def cancel(number: int, name: str) -> None:
        if name == moment:
            soon(backend.cancel())

    session.on_call = cancel
    async with asyncio.timeout(5):
        assert await backend.turn(Turn("r1", "/run")) == "cancelled"
    assert session.stopped == ["p1"]
    [tool] = session.tools.values()
    assert tool["state"] == "interrupted"


async def test_questions_that_are_withdrawn_do_not_end_the_tour(session: FakeSession) -> None:
    session.answer = lambda request: {"withdrawn": "expired"}
    backend = await started(session)
    assert await backend.turn(Turn("r1", "tour")) == "completed"
    assert {tool["state"] for tool in session.tools.values()} == {"interrupted"}


async def test_a_form_left_is_told_as_left(session: FakeSession) -> None:
    session.answer = lambda request: (refuse if isinstance(request, FormRequest) else agree)(request)
    backend = await started(session)
    await backend.turn(Turn("r1", "/form"))
    assert "Not now, then." in session.said
