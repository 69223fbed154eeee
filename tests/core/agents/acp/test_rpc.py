import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from felan_core.agents.acp.rpc import LINE_BYTES, MAX_ANSWERING, Answering, Closed, RpcConnection, RpcError


class Recorder:
    """A handler that keeps notifications, and answers a request when its gate opens."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.gate = asyncio.Event()
        self.over = asyncio.Event()
        self.fault: BaseException | None = None

    async def notified(self, method: str, params: dict[str, Any], size: int) -> None:
        if method == "boom":
            raise ValueError("boom")
        await asyncio.sleep(0)
        self.seen.append((method, params.get("n")))

    async def requested(self, method: str, params: dict[str, Any]) -> Answering:
        if method == "unknown":
            raise RpcError(-32601, "Method not found", {"method": method})
        self.seen.append((method, params.get("n")))
        return self._answer(params)

    async def _answer(self, params: dict[str, Any]) -> Any:
        await self.gate.wait()
        if params.get("fails"):
            raise KeyError("inside")
        return {"n": params.get("n")}

    async def dropped(self, what: str) -> None:
        self.seen.append(("dropped", what))

    def ended(self, fault: BaseException | None) -> None:
        self.fault = fault
        self.over.set()


class Wire:
    """A connection whose peer is this test."""

    def __init__(
        self, connection: RpcConnection, handler: Recorder, reader: asyncio.StreamReader, fd: int
    ) -> None:
        self.connection = connection
        self.handler = handler
        self.reader = reader
        self._fd = fd

    def say(self, *messages: Any) -> None:
        self.feed(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def feed(self, data: bytes) -> None:
        self.reader.feed_data(data)

    async def heard(self) -> dict[str, Any]:
        line = await asyncio.to_thread(self._line)
        return json.loads(line)

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self._fd, 1)
        return line


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    loop = asyncio.get_running_loop()
    ours, theirs = os.pipe()
    pipe = os.fdopen(theirs, "wb", 0)
    transport, flow = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    writer = asyncio.StreamWriter(transport, flow, None, loop)
    reader, handler = asyncio.StreamReader(limit=1 << 20), Recorder()
    connection = RpcConnection(reader, writer, handler)
    connection.start()
    yield Wire(connection, handler, reader, ours)
    await connection.close()
    transport.close()
    os.close(ours)


async def until_seen(wire: Wire, count: int) -> None:
    async with asyncio.timeout(10):
        while len(wire.handler.seen) < count:
            await asyncio.sleep(0)


async def test_notifications_and_requests_are_taken_in_order(wire: Wire) -> None:
    wire.say(*({"method": "a", "params": {"n": n}, **({"id": n} if n % 3 == 0 else {})} for n in range(30)))
    await until_seen(wire, 30)
    assert [n for _, n in wire.handler.seen] == list(range(30))


async def test_a_request_that_waits_holds_nothing_up(wire: Wire) -> None:
    wire.say({"id": "q", "method": "ask", "params": {"n": 1}}, {"method": "note", "params": {"n": 2}})
    await until_seen(wire, 2)
    wire.handler.gate.set()
    assert await wire.heard() == {"jsonrpc": "2.0", "id": "q", "result": {"n": 1}}


async def test_the_same_id_in_both_directions_is_two_requests(wire: Wire) -> None:
    ours = asyncio.create_task(wire.connection.request("ours", {}))
    assert (await wire.heard())["id"] == 0
    wire.handler.gate.set()
    wire.say({"id": 0, "method": "theirs", "params": {"n": 7}}, {"id": 0, "result": "for ours"})
    assert await ours == "for ours"
    assert (await wire.heard())["result"] == {"n": 7}


@pytest.mark.parametrize("params", [None, [], "x"])
async def test_parameters_that_are_no_object_count_as_none(wire: Wire, params: Any) -> None:
    wire.say({"method": "note", "params": params})
    await until_seen(wire, 1)
    assert wire.handler.seen == [("note", None)]


async def test_errors_reach_the_one_who_asked(wire: Wire) -> None:
    asked = asyncio.create_task(wire.connection.request("x", {}))
    await wire.heard()
    wire.say({"id": 0, "error": {"code": -32002, "message": "not there", "data": {"uri": "u"}}})
    with pytest.raises(RpcError) as caught:
        await asked
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32002, "not there", {"uri": "u"})
    wire.say({"id": 1, "method": "unknown"}, {"id": 2, "method": "ask", "params": {"fails": True}})
    wire.handler.gate.set()
    refused, broken = await wire.heard(), await wire.heard()
    assert refused["error"] == {"code": -32601, "message": "Method not found", "data": {"method": "unknown"}}
    assert broken["error"]["code"] == -32603


async def test_an_error_of_an_odd_shape_is_an_error_all_the_same(wire: Wire) -> None:
    for number, error in enumerate(("went wrong", {"code": "x", "message": None}, [])):
        asked = asyncio.create_task(wire.connection.request("x", {}))
        await wire.heard()
        wire.say({"id": number, "error": error})
        with pytest.raises(RpcError):
            await asked


async def test_giving_up_tells_the_peer_and_a_late_answer_is_ignored(wire: Wire) -> None:
    asked = asyncio.create_task(wire.connection.request("x", {}))
    await wire.heard()
    asked.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asked
    assert await wire.heard() == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}}
    wire.say({"id": 0, "result": 1}, {"id": 99, "result": 1}, {"method": "note"})
    await until_seen(wire, 1)


async def test_the_peer_cancels_its_request_also_in_the_same_breath(wire: Wire) -> None:
    cancel = {"method": "$/cancel_request", "params": {"requestId": "q"}}
    wire.say({"id": "q", "method": "ask", "params": {}}, cancel)
    first = await wire.heard()
    assert (first["id"], first["error"]["code"]) == ("q", -32800)
    wire.say({"id": "q", "method": "ask", "params": {}}, {"method": "note"})
    await until_seen(wire, 3)
    wire.say(cancel, {"method": "$/cancel_request", "params": {"requestId": "unknown"}})
    assert (await wire.heard())["error"]["code"] == -32800


async def test_the_end_fails_everything_that_waits_at_once(wire: Wire) -> None:
    asked = [asyncio.create_task(wire.connection.request("x", {})) for _ in range(3)]
    await wire.heard()
    wire.say({"id": 5, "method": "ask", "params": {}})
    wire.feed(b'{"jsonrpc":"2.0","id":0,"res')
    wire.reader.feed_eof()
    async with asyncio.timeout(5):
        ends = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(end) for end in ends] == [Closed] * 3
    assert wire.handler.over.is_set() and wire.handler.fault is None
    assert wire.connection.garbage == 1
    with pytest.raises(Closed):
        await wire.connection.request("y", {})
    wire.connection.notify("late", {})


async def test_what_the_handler_raises_ends_the_connection_with_it(wire: Wire) -> None:
    asked = asyncio.create_task(wire.connection.request("x", {}))
    await wire.heard()
    wire.say({"method": "boom"})
    with pytest.raises(ValueError, match="boom"):
        await asked
    assert isinstance(wire.handler.fault, ValueError)


async def test_lines_come_together_from_any_pieces(wire: Wire) -> None:
    data = b"".join(json.dumps({"method": "n", "params": {"n": n}}).encode() + b"\n" for n in range(20))
    for start in range(0, len(data), 7):
        wire.feed(data[start : start + 7])
        await asyncio.sleep(0)
    await until_seen(wire, 20)
    assert wire.connection.garbage == 0


async def test_a_line_beyond_all_measure_is_skipped_and_the_next_one_is_read(wire: Wire) -> None:
    block = b"x" * (8 * 1024 * 1024)
    for _ in range(LINE_BYTES // len(block) + 1):
        wire.feed(block)
        await asyncio.sleep(0)
    wire.feed(b"x\n")
    wire.say({"method": "after"})
    await until_seen(wire, 2)
    size = (LINE_BYTES // len(block) + 1) * len(block) + 1
    assert wire.handler.seen[0] == ("dropped", f"a message of {size:,} bytes")
    assert wire.connection.garbage == 1 and "a line of" in wire.connection.garbage_lines[0]


async def test_true_is_no_id_of_an_answer(wire: Wire) -> None:
    first = asyncio.create_task(wire.connection.request("ours", {}))
    wire.say({"id": (await wire.heard())["id"], "result": "zero"})
    assert await first == "zero"
    asked = asyncio.create_task(wire.connection.request("ours", {}))
    assert (await wire.heard())["id"] == 1
    wire.say({"id": True, "result": "no"}, {"id": 1, "result": "one"})
    assert await asked == "one"
    assert list(wire.connection.garbage_lines) == ['{"id": true, "result": "no"}']


@pytest.mark.parametrize("first", [True, False], ids=["id first", "id last"])
async def test_an_answer_beyond_all_measure_is_an_error_and_not_awaited_for_ever(
    wire: Wire, first: bool
) -> None:
    asked = asyncio.create_task(wire.connection.request("ours", {}))
    number = json.dumps({"id": (await wire.heard())["id"]}).encode()[1:-1]
    wire.feed(b"{" + (number + b"," if first else b"") + b'"result":"')
    for _ in range(LINE_BYTES // (1 << 23) + 1):
        wire.feed(b"x" * (1 << 23))
        await asyncio.sleep(0)
    wire.feed(b'"' + (b"" if first else b"," + number) + b"}\n")
    with pytest.raises(RpcError, match="which is not read"):
        await asked


async def test_questions_past_the_bound_are_refused_and_those_before_it_are_answered(wire: Wire) -> None:
    for number in range(MAX_ANSWERING + 1):
        # The same id again is another question, and counts.
        wire.say({"id": "same" if number else "first", "method": "ask", "params": {"n": number}})
    refused = await wire.heard()
    assert refused["id"] == "same" and refused["error"]["message"] == "Too many requests at once"
    assert wire.handler.seen[-1] == ("dropped", f"questions past the first {MAX_ANSWERING} that wait")
    wire.handler.gate.set()
    answers = [await wire.heard() for _ in range(MAX_ANSWERING)]
    assert sorted(one["result"]["n"] for one in answers) == list(range(MAX_ANSWERING))


async def test_a_member_that_is_too_much_is_named_and_the_message_is_taken_without_it(wire: Wire) -> None:
    line = b'{"method":"note","params":{"n":4,"entries":[' + b"[]," * 1_000_000 + b"[]]}}"
    wire.feed(line + b"\n")
    await until_seen(wire, 2)
    assert wire.handler.seen == [
        ("dropped", f"params.entries of a message of {len(line):,} bytes"),
        ("note", None),
    ]
