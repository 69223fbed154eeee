"""What a session raises for its task pointer: start, resume, prompt, compaction, clear (task pointer §3)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import felan_core.host.creating
import felan_core.host.pointer
from felan_core.agents.backend import AgentError, AgentGone, Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.pointer import lifecycle
from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_core.protocol import UNSET, ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry, NoticeEntry
from tests.core.host.rig import Clock, Puppet, Rig, Stagehand, open_rig, until

TEXT = "Goal: one\nNext: two"


@dataclass
class Raised:
    """The events in their order, as the pointer's room was told them."""

    events: list[tuple[str, str]] = field(default_factory=list)

    def of(self, name: str) -> list[str]:
        return [detail for event, detail in self.events if event == name]


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> Raised:
    """What is raised, noted on its way through the real functions."""
    raised = Raised()

    def prompt(store: Any, session: object) -> State:
        raised.events.append(("UserPromptSubmit", ""))
        return lifecycle.prompt_submitted(store, session)

    def start(store: Any, session: object, source: Any) -> State | None:
        raised.events.append(("SessionStart", source))
        return lifecycle.session_started(store, session, source)

    def compact(store: Any, session: object, trigger: Any) -> None:
        raised.events.append(("PreCompact", trigger))
        lifecycle.pre_compact(store, session, trigger)

    monkeypatch.setattr(felan_core.host.pointer, "prompt_submitted", prompt)
    monkeypatch.setattr(felan_core.host.pointer, "session_started", start)
    monkeypatch.setattr(felan_core.host.pointer, "pre_compact", compact)
    monkeypatch.setattr(felan_core.host.creating, "session_started", start)
    return raised


@pytest.fixture
async def host(tmp_path: Path, hand: Stagehand) -> AsyncIterator[Rig]:
    hand.publisher = "publish-it"
    rig = await open_rig(tmp_path / "data", hand, Clock())
    yield rig
    await rig.close()
    assert not rig.faults, rig.faults


def pointers(rig: Rig) -> PointerStore:
    return PointerStore(str(rig.folder / "pointers"))


def state_file(rig: Rig, session: str) -> Path:
    return rig.folder / "pointers" / session / "state.json"


def publish(rig: Rig, session: str, text: str = TEXT) -> State:
    store = pointers(rig)
    state = store.read(session)
    position = ("ABSENT", 0) if state is None else (state.generation, state.revision)
    return store.publish(session, *position, str(uuid4()), "CLEAN", text)


async def new(client: HostClient, work: Path, **extensions: Any) -> str:
    params = op.CreateParams(cwd=str(work), extensions=extensions or UNSET)
    return (await client.sessions_create(params)).session


async def take_turn(client: HostClient, session: str, text: str, hand: Stagehand) -> Turn:
    """A prompt and its turn to the end; what the agent was handed."""
    before = len(hand.turns)
    await client.prompt(session, text)
    replica = client.replica(session)
    assert replica is not None
    await until(lambda: len(hand.turns) > before and replica.state.run is None)
    return hand.turns[-1]


def contexts(turn: Turn) -> list[dict[str, str]]:
    """Each pointer that a turn's context holds, by the names of its lines."""
    found: list[dict[str, str]] = []
    for line in turn.context.splitlines():
        if line in ("TASK_POINTER_V2", "TASK_POINTER_V2_BOOTSTRAP"):
            found.append({"marker": line})
        elif found and not line.startswith("| "):
            name, _, value = line.partition(": ")
            found[-1][name] = value
    return found


async def says_something(puppet: Puppet, turn: Turn) -> TurnOutcome:
    await puppet.session.text("assistant", "Yes.")
    return "completed"


