import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.protocol import ProtocolError, new_uuid7
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Clock, Rig, Stagehand, open_rig, until


@pytest.fixture
async def raw(host: Rig) -> Raw:
    return Raw(host.raw())


def create(work: Path, **more: Any) -> Any:
    return {"v": 1, "id": new_uuid7(), "op": "sessions.create", "params": {"cwd": str(work)}, **more}


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"v": 1, "id": "a", "op": "host.status", "params": {}}, "invalid_request"),  # before hello
        ({"v": 2, "id": "a", "op": "hello", "params": {}}, "protocol_mismatch"),
        ({"v": "1", "id": "a", "op": "hello", "params": {}}, "invalid_request"),
        (
            {"v": 1, "id": "a", "op": "no.such", "params": {}},
            "invalid_request",
        ),  # hello comes before the name
        ({**HELLO, "params": {**HELLO["params"], "protocolVersions": [7]}}, "protocol_mismatch"),
        ({**HELLO, "params": {**HELLO["params"], "protocolVersions": []}}, "invalid_request"),
        ({**HELLO, "params": {**HELLO["params"], "target": None}}, "invalid_request"),
    ],
)
async def test_a_bad_first_frame_is_refused_in_words_and_the_connection_goes_on(
    raw: Raw, frame: Any, code: str
) -> None:
    refusal = await raw.ask(frame)
    assert (refusal["outcome"], refusal["error"]["code"]) == ("rejected", code)
    assert refusal["error"]["message"]
    assert (await raw.ask({**HELLO, "id": "h2"}))["outcome"] == "accepted"


@pytest.mark.parametrize("data", [b"{nope\n", b'"text"\n', b"\xff\xfe\n", b"\xef\xbb\xbf{}\n", b'{"v":1}\n'])
async def test_what_is_no_request_gets_a_notice_and_the_connection_closes(raw: Raw, data: bytes) -> None:
    await raw.send_bytes(data)
    notice = await raw.frame()
    assert notice["notice"]["type"] == "protocol_error"
    assert notice["notice"]["error"]["code"] in ("invalid_request", "protocol_mismatch")
    assert await raw.frame() is None


async def test_hello_comes_once(raw: Raw) -> None:
    assert (await raw.ask(HELLO))["outcome"] == "accepted"
    assert (await raw.ask({**HELLO, "id": "again"}))["error"]["code"] == "invalid_request"


async def test_hello_offers_what_is_there_and_nothing_more(raw: Raw) -> None:
    hello = {
        **HELLO,
        "params": {**HELLO["params"], "interactions": ["form", "telepathy"], "capabilities": ["ui.view"]},
    }
    result = (await raw.ask(hello))["result"]
    assert result["interactions"] == ["form"] and result["capabilities"]["ui"] == ["ui.view"]
    assert "prompt" in result["operations"] and "session.tree" not in result["operations"]
    refusal = await raw.ask({"v": 1, "id": "t", "op": "session.tree", "session": "s", "params": {}})
    assert refusal["error"]["code"] == "unsupported_operation"


