"""ClientSession on a real host, over transports that are cut at any byte."""

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.client import host_client
from felan_core.client.host_client import ConnectionLost
from felan_core.client.link import Link, LinkState
from felan_core.client.session import ClientSession
from felan_core.client.transport import MemoryTransport, Transport, memory_pair
from felan_core.protocol import JsonLineDecoder, RequestIndeterminate, encode_frame
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from tests.core.client.cutting import CutTransport
from tests.core.client.scripted import HELLO, snapshot
from tests.core.host.rig import Puppet, Rig, Stagehand, rig, until

INFO = op.ClientInfo(kind="headless", name="test", version="0")


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


def opener(host: Rig, through: Callable[[MemoryTransport], Transport] = lambda end: end) -> Callable[[], Any]:
    async def connect() -> Transport:
        return through(host.raw())

    return connect


async def answers(puppet: Puppet, turn: Turn) -> TurnOutcome:
    for piece in ("I ", "did ", turn.text):
        await puppet.session.text("assistant", piece)
    return "completed"


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_cuts_the_connection_each_request_is_done_once(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    hand = Stagehand(scripts=[answers] * 50)
    cuts = [True] * dice.randrange(1, 25)
    states: list[LinkState] = []

    def through(end: MemoryTransport) -> Transport:
        if not cuts:
            return end
        cuts.pop()
        most = dice.choice([300, 3_000, 12_000])
        return CutTransport(end, dice.randrange(most), dice.randrange(2 * most))

    async with rig(tmp_path, hand) as host:
        client = ClientSession(
            opener(host, through), INFO, on_state=lambda link: states.append(link.state), sleep=at_once
        )
        while client.hello_result is None:
            try:
                await client.open()
            except ConnectionLost:
                client = ClientSession(opener(host, through), INFO, sleep=at_once)
        session = (await client.sessions_create(op.CreateParams(cwd=str(tmp_path)))).session
        replica = await client.attach(session)
        texts = [f"task {number}" for number in range(6)]
        async with asyncio.timeout(30):
            # Each waits for its reply, as a person does; the last three are under way together.
            for text in texts[:3]:
                assert await client.prompt(session, text)
                await until(lambda: replica.state.run is None)
            await client.prompt(session, texts[3])
            replies = await asyncio.gather(*(client.follow_up(session, text) for text in texts[4:]))
            assert len(replies) == 2
            names = await asyncio.gather(*(client.rename(session, f"name {number}") for number in range(5)))
            assert len(set(names)) == 5
        await until(lambda: len(hand.turns) == 6)
        assert sorted(turn.text for turn in hand.turns) == texts
        assert client.unanswered == 0

        other = await host.client()
        # What the host has: a client that was never cut.
        stored = await other.attach(session)
        await until(lambda: stored.state.run is None and not stored.state.queue.items)
        await until(lambda: replica.state.revision == stored.state.revision)
        assert replica.state.header == stored.state.header
        assert list(replica.state.entries) == list(stored.state.entries)
        said = [one.text for one in stored.state.entries if isinstance(one, MessageEntry)]
        assert sorted(one for one in said if one.startswith("task")) == texts
        assert replica.live_messages() == {}
        await client.close()
        assert client.link.state is LinkState.CLOSED


class Played:
    """Connections whose host's end a test plays. ``clock``: by default one that each wait moves."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.ends: asyncio.Queue[MemoryTransport] = asyncio.Queue()
        self.waits: list[float] = []
        self.down = False
        self.now = 100.0
        self.states: list[tuple[LinkState, str]] = []
        self.client = ClientSession(
            self.connect,
            INFO,
            on_state=lambda link: self.states.append((link.state, link.reason)),
            clock=clock or (lambda: self.now),
            sleep=self.sleep,
        )

    async def connect(self) -> Transport:
        if self.down:
            raise ConnectionRefusedError("connection refused")
        ours, theirs = memory_pair()
        self.ends.put_nowait(ours)
        return theirs

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    async def accept(self) -> "End":
        async with asyncio.timeout(5):
            end = End(await self.ends.get())
            await end.accept(await end.asked("hello"), HELLO)
        return end

    async def open(self) -> "End":
        opening = asyncio.create_task(self.client.open())
        end = await self.accept()
        await opening
        return end


class End:
    """The host's end of one connection."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self._decoder = JsonLineDecoder()
        self._asked: list[dict[str, Any]] = []

    async def asked(self, name: str) -> dict[str, Any]:
        async with asyncio.timeout(5):
            while not self._asked:
                self._asked.extend(self._decoder.push(await self.transport.receive()))
        request = self._asked.pop(0)
        assert request["op"] == name, request
        return request

    async def accept(self, request: dict[str, Any], result: Any) -> None:
        body = {"v": 1, "re": request["id"], "outcome": "accepted", "result": msgspec.to_builtins(result)}
        await self.transport.send(encode_frame(body))

    async def refuse(self, request: dict[str, Any], code: str, outcome: str = "rejected") -> None:
        error = {"code": code, "message": f"it is {code}"}
        await self.transport.send(
            encode_frame({"v": 1, "re": request["id"], "outcome": outcome, "error": error})
        )

    async def notice(self, code: str) -> None:
        notice = {"type": "protocol_error", "error": {"code": code, "message": f"it is {code}"}}
        await self.transport.send(encode_frame({"v": 1, "notice": notice}))
        await self.transport.close()


async def test_a_request_without_a_reply_is_sent_again_under_its_id_after_the_snapshots() -> None:
    on = Played()
    end = await on.open()
    attaching = asyncio.create_task(on.client.attach("s", history_limit=7))
    await end.accept(await end.asked("attach"), op.AttachResult(snapshot=snapshot(1)))
    replica = await attaching
    asking = [asyncio.create_task(on.client.prompt("s", text)) for text in ("one", "two")]
    first = [await end.asked("prompt") for _ in asking]
    await end.transport.close()

    again = await on.accept()
    attach = await again.asked("attach")
    assert attach["params"]["historyLimit"] == 7
    assert on.client.link.state is LinkState.CONNECTING
    await again.accept(attach, op.AttachResult(snapshot=snapshot(9)))
    second = [await again.asked("prompt") for _ in asking]
    assert second == first
    for number, request in enumerate(second):
        await again.accept(request, op.RunResult(run_id=f"r{number}"))
    assert await asyncio.gather(*asking) == ["r0", "r1"]
    assert on.client.replica("s") is replica and replica.state.revision == 9
    assert on.client.link.state is LinkState.CONNECTED
    await on.client.close()


async def test_indeterminate_is_reported_and_the_request_is_never_repeated() -> None:
    on = Played()
    end = await on.open()
    asking = asyncio.create_task(on.client.prompt("s", "one"))
    await end.refuse(await end.asked("prompt"), "indeterminate", "indeterminate")
    with pytest.raises(RequestIndeterminate):
        await asking
    await end.transport.close()
    again = await on.accept()
    status = asyncio.create_task(on.client.request("host.status", op.Empty(), expect=op.HostStatusResult))
    await again.refuse(await again.asked("host.status"), "unavailable")
    await asyncio.gather(status, return_exceptions=True)
    await on.client.close()


async def test_the_waits_between_attempts_grow_and_are_bounded() -> None:
    on = Played()
    end = await on.open()
    on.down = True
    await end.transport.close()
    await until(lambda: len(on.waits) > 9)
    assert on.waits[:4] == [0.25, 0.5, 1.0, 2.0] and max(on.waits) == on.waits[9] == 15.0
    assert ("connection refused") in on.states[-1][1]
    on.down = False
    end = await on.accept()
    await until(lambda: on.client.link.state is LinkState.CONNECTED)
    on.waits.clear()
    on.now += 60  # a connection that lived for a minute
    await end.transport.close()
    await on.accept()
    assert on.waits[0] == 0.25
    await on.client.close()


@pytest.mark.parametrize("code", ["ownership_lost", "authentication_required"])
async def test_a_host_that_refuses_for_good_is_lost_with_its_reason(code: str) -> None:
    on = Played()
    end = await on.open()
    asking = asyncio.create_task(on.client.prompt("s", "one"))
    await end.asked("prompt")
    await end.notice(code)
    with pytest.raises(ConnectionLost, match=f"it is {code}") as lost:
        await asking
    assert lost.value.sent, "it may have been done"
    assert on.client.link.state is LinkState.LOST and code in on.client.link.reason
    with pytest.raises(ConnectionLost) as never:
        await on.client.prompt("s", "two")
    assert not never.value.sent
    with pytest.raises(ConnectionLost):
        await on.client.attach("s")
    assert not on.waits
    await on.client.close()


async def test_another_host_at_the_same_place_is_not_this_session() -> None:
    on = Played()
    end = await on.open()
    await end.transport.close()
    async with asyncio.timeout(5):
        other = End(await on.ends.get())
        hello = msgspec.structs.replace(HELLO, host=msgspec.structs.replace(HELLO.host, root="/elsewhere"))
        await other.accept(await other.asked("hello"), hello)
    await until(lambda: on.client.link.state is LinkState.LOST)
    assert "/elsewhere" in on.client.link.reason
    await on.client.close()


@pytest.mark.parametrize("code", ["busy", "not_found"])
async def test_a_refused_snapshot_passes_or_ends_its_session(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_client, "RESYNC_SECONDS", 0.001)
    ended: list[tuple[str, str]] = []
    on = Played()
    on.client._on_session_lost = lambda *which: ended.append(which)
    end = await on.open()
    attaching = asyncio.create_task(on.client.attach("s"))
    await end.accept(await end.asked("attach"), op.AttachResult(snapshot=snapshot(1)))
    await attaching
    await end.transport.close()
    again = await on.accept()
    await again.refuse(await again.asked("attach"), code)
    if code == "busy":
        await again.accept(await again.asked("attach"), op.AttachResult(snapshot=snapshot(2)))
        await until(lambda: on.client.link.state is LinkState.CONNECTED)
        assert on.client.replica("s") is not None and not ended
    else:
        await until(lambda: ended)
        assert ended == [("s", "it is not_found")]
        await until(lambda: on.client.link.state is LinkState.CONNECTED)
        assert on.client.replica("s") is None
    await on.client.close()


async def test_a_host_that_answers_and_reads_nothing_is_a_lost_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("felan_core.protocol.connection.client.LEAST_HEARTBEAT", 0.01)
    on = Played(clock=time.monotonic)
    await on.open()
    # More than a transport takes unread: the probe cannot be sent either.
    big = "x" * 200_000
    asking = [asyncio.create_task(on.client.prompt("s", big)) for _ in range(3)]
    again = await on.accept()
    assert (LinkState.WAITING, "the host does not answer") in [
        (state, reason.rpartition(": ")[2]) for state, reason in on.states
    ]
    for _ in asking:
        await again.accept(await again.asked("prompt"), op.RunResult(run_id="r"))
    assert await asyncio.gather(*asking) == ["r"] * 3
    await on.client.close()


async def test_closing_ends_what_waits_and_the_reply_that_nobody_waits_for_is_no_error() -> None:
    on = Played()
    end = await on.open()
    asking = asyncio.create_task(on.client.prompt("s", "one"))
    given_up = asyncio.create_task(on.client.prompt("s", "two"))
    await end.asked("prompt")
    await end.asked("prompt")
    given_up.cancel()
    await asyncio.wait([given_up])
    assert on.client.unanswered == 1
    await on.client.close()
    with pytest.raises(ConnectionLost, match="closed"):
        await asking


async def test_the_first_connection_that_fails_is_raised() -> None:
    on = Played()
    on.down = True
    with pytest.raises(ConnectionLost, match="connection refused"):
        await on.client.open()
    await on.client.close()


def test_illegal_steps_of_a_link_change_nothing() -> None:
    link = Link()
    link.retry()
    assert link.state is LinkState.CONNECTING
    link.greet(1.0)
    link.drop("gone", 2.0)
    assert (link.state, link.seconds(2.0), link.seconds(2.2)) == (LinkState.WAITING, 1, 1)
    link.greet(2.1)
    link.drop("again", 2.1)
    assert (link.state, link.reason) == (LinkState.WAITING, "gone")
    link.close()
    link.retry()
    link.drop("late", 3.0)
    assert link.state is LinkState.CLOSED and link.ended
