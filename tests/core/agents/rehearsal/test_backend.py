import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import AgentError, AgentGone, Backend, BackendFactory, Turn
from felan_core.agents.rehearsal import create
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ViewElement
from tests.core.agents.rehearsal.fakes import FakeSession, refuse, soon


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[FakeSession]:
    session = FakeSession(tmp_path)
    yield session
    assert await session.close() == []


async def started(session: FakeSession, **settings: Any) -> Backend:
    factory: BackendFactory = create
    plain = {"rehearsal.pace": 0, **{f"rehearsal.{name}": value for name, value in settings.items()}}
    backend = factory(session, plain)
    assert await backend.start(session.memory) is True
    return backend


async def test_it_says_what_it_is_and_offers_its_scenarios(session: FakeSession) -> None:
    backend = await started(session)
    assert (backend.kind, backend.name) == ("rehearsal", "Rehearsal")
    assert backend.abilities.steer and backend.abilities.deferrable and not backend.abilities.models
    offered = [command.name for command in session.commands]
    assert {"tour", "edit", "run", "form", "elements", "crash", "help"} <= set(offered)
    assert "hostile" not in offered


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("hello there", "I am **Rehearsal**"),
        ("what can you do?", "- `/tour`: shows every part of Felan"),
        ("/nonsense now", "There is no command `/nonsense` here."),
        ("/", "There is no command `/` here."),
        ("Please EDIT something, then run it", "I write a scratch file"),
        ("run it, then edit", "Fifteen seconds of output"),
        ("/read", "That I cannot read: Ada: there is no such file."),
        ("/read sub/nothing.md", "That I cannot read: sub/nothing.md: there is no such file."),
    ],
)
async def test_a_prompt_plays_what_its_words_ask_for(session: FakeSession, prompt: str, said: str) -> None:
    backend = await started(session)
    assert await backend.turn(Turn("r1", prompt)) == "completed"
    assert said in session.said


async def test_the_named_scenario_answers_the_first_prompt_that_matches_nothing(session: FakeSession) -> None:
    backend = await started(session, scenario="form")
    await backend.turn(Turn("r1", "good morning"))
    assert "I was given" in session.said and "version **0.1.0** on **Stable**, draft: **no**" in session.said
    await backend.turn(Turn("r2", "good evening"))
    assert "I am **Rehearsal**" in session.said


async def test_a_scenario_of_ones_own_is_loaded_and_played(session: FakeSession, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('title = "M"\nsummary = "mine"\n[[steps]]\ndo = "say"\ntext = "own: ${prompt}"\n')
    backend = await started(session, file=str(own))
    assert "mine" in [command.name for command in session.commands]
    await backend.turn(Turn("r1", "good morning"))
    await backend.turn(Turn("r2", "/mine more"))
    assert session.messages[-1][-1] == ("assistant", "own: /mine more")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"scenario": "nope"}, "There is no scenario 'nope'. There are: ask, compact, crash"),
        ({"scenario": 3}, "rehearsal.scenario: must be"),
        ({"pace": "fast"}, "rehearsal.pace: must be"),
        ({"pace": True}, "rehearsal.pace: must be"),
        ({"pace": -1}, "rehearsal.pace: must be"),
        ({"file": "relative.toml"}, "rehearsal.file: must be"),
        ({"file": "/nowhere/mine.toml"}, "The scenario cannot be played."),
    ],
)
async def test_settings_that_cannot_be_are_named(
    session: FakeSession, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(AgentError) as caught:
        await started(session, **settings)
    assert caught.value.message.startswith(said)
    assert not isinstance(caught.value, AgentGone)


async def test_a_bad_scenario_file_is_named_by_file_step_and_member(
    session: FakeSession, tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('title = "M"\nsummary = "mine"\n[[steps]]\ndo = "say"\ntxt = "x"\n')
    with pytest.raises(AgentError) as caught:
        await started(session, file=str(own))
    assert caught.value.details.startswith("mine.toml: step 1 (say): ")


async def test_a_crash_is_an_agent_that_is_gone_and_the_next_one_works(session: FakeSession) -> None:
    backend = await started(session)
    with pytest.raises(AgentGone) as caught:
        await backend.turn(Turn("r1", "/crash"))
    assert "as it was asked to" in caught.value.message and "nothing is broken" in caught.value.details
    again = await started(session)
    assert await again.turn(Turn("r2", "help")) == "completed"
    assert await backend.start(session.memory)
    assert await backend.turn(Turn("r3", "help")) == "completed"


async def test_a_failure_is_an_agent_that_lives_on(session: FakeSession) -> None:
    backend = await started(session)
    with pytest.raises(AgentError) as caught:
        await backend.turn(Turn("r1", "/fail"))
    assert not isinstance(caught.value, AgentGone)
    assert await backend.turn(Turn("r2", "help")) == "completed"


async def test_elements_stay_until_the_next_prompt_also_after_a_restart(session: FakeSession) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "/elements"))
    assert len(session.elements) == 5
    again = await started(session)
    assert len(session.elements) == 5
    await again.turn(Turn("r2", "help"))
    assert session.elements == {}


