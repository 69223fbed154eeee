"""Connection: the pump of one client's connection, between its transport and its ``ServerConnection``.

Requests are admitted in the order in which they came; their effects run beside the connection, so that one
that waits (a panel that follows a process) holds up nobody.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from felan_core.protocol.connection import ConnectionState, Offer, Requested, ServerConnection
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.operations import ClientInfo, Principal

_BURST: Final = 256 * 1024


class Link(Protocol):
    """The host's end of a transport; bytes alone."""

    async def send(self, data: bytes) -> None: ...
    async def receive(self) -> bytes: ...
    async def close(self) -> None: ...


class Connection:
    """One client of the host. ``principal`` is assigned by the transport, never by the client."""

    def __init__(
        self,
        link: Link,
        offer: Offer,
        *,
        principal: Principal,
        admit: Callable[["Connection", Requested], Awaitable[Awaitable[None] | None]],
        on_end: Callable[["Connection"], None],
        on_overflow: Callable[["Connection", str], None],
        unsent_bytes: int,
        stall_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.principal = principal
        self.attached: set[str] = set()
        self._wire = ServerConnection(offer, now=clock(), unsent_bytes=unsent_bytes)
        self._link = link
        self._admit = admit
        self._on_end = on_end
        self._on_overflow = on_overflow
        self._stall_seconds = stall_seconds
        self._clock = clock
        self._effects: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._bulk = asyncio.Lock()
        self._queued = asyncio.Event()
        self._written = asyncio.Event()

    def start(self) -> None:
        """Serve the connection in tasks of the running loop."""
        self._tasks = [
            asyncio.create_task(self._read(), name="felan-connection-read"),
            asyncio.create_task(self._write(), name="felan-connection-write"),
        ]

    # --- facts ---

    @property
    def client(self) -> ClientInfo:
        """Provenance alone: a client's words about itself."""
        return self._wire.client

    @property
    def capabilities(self) -> frozenset[str]:
        """The UI vocabulary that both sides know."""
        return self._wire.capabilities

    @property
    def interactions(self) -> frozenset[str]:
        """The kinds of interactions that both sides know."""
        return self._wire.interactions

    @property
    def in_flight(self) -> int:
        """Requests without a reply."""
        return self._wire.in_flight

    @property
    def unsent(self) -> int:
        """Bytes that are queued or on their way."""
        return self._wire.queue.unsent

    @property
    def ended(self) -> bool:
        """Nothing is sent any more."""
        return self._wire.state is ConnectionState.CLOSED

    @property
    def busy(self) -> bool:
        """Whether an effect of a request is under way, or requests are still being read."""
        return bool(self._effects) or not self._tasks[0].done()

    # --- sending ---

    def accept(self, re: str, result: object) -> None:
        """Answer request ``re`` with its operation's result."""
        self._wire.accept(re, result)
        self._queued.set()

    def refuse(self, re: str, error: ProtocolError) -> None:
        """Answer request ``re`` with a refusal."""
        self._wire.refuse(re, error)
        self._queued.set()

    def answer(self, re: str, frame: bytes) -> None:
        """Answer request ``re`` with an encoded reply."""
        self._wire.answer(frame, re)
        self._queued.set()

    def publish(self, frame: bytes, session: str) -> None:
        """Queue an event or text of ``session``, or drop that session from this connection."""
        if not self._wire.publish(frame, session):
            self.attached.discard(session)
            self._on_overflow(self, session)
        self._queued.set()

    def forget(self, session: str) -> None:
        """Drop what is queued of ``session``: it was detached or attached anew."""
        self._wire.queue.forget(session)

    def resync(self, session: str, reason: str) -> None:
        """Detach the client from ``session`` and tell it to attach anew."""
        self.attached.discard(session)
        self._wire.resync(session, reason)
        self._queued.set()

    def fail(self, error: ProtocolError) -> None:
        """Publish ``protocol_error`` and close: the host serves this client no more."""
        self._wire.fail(error)
        self._queued.set()

    async def room(self, size: int) -> None:
        """Wait until ``size`` more bytes are within the budget, or nothing is queued at all."""
        while not self._wire.queue.room(size):
            self._written.clear()
            await self._written.wait()

    @asynccontextmanager
    async def space(self, size: int) -> AsyncGenerator[None]:
        """Room for one large reply, which is computed and queued inside; the next one waits for it."""
        async with self._bulk:
            await self.room(size)
            yield

    # --- the tasks ---

    async def close(self) -> None:
        """End the connection; queued bytes are sent first."""
        self._wire.close()
        self._queued.set()
        if self._tasks:
            await asyncio.wait(self._tasks[1:], timeout=1.0)
        await self._link.close()
        for task in (*self._tasks, *self._effects):
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.gather(*self._tasks, *self._effects, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while self._wire.reads:
                data = await self._received()
                events = self._wire.expire(self._clock()) if data is None else self._wire.receive(data)
                self._queued.set()
                for event in events:
                    if isinstance(event, Requested):
                        # A client that asks and does not read is asked to wait: replies are never dropped.
                        await self.room(0)
                        effect = await self._admit(self, event)
                        if effect is not None:
                            self._run(effect)
        finally:
            self._wire.close()
            self._queued.set()

    async def _received(self) -> bytes | None:
        """The next bytes; None when the deadline came first."""
        deadline = self._wire.deadline
        if deadline is None:
            return await self._link.receive()
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock())):
                return await self._link.receive()
        except TimeoutError:
            return None

    def _run(self, effect: Awaitable[None]) -> None:
        async def run() -> None:
            await effect

        task = asyncio.create_task(run(), name="felan-request")
        self._effects.add(task)
        task.add_done_callback(self._effects.discard)

    async def _write(self) -> None:
        try:
            with suppress(Exception):  # the transport is gone, or its peer takes nothing
                await self._pump()
        finally:
            self._wire.lose()
            self._written.set()
            await self._link.close()
            self._on_end(self)

    async def _pump(self) -> None:
        queue = self._wire.queue
        while True:
            while not (data := queue.take(_BURST)):
                if self._wire.state is ConnectionState.CLOSING:
                    return
                self._queued.clear()
                await self._queued.wait()
            await self._hand_over(data)
            queue.written(len(data))
            self._written.set()

    async def _hand_over(self, data: bytes) -> None:
        sending = asyncio.ensure_future(self._link.send(data))
        try:
            while True:
                done, _ = await asyncio.wait([sending], timeout=self._stall_seconds)
                if done:
                    return sending.result()
                if self._wire.queue.behind or not self._wire.queue.room(0):
                    raise TimeoutError("the client takes nothing")
        finally:
            sending.cancel()
