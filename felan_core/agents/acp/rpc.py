"""JSON-RPC 2.0 in both directions, one JSON object a line, over a pair of byte streams.

The reader hands notifications on in order and waits for each, so a slow session holds the agent back. A
request of the agent is first *accepted* (in order with the notifications), then answered by a task of its
own. The two directions have separate id spaces. What is no message is skipped, counted and kept.
"""

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from felan_core.agents.acp import schema
from felan_core.agents.acp.lines import decode
from felan_core.protocol.base import Json, JsonObject

LINE_BYTES = 64 * 1024 * 1024
"""A longer line is skipped: nothing that a person reads is this long."""
CHUNK_BYTES = 256 * 1024
THREAD_BYTES = 64 * 1024
"""A longer line is decoded in a thread, so that the loop runs meanwhile."""
MAX_ANSWERING = 64
"""Requests of the peer that wait for their answers; further ones are refused."""
GARBAGE_KEPT = 5
GARBAGE_BYTES = 400

_EDGE = 1024
"""Bytes at both ends of a line that is skipped, in which its id is looked for."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\b')

Answering = Coroutine[Any, Any, Json]
RequestId = int | str | None


class RpcError(Exception):
    """An error answer, the peer's or ours."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class Closed(Exception):
    """The connection ended before the answer came."""


class Handler(Protocol):
    """What the peer's messages are for."""

    async def notified(self, method: str, params: JsonObject, size: int) -> None:
        """A notification of ``size`` bytes. The next message is read when this returns."""
        ...

    async def requested(self, method: str, params: JsonObject) -> Answering:
        """Accept a request, in order, and return what answers it later. Raises ``RpcError``."""
        ...

    async def dropped(self, what: str) -> None:
        """A part of what the peer sent was too large to read; ``what`` names it."""
        ...

    def ended(self, fault: BaseException | None) -> None:
        """Nothing more will come. ``fault``: what the handler itself raised, where that is why."""
        ...


Trace = Callable[[str, bytes], None]


