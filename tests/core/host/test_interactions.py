import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import Turn, TurnOutcome, Withdrawn
from felan_core.protocol import LIMITS, ProtocolError
from felan_core.protocol.elements import Form, FormButton, Option, StringField
from felan_core.protocol.interactions import (
    ApprovalOption,
    ApprovalRequest,
    ApprovalSubject,
    ConfirmRequest,
    FormRequest,
    InputRequest,
    InteractionRequest,
    SelectRequest,
)
from tests.core.host.rig import Clock, Puppet, Rig, Script, Stagehand, open_rig, until

APPROVAL = ApprovalRequest(
    title="run it?",
    subject=ApprovalSubject(category="execute", command="make"),
    options=[
        ApprovalOption(id="yes", label="allow", effect="allow_once"),
        ApprovalOption(id="no", label="reject", effect="reject_once"),
    ],
)
FORM = FormRequest(
    form=Form(
        title="who?",
        fields=[StringField(id="name", label="Name", required=True, min_length=2)],
        submit=FormButton(id="ok", label="OK"),
        cancel=FormButton(id="no", label="Cancel"),
    )
)
SELECT = SelectRequest(
    title="which?", options=[Option(id="a", label="A"), Option(id="b", label="B")], min=1, max=2
)


def asking(request: InteractionRequest, heard: list[Any], **how: Any) -> Script:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        try:
            heard.append(await puppet.session.ask(request, **how))
        except Withdrawn as withdrawn:
            heard.append(withdrawn.reason)
        return "completed"

    return script


@pytest.mark.parametrize(
    ("request_", "answer", "bad"),
    [
        (APPROVAL, {"option": "no", "note": "why not"}, {"option": "maybe"}),
        (ConfirmRequest(title="sure?"), {"confirmed": False}, {"confirmed": 1}),
        (SELECT, {"options": ["b", "a"]}, {"options": ["a", "a"]}),
        (InputRequest(title="name?"), {"text": ""}, {"text": None}),
        (FORM, {"action": "ok", "values": {"name": "Ada"}}, {"action": "ok", "values": {"name": "A"}}),
    ],
    ids=["approval", "confirm", "select", "input", "form"],
)
async def test_each_kind_refuses_a_wrong_answer_and_goes_on_with_a_right_one(
    host: Rig, hand: Stagehand, work: Path, request_: InteractionRequest, answer: Any, bad: Any
) -> None:
    heard: list[Any] = []
    hand.scripts.append(asking(request_, heard))
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    [interaction] = replica.state.interactions.values()
    with pytest.raises(ProtocolError) as refusal:
        await client.answer(session, interaction.id, bad)
    assert refusal.value.code == "invalid_request"
    assert replica.state.interactions[interaction.id].state == "waiting"
    assert (await client.answer(session, interaction.id, answer)).state == "resolved"
    await until(lambda: replica.state.run is None)
    resolved = replica.state.interactions[interaction.id]
    assert resolved.state == "resolved" and resolved.result == answer
    assert resolved.responder and resolved.responder.client == "test"
    assert len(heard) == 1


