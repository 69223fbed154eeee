import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from felan_core.client import host_client
from felan_core.client.host_client import ConnectionLost
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from tests.core.client.scripted import Scripted, event, resync, snapshot, text


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scripted]:
    monkeypatch.setattr(host_client, "RESYNC_SECONDS", 0.001)
    scripted = Scripted()
    await scripted.start()
    yield scripted
    await scripted.client.close()


async def test_what_follows_the_reply_in_the_same_bytes_is_applied_to_its_snapshot(host: Scripted) -> None:
    attaching = asyncio.create_task(host.client.attach("s"))
    request = await host.asked("attach")
    reply = host.accepted(request, op.AttachResult(snapshot=snapshot(7)))
    await host.send(reply, event(8, "a"), text(0, "hi"), event(9, "b"))
    replica = await attaching
    await until(lambda: replica.state.revision == 9)
    assert replica.state.header.name == "b"
    assert [one.text for one in replica.live_messages()["m"]] == ["hi"]


@pytest.mark.parametrize("gap", [event(5), text(3, "x"), resync()], ids=["revision", "text", "told"])
async def test_a_gap_asks_for_one_fresh_snapshot_however_many_there_are(host: Scripted, gap: Any) -> None:
    replica = await host.attach()
    await host.send(gap, gap, event(9), text(7, "y", message="other"))
    request = await host.asked("attach")
    assert await host.nothing_asked()
    await host.accept(request, op.AttachResult(snapshot=snapshot(20)))
    await until(lambda: replica.state.revision == 20)
    await host.send(event(21, "on"))
    await until(lambda: replica.state.header.name == "on")


async def test_to_be_told_again_right_behind_the_fresh_snapshot_is_not_missed(host: Scripted) -> None:
    replica = await host.attach()
    await host.send(resync())
    request = await host.asked("attach")
    reply = host.accepted(request, op.AttachResult(snapshot=snapshot(5)))
    await host.send(reply, resync())
    again = await host.asked("attach")
    await host.accept(again, op.AttachResult(snapshot=snapshot(6)))
    await until(lambda: replica.state.revision == 6)


async def test_a_stream_that_cannot_be_mended_is_asked_for_once(host: Scripted) -> None:
    await host.attach()
    await host.send(text(3, "x"))
    await host.accept(await host.asked("attach"), op.AttachResult(snapshot=snapshot(2)))
    await host.send(text(5, "y"))
    assert await host.nothing_asked()


@pytest.mark.parametrize("code", ["busy", "storage_failure", "retryable"])
async def test_a_fresh_snapshot_that_is_refused_for_now_is_asked_for_again(host: Scripted, code: str) -> None:
    replica = await host.attach(history_limit=200)
    await host.send(resync())
    for _ in range(3):
        await host.refuse(await host.asked("attach"), code)
    request = await host.asked("attach")
    assert request["params"]["historyLimit"] == 200
    await host.accept(request, op.AttachResult(snapshot=snapshot(9)))
    await until(lambda: replica.state.revision == 9)


@pytest.mark.parametrize("named", [True, False])
async def test_a_session_that_is_gone_ends_visibly_and_is_not_asked_for_again(named: bool) -> None:
    ended: list[tuple[str, ...]] = []
    session_lost = {"on_session_lost": lambda *which: ended.append(which)} if named else {}
    host = Scripted(on_lost=lambda reason: ended.append((reason,)), **session_lost)
    await host.start()
    await host.attach()
    await host.send(resync())
    await host.refuse(await host.asked("attach"), "not_found")
    assert await host.nothing_asked()
    assert ended == [("s", "not_found") if named else ("the session cannot be shown any more: not_found",)]
    assert host.client.replica("s") is None
    await host.client.close()


async def test_attaching_again_keeps_the_replica_and_who_listens(host: Scripted) -> None:
    heard: list[Any] = []
    replica = await host.attach(on_change=heard.append)
    assert await host.attach(snapshot(4)) is replica
    await host.send(event(5))
    await until(lambda: heard)
    assert replica.state.revision == 5


async def test_two_with_one_id_get_the_same_reply(host: Scripted) -> None:
    identity = "01890000-0000-7000-8000-000000000001"
    both = [asyncio.create_task(host.client.prompt("s", "x", request_id=identity)) for _ in range(2)]
    await host.accept(await host.asked("prompt"), op.RunResult(run_id="r"))
    assert await asyncio.gather(*both) == ["r", "r"]


async def test_replies_find_their_requests_in_any_order_and_a_late_one_nobody(host: Scripted) -> None:
    first = asyncio.create_task(host.client.prompt("s", "one"))
    one = await host.asked("prompt")
    second = asyncio.create_task(host.client.prompt("s", "two"))
    two = await host.asked("prompt")
    given_up = asyncio.create_task(host.client.prompt("s", "three"))
    three = await host.asked("prompt")
    given_up.cancel()
    await asyncio.wait([given_up])
    await host.accept(three, op.RunResult(run_id="r3"))
    await host.accept(two, op.RunResult(run_id="r2"))
    await host.refuse(one, "busy")
    assert await second == "r2"
    with pytest.raises(ProtocolError) as refusal:
        await first
    assert refusal.value.code == "busy"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{nope\n", "not the protocol"),
        (
            b'{"v":1,"session":"s","revision":2,"at":1,"event":{"type":"session.updated"}}\n',
            "not the protocol",
        ),
        (b'{"v":2}\n', "not the protocol"),
        (b'{"v":1,"notice":{"type":"protocol_error","error":{"code":"x","message":"go away"}}}\n', "go away"),
        (None, "closed the connection"),
    ],
)
async def test_a_connection_that_ends_says_why_once_and_fails_what_waits(
    data: bytes | None, reason: str
) -> None:
    lost: list[str] = []
    host = Scripted(on_lost=lost.append)
    await host.start()
    waiting = asyncio.create_task(host.client.host_status())
    await host.asked("host.status")
    if data is not None:
        await host.end.send(data)
    if data is None or b"protocol_error" in data:
        await host.end.close()
    with pytest.raises(ConnectionLost):
        await waiting
    assert len(lost) == 1 and reason in lost[0]
    with pytest.raises(ConnectionLost):
        await host.client.host_status()
    assert await host.end.receive() == b""  # the client is gone, too
    await host.client.close()


async def test_an_unknown_event_advances_the_revision_and_is_kept_for_who_listens(host: Scripted) -> None:
    heard: list[Any] = []
    replica = await host.attach(on_change=heard.append)
    odd = {"type": "weather.changed", "sky": {"blue": [1, None]}}
    await host.send({"v": 1, "session": "s", "revision": 2, "at": 1, "event": odd}, event(3, "after"))
    await until(lambda: replica.state.revision == 3)
    assert heard[0].event.type == "weather.changed" and heard[0].event.value == odd
    assert replica.state.header.name == "after"


@pytest.mark.parametrize("first", ["attach", "detach"])
async def test_attaching_and_detaching_at_once_end_as_the_host_answers(host: Scripted, first: str) -> None:
    await host.attach()
    attaching = asyncio.create_task(host.client.attach("s"))
    attach = host.accepted(await host.asked("attach"), op.AttachResult(snapshot=snapshot(5)))
    detaching = asyncio.create_task(host.client.detach("s"))
    detach = host.accepted(await host.asked("detach"), op.Empty())
    frames = [attach, detach] if first == "attach" else [detach, attach]
    await host.send(*frames, event(6, "after"))
    replica = await attaching
    await detaching
    assert replica.state.revision == (5 if first == "attach" else 6)
