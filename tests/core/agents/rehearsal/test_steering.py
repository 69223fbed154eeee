import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from felan_core.agents.backend import AgentError, Message, Turn
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.protocol.interactions import ConfirmRequest, InteractionRequest
from felan_core.protocol.operations import Image
from tests.core.agents.rehearsal.fakes import FakeSession, agree, refuse, soon


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[FakeSession]:
    session = FakeSession(tmp_path)
    yield session
    assert await session.close() == []


async def played(session: FakeSession, prompt: str, when: Callable[[int, str], bool], said: str) -> str:
    """The outcome of a turn in which the person says ``said`` at the first call that ``when`` is true of."""
    backend = RehearsalBackend(session, {"rehearsal.pace": 0.001})
    await backend.start(None)
    steered = False

    def steer(number: int, name: str) -> None:
        nonlocal steered
        if not steered and when(number, name):
            steered = True
            soon(backend.steer(Message(said)))

    session.on_call = steer
    async with asyncio.timeout(10):
        outcome = await backend.turn(Turn("r1", prompt))
    assert steered
    return outcome


async def test_what_is_said_in_between_is_heard_after_the_step(session: FakeSession) -> None:
    outcome = await played(session, "tour", lambda number, name: name == "text", "mind the gap")
    assert outcome == "completed"
    assert session.said.count("You said: “mind the gap”. Taking it into account.") == 1
    assert "That was the tour" in session.said
    message = next(one for one in session.messages if "mind the gap" in one[0][1])
    assert len(message) == 1, "a message of its own"


async def test_images_beside_what_is_said_are_named(session: FakeSession) -> None:
    backend = RehearsalBackend(session, {"rehearsal.pace": 0.001})
    await backend.start(None)
    picture = Image(media_type="image/png", data="iVBORw0KGgo=")

    def steer(number: int, name: str) -> None:
        if number == 3:
            soon(backend.steer(Message("see", [picture] * 2)))

    session.on_call = steer
    async with asyncio.timeout(10):
        await backend.turn(Turn("r1", "tour"))
    assert "You said: “see” with 2 images. Taking it into account." in session.said


async def test_skip_breaks_off_and_leads_to_the_next_part(session: FakeSession) -> None:
    await played(session, "tour", lambda number, name: name == "tool", "please skip this")
    assert "On to the next part." in session.said
    assert "is there now" not in session.said
    assert "## A process" in session.said
    first = next(iter(session.tools.values()))
    assert (first["state"], first["details"].reason) == ("interrupted", "skipped")


async def test_skip_withdraws_the_question_that_waits(session: FakeSession) -> None:
    session.answer = lambda request: None if isinstance(request, ConfirmRequest) else agree(request)

    def confirming(number: int, name: str) -> bool:
        return name == "ask" and isinstance(session.asked[-1], ConfirmRequest)

    await played(session, "tour", confirming, "skip")
    assert "## Things to look at" in session.said
    assert session.kinds_asked() == {"approval", "confirm"}


async def test_a_word_while_a_question_waits_leaves_it_waiting(session: FakeSession) -> None:
    answered = asyncio.Event()

    def answer(request: InteractionRequest) -> dict[str, object] | None:
        return agree(request)

    session.answer = answer
    ask = session.ask

    async def slow(request: InteractionRequest, **keywords: object) -> object:
        session.on_call(0, "asked")
        while "mind" not in session.said:
            await asyncio.sleep(0)
        answered.set()
        return await ask(request, **keywords)  # type: ignore[arg-type]

    session.ask = slow  # type: ignore[method-assign,assignment]
    await played(session, "/form", lambda number, name: name == "asked", "mind the gap")
    assert answered.is_set()
    assert "I was given" in session.said


async def test_stop_while_a_process_runs_stops_it_and_tidies_up(session: FakeSession, tmp_path: Path) -> None:
    await played(session, "tour", lambda number, name: name == "process_end", "stop")
    assert session.stopped == ["p1"]
    assert "Then let me clean up" in session.said and "The folder is as I found it." in session.said
    assert "## Questions" not in session.said
    assert list(tmp_path.iterdir()) == []
    assert session.elements == {}


async def test_stop_in_a_long_answer_breaks_it_off(session: FakeSession) -> None:
    await played(session, "/long", lambda number, name: number > 40, "stop")
    assert "That was long enough." in session.said
    assert len(session.said) < 50_000


async def test_a_skip_in_the_middle_of_a_progress_ends_it_as_cancelled(session: FakeSession) -> None:
    def moving(number: int, name: str) -> bool:
        element = session.elements.get("rehearsal.progress")
        return element is not None and name == "show"

    await played(session, "tour", moving, "skip")
    states = [getattr(one, "state", None) for one in session.shown if one.id == "rehearsal.progress"]
    assert states[-1] == "cancelled" and "done" not in states


async def test_faster_changes_the_pace_of_what_is_left(session: FakeSession) -> None:
    rested: list[float] = []

    async def sleep(seconds: float) -> None:
        rested.append(seconds)
        await asyncio.sleep(0)

    # The process is not played: its seconds are real ones.
    session.answer = lambda request: (refuse if "Run" in str(request) else agree)(request)

    async def total(said: str) -> float:
        rested.clear()
        backend = RehearsalBackend(session, {}, sleep=sleep)
        await backend.start(None)
        first = len(session.calls)

        def steer(number: int, name: str) -> None:
            if number == first:
                soon(backend.steer(Message(said)))

        session.on_call = steer
        await backend.turn(Turn("r1", "tour"))
        return sum(rested)

    assert await total("faster") < 0.6 * await total("mind the gap")


async def test_what_is_said_at_the_very_end_is_heard_or_refused(session: FakeSession) -> None:
    backend = RehearsalBackend(session, {"rehearsal.pace": 0})
    await backend.start(None)
    with pytest.raises(AgentError, match="No turn is running"):
        await backend.steer(Message("hello"))
    turn = asyncio.ensure_future(backend.turn(Turn("r1", "help")))
    heard = 0
    for number in range(200):
        await asyncio.sleep(0)
        try:
            await backend.steer(Message(f"word {number}"))
            heard += 1
        except AgentError:
            break
    await turn
    assert heard > 3
    assert session.said.count("You said:") == heard