class RpcConnection:
    """One peer. ``trace``, where given, sees every line that is sent ("c2a") and read ("a2c"), for tests."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
        trace: Trace | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._trace = trace
        self._next = 0
        self._pending: dict[RequestId, asyncio.Future[Json]] = {}
        self._answering: dict[asyncio.Task[None], RequestId] = {}
        self._task: asyncio.Task[None] | None = None
        self._over = False
        self.received = 0
        """How many lines were read to their end and taken."""
        self.reading = False
        """Whether it waits for the peer, not for the handler."""
        self.garbage = 0
        """How many lines were no message."""
        self.garbage_lines: deque[str] = deque(maxlen=GARBAGE_KEPT)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read(), name="acp-reader")

    @property
    def over(self) -> bool:
        return self._over

    async def request(self, method: str, params: JsonObject) -> Json:
        """Ask the peer and wait. Raises ``RpcError`` or ``Closed``.

        Cancelling the wait tells the peer with ``$/cancel_request``; a late answer is then ignored.
        """
        number = self._next
        self._next += 1
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled() or not answer.done():
                self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            self._pending.pop(number, None)
            if answer.done() and not answer.cancelled():
                # Taken even when the sending failed: a future's untaken exception would be logged.
                answer.exception()

    def notify(self, method: str, params: JsonObject) -> None:
        """Tell the peer, who may be gone already. Never waits: ours are few and small."""
        if not self._over:
            self._put({"method": method, "params": params})

    async def close(self) -> None:
        """Stop reading and answering, and fail what waits. The streams stay the caller's to close."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._finish(None)

    def break_off(self) -> None:
        """End as if the peer had closed its side: its process is gone, its pipe is held by a child."""
        if self._task is not None:
            self._task.cancel()

    # --- reading ---

    async def _read(self) -> None:
        fault: BaseException | None = None
        try:
            async for line in self._lines():
                await self._take(line)
                self.received += 1
        except asyncio.CancelledError:
            pass
        except Exception as error:
            # The handler failed: going on would show a transcript with a hole in it.
            fault = error
        self._finish(fault)

    async def _lines(self):
        held = bytearray()
        skipped, head = 0, b""
        while chunk := await self._chunk():
            start = 0
            while (end := chunk.find(b"\n", start)) >= 0:
                if skipped:
                    await self._skipped(skipped + end - start, head, chunk[max(start, end - _EDGE) : end])
                    skipped = 0
                elif held:
                    held += chunk[start:end]
                    yield bytes(held)
                    held.clear()
                else:
                    yield chunk[start:end]
                start = end + 1
            if skipped:
                skipped += len(chunk) - start
            else:
                held += chunk[start:]
                if len(held) > LINE_BYTES:
                    skipped, head = len(held), bytes(held[:_EDGE])
                    held.clear()
        if held.strip():
            # A last line without its end: a message that the peer did not finish before it died.
            self._spoilt(bytes(held))

    async def _skipped(self, size: int, head: bytes, tail: bytes) -> None:
        self._spoilt(b"(a line of %d bytes)" % size)
        if b'"method"' not in head + tail:
            # Perhaps an answer: who waits for it would wait for ever.
            for found in _ID.finditer(head + b" " + tail):
                self._settle(
                    {
                        "id": int(found[1]),
                        "error": {"message": f"an answer of {size:,} bytes, which is not read"},
                    }
                )
        await self._handler.dropped(f"a message of {size:,} bytes")

    async def _chunk(self) -> bytes:
        self.reading = True
        chunk = await self._reader.read(CHUNK_BYTES)
        self.reading = False
        return chunk

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        decoded = decode(line) if len(line) <= THREAD_BYTES else await asyncio.to_thread(decode, line)
        if decoded is None:
            self._spoilt(line)
            if len(line) > THREAD_BYTES:
                await self._handler.dropped(f"a line of {len(line):,} bytes that is no message")
            return
        if decoded.left_out:
            size = f"of a message of {len(line):,} bytes"
            await self._handler.dropped(f"{', '.join(decoded.left_out)} {size}")
        message = decoded.body
        if self._trace is not None:
            self._trace("a2c", line)
        method = message.get("method")
        if isinstance(method, str):
            params = schema.an_object(message.get("params"))
            if "id" in message:
                await self._accept(_request_id(message["id"]), method, params)
            elif method == "$/cancel_request":
                self._cancel_answering(_request_id(params.get("requestId")))
            else:
                await self._handler.notified(method, params, len(line))
        elif "id" in message and (message["id"] is None or _request_id(message["id"]) is not None):
            self._settle(message)
            # Who waited for the answer goes on before the next message: what follows a turn is not in it.
            await asyncio.sleep(0)
        else:
            self._spoilt(line)

    def _settle(self, message: JsonObject) -> None:
        answer = self._pending.get(_request_id(message["id"]))
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            told = schema.an_object(error)
            code = schema.an_integer(told.get("code"))
            answer.set_exception(
                RpcError(
                    schema.INTERNAL_ERROR if code is None else code,
                    schema.a_string(told.get("message")) or "an error without a message",
                    told.get("data"),
                )
            )

    async def _accept(self, number: RequestId, method: str, params: JsonObject) -> None:
        if len(self._answering) >= MAX_ANSWERING:
            await self._refuse(number, RpcError(schema.INTERNAL_ERROR, "Too many requests at once"))
            await self._handler.dropped(f"questions past the first {MAX_ANSWERING} that wait")
            return
        try:
            answering = await self._handler.requested(method, params)
        except RpcError as error:
            await self._refuse(number, error)
            return
        task = asyncio.get_running_loop().create_task(self._answer(number, answering), name=f"acp-{method}")
        self._answering[task] = number
        task.add_done_callback(lambda done: self._answered(number, done))

    def _answered(self, number: RequestId, task: asyncio.Task[None]) -> None:
        del self._answering[task]
        if task.cancelled() and not self._over:
            self._put(_error(number, RpcError(schema.REQUEST_CANCELLED, "Request cancelled")))

    def _cancel_answering(self, number: RequestId) -> None:
        for task, its in self._answering.items():
            if its == number:
                self._stop_answering(task, "the agent withdrew the question")

    @staticmethod
    def _stop_answering(task: asyncio.Task[None], reason: str) -> None:
        # Not before its first step: a task that never begins would leave behind what it was made of.
        asyncio.get_running_loop().call_soon(task.cancel, reason)

    async def _answer(self, number: RequestId, answering: Answering) -> None:
        try:
            result = await answering
        except RpcError as error:
            await self._refuse(number, error)
        except Exception as error:
            # The session could not ask. The agent must hear of it, or it waits for ever.
            await self._refuse(number, RpcError(schema.INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        else:
            with contextlib.suppress(Closed):
                await self._send({"id": number, "result": result})

    def _spoilt(self, line: bytes) -> None:
        self.garbage += 1
        self.garbage_lines.append(line[:GARBAGE_BYTES].decode("utf-8", "replace").strip())
        if self._trace is not None:
            self._trace("noise", line)

    # --- writing ---

    async def _refuse(self, number: RequestId, error: RpcError) -> None:
        with contextlib.suppress(Closed):
            await self._send(_error(number, error))

    async def _send(self, message: JsonObject) -> None:
        if self._over:
            raise Closed
        self._put(message)
        try:
            await self._writer.drain()
        except OSError:
            # The reader sees the end, too, and says what is to be said.
            raise Closed from None

    def _put(self, message: JsonObject) -> None:
        line = msgspec.json.encode({"jsonrpc": "2.0", **message})
        if self._trace is not None:
            self._trace("c2a", line)
        if not self._writer.is_closing():
            self._writer.write(line + b"\n")

    def _finish(self, fault: BaseException | None) -> None:
        if self._over:
            return
        self._over = True
        for answer in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(Closed() if fault is None else fault)
        for task in list(self._answering):
            self._stop_answering(task, "the agent that asked is gone")
        self._handler.ended(fault)


def _request_id(value: Json) -> RequestId:
    """``value`` where it can be an id. ``true`` is none, though Python takes it for 1."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _error(number: RequestId, error: RpcError) -> JsonObject:
    told: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"id": number, "error": told}