async def test_the_same_request_again_gets_the_stored_reply_and_is_done_once(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    request = create(work)
    first = await raw.ask(request)
    upper = {**request, "id": request["id"].upper()}
    second = await raw.ask(upper)
    assert second == {**first, "re": upper["id"]}
    listed = await raw.ask({"v": 1, "id": "l", "op": "sessions.list", "params": {}})
    assert len(listed["result"]["items"]) == 1


async def test_two_of_the_same_request_at_once_wait_for_one_reply(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    request = create(work)
    await raw.send(request, request)
    first, second = await raw.frame(), await raw.frame()
    assert first == second and first["outcome"] == "accepted"


async def test_another_request_under_a_known_id_conflicts_and_no_reply_leaks(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    request = create(work)
    await raw.ask(request)
    other = await raw.ask({**request, "params": {"cwd": str(work), "name": "x"}})
    assert other["error"]["code"] == "request_conflict" and "result" not in other


async def test_a_mutation_needs_a_uuid_of_version_7(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    for bad in (
        "x",
        "{" + new_uuid7() + "}",
        new_uuid7().replace("-", ""),
        "550e8400-e29b-41d4-a716-446655440000",
    ):
        refusal = await raw.ask({**create(work), "id": bad})
        assert refusal["error"]["code"] == "invalid_request"


async def test_a_refusal_before_the_reservation_is_not_kept(raw: Raw, work: Path, tmp_path: Path) -> None:
    await raw.ask(HELLO)
    missing = tmp_path / "later"
    request = {**create(work), "params": {"cwd": str(missing)}}
    assert (await raw.ask(request))["error"]["code"] == "invalid_request"
    missing.mkdir()
    assert (await raw.ask(request))["outcome"] == "accepted"


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder/anywhere", "", "/bad\x00name"])
async def test_a_session_needs_an_absolute_folder_that_is_there(raw: Raw, work: Path, cwd: str) -> None:
    await raw.ask(HELLO)
    refusal = await raw.ask({**create(work), "params": {"cwd": cwd}})
    assert refusal["error"]["code"] == "invalid_request"


async def test_a_policy_that_the_backend_cannot_enforce_is_refused_by_name(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    refusal = await raw.ask({**create(work), "params": {"cwd": str(work), "requirePolicy": "acp-strict"}})
    assert refusal["error"]["code"] == "unavailable" and "puppet" in refusal["error"]["message"]


async def test_a_prompt_is_replayed_by_the_next_host_and_not_taken_again(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    clock, identity = Clock(), new_uuid7()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    run = await client.prompt(session, "go", request_id=identity)
    await until(lambda: replica.state.run is None)
    await first.kill()
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    assert await client.prompt(session, "go", request_id=identity) == run
    assert len([one for one in replica.state.entries if isinstance(one, MessageEntry)]) == 1
    assert len(hand.turns) == 1
    await second.close()


async def test_an_effect_outside_the_database_that_a_crash_cut_off_is_indeterminate(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    clock, identity = Clock(), new_uuid7()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    process = await client.shell(session, op.ShellParams(command="trap '' TERM; echo up; sleep 60"))
    await client.processes_read(session, op.ProcessReadParams(process=process, offset=0, wait_ms=10_000))
    stop = op.ProcessStopParams(process=process, grace_ms=30_000)
    stopping = asyncio.create_task(
        client.request(
            "processes.stop", stop, expect=op.ProcessStopResult, session=session, request_id=identity
        )
    )
    while await first.store.request(identity) is None:
        await asyncio.sleep(0.002)
    await first.kill()
    stopping.cancel()
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    await client.attach(session)
    with pytest.raises(ProtocolError) as refusal:
        await client.request(
            "processes.stop", stop, expect=op.ProcessStopResult, session=session, request_id=identity
        )
    assert refusal.value.code == "indeterminate"
    await second.close()


async def test_a_refusal_that_nobody_waits_for_any_more_is_no_fault(host: Rig, work: Path) -> None:
    client = await host.client()
    replica = await host.session(client, work)
    live = host.live(replica.state.session)

    async def refuses() -> None:
        raise ProtocolError("busy", "not now")

    async def waits() -> None:
        await live.actor.do(refuses)

    waiting = asyncio.create_task(waits())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await client.rename(replica.state.session, "after it")


async def test_more_than_the_allowed_requests_at_once_are_busy(raw: Raw, work: Path) -> None:
    await raw.ask(HELLO)
    created = await raw.ask(create(work))
    session = created["result"]["session"]
    shell = {
        "v": 1,
        "id": new_uuid7(),
        "op": "shell.execute",
        "session": session,
        "params": {"command": "sleep 60"},
    }
    process = (await raw.ask(shell))["result"]["process"]
    reads = [
        {
            "v": 1,
            "id": f"r{n}",
            "op": "processes.read",
            "session": session,
            "params": {"process": process, "offset": 0, "waitMs": 30_000},
        }
        for n in range(65)
    ]
    await raw.send(*reads)
    refusal = await raw.frame()
    assert refusal["re"] == "r64" and refusal["error"]["code"] == "busy"
    stop = {"v": 1, "id": new_uuid7(), "op": "host.status", "params": {}}
    assert (await raw.ask(stop))["error"]["code"] == "busy"
