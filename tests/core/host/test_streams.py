"""The text that streams: bounded, joined exactly, and whole in the message that completes it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.protocol import LIMITS
from felan_core.protocol.entries import MessageEntry
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Puppet, Rig, Script, Stagehand, until

MB = 1024 * 1024


def says(*pieces: tuple[str, str], then: asyncio.Event | None = None) -> Script:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for kind, text in pieces:
            await puppet.session.text(kind, text)  # pyright: ignore[reportArgumentType] the literals of the tests
        if then is not None:
            await then.wait()
        return "completed"

    return script


async def listener(rig: Rig, session: str) -> Raw:
    raw = Raw(rig.raw())
    await raw.ask(HELLO)
    await raw.request("attach", {}, session)
    return raw


async def frames_of_a_turn(raw: Raw) -> list[Any]:
    frames: list[Any] = []
    while not frames or frames[-1].get("event", {}).get("type") != "run.ended":
        frames.append(await raw.frame())
    return frames


def answers(entries: Any) -> list[MessageEntry]:
    return [one for one in entries if isinstance(one, MessageEntry) and one.role == "assistant"]


async def one_turn(host: Rig, work: Path) -> tuple[HostClient, Any, Raw]:
    client = await host.client()
    replica = await host.session(client, work)
    return client, replica, await listener(host, replica.state.session)


def live(replica: Any) -> list[str]:
    return [parts[0].text for parts in replica.live_messages().values()]


@pytest.mark.parametrize("piece", ["é", "x", "🙂"])
async def test_past_the_bound_of_a_stream_no_more_is_sent_and_the_message_has_it_all(
    host: Rig, hand: Stagehand, work: Path, piece: str
) -> None:
    chunk = piece * (200_000 // len(piece.encode()))
    hand.scripts.append(says(*[("assistant", chunk)] * 9))
    client, replica, raw = await one_turn(host, work)
    await client.prompt(replica.state.session, "go")
    frames = await frames_of_a_turn(raw)
    texts = [one for one in frames if "stream" in one]
    only = [one["event"] for one in frames if one.get("event", {}).get("type") == "stream.completion_only"]
    assert len(texts) == 5 and len(only) == 1
    assert [one["stream"]["offset"] for one in texts] == [n * len(chunk) for n in range(5)]
    assert only[0]["reason"] == "limit"
    assert only[0]["stream"] == {key: texts[0]["stream"][key] for key in ("message", "id", "kind")}
    assert frames.index(next(one for one in frames if one.get("event") == only[0])) > frames.index(texts[-1])
    await until(lambda: replica.state.run is None)
    [answer] = answers(replica.state.entries)
    assert answer.text == chunk * 9 and replica.live_messages() == {} == replica.state.completion_only


async def test_the_bound_of_all_streams_stops_the_one_that_passes_it_alone(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    part, end = "x" * (900 * 1024), asyncio.Event()
    kinds = ["assistant", "thinking"] * 3
    hand.scripts.append(says(*[(kind, part) for kind in kinds], ("thinking", "tail"), then=end))
    client, replica, _ = await one_turn(host, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: len(replica.state.completion_only) == 2)
    [message] = replica.live_messages().values()
    assert [one.text for one in message] == [part] * 4
    assert sum(len(one.text) for one in message) <= LIMITS.stream_total_bytes
    late = await (await host.client()).attach(replica.state.session)
    assert late.live_messages() == replica.live_messages()
    assert late.state.completion_only == replica.state.completion_only
    end.set()
    await until(lambda: replica.state.run is None and late.state.run is None)
    for one in (replica, late):
        [answer] = answers(one.state.entries)
        assert [piece.text for piece in answer.parts] == [*[part] * 5, part + "tail"]
        assert one.state.completion_only == {}


async def test_never_more_than_the_allowed_streams_at_a_time(host: Rig, hand: Stagehand, work: Path) -> None:
    end = asyncio.Event()
    pieces = [("assistant" if n % 2 else "thinking", str(n)) for n in range(30)]
    hand.scripts.append(says(*pieces, then=end))
    client, replica, _ = await one_turn(host, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: sum(len(one.parts) for one in answers(replica.state.entries)) == 24)
    late = await (await host.client()).attach(replica.state.session)
    assert sum(len(one) for one in late.live_messages().values()) == 6
    end.set()
    await until(lambda: replica.state.run is None)
    said = [part for one in answers(replica.state.entries) for part in one.parts]
    assert [part.text for part in said] == [text for _, text in pieces]
    assert all(len(one.parts) <= LIMITS.active_streams for one in answers(replica.state.entries))


async def test_offsets_count_scalars_and_a_snapshot_in_the_middle_joins_exactly(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    pieces = ["🙂🏳️‍🌈", "a\u0301", "𝔘𝔫𝔦", "\ud83d", "\ude00", "\u2028\x85\n", "한"]
    step = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for piece in pieces:
            await step.wait()
            step.clear()
            await puppet.session.text("assistant", piece)
        await step.wait()
        return "completed"

    hand.scripts.append(script)
    client, replica, raw = await one_turn(host, work)
    session = replica.state.session
    await client.prompt(session, "go")
    clean = [piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for piece in pieces]
    late = []
    for number in range(len(pieces)):
        step.set()
        so_far = ["".join(clean[: number + 1])]
        await until(lambda so_far=so_far: live(replica) == so_far)
        joined = await (await host.client()).attach(session)
        assert joined.live_messages() == replica.live_messages()
        late.append(joined)
    step.set()
    await until(lambda: all(one.state.run is None for one in [replica, *late]))
    for one in [replica, *late]:
        [answer] = answers(one.state.entries)
        assert answer.text == "".join(clean) and one.live_messages() == {}
    texts = [one for one in await frames_of_a_turn(raw) if "stream" in one]
    offsets = [sum(len(piece) for piece in clean[:n]) for n in range(len(clean))]
    assert [one["stream"]["offset"] for one in texts] == offsets


@pytest.mark.parametrize(
    ("character", "size"), [("x", 13 * MB), ("\n", 7 * MB), ("\x01", 3 * MB), ("é", 7 * MB)]
)
async def test_however_much_is_said_at_once_all_of_it_is_kept(
    host: Rig, hand: Stagehand, work: Path, character: str, size: int
) -> None:
    hand.scripts.append(says(("assistant", character * size)))
    client, replica, _ = await one_turn(host, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: hand.turns and replica.state.run is None)
    said = answers(replica.state.entries)
    assert len(said) == 2 and sum(len(one.text) for one in said) == size
    assert all(set(one.text) == {character} for one in said)
