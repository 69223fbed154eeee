import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from felan_core.agents.backend import (
    Abilities,
    AgentError,
    AgentGone,
    ToolPatch,
    Turn,
    TurnOutcome,
    Withdrawn,
)
from felan_core.pointer.store import PointerStore
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.entries import LocalOrigin, MessageEntry, NoticeEntry, ToolEntry
from felan_core.protocol.interactions import ApprovalOption, ApprovalRequest, ApprovalSubject, ConfirmRequest
from tests.core.host.rig import Clock, Puppet, Rig, Stagehand, open_rig, rig, until

APPROVAL = ApprovalRequest(
    title="run it?",
    subject=ApprovalSubject(category="execute", command="make"),
    options=[
        ApprovalOption(id="yes", label="allow", effect="allow_once"),
        ApprovalOption(id="no", label="reject", effect="reject_once"),
    ],
)


async def talk(puppet: Puppet, turn: Turn) -> TurnOutcome:
    await puppet.session.text("thinking", "hm ")
    await puppet.session.text("thinking", "ok")
    await puppet.session.text("assistant", "first ")
    await puppet.session.text("assistant", "second")
    await puppet.session.tool(ToolPatch(key="t", name="read", category="read", title="a.py"))
    await puppet.session.tool(ToolPatch(key="t", state="completed"))
    await puppet.session.text("assistant", "after")
    return "completed"


async def wait_for_cancel(puppet: Puppet, turn: Turn) -> TurnOutcome:
    return await puppet.until_cancelled()


async def test_a_turn_streams_and_leaves_messages_and_tools_in_the_order_they_began(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(talk)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 4)
    user, answer, tool, last = list(replica.state.entries)
    assert isinstance(user, MessageEntry) and user.text == "go" and user.role == "user"
    assert isinstance(answer, MessageEntry)
    assert [(part.id, part.text) for part in answer.parts] == [("s0", "hm ok"), ("s1", "first second")]
    assert isinstance(tool, ToolEntry) and tool.state == "completed" and tool.ended_at
    assert isinstance(last, MessageEntry) and last.text == "after"
    assert replica.live_messages() == {}
    assert replica.state.header.state == "idle"


async def test_text_is_told_while_it_streams_and_a_second_client_joins_in_the_middle(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    go_on = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "한글 🙂 ")
        await go_on.wait()
        await puppet.session.text("assistant", "end")
        return "completed"

    hand.scripts.append(script)
    one, two = await host.client(), await host.client()
    replica = await host.session(one, work)
    await one.prompt(replica.state.session, "go")
    await until(lambda: replica.live_messages())
    late = await two.attach(replica.state.session)
    assert late.live_messages() == replica.live_messages()
    go_on.set()
    await until(lambda: replica.state.run is None and late.state.run is None)
    assert list(late.state.entries) == list(replica.state.entries)
    assert late.state.revision == replica.state.revision


async def test_a_second_prompt_while_a_turn_runs_is_busy_and_changes_nothing(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(wait_for_cancel)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "one")
    await until(lambda: hand.turns)
    with pytest.raises(ProtocolError) as refusal:
        await client.prompt(replica.state.session, "two")
    assert refusal.value.code == "busy"
    await client.cancel(replica.state.session)
    await until(lambda: replica.state.run is None)
    assert len(hand.turns) == 1


async def test_follow_ups_are_taken_in_order_after_the_turn(host: Rig, hand: Stagehand, work: Path) -> None:
    gate = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await gate.wait()
        return "completed"

    hand.scripts.append(script)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    assert or_default((await client.follow_up(session, "two")).item_id, "")
    await client.follow_up(session, "three")
    await until(lambda: [item.text for item in replica.state.queue.items] == ["two", "three"])
    gate.set()
    await until(lambda: len(hand.turns) == 3 and not replica.state.queue.items)
    await until(lambda: replica.state.run is None)
    assert [turn.text for turn in hand.turns] == ["one", "two", "three"]


