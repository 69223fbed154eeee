"""The end of a host in good order: what is under way ends, what is asked is answered, nothing is left."""

import asyncio
from pathlib import Path
from typing import Any

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.client.host_client import ConnectionLost
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from tests.core.host.rig import Clock, Puppet, Stagehand, open_rig, until


async def test_requests_that_meet_the_end_are_answered_or_lost_and_never_hang(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "half")
        return await puppet.until_cancelled()

    hand.scripts += [script] * 4
    rig = await open_rig(tmp_path / "data", hand, Clock())
    clients = [await rig.client() for _ in range(3)]
    replicas = [await rig.session(client, work) for client in clients]
    cold = [(await clients[0].sessions_create(op.CreateParams(cwd=str(work)))).session for _ in range(3)]
    await clients[0].prompt(replicas[0].state.session, "go")
    await until(lambda: replicas[0].live_messages())

    async def asks(number: int) -> Any:
        client, session = clients[number % 3], replicas[number % 2].state.session
        await asyncio.sleep(number / 2000)
        match number % 7:
            case 0:
                return await client.prompt(session, "x")
            case 1:
                return await client.follow_up(session, "y")
            case 2:
                return await client.cancel(session)
            case 3:
                return await client.attach(cold[number % 3])
            case 4:
                return await client.shell(session, op.ShellParams(command="true"))
            case 5:
                return await client.close_session(session)
            case _:
                return await client.history(session, op.HistoryParams())

    asking = [asyncio.create_task(asks(number)) for number in range(42)]
    await asyncio.sleep(0.004)
    async with asyncio.timeout(10):
        await rig.close()
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
    odd = [one for one in outcomes if isinstance(one, Exception)]
    assert all(isinstance(one, ConnectionLost | ProtocolError) for one in odd), odd
    assert not [one for one in rig.faults if "StoreClosed" not in one], rig.faults
    left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("felan-")]
    assert left == []


async def test_a_turn_that_meets_the_end_is_interrupted_and_what_it_said_is_kept(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "half")
        return await puppet.until_cancelled()

    hand.scripts.append(script)
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    ended: list[Any] = []
    replica.on_change = lambda change: ended.append(change.event)
    await client.prompt(session, "go")
    await client.follow_up(session, "later")
    await until(lambda: replica.live_messages())
    await first.host.close()
    await until(lambda: [one for one in ended if type(one).__name__ == "RunEnded"])
    await first.close()
    outcomes = [one.outcome for one in ended if type(one).__name__ == "RunEnded"]
    assert outcomes == ["interrupted"]
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    said = [one for one in replica.state.entries if isinstance(one, MessageEntry)]
    assert [(one.text, one.outcome) for one in said] == [("go", "completed"), ("half", "interrupted")]
    assert replica.state.queue.held and [item.text for item in replica.state.queue.items] == ["later"]
    assert hand.closed == 1
    await second.close()


async def test_a_client_that_does_not_read_does_not_hold_up_the_end(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock())
    client = await rig.client()
    replica = await rig.session(client, work)
    deaf = [rig.raw() for _ in range(8)]
    hello = b'{"v":1,"id":"%d","op":"host.status","params":{"x":"' + b"y" * 1000 + b'"}}\n'
    for end in deaf:
        await end.send(b"".join(hello % number for number in range(3000)))
    await until(lambda: sum(one.unsent > 0 for one in rig.connections) == 8)
    await client.rename(replica.state.session, "x")
    started = asyncio.get_running_loop().time()
    await rig.close()
    assert asyncio.get_running_loop().time() - started < 6
