import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import ToolPatch, Turn, TurnOutcome
from felan_core.client.transport import MemoryTransport
from felan_core.host import actor as actor_module
from felan_core.protocol import LIMITS, new_uuid7
from felan_core.protocol import operations as op
from felan_core.protocol.framing import encode_frame
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Puppet, Rig, Script, Stagehand, until
from tests.core.host.same import differences, fresh

KB = 1024
MB = 1024 * KB
PIECES = 60


class Valve:
    """A client's end of a connection that reads only while it is open."""

    def __init__(self, end: MemoryTransport) -> None:
        self._end = end
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, data: bytes) -> None:
        await self._end.send(data)

    async def receive(self) -> bytes:
        await self.open.wait()
        return await self._end.receive()

    async def close(self) -> None:
        self.open.set()
        await self._end.close()


def valves() -> tuple[list[Valve], Callable[[MemoryTransport], Valve]]:
    made: list[Valve] = []

    def through(end: MemoryTransport) -> Valve:
        made.append(Valve(end))
        return made[-1]

    return made, through


def talks(count: int = PIECES, size: int = 40 * KB, then: asyncio.Event | None = None) -> Script:
    """Streams ``count`` messages of ``size`` bytes, each with a tool after it."""

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for number in range(count):
            await puppet.session.text("assistant", f"{number} " + "x" * size)
            await puppet.session.tool(ToolPatch(key=str(number), name="t", state="completed"))
        if then is not None:
            await then.wait()
        return "completed"

    return script