async def test_after_a_cancel_the_queue_is_held_and_an_action_releases_it(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(wait_for_cancel)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await until(lambda: hand.turns)
    await client.follow_up(session, "two")
    assert (await client.cancel(session)).cancelled is True
    await until(lambda: replica.state.queue.held)
    assert [turn.text for turn in hand.turns] == ["one"]
    held = replica.state.presentation["felan.queue"]
    action = op.UiActionParams(element=held.id, revision=held.revision, action="release")
    await client.ui_action(session, action)
    await until(lambda: len(hand.turns) == 2 and "felan.queue" not in replica.state.presentation)
    assert hand.turns[1].text == "two"


async def test_cancel_with_the_queue_gives_its_texts_back(host: Rig, hand: Stagehand, work: Path) -> None:
    hand.scripts.append(wait_for_cancel)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await client.follow_up(session, "two")
    result = await client.cancel(session, queue=True)
    assert result.returned == ["two"]
    await until(lambda: replica.state.run is None)
    assert replica.state.queue.items == [] and not replica.state.queue.held


async def test_an_agent_that_cannot_be_steered_has_no_steer_in_its_catalogue(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.abilities = Abilities(steer=False)
    client = await host.client()
    replica = await host.session(client, work)
    assert "steer" not in replica.state.catalogue.operations
    assert "follow_up" in replica.state.catalogue.operations
    with pytest.raises(ProtocolError) as refusal:
        await client.steer(replica.state.session, "left")
    assert refusal.value.code == "unsupported_operation"


async def test_steering_reaches_the_turn_and_stands_in_the_transcript(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(wait_for_cancel)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await until(lambda: hand.turns)
    assert (await client.steer(session, "left")).status == "handled"
    await until(lambda: hand.steered == ["left"])
    assert [entry.text for entry in replica.state.entries if isinstance(entry, MessageEntry)] == [
        "one",
        "left",
    ]


async def test_images_of_a_steer_reach_the_agent_or_are_refused_before_anything_is_stored(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts += [wait_for_cancel] * 2
    picture = op.Image(media_type="image/png", data="iVBORw0KGgo=")
    steer = op.PromptParams(text="look at this", images=[picture])
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await until(lambda: hand.turns)
    sent = await client.request("steer", steer, expect=op.QueuedResult, session=session)
    assert sent.status == "handled"
    await until(lambda: hand.steered_with)
    (message,) = hand.steered_with
    assert (message.text, list(message.images)) == ("look at this", [picture])
    assert isinstance(message.origin, LocalOrigin)

    hand.abilities = Abilities(steer=True, images=False)
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await until(lambda: len(hand.turns) == 2)
    with pytest.raises(ProtocolError, match="images") as refusal:
        await client.request("steer", steer, expect=op.QueuedResult, session=session)
    assert refusal.value.code == "invalid_request"
    said = [one for one in replica.state.entries if isinstance(one, MessageEntry)]
    assert [one.text for one in said] == ["one"] and len(hand.steered_with) == 1


async def test_an_agent_that_dies_shows_a_card_and_the_next_turn_starts_it_anew(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def dies(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "half a ")
        await puppet.session.tool(ToolPatch(key="t", name="bash", category="execute", title="make"))
        asking = asyncio.create_task(puppet.session.ask(APPROVAL))
        await until(lambda: replica.state.header.state == "waiting")
        asking.cancel()
        raise AgentGone("the agent ended with code 3", "last words")

    hand.scripts.append(dies)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(
        lambda: (
            replica.state.run is None and any(isinstance(one, NoticeEntry) for one in replica.state.entries)
        )
    )
    card = next(one for one in replica.state.entries if isinstance(one, NoticeEntry))
    assert (card.tone, card.text, card.details) == ("error", "the agent ended with code 3", "last words")
    tool = next(one for one in replica.state.entries if isinstance(one, ToolEntry))
    assert tool.state == "interrupted"
    assert replica.state.header.agent.state == "gone"
    await client.prompt(session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    assert replica.state.header.agent.state == "ready"


async def test_an_agent_that_does_not_start_fails_the_turn_in_words(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.start_error = AgentGone("there is no such program: agentx")
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 2)
    card = list(replica.state.entries)[1]
    assert isinstance(card, NoticeEntry) and card.text == "there is no such program: agentx"
    hand.start_error = None
    await client.prompt(replica.state.session, "again")
    await until(lambda: hand.turns and replica.state.run is None)


async def test_an_agent_without_memory_is_told_to_the_person(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(talk)
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: len(replica.state.entries) == 4 and replica.state.run is None)
    await first.close()
    hand.remembers = False
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    await client.prompt(session, "more")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    titles = [one.title for one in replica.state.entries if isinstance(one, NoticeEntry)]
    assert titles == ["The agent starts without memory"]
    assert replica.state.header.agent.memory is False
    await second.close()
    assert first.faults == second.faults == []


async def test_a_question_of_a_cancelled_turn_is_withdrawn_and_the_agent_hears_it(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    heard: list[str] = []

    async def asks(puppet: Puppet, turn: Turn) -> TurnOutcome:
        try:
            await puppet.session.ask(ConfirmRequest(title="sure?"))
        except Withdrawn as withdrawn:
            heard.append(withdrawn.reason)
        return await puppet.until_cancelled()

    hand.scripts.append(asks)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    await client.cancel(replica.state.session)
    await until(lambda: replica.state.run is None)
    [interaction] = replica.state.interactions.values()
    assert interaction.state == "cancelled" and heard == ["cancelled with the turn"]


async def test_the_task_pointer_is_dirty_at_a_prompt_and_clean_at_a_publish(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    seen: list[tuple[str, int]] = []

    async def publishes(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.publish_pointer("goal: x\nnext: y")
        return "completed"

    def pointer() -> tuple[str, int]:
        element = replica.state.presentation["felan.pointer"]
        assert isinstance(element, ViewElement)
        fields = element.items[0].fields
        return fields["status"], fields["revision"]

    hand.scripts += [publishes, wait_for_cancel]
    client = await host.client()
    replica = await host.session(client, work)
    seen.append(pointer())
    await client.prompt(replica.state.session, "one")
    await until(lambda: replica.state.run is None)
    seen.append(pointer())
    await client.prompt(replica.state.session, "two")
    await until(lambda: pointer() != seen[-1])
    seen.append(pointer())
    assert seen == [("ABSENT", 0), ("CLEAN", 2), ("DIRTY", 3)]
    await client.cancel(replica.state.session)
    await until(lambda: replica.state.run is None)


async def test_a_fault_inside_a_backend_ends_its_turn_and_not_the_session(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    async def breaks(puppet: Puppet, turn: Turn) -> TurnOutcome:
        raise KeyError("oops")

    hand.scripts.append(breaks)
    opened = await open_rig(tmp_path / "data", hand, Clock())
    client = await opened.client()
    replica = await opened.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 2)
    assert opened.faults == ["a turn: KeyError('oops')"]
    await client.prompt(replica.state.session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    await opened.close()


async def test_an_agent_error_fails_the_turn_and_keeps_the_agent(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def refuses(puppet: Puppet, turn: Turn) -> TurnOutcome:
        raise AgentError("please log in first")

    hand.scripts.append(refuses)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 2)
    assert replica.state.header.agent.state == "ready"
    await client.prompt(replica.state.session, "again")
    await until(lambda: len(hand.turns) == 2 and replica.state.run is None)
    assert len(hand.puppets) == 1


async def test_the_agent_alone_is_told_the_pointer_and_how_to_publish_it(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    hand.publisher = "publish-it"
    async with rig(tmp_path / "data", hand) as host:
        client = await host.client()
        replica = await host.session(client, work)
        session = replica.state.session
        await client.prompt(session, "one")
        await until(lambda: hand.turns and replica.state.run is None)
        told = hand.turns[0].context
        assert "TASK_POINTER_V2_BOOTSTRAP" in told.splitlines() and "publisher: publish-it" in told
        said = [entry.text for entry in replica.state.entries if isinstance(entry, MessageEntry)]
        assert said == ["one"]


async def test_what_another_program_publishes_is_on_the_screen_without_a_prompt(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "one")
    await until(lambda: replica.state.run is None and hand.turns)
    store = PointerStore(str(host.folder / "pointers"))
    state = store.read(session)
    assert state is not None
    store.publish(session, state.generation, state.revision, str(uuid4()), "CLEAN", "goal: from outside")

    def shown() -> object:
        element = replica.state.presentation["felan.pointer"]
        assert isinstance(element, ViewElement)
        return element.items[0].fields.get("text")

    await until(lambda: shown() == "goal: from outside", seconds=3)


async def test_a_tool_that_is_taken_up_again_in_a_later_turn_ends_with_that_one(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def ends_it(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.tool(ToolPatch(key="t", name="bash", state="completed"))
        return "completed"

    async def takes_it_up(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.tool(ToolPatch(key="t", state="running"))
        return "completed"

    hand.scripts += [ends_it, takes_it_up]
    client = await host.client()
    replica = await host.session(client, work)
    for text in ("one", "two"):
        await client.prompt(replica.state.session, text)
        await until(lambda: replica.state.run is None)
    [tool] = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert tool.state == "interrupted"


async def test_an_agent_that_ends_between_turns_leaves_a_person_s_own_command_alone(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def opens(puppet: Puppet, turn: Turn) -> TurnOutcome:
        return "completed"

    hand.scripts.append(opens)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.state.run is None)
    process = await client.shell(session, op.ShellParams(command="sleep 60"))
    [puppet] = hand.puppets
    await puppet.session.tool(ToolPatch(key="watch", name="watch"))
    puppet.session.gone(AgentGone("it ended"))
    await until(lambda: replica.state.header.agent.state == "gone")
    watch, shell = sorted(
        (one for one in replica.state.entries if isinstance(one, ToolEntry)),
        key=lambda one: one.name != "watch",
    )
    assert (watch.state, shell.state) == ("interrupted", "running")
    await client.processes_stop(session, op.ProcessStopParams(process=process))
    await until(lambda: replica.state.entries.get(shell.id).state == "interrupted")  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue] a tool
    reason = replica.state.entries.get(shell.id).details.reason  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue] a tool
    assert reason == "stopped"
