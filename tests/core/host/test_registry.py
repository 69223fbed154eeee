"""Sessions are loaded when they are needed, and unloaded when nobody uses them."""

import asyncio
from pathlib import Path

import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.host.limits import HostLimits
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.interactions import ConfirmRequest
from tests.core.host.rig import Clock, Puppet, Rig, Stagehand, open_rig, until

AT_ONCE = HostLimits(idle_seconds=0.01, agent_idle_seconds=0.01)


async def test_closed_sessions_cost_no_task(host: Rig, work: Path) -> None:
    client = await host.client()
    before = len(asyncio.all_tasks())
    for _ in range(20):
        replica = await host.session(client, work)
        await client.close_session(replica.state.session)
        await client.detach(replica.state.session)
    await until(lambda: len(host.host.sessions) == 0)
    await until(lambda: len(asyncio.all_tasks()) <= before)
    assert (await client.host_status()).sessions == 20


async def test_a_session_that_nobody_uses_is_unloaded_with_its_agent_and_loaded_by_the_next_use(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock(), limits=AT_ONCE)
    client = await rig.client()
    session = (await rig.session(client, work)).state.session
    await client.prompt(session, "go")
    await until(lambda: hand.turns)
    await client.detach(session)
    await until(lambda: len(rig.host.sessions) == 0)
    assert hand.closed == 1
    await client.prompt(session, "again")
    await until(lambda: len(hand.turns) == 2)
    replica = await client.attach(session)
    said = [one.text for one in replica.state.entries if isinstance(one, MessageEntry)]
    assert said == ["go", "again"]
    await rig.close()
    assert rig.faults == []


async def test_what_is_attached_runs_or_waits_stays_loaded(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    async def asks(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.ask(ConfirmRequest(title="Go on?"))
        return "completed"

    hand.scripts.append(asks)
    rig = await open_rig(tmp_path / "data", hand, Clock(), limits=AT_ONCE)
    client = await rig.client()
    attached = (await rig.session(client, work)).state.session
    asking, running, unused = [
        (await client.sessions_create(op.CreateParams(cwd=str(work)))).session for _ in range(3)
    ]
    await client.prompt(asking, "go")
    await client.shell(running, op.ShellParams(command="sleep 600"))
    await client.rename(unused, "x")
    await until(lambda: rig.host.sessions.get(unused) is None)
    for session in (attached, asking, running):
        assert rig.host.sessions.get(session) is not None
    with pytest.raises(ProtocolError, match="there is none"):
        await client.rename(new_uuid7(), "x")
    assert rig.host.sessions.get(attached) is not None
    await rig.close()
    assert rig.faults == []


async def test_uses_that_meet_the_unloading_are_all_done(tmp_path: Path, hand: Stagehand, work: Path) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock(), limits=AT_ONCE)
    client = await rig.client()
    session = (await client.sessions_create(op.CreateParams(cwd=str(work)))).session
    revisions = [0]
    for number in range(30):
        revisions.append(await client.rename(session, f"n{number}"))
        if number % 3 == 0:
            await until(lambda: rig.host.sessions.get(session) is None)
    assert revisions == sorted(set(revisions))
    assert (await client.attach(session)).state.header.name == "n29"
    await rig.close()
    assert rig.faults == []


async def test_request_records_are_purged_by_a_timer(tmp_path: Path, hand: Stagehand, work: Path) -> None:
    clock = Clock()
    limits = HostLimits(purge_seconds=0.01)
    rig = await open_rig(tmp_path / "data", hand, clock, limits=limits)
    client = await rig.client()
    identity = new_uuid7()
    await client.sessions_create(op.CreateParams(cwd=str(work)), request_id=identity)
    assert await rig.store.request(identity) is not None
    # Retention counts from the later of the id's own time and the admission.
    clock.now = 4_000_000_000_000

    async def purged() -> None:
        while await rig.store.request(identity) is not None:
            await asyncio.sleep(0.002)

    await asyncio.wait_for(purged(), 10)
    await rig.close()
    assert rig.faults == []
