"""Elements and what a person does with them: the order of the checks, and the host's own (§5)."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import Session, Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.elements import (
    Action,
    Column,
    NumberField,
    StatusElement,
    StringField,
    ViewElement,
    ViewItem,
    ViewPage,
)
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Puppet, Rig, Stagehand, until
from tests.core.host.same import differences, fresh

VIEW = ViewElement(
    id="v",
    revision=1,
    layout="table",
    columns=[Column(id="c", label="c", type="string")],
    items=[ViewItem(id="a", fields={"c": "1"}), ViewItem(id="b", fields={"c": "2"}, actions=["open"])],
    page=ViewPage(index=0, size=2, has_more=False),
    actions=[
        Action(id="open", label="open", scope="item"),
        Action(id="drop", label="drop", scope="item"),
        Action(
            id="add",
            label="add",
            scope="element",
            fields=[
                StringField(id="name", label="name", required=True, max_length=3),
                NumberField(id="count", label="count", integer=True, min=1),
            ],
        ),
        Action(id="refuse", label="refuse", scope="element"),
    ],
)


async def with_view(host: Rig, hand: Stagehand, work: Path) -> tuple[HostClient, SessionReplica, int]:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.show(VIEW)
        return "completed"

    hand.scripts.append(script)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and "v" in replica.state.presentation)
    return client, replica, replica.state.presentation["v"].revision


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        # Everything is wrong, and what stands first in the contract is what is said.
        (
            {"element": "none", "revision": 1, "action": "none", "item": "none", "values": {"x": 1}},
            "not_found",
        ),
        ({"revision": 1, "action": "none", "item": "none", "values": {"x": 1}}, "stale_request"),
        ({"action": "none", "item": "none", "values": {"x": 1}}, "invalid_request"),
        ({"action": "open", "item": "none", "values": {"x": 1}}, "not_found"),
        ({"action": "open", "item": "a", "values": {"x": 1}}, "invalid_request"),
        ({"action": "open", "values": {}}, "invalid_request"),
        ({"action": "drop", "item": "b"}, "invalid_request"),
        ({"action": "add", "item": "a", "values": {"name": "x"}}, "invalid_request"),
        ({"action": "add", "values": {}}, "invalid_request"),
        ({"action": "add", "values": {"name": ""}}, "invalid_request"),
        ({"action": "add", "values": {"name": "long"}}, "invalid_request"),
        ({"action": "add", "values": {"name": "x", "count": 0}}, "invalid_request"),
        ({"action": "add", "values": {"name": "x", "count": True}}, "invalid_request"),
        ({"action": "add", "values": {"name": "x", "count": 1.5}}, "invalid_request"),
        ({"action": "refuse"}, "unavailable"),
    ],
)
async def test_an_action_is_checked_in_the_contract_s_order_and_changes_nothing_when_it_is_wrong(
    host: Rig, hand: Stagehand, work: Path, wrong: dict[str, Any], code: str
) -> None:
    client, replica, revision = await with_view(host, hand, work)
    params = msgspec.convert({"element": "v", "revision": revision, **wrong}, op.UiActionParams)
    with pytest.raises(ProtocolError) as refusal:
        await client.ui_action(replica.state.session, params)
    assert refusal.value.code == code and hand.acts == []
    assert replica.state.presentation["v"].revision == revision


async def test_an_action_that_is_right_reaches_the_agent_with_its_values(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client, replica, revision = await with_view(host, hand, work)
    session = replica.state.session
    add = {"element": "v", "revision": revision, "action": "add", "values": {"name": "é🙂x", "count": 1.0}}
    await client.ui_action(session, msgspec.convert(add, op.UiActionParams, strict=False))
    item = op.UiActionParams(element="v", revision=revision, action="open", item="b")
    await client.ui_action(session, item)
    assert hand.acts == [("v", "add", None, {"name": "é🙂x", "count": 1}), ("v", "open", "b", {})]


@pytest.mark.parametrize(
    ("capabilities", "code"), [([], "forbidden"), (["ui.view"], "forbidden"), (["ui.action"], "forbidden")]
)
async def test_what_was_not_negotiated_is_shown_and_not_acted_on(
    host: Rig, hand: Stagehand, work: Path, capabilities: list[str], code: str
) -> None:
    _, replica, revision = await with_view(host, hand, work)
    raw = Raw(host.raw())
    await raw.ask({**HELLO, "params": {**HELLO["params"], "capabilities": capabilities}})
    attached = await raw.request("attach", {}, replica.state.session)
    assert "v" in [one["id"] for one in attached["result"]["snapshot"]["presentation"]]
    act = {"element": "v", "revision": revision, "action": "open", "item": "a"}
    assert (await raw.request("ui.action", act, replica.state.session))["error"]["code"] == code


async def test_a_replaced_and_a_re_created_element_are_never_mistaken_for_the_old(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    revisions: list[int] = []

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        session: Session = puppet.session
        for text in ("one", "one", "two"):
            await session.show(StatusElement(id="s", revision=999, text=text, tone="info"))
        await session.remove("s")
        await session.remove("s")
        await session.show(StatusElement(id="s", revision=1, text="two", tone="info"))
        return "completed"

    hand.scripts.append(script)
    client = await host.client()
    replica = await host.session(client, work)

    def changed(change: Any) -> None:
        element = replica.state.presentation.get("s")
        if change.event is not None and getattr(change.event, "element", None) is element and element:
            assert element.revision == replica.state.revision
            revisions.append(element.revision)

    replica.on_change = changed
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None)
    assert len(revisions) == 3 and revisions == sorted(set(revisions))
    assert not differences(replica, await fresh(host, replica.state.session))


def pointer(replica: SessionReplica) -> tuple[ViewElement, dict[str, Any]]:
    element = replica.state.presentation["felan.pointer"]
    assert isinstance(element, ViewElement)
    return element, element.items[0].fields


async def publish(client: HostClient, replica: SessionReplica, text: str, expected: tuple[str, int]) -> None:
    element, _ = pointer(replica)
    values = {"expectedGeneration": expected[0], "expectedRevision": expected[1], "text": text}
    params = op.UiActionParams(
        element="felan.pointer", revision=element.revision, action="publish", values=values
    )
    await client.ui_action(replica.state.session, params)


async def test_a_stale_publish_is_answered_by_the_element_s_next_revision_each_time(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None)
    _, fields = pointer(replica)
    assert fields["status"] == "CLEARED" and "code" not in fields  # no task yet, but a fence
    generation, revision = fields["generation"], fields["revision"]
    await publish(client, replica, "mine", (generation, revision))
    element, fields = pointer(replica)
    assert (fields["status"], fields["text"]) == ("CLEAN", "mine")
    seen = [element.revision]
    for _ in range(3):
        await publish(client, replica, "late", (generation, revision))
        element, fields = pointer(replica)
        assert fields["text"] == "mine" and fields["code"] and fields["revision"] == revision + 1
        seen.append(element.revision)
    assert seen == sorted(set(seen))
    await publish(client, replica, "better", (fields["generation"], fields["revision"]))
    _, fields = pointer(replica)
    assert fields["text"] == "better" and "code" not in fields
    element, _ = pointer(replica)
    clear = op.UiActionParams(element="felan.pointer", revision=element.revision, action="clear")
    await client.ui_action(replica.state.session, clear)
    assert pointer(replica)[1]["status"] == "CLEARED"
    assert not differences(replica, await fresh(host, replica.state.session))


async def test_a_queue_that_is_held_can_be_released_by_anybody_once(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        return await puppet.until_cancelled()

    hand.scripts.append(script)
    client, other = await host.client(), await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await other.attach(session)
    await client.prompt(session, "one")
    await until(lambda: hand.turns)
    for text in ("two", "three"):
        await client.follow_up(session, text)
    await client.cancel(session)
    await until(lambda: replica.state.run is None and "felan.queue" in replica.state.presentation)
    element = replica.state.presentation["felan.queue"]
    assert isinstance(element, ViewElement)
    assert [item.fields["text"] for item in element.items] == ["two", "three"]
    release = op.UiActionParams(element="felan.queue", revision=element.revision, action="release")
    await other.ui_action(session, release)
    await until(lambda: len(hand.turns) == 3 and not replica.state.queue.items)
    with pytest.raises(ProtocolError) as refusal:
        await client.ui_action(session, release)
    assert refusal.value.code == "not_found"
    assert [turn.text for turn in hand.turns] == ["one", "two", "three"]


async def test_a_closed_session_takes_no_more_actions_and_starts_no_agent(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client, replica, revision = await with_view(host, hand, work)
    session = replica.state.session
    await client.close_session(session)
    started = len(hand.memories)
    params = op.UiActionParams(element="v", revision=revision, action="open", item="a")
    for attempt in (
        client.ui_action(session, params),
        client.shell(session, op.ShellParams(command="true")),
    ):
        with pytest.raises(ProtocolError) as refusal:
            await attempt
        assert refusal.value.code == "unavailable"
    assert len(hand.memories) == started and hand.acts == []