async def test_one_that_does_not_read_is_detached_once_and_holds_up_nobody(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    hand.scripts.append(talks())
    quick = await host.client()
    replica = await host.session(quick, work)
    session = replica.state.session
    slow = Raw(host.raw(unsent_bytes=512 * KB))
    connection = host.connections[-1]
    await slow.ask(HELLO)
    attached = await slow.request("attach", {}, session)
    revision = attached["result"]["snapshot"]["revision"]
    # From here on it asks and does not read.
    most = 0
    await slow.send(*({"v": 1, "id": f"a{n}", "op": "host.status", "params": {}} for n in range(20)))
    await quick.prompt(session, "go")

    def ended() -> bool:
        nonlocal most
        most = max(most, connection.unsent)
        return replica.state.run is None

    await until(ended)
    assert len(replica.state.entries) == 1 + 2 * PIECES
    assert most <= 512 * KB + 256 * KB  # what is being handed over counts until it is taken
    await slow.send(*({"v": 1, "id": f"b{n}", "op": "host.status", "params": {}} for n in range(20)))
    frames = []
    while sum("re" in one for one in frames) < 40:
        frames.append(await slow.frame())
    notices = [n for n, one in enumerate(frames) if "notice" in one]
    assert len(notices) == 1
    notice = frames[notices[0]]
    assert notice["session"] == session
    assert notice["notice"]["type"] == "resync_required" and notice["notice"]["session"] == session
    replies = [one["re"] for one in frames if "re" in one]
    assert sorted(replies) == sorted(f"{a}{n}" for a in "ab" for n in range(20))
    told = [one["revision"] for one in frames if "event" in one]
    assert told == list(range(revision + 1, revision + 1 + len(told)))
    assert not [one for one in frames[notices[0] :] if "event" in one or "stream" in one]
    refusal = await slow.request("interaction.answer", {"interaction": "x", "answer": {}}, session)
    assert refusal["error"]["code"] in ("not_found", "forbidden")
    again = (await slow.request("attach", {}, session))["result"]["snapshot"]
    assert again["revision"] == replica.state.revision


async def test_a_client_that_fell_behind_attaches_anew_by_itself_and_converges(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    end = asyncio.Event()
    made, through = valves()
    resynced: list[str] = []
    hand.scripts.append(talks(then=end))
    quick = await host.client()
    replica = await host.session(quick, work)
    session = replica.state.session
    slow = await host.client(through=through, serve={"unsent_bytes": 512 * KB}, on_resync=resynced.append)
    behind = await slow.attach(session)
    made[0].open.clear()
    await quick.prompt(session, "go")
    await until(lambda: len(replica.state.entries) == 1 + 2 * PIECES)
    made[0].open.set()
    await until(lambda: resynced)
    end.set()
    await until(lambda: replica.state.run is None and behind.state.run is None)
    assert resynced == [session]
    assert behind.state.revision == replica.state.revision
    assert not differences(replica, await fresh(host, session))
    # The entries that it missed are marked as missing, and can be fetched.
    shown = list(replica.state.entries)
    assert list(behind.state.entries)[-64:] == shown[-64:] and len(behind.missing) == 1
    while behind.missing:
        cursor = behind.missing[0].cursor
        page = await slow.history(session, op.HistoryParams(cursor=cursor))
        assert behind.take_page(cursor, page)
    assert list(behind.state.entries) == shown


async def test_one_that_is_behind_and_takes_nothing_is_closed_after_the_stall_time(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    lost: list[str] = []
    made, through = valves()
    hand.scripts.append(talks())
    quick = await host.client()
    replica = await host.session(quick, work)
    slow = await host.client(
        through=through, serve={"unsent_bytes": 512 * KB, "stall_seconds": 0.05}, on_lost=lost.append
    )
    await slow.attach(replica.state.session)
    made[0].open.clear()
    connection = host.connections[-1]
    await asyncio.sleep(0.15)  # longer than the stall time: it is not behind, and stays
    assert not connection.ended
    await quick.prompt(replica.state.session, "go")
    await until(lambda: connection.ended)
    assert connection.unsent == 0
    made[0].open.set()
    await until(lambda: lost)
    await until(lambda: replica.state.run is None)


async def test_one_that_asks_and_never_reads_is_held_back_and_gets_every_reply(host: Rig, work: Path) -> None:
    flood = Raw(host.raw(unsent_bytes=64 * KB))
    connection = host.connections[-1]
    await flood.ask(HELLO)
    count = 3000
    sending = asyncio.create_task(
        flood.send(*({"v": 1, "id": f"s{n}", "op": "host.status", "params": {}} for n in range(count)))
    )
    await until(lambda: connection.unsent > 64 * KB)
    most = 0
    for _ in range(50):
        await asyncio.sleep(0.002)
        most = max(most, connection.unsent)
    assert most < 64 * KB + 256 * KB + 64 * KB
    await sending
    replies = [(await flood.frame()) for _ in range(count)]
    # More than 64 at a time are refused, but each is answered, once.
    assert sorted(one["re"] for one in replies) == sorted(f"s{n}" for n in range(count))


async def test_a_frame_is_encoded_once_for_all_who_are_attached(
    host: Rig, hand: Stagehand, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[bytes] = []

    def counting(value: Any) -> bytes:
        encoded.append(encode_frame(value))
        return encoded[-1]

    hand.scripts.append(talks(5, 10))
    clients = [await host.client() for _ in range(6)]
    first = await host.session(clients[0], work)
    session = first.state.session
    replicas = [first, *[await client.attach(session) for client in clients[1:]]]
    monkeypatch.setattr(actor_module, "published_frame", counting)
    before = first.state.revision
    await clients[0].prompt(session, "go")
    await until(lambda: all(one.state.run is None and one.state.revision > before for one in replicas))
    events = [one for one in encoded if b'"event"' in one]
    assert len(events) == first.state.revision - before
    assert len(encoded) - len(events) == 5  # one for each delta
    assert len({one.state.revision for one in replicas}) == 1


async def test_one_that_leaves_while_it_attaches_is_not_left_on_the_list(host: Rig, work: Path) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    live = host.live(session)
    gate = asyncio.Event()
    waiting = live.actor.do(gate.wait)
    transport = host.raw()
    leaving = host.connections[-1]
    raw = Raw(transport)
    await raw.ask(HELLO)
    await raw.send({"v": 1, "id": "x", "op": "attach", "session": session, "params": {}})
    await until(lambda: leaving.in_flight)
    await transport.close()
    await until(lambda: leaving.ended)
    gate.set()
    await waiting
    await until(lambda: not leaving.in_flight)
    await client.rename(session, "x")
    subscribers = live.actor._subscribers  # pyright: ignore[reportPrivateUsage] see above
    assert leaving not in subscribers and len(subscribers) == 1
    assert leaving.unsent == 0


async def test_hello_and_requests_may_come_in_one_write(host: Rig) -> None:
    raw = Raw(host.raw())
    status = {"v": 1, "id": "s", "op": "host.status", "params": {}}
    await raw.send(HELLO, status, {**HELLO, "id": "again"})
    replies = {frame["re"]: frame for frame in [await raw.frame() for _ in range(3)]}
    assert replies["h"]["outcome"] == replies["s"]["outcome"] == "accepted"
    assert replies["again"]["error"]["code"] == "invalid_request"


async def test_pages_for_a_client_that_does_not_read_stay_within_its_budget(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def long(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for number in range(11):
            await puppet.session.text("assistant", "y" * MB, f"m{number}")
        return "completed"

    hand.scripts.append(long)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: replica.state.run is None and len(replica.state.entries) >= 12)
    raw = Raw(host.raw())
    connection = host.connections[-1]
    await raw.ask(HELLO)
    asked = [
        {"v": 1, "id": str(number), "op": "session.history", "session": session, "params": {"limit": 256}}
        for number in range(10)
    ]
    await raw.send(*asked)
    await until(lambda: connection.unsent > 20 * MB)
    most = 0
    answered: set[str] = set()
    while len(answered) < len(asked):
        most = max(most, connection.unsent)
        answered.add((await raw.frame())["re"])
    assert most <= LIMITS.unsent_bytes


async def test_repeats_of_a_running_request_are_one_effect_and_bounded(host: Rig, work: Path) -> None:
    client = await host.client()
    session = (await host.session(client, work)).state.session
    process = await client.shell(session, op.ShellParams(command="trap '' TERM; while :; do sleep 0.1; done"))
    raw = Raw(host.raw())
    connection = host.connections[-1]
    await raw.ask(HELLO)
    stop = {"v": 1, "id": new_uuid7(), "op": "processes.stop", "session": session}
    await raw.send(*[{**stop, "params": {"process": process, "graceMs": 300}}] * 1000)
    replies = [await raw.frame() for _ in range(1000)]
    busy = [one for one in replies if one["outcome"] == "rejected"]
    assert {one["error"]["code"] for one in busy} == {"busy"}
    assert len(replies) - len(busy) >= LIMITS.in_flight_requests
    assert connection.in_flight == 0


async def test_an_attachment_replaces_the_one_before_it_and_its_frames(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    raw = Raw(host.raw())
    await raw.ask(HELLO)
    for number in range(3):
        first = {"v": 1, "id": f"at{number}", "op": "attach", "session": session, "params": {}}
        await raw.send(first)
    replies = [await raw.frame() for _ in range(3)]
    assert [one["re"] for one in replies] == ["at0", "at1", "at2"]
    revision = await client.rename(session, "x")
    told = await raw.frame()
    assert told["revision"] == revision and told["event"]["type"] == "session.updated"
    await raw.request("detach", {}, session)
    assert (await raw.request("detach", {}, session))["result"] == {}
    await client.rename(session, "y")
    assert (await raw.request("host.status", {}))["result"]["attachments"] == 1


async def test_who_attaches_and_detaches_at_once_is_what_the_last_reply_says(host: Rig, work: Path) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    raw = Raw(host.raw())
    await raw.ask(HELLO)
    for turn in range(12):
        ops = ["detach", "attach", "attach", "detach", "detach", "attach"][: 2 + turn % 5]
        await raw.send(
            *(
                {"v": 1, "id": f"{name} {turn} {number}", "op": name, "session": session, "params": {}}
                for number, name in enumerate(ops)
            )
        )
        frames = [await raw.frame() for _ in ops]
        revision = await client.rename(session, str(turn))
        await raw.send({"v": 1, "id": f"s{turn}", "op": "host.status", "params": {}})
        while frames[-1].get("re") != f"s{turn}":
            frames.append(await raw.frame())
        replies = [one["re"] for one in frames if "re" in one][:-1]
        told = [one["revision"] for one in frames if "event" in one]
        assert told == ([revision] if replies[-1].startswith("attach") else [])