async def test_of_many_answers_exactly_one_wins_and_the_others_are_told_so(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    heard: list[Any] = []
    hand.scripts.append(asking(APPROVAL, heard))
    clients = [await host.client() for _ in range(4)]
    replica = await host.session(clients[0], work)
    session = replica.state.session
    for client in clients[1:]:
        await client.attach(session)
    await clients[0].prompt(session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    [interaction] = replica.state.interactions
    options = ["yes", "no", "yes", "no"]
    outcomes = await asyncio.gather(
        *(
            client.answer(session, interaction, {"option": option})
            for client, option in zip(clients, options, strict=True)
        ),
        return_exceptions=True,
    )
    losers = [one for one in outcomes if isinstance(one, ProtocolError)]
    assert len(losers) == 3 and {one.code for one in losers} == {"already_resolved"}
    await until(lambda: replica.state.run is None)
    winner = options[next(i for i, one in enumerate(outcomes) if not isinstance(one, Exception))]
    assert [one.option for one in heard] == [winner]


async def test_nobody_answers_who_is_not_attached(host: Rig, hand: Stagehand, work: Path) -> None:
    heard: list[Any] = []
    hand.scripts.append(asking(APPROVAL, heard))
    one, other = await host.client(), await host.client()
    replica = await host.session(one, work)
    session = replica.state.session
    await one.prompt(session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    [interaction] = replica.state.interactions
    with pytest.raises(ProtocolError) as refusal:
        await other.answer(session, interaction, {"option": "yes"})
    assert refusal.value.code == "forbidden"
    with pytest.raises(ProtocolError) as refusal:
        await one.answer(session, "no-such", {"option": "yes"})
    assert refusal.value.code == "not_found"
    await one.answer(session, interaction, {"option": "yes"})
    await until(lambda: replica.state.run is None)


async def test_a_client_that_leaves_neither_answers_nor_cancels(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    heard: list[Any] = []
    hand.scripts.append(asking(APPROVAL, heard))
    one, other = await host.client(), await host.client()
    replica = await host.session(one, work)
    session = replica.state.session
    await one.prompt(session, "go")
    await until(lambda: replica.state.header.state == "waiting")
    [interaction] = replica.state.interactions
    await one.close()
    again = await other.attach(session)
    assert again.state.interactions[interaction].state == "waiting"
    await other.answer(session, interaction, {"option": "yes"})
    await until(lambda: again.state.run is None)
    assert len(heard) == 1


async def test_a_question_whose_time_is_over_expires_and_the_agent_hears_it(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    heard: list[Any] = []
    hand.scripts.append(asking(APPROVAL, heard, expires_in_ms=30))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and replica.state.interactions)
    [interaction] = replica.state.interactions.values()
    assert interaction.state == "expired" and heard == ["nobody answered in time"]
    with pytest.raises(ProtocolError) as refusal:
        await client.answer(replica.state.session, interaction.id, {"option": "yes"})
    assert refusal.value.code == "expired"


@pytest.mark.parametrize("ending", ["close", "kill"])
async def test_after_the_host_ended_deferrable_questions_are_deferred_and_others_cancelled(
    tmp_path: Path, hand: Stagehand, work: Path, ending: str
) -> None:
    heard: list[Any] = []

    async def asks_two(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await asyncio.gather(
            puppet.session.ask(APPROVAL, deferrable=True, resume={"step": 3}),
            puppet.session.ask(ConfirmRequest(title="sure?")),
            return_exceptions=True,
        )
        return "completed"

    hand.scripts.append(asks_two)
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: len(replica.state.interactions) == 2)
    await (first.close() if ending == "close" else first.kill())
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    deferred, cancelled = replica.state.interactions.values()
    assert replica.state.run is None
    assert (deferred.state, cancelled.state) == ("deferred", "cancelled")
    assert cancelled.reason == "the agent that asked is gone"
    assert isinstance(deferred.expires_at, int)
    assert 0 < deferred.expires_at - clock.now <= LIMITS.deferred_ms
    await client.answer(session, deferred.id, {"option": "yes"})
    await until(lambda: hand.resumed and replica.state.run is None)
    assert hand.resumed[0].resume == {"step": 3} and hand.resumed[0].interaction == deferred.id
    with pytest.raises(ProtocolError) as refusal:
        await client.answer(session, cancelled.id, {"confirmed": True})
    assert refusal.value.code == "already_resolved"
    await second.close()
    assert heard == []


async def test_a_deferred_answer_whose_continuation_never_began_is_continued_by_the_next_host(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    heard: list[Any] = []
    hand.scripts += [asking(APPROVAL, heard, deferrable=True, resume={"step": 1})]
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.state.interactions)
    await first.kill()

    async def forever(puppet: Puppet, turn: Turn) -> TurnOutcome:
        return await puppet.until_cancelled()

    hand.scripts.append(forever)
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    await client.prompt(session, "something else")  # the continuation has to wait for this turn
    [interaction] = replica.state.interactions
    await client.answer(session, interaction, {"option": "yes"})
    await second.kill()
    assert hand.resumed == []
    third = await open_rig(tmp_path / "data", hand, clock)
    client = await third.client()
    replica = await client.attach(session)
    await until(lambda: len(hand.resumed) == 1 and replica.state.run is None)
    assert hand.resumed[0].resume == {"step": 1}
    await third.close()
