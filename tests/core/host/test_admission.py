"""A mutation happens once, whoever asks, however often and wherever the host was when it ended."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.client.host_client import HostClient
from felan_core.protocol import ProtocolError, new_uuid7
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from felan_core.store.batch import Batch
from felan_core.store.errors import StoreFailure
from felan_core.store.store import Store
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Clock, Rig, Stagehand, open_rig, until


@pytest.mark.parametrize("count", [2, 8])
async def test_the_same_request_from_many_connections_at_once_is_done_once(
    host: Rig, hand: Stagehand, work: Path, count: int
) -> None:
    clients = [await host.client() for _ in range(count)]
    replica = await host.session(clients[0], work)
    session, identity = replica.state.session, new_uuid7()
    runs = await asyncio.gather(*(client.prompt(session, "go", request_id=identity) for client in clients))
    assert len(set(runs)) == 1
    await until(lambda: replica.state.run is None and replica.state.entries)
    assert len([one for one in replica.state.entries if isinstance(one, MessageEntry)]) == 1
    assert len(hand.turns) == 1


async def test_the_same_process_is_started_once_for_many(host: Rig, work: Path) -> None:
    clients = [await host.client() for _ in range(4)]
    replica = await host.session(clients[0], work)
    identity = new_uuid7()

    async def start(client: HostClient) -> str:
        result = await client.request(
            "shell.execute",
            op.ShellParams(command="true"),
            expect=op.ShellResult,
            session=replica.state.session,
            request_id=identity,
        )
        return result.process

    started = await asyncio.gather(*(start(client) for client in clients))
    assert len(set(started)) == 1 and len(host.processes.list()) == 1


async def test_different_requests_under_one_id_at_once_have_one_winner(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    clients = [await host.client() for _ in range(6)]
    replica = await host.session(clients[0], work)
    session, identity = replica.state.session, new_uuid7()
    outcomes = await asyncio.gather(
        *(client.prompt(session, f"go {n}", request_id=identity) for n, client in enumerate(clients)),
        return_exceptions=True,
    )
    losers = [one for one in outcomes if isinstance(one, ProtocolError)]
    assert len(losers) == 5 and {one.code for one in losers} == {"request_conflict"}
    await until(lambda: len(hand.turns) == 1 and replica.state.run is None)


async def test_a_request_of_another_principal_under_a_known_id_conflicts(host: Rig, work: Path) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    identity = new_uuid7()
    await client.prompt(replica.state.session, "go", request_id=identity)
    from felan_core.client.transport import memory_pair

    ours, theirs = memory_pair()
    host.host.serve(ours, op.Principal(id="uid:2", kind="local"))
    other = Raw(theirs)
    await other.ask(HELLO)
    refusal = await other.request("prompt", {"text": "go"}, replica.state.session, identity)
    assert refusal["error"]["code"] == "request_conflict" and "result" not in refusal


async def test_what_the_host_refused_after_it_was_reserved_is_refused_again(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    raw = Raw(host.raw())
    await raw.ask(HELLO)
    identity = new_uuid7()
    command = {"command": "x\x00y"}  # no shell takes it: known when it is started, after the reservation
    first = await raw.request("shell.execute", command, replica.state.session, identity)
    assert first["error"]["code"] == "invalid_request"
    assert await raw.request("shell.execute", command, replica.state.session, identity) == first


class Forgetful(Store):
    """A store that cannot keep the reply of a request that was reserved."""

    fails = False

    async def write(self, batch: Batch) -> None:
        if self.fails and any(statement.startswith("UPDATE requests") for statement, _, _ in batch.changes):
            raise StoreFailure(self.path, "the disk is full")
        await super().write(batch)


async def test_what_was_done_and_could_not_be_recorded_is_indeterminate_now_and_later(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    rig = await open_rig(tmp_path / "data", hand, Clock(), kind=Forgetful)
    assert isinstance(rig.store, Forgetful)
    client = await rig.client()
    replica = await rig.session(client, work)
    raw = Raw(rig.raw())
    await raw.ask(HELLO)
    identity = new_uuid7()
    rig.store.fails = True
    first = await raw.request("shell.execute", {"command": "true"}, replica.state.session, identity)
    assert first["outcome"] == "indeterminate"
    rig.store.fails = False
    again = await raw.request("shell.execute", {"command": "true"}, replica.state.session, identity)
    assert again["outcome"] == "indeterminate" and len(rig.processes.list()) == 1
    await rig.close()


@pytest.mark.parametrize(
    ("op_", "params", "code"),
    [
        ("session.history", {"entry": "no-such"}, "not_found"),
        ("session.history", {"cursor": "h1.x"}, "invalid_request"),
        ("session.history", {"cursor": "h2.5"}, "invalid_request"),
        ("session.history", {"limit": 257}, "invalid_request"),
        ("session.history", {"limit": 0}, "invalid_request"),
        ("attach", {"historyLimit": None}, "invalid_request"),
        ("attach", {"requirePolicy": "acp-strict"}, "forbidden"),
        ("processes.list", {"cursor": "AAAA"}, "invalid_request"),
        ("processes.read", {"process": "no-such", "offset": 0}, "not_found"),
        ("processes.stop", {"process": "no-such"}, "not_found"),
        ("ui.action", {"element": "no-such", "revision": 1, "action": "a"}, "forbidden"),
        ("session.tree", {}, "unsupported_operation"),
        ("queue.update", {"item": "x", "action": "remove"}, "unavailable"),
    ],
)
async def test_what_is_wrong_is_refused_with_its_own_code(
    host: Rig, work: Path, op_: str, params: dict[str, Any], code: str
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    raw = Raw(host.raw())
    await raw.ask(HELLO)
    assert (await raw.request(op_, params, replica.state.session))["error"]["code"] == code
    assert (await raw.request(op_, params, "no-such-session"))["error"]["code"] in (
        "not_found",
        "invalid_request",
        "unavailable",
        "unsupported_operation",
    )


async def test_a_host_that_has_a_session_it_cannot_bring_up_serves_the_others(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    first = await open_rig(tmp_path / "data", hand, Clock())
    client = await first.client()
    good, bad = await first.session(client, work), await first.session(client, work)
    for replica in (good, bad):
        await client.shell(replica.state.session, op.ShellParams(command="sleep 60"))
    record = await first.store.session_record(bad.state.session)
    assert record is not None
    import msgspec

    batch = Batch()
    batch.put_session(msgspec.structs.replace(record, settings={"agent.backend": "one that left"}))
    await first.store.write(batch)
    await first.kill()
    second = await open_rig(tmp_path / "data", hand, Clock())
    client = await second.client()
    again = await client.attach(good.state.session)
    assert [one.state for one in again.state.processes.values()] == ["lost"]
    with pytest.raises(ProtocolError) as refusal:
        await client.attach(bad.state.session)
    assert "one that left" not in refusal.value.message and refusal.value.code == "invalid_request"
    assert len(second.faults) == 1 and bad.state.session in second.faults[0]
    await second.close()
