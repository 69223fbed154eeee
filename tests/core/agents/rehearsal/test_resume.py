"""A host that ends while a question waits, and the next one, in which it is answered."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from felan_core.agents.backend import AgentError, Deferred, Turn
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.protocol.base import JsonObject
from felan_core.protocol.interactions import (
    ApprovalRequest,
    InteractionRequest,
    validate_interaction_answer,
)
from tests.core.agents.rehearsal.fakes import AnswerOf, FakeSession, agree, refuse

ASKS_OF_THE_TOUR = 8


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[FakeSession]:
    session = FakeSession(tmp_path)
    yield session
    assert await session.close() == []


async def deferred_at(session: FakeSession, prompt: str, number: int, answer: AnswerOf = agree) -> Deferred:
    """Play until question ``number`` (from 0) waits, let that host die, and answer as the next one would."""
    reached = asyncio.Event()

    def until(request: InteractionRequest) -> JsonObject | None:
        if len(session.asked) > number:
            reached.set()
            return None
        return agree(request)

    session.answer = until
    backend = RehearsalBackend(session, {"rehearsal.pace": 0})
    await backend.start(session.memory)
    turn = asyncio.ensure_future(backend.turn(Turn("r1", prompt)))
    async with asyncio.timeout(5):
        await reached.wait()
    memory, tools = session.memory, {key: dict(tool) for key, tool in session.tools.items()}
    elements, messages = dict(session.elements), [list(message) for message in session.messages]
    # A host that dies tells nobody: what the backend does on its way out is not kept.
    turn.cancel()
    await asyncio.wait({turn})
    session.memory, session.tools, session.elements, session.messages = memory, tools, elements, messages
    request = msgspec.json.decode(msgspec.json.encode(session.asked[-1]), type=InteractionRequest)
    plain = answer(request)
    assert plain is not None
    resume = json.loads(json.dumps(session.resumes[-1]))
    return Deferred("i1", request, validate_interaction_answer(request, plain), resume)


async def resumed(session: FakeSession, deferred: Deferred, answer: AnswerOf = agree) -> str:
    session.answer = answer
    backend = RehearsalBackend(session, {"rehearsal.pace": 0})
    assert await backend.start(session.memory)
    async with asyncio.timeout(5):
        return await backend.resume("r2", deferred)


@pytest.mark.parametrize("number", range(ASKS_OF_THE_TOUR))
async def test_the_tour_goes_on_from_each_of_its_questions(
    session: FakeSession, tmp_path: Path, number: int
) -> None:
    deferred = await deferred_at(session, "tour", number)
    before = len(session.asked)
    assert await resumed(session, deferred) == "completed"
    assert len(session.asked) == ASKS_OF_THE_TOUR and before == number + 1, "nothing is asked twice"
    assert "That was the tour" in session.said
    assert list(tmp_path.iterdir()) == []
    assert session.elements == {}
    if number < 7:
        assert "| name | Ada |" in session.said, "answers from before the restart are still known"


@pytest.mark.parametrize("number", range(ASKS_OF_THE_TOUR))
async def test_a_no_after_the_restart_is_a_no(session: FakeSession, tmp_path: Path, number: int) -> None:
    deferred = await deferred_at(session, "tour", number, refuse)
    on_disk = {one.name: one.read_text() for one in tmp_path.iterdir()}
    assert await resumed(session, deferred, refuse) == "completed"
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == on_disk


async def test_an_edit_that_was_deferred_is_refused_when_the_file_changed(
    session: FakeSession, tmp_path: Path
) -> None:
    deferred = await deferred_at(session, "tour", 1)
    (tmp_path / "rehearsal.md").write_text("theirs")
    await resumed(session, deferred, lambda request: refuse(request))
    assert (tmp_path / "rehearsal.md").read_text() == "theirs"
    assert "Somebody changed the file while the question waited" in session.said


async def test_what_was_approved_is_what_is_applied(session: FakeSession, tmp_path: Path) -> None:
    deferred = await deferred_at(session, "tour", 0)
    assert isinstance(deferred.request, ApprovalRequest)
    (tmp_path / "rehearsal.md").write_text("appeared meanwhile")
    await resumed(session, deferred)
    assert (tmp_path / "rehearsal.md").read_text() == "appeared meanwhile"
    assert "That did not work: rehearsal.md is there by now." in session.said


async def test_the_command_that_was_approved_is_the_one_that_runs(session: FakeSession) -> None:
    deferred = await deferred_at(session, "/run", 0)
    session.calls.clear()
    session.answer = agree
    backend = RehearsalBackend(session, {"rehearsal.pace": 1})  # another pace would make another command
    await backend.start(session.memory)
    await backend.resume("r2", deferred)
    assert isinstance(deferred.request, ApprovalRequest)
    assert [payload for name, payload in session.calls if name == "start_process"] == [
        deferred.request.subject.command
    ]


@pytest.mark.parametrize(
    "resume",
    [
        {},
        {"scenario": "gone", "step": 0, "variables": {}},
        {"scenario": "tour", "step": 10_000, "variables": {}},
        {"scenario": "tour", "step": -1, "variables": {}},
        {"scenario": "tour", "step": 0, "variables": {}},
        {"scenario": "tour", "step": "1", "variables": []},
    ],
)
async def test_a_place_that_is_no_longer_there_is_said_and_nothing_is_done(
    session: FakeSession, tmp_path: Path, resume: JsonObject
) -> None:
    deferred = await deferred_at(session, "tour", 0)
    with pytest.raises(AgentError, match=r"no longer there|has changed meanwhile"):
        await resumed(session, Deferred("i1", deferred.request, deferred.answer, resume))
    assert list(tmp_path.iterdir()) == []


async def test_memory_of_another_version_is_no_reason_not_to_start(session: FakeSession) -> None:
    for memory in ({"up": 3, "opened": "x", "step": []}, {"up": ["a"], "variables": None}, {}):
        assert await RehearsalBackend(session, {}).start(memory)


async def test_what_is_kept_beside_a_question_stays_small(session: FakeSession) -> None:
    session.answer = lambda request: (
        {"text": "\x00" * 200_000} if hasattr(request, "placeholder") else agree(request)
    )
    backend = RehearsalBackend(session, {"rehearsal.pace": 0})
    await backend.start(None)
    assert await backend.turn(Turn("r1", "tour")) == "completed"  # the fake holds each to 64 KiB