async def test_a_new_session_starts_up_before_its_first_prompt_and_the_agent_is_told_both(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    turn = await take_turn(client, replica.state.session, "one", hand)
    assert raised.events == [("SessionStart", "startup"), ("UserPromptSubmit", "")]
    start, prompt = contexts(turn)
    assert start["marker"] == prompt["marker"] == "TASK_POINTER_V2_BOOTSTRAP"
    assert (start["status"], start["revision"]) == ("ABSENT", "0")
    assert (prompt["status"], prompt["revision"]) == ("CLEARED", "1")
    assert start["publisher"] == prompt["publisher"] == "publish-it"
    assert turn.text == "one"


async def test_a_new_session_is_told_of_a_task_that_another_left_in_its_folder(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    first = await new(client, work)
    await client.attach(first)
    await take_turn(client, first, "one", hand)
    publish(host, first)
    second = await new(client, work)
    await client.attach(second)
    start, prompt = contexts(await take_turn(client, second, "two", hand))
    assert start["other_session"].startswith(f"{first} of felan has a task in this folder, ")
    assert f"adopt {first} --to {second} --state-root " in start["other_session"]
    assert "other_session" not in prompt


async def test_a_later_prompt_of_the_same_agent_is_no_start(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    session = (await host.session(client, work)).state.session
    await take_turn(client, session, "one", hand)
    turn = await take_turn(client, session, "two", hand)
    assert raised.of("SessionStart") == ["startup"]
    assert len(contexts(turn)) == 1


async def test_an_agent_that_is_awake_before_the_first_prompt_has_started_up_once(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    live = host.live(replica.state.session)
    live.wake_agent()
    await until(lambda: replica.state.header.agent.state == "ready")
    assert raised.events == [("SessionStart", "startup")]
    turn = await take_turn(client, replica.state.session, "one", hand)
    assert [one["status"] for one in contexts(turn)] == ["ABSENT", "CLEARED"]
    assert raised.of("SessionStart") == ["startup"]


async def test_a_continued_session_resumes_with_its_pointer(
    tmp_path: Path, hand: Stagehand, work: Path, raised: Raised
) -> None:
    hand.publisher = "publish-it"
    hand.scripts.append(says_something)
    first = await open_rig(tmp_path / "data", hand, Clock())
    client = await first.client()
    session = (await first.session(client, work)).state.session
    await take_turn(client, session, "one", hand)
    publish(first, session)
    await first.close()
    raised.events.clear()
    second = await open_rig(tmp_path / "data", hand, Clock())
    client = await second.client()
    await client.attach(session)
    turn = await take_turn(client, session, "two", hand)
    await second.close()
    assert raised.events == [("SessionStart", "resume"), ("UserPromptSubmit", "")]
    resume, prompt = contexts(turn)
    assert (resume["status"], resume["recovery_mode"]) == ("CLEAN", "CONTINUE")
    assert (prompt["status"], prompt["recovery_mode"]) == ("DIRTY", "MERGE_FIRST")
    assert turn.context.count("| Goal: one") == 2


async def test_a_continued_session_whose_agent_forgot_it_resumes_too(
    tmp_path: Path, hand: Stagehand, work: Path, raised: Raised
) -> None:
    hand.publisher, hand.remembers = "publish-it", False

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.remember({"sessionId": "s-1"})
        return "completed"

    hand.scripts.append(script)
    for text, source in (("one", "startup"), ("two", "resume")):
        raised.events.clear()
        rig = await open_rig(tmp_path / "data", hand, Clock())
        client = await rig.client()
        sessions = (await client.sessions_list()).items
        session = sessions[0].id if sessions else await new(client, work)
        await client.attach(session)
        await take_turn(client, session, text, hand)
        await rig.close()
        assert raised.of("SessionStart") == [source]


async def test_an_agent_that_died_is_started_anew_as_a_resume(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    async def dies(puppet: Puppet, turn: Turn) -> TurnOutcome:
        raise AgentGone("it is dead")

    hand.scripts.append(dies)
    client = await host.client()
    session = (await host.session(client, work)).state.session
    await take_turn(client, session, "one", hand)
    turn = await take_turn(client, session, "two", hand)
    assert raised.of("SessionStart") == ["startup", "resume"]
    assert len(contexts(turn)) == 2


async def test_a_start_that_fails_leaves_the_next_one_the_first(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    hand.start_error = AgentError("no such command")
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "one")
    await until(lambda: replica.state.run is None and replica.state.header.agent.state == "gone")
    hand.start_error = None
    turn = await take_turn(client, replica.state.session, "two", hand)
    assert raised.of("SessionStart") == ["startup", "startup"]
    assert [one["revision"] for one in contexts(turn)] == ["1", "2"]


async def test_a_pointer_that_cannot_be_read_keeps_no_session_from_starting(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    publish(host, session)
    good = state_file(host, session).read_bytes()
    state_file(host, session).write_bytes(b"{")
    live = host.live(session)
    live.wake_agent()
    await until(lambda: replica.state.header.agent.state == "ready")
    with pytest.raises(ProtocolError, match="STATE_INVALID"):
        await client.prompt(session, "held back")
    assert hand.turns == []
    state_file(host, session).write_bytes(good)
    turn = await take_turn(client, session, "one", hand)
    assert turn.context.startswith("UNKNOWN_RECOVERY:STATE_INVALID\n\nTASK_POINTER_V2\n")


async def test_after_a_compaction_the_agent_is_told_the_pointer_inside_its_turn(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    told: list[str] = []

    async def compacts(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.publish_pointer(TEXT)
        await puppet.session.text("assistant", "It gets long.")
        before = state_file(host, session).read_bytes()
        await puppet.session.compacting("auto")
        told.append(await puppet.session.compacted("All of it in a line."))
        assert state_file(host, session).read_bytes() == before
        await puppet.session.text("assistant", "On we go.")
        return "completed"

    hand.scripts.append(compacts)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await take_turn(client, session, "one", hand)
    assert raised.events[2:] == [("PreCompact", "auto"), ("SessionStart", "compact")]
    lines = told[0].splitlines()
    assert {"TASK_POINTER_V2", "status: CLEAN", "revision: 2", "publisher: publish-it"} <= set(lines)
    assert lines[-2:] == ["| Goal: one", "| Next: two"]
    kinds = [(type(one).__name__, getattr(one, "text", "")) for one in replica.state.entries]
    assert kinds[1:] == [
        ("MessageEntry", "It gets long."),
        ("NoticeEntry", "All of it in a line."),
        ("MessageEntry", "On we go."),
    ]


async def test_an_agent_does_not_go_on_after_a_compaction_whose_pointer_cannot_be_read(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    async def compacts(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.compacting("manual")
        state_file(host, session).write_bytes(b"")
        await puppet.session.compacted()
        await puppet.session.text("assistant", "As if nothing were.")
        return "completed"

    hand.scripts.append(compacts)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await take_turn(client, session, "one", hand)
    cards = [one for one in replica.state.entries if isinstance(one, NoticeEntry)]
    assert "TASK_POINTER_RECOVERY_REQUIRED:STATE_INVALID" in str(cards[-1].text) and cards[-1].tone == "error"
    assert not [one for one in replica.state.entries if isinstance(one, MessageEntry) and one.role != "user"]
    with pytest.raises(ProtocolError, match="STATE_INVALID"):
        await client.prompt(session, "held back")


async def test_a_clear_begins_under_a_new_id_and_leaves_the_old_pointer(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    old = await new(client, work, **{"agent.backend": "puppet", "agent.command": "one two"})
    await client.attach(old)
    await take_turn(client, old, "one", hand)
    publish(host, old)
    before = state_file(host, old).read_bytes()
    raised.events.clear()
    fresh = await new(client, work, **{"felan.clears": old})
    assert raised.events == [("SessionStart", "clear")]
    state = pointers(host).read(fresh)
    assert state is not None and (state.status, state.revision, state.task_id) == ("CLEARED", 1, None)
    await client.attach(fresh)
    await client.close_session(old)
    assert hand.closed == 1
    assert state_file(host, old).read_bytes() == before
    turn = await take_turn(client, fresh, "two", hand)
    assert raised.events[1:] == [("UserPromptSubmit", "")]
    start, prompt = contexts(turn)
    assert start["marker"] == "TASK_POINTER_V2_BOOTSTRAP"
    assert (start["revision"], start["session_id"]) == ("1", fresh)
    assert (prompt["status"], prompt["revision"]) == ("CLEARED", "2")
    assert start["generation"] == prompt["generation"] == state.generation
    assert hand.puppets[-1].settings["agent.command"] == "one two"
    assert state_file(host, old).read_bytes() == before
    rows = {row.id: row.state for row in (await client.sessions_list()).items}
    assert rows == {old: "closed", fresh: "idle"}


async def test_what_a_request_names_goes_before_what_the_cleared_session_had(
    host: Rig, hand: Stagehand, work: Path, raised: Raised
) -> None:
    client = await host.client()
    params = op.CreateParams(
        cwd=str(work), instructions="be brief", extensions={"agent.command": "a", "rehearsal.pace": 0}
    )
    old = (await client.sessions_create(params)).session
    fresh = await new(client, work, **{"felan.clears": old, "agent.command": "b"})
    again = await new(client, work, **{"felan.clears": fresh})
    await client.attach(again)
    await take_turn(client, again, "one", hand)
    puppet = hand.puppets[-1]
    assert (puppet.settings["agent.command"], puppet.settings["rehearsal.pace"]) == ("b", 0)
    assert puppet.session.instructions == "be brief"
    assert puppet.settings["felan.clears"] == fresh


async def test_a_cleared_session_that_is_continued_resumes_and_is_not_cleared_again(
    tmp_path: Path, hand: Stagehand, work: Path, raised: Raised
) -> None:
    hand.publisher = "publish-it"
    hand.scripts.append(says_something)
    first = await open_rig(tmp_path / "data", hand, Clock())
    client = await first.client()
    fresh = await new(client, work, **{"felan.clears": await new(client, work)})
    await client.attach(fresh)
    await take_turn(client, fresh, "one", hand)
    publish(first, fresh)
    await first.close()
    second = await open_rig(tmp_path / "data", hand, Clock())
    client = await second.client()
    await client.attach(fresh)
    turn = await take_turn(client, fresh, "two", hand)
    await second.close()
    assert raised.of("SessionStart") == ["clear", "resume"]
    assert [one["status"] for one in contexts(turn)] == ["CLEAN", "DIRTY"]


@pytest.mark.parametrize(
    ("clears", "code"), [("nobody", "not_found"), (7, "invalid_request"), (None, "invalid_request")]
)
async def test_a_clear_of_what_is_no_session_is_refused_and_makes_none(
    host: Rig, work: Path, raised: Raised, clears: Any, code: str
) -> None:
    client = await host.client()
    with pytest.raises(ProtocolError) as caught:
        await new(client, work, **{"felan.clears": clears})
    assert caught.value.code == code and "felan.clears" in caught.value.message
    assert raised.events == [] and (await client.sessions_list()).items == []


async def test_a_clear_whose_agent_is_not_there_any_more_is_refused(
    tmp_path: Path, hand: Stagehand, work: Path, raised: Raised
) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock())
    client = await rig.client()
    old = await new(client, work)
    agents: Any = rig.host._services.agents  # pyright: ignore[reportPrivateUsage]
    del agents["puppet"]
    with pytest.raises(ProtocolError, match=r"agent\.backend"):
        await new(client, work, **{"felan.clears": old})
    assert raised.events == [] and len((await client.sessions_list()).items) == 1
    await rig.close()


async def test_a_clear_that_did_not_take_makes_no_session(host: Rig, work: Path, raised: Raised) -> None:
    client = await host.client()
    old = await new(client, work)
    root = host.folder / "pointers"
    assert not root.exists()
    root.symlink_to(work)
    with pytest.raises(ProtocolError) as caught:
        await new(client, work, **{"felan.clears": old})
    assert caught.value.code == "storage_failure"
    assert "TASK_POINTER_RECOVERY_REQUIRED:PATH_UNSAFE" in caught.value.message
    assert [row.id for row in (await client.sessions_list()).items] == [old]


async def test_a_clear_that_is_asked_for_twice_is_done_once(host: Rig, work: Path, raised: Raised) -> None:
    client = await host.client()
    params = op.CreateParams(cwd=str(work), extensions={"felan.clears": await new(client, work)})
    identity = "0190a6f0-0000-7000-8000-000000000001"
    first = await client.sessions_create(params, identity)
    assert await client.sessions_create(params, identity) == first
    assert raised.of("SessionStart") == ["clear"]


@pytest.mark.parametrize("say", ["prompt", "steer", "follow_up"])
@pytest.mark.parametrize("restart", [False, True])
async def test_what_is_said_in_a_closed_session_takes_it_up_with_its_pointer_as_it_was(
    tmp_path: Path, hand: Stagehand, work: Path, raised: Raised, say: str, restart: bool
) -> None:
    hand.publisher = "publish-it"
    hand.scripts.append(says_something)
    rig = await open_rig(tmp_path / "data", hand, Clock())
    client = await rig.client()
    session = (await rig.session(client, work)).state.session
    await take_turn(client, session, "one", hand)
    publish(rig, session)
    before = state_file(rig, session).read_bytes()
    await client.close_session(session)
    assert state_file(rig, session).read_bytes() == before
    if restart:
        await rig.close()
        rig = await open_rig(tmp_path / "data", hand, Clock())
        client = await rig.client()
    replica = await client.attach(session)
    assert replica.state.header.state == "closed"
    raised.events.clear()
    await getattr(client, say)(session, "two")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    assert raised.events == [("SessionStart", "resume"), ("UserPromptSubmit", "")]
    assert [one["status"] for one in contexts(hand.turns[1])] == ["CLEAN", "DIRTY"]
    assert replica.state.header.state == "idle" and replica.state.header.agent.state == "ready"
    assert len(hand.puppets) >= 2 and hand.puppets[-1] is not hand.puppets[0]
    (row,) = (await client.sessions_list()).items
    assert row.state == "idle" and row.revision == replica.state.revision
    await rig.close()
    assert not rig.faults, rig.faults


async def test_a_session_that_is_just_being_closed_takes_nothing_and_one_that_is_taken_up_can_be_closed_again(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await take_turn(client, session, "one", hand)
    outcomes = await asyncio.gather(
        client.close_session(session), client.prompt(session, "meanwhile"), return_exceptions=True
    )
    assert isinstance(outcomes[0], int)
    if isinstance(outcomes[1], BaseException):
        assert isinstance(outcomes[1], ProtocolError) and outcomes[1].code == "unavailable"
    await until(lambda: replica.state.header.state == "closed")
    await take_turn(client, session, "two", hand)
    await client.close_session(session)
    await until(lambda: replica.state.header.state == "closed")
    assert replica.state.run is None and hand.closed >= 2