async def test_an_action_does_what_it_declares(session: FakeSession) -> None:
    backend = await started(session)
    with pytest.raises(AgentError):
        await backend.act("rehearsal.paper", "noted", None, {})
    await backend.turn(Turn("r1", "/elements"))
    await backend.act("rehearsal.paper", "noted", None, {})
    assert session.calls[-1] == ("notice", ("info", "You used an action of a document.", "", ""))
    await backend.act("rehearsal.paper", "close", None, {})
    assert "rehearsal.paper" not in session.elements
    with pytest.raises(AgentError, match="no longer there"):
        await backend.act("rehearsal.paper", "close", None, {})


def rows(session: FakeSession) -> dict[str, Any]:
    table = session.elements["rehearsal.table"]
    assert isinstance(table, ViewElement) and or_default(table.page.total, 0) == len(table.items)
    return {item.id: item.fields for item in table.items}


async def test_an_action_of_a_row_changes_the_row_or_takes_it_away_also_after_a_restart(
    session: FakeSession,
) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "/elements"))
    before = rows(session)
    assert list(before) == ["3", "2", "1"] and before["2"]["stable"] is False
    await backend.act("rehearsal.table", "bless", "2", {})
    assert rows(session) == before | {"2": before["2"] | {"stable": True}}
    await backend.act("rehearsal.table", "yank", "3", {"reason": "a bug"})
    assert list(rows(session)) == ["2", "1"]
    again = await started(session)
    await again.act("rehearsal.table", "bless", "1", {})
    assert rows(session) == {"2": before["2"] | {"stable": True}, "1": before["1"]}
    # A table that is put up anew is as the scenario has it.
    await again.turn(Turn("r2", "/elements"))
    assert rows(session) == before


async def test_an_action_of_a_row_says_which_row_and_what_was_filled_in(session: FakeSession) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "/elements"))
    table = session.elements["rehearsal.table"]
    assert isinstance(table, ViewElement)
    assert [(one.id, one.scope) for one in or_default(table.actions, [])] == [
        ("look", "item"),
        ("bless", "item"),
        ("yank", "item"),
    ]
    await backend.act("rehearsal.table", "look", "2", {})
    assert session.calls[-1] == ("notice", ("info", "You looked at release 2.", "", ""))
    await backend.act("rehearsal.table", "yank", "1", {"reason": "a bug"})
    said = "You took release 1 back: a bug. Its row is gone; nothing else happened, of course."
    assert session.calls[-1] == ("notice", ("info", said, "", ""))


async def test_a_hundred_kilobytes_come_as_one_message(session: FakeSession) -> None:
    backend = await started(session)
    await backend.turn(Turn("r1", "/long"))
    assert len(session.messages) == 1
    assert 90_000 < len(session.said.encode()) < 120_000
    assert "## Section 152" in session.said


async def test_hostile_text_goes_through_every_kind_of_output_as_it_is(
    session: FakeSession, tmp_path: Path
) -> None:
    backend = await started(session)
    with pytest.raises(AgentError, match="failed"):
        await backend.turn(Turn("r1", "/hostile"))
    assert session.kinds_asked() == {"approval", "confirm", "select", "input", "form"}
    assert len(session.shown) > 4 and len(session.pointer) == 1
    for text in ("[red]", "[@click=app.quit]", "\x1b[31m", "\x1b]0;owned", "\u202e", "\0"):
        assert text in session.said
    longest = max(session.said.split("\n"), key=len)
    assert 800_000 < len(longest.encode()) < 1024 * 1024
    assert list(tmp_path.iterdir()) == []
    assert b"\x1b]0;owned\x07" in await session.outputs["p1"]


async def test_hostile_text_is_refused_as_well_as_allowed(session: FakeSession) -> None:
    session.answer = refuse
    backend = await started(session)
    with pytest.raises(AgentError):
        await backend.turn(Turn("r1", "/hostile"))
    assert session.processes == {}


async def test_one_turn_at_a_time(session: FakeSession) -> None:
    session.answer = lambda request: None
    backend = await started(session)
    turn = asyncio.ensure_future(backend.turn(Turn("r1", "/form")))
    await session.asking.wait()
    with pytest.raises(AgentError, match="running already"):
        await backend.turn(Turn("r2", "help"))
    await backend.close()
    assert await turn == "cancelled"
    await backend.close()


async def test_a_turn_whose_host_goes_ends_what_it_began(session: FakeSession) -> None:
    backend = RehearsalBackend(session, {"rehearsal.pace": 0.05})
    await backend.start(None)
    running = asyncio.Event()
    session.on_call = lambda number, name: running.set() if name == "process_end" else None
    turn = asyncio.ensure_future(backend.turn(Turn("r1", "/run")))
    async with asyncio.timeout(5):
        await running.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    assert session.stopped == ["p1"]


async def test_a_process_that_will_not_stop_does_not_hold_the_cancel_up(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("felan_core.agents.rehearsal.play.STOP_WAIT", 0.05)
    backend = RehearsalBackend(session, {"rehearsal.pace": 0.02})
    await backend.start(None)
    stop = session.stop_process
    let_go = asyncio.Event()

    async def slow(process: str) -> None:
        await let_go.wait()
        await stop(process)

    session.stop_process = slow  # type: ignore[method-assign]

    def cancel(number: int, name: str) -> None:
        if name == "process_end":
            soon(backend.cancel())

    session.on_call = cancel
    assert await backend.turn(Turn("r1", "/run")) == "cancelled"
    let_go.set()
    async with asyncio.timeout(5):
        while not session.stopped:
            await asyncio.sleep(0)
