"""One client's connection: frames in, admitted one after the other; replies, events and text out.

A request is admitted in the order in which it came; its effect runs beside the connection, so that one that
waits (a panel that follows a process) holds up nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from felan_core.host.outbox import STALL_SECONDS, Outbox
from felan_core.protocol.base import LIMITS
from felan_core.protocol.envelopes import NoticeFrame, ProtocolFailure, ResyncRequired
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.framing import JsonLineDecoder, encode_frame
from felan_core.protocol.operations import ClientInfo, Principal


class Link(Protocol):
    """The host's end of a transport; bytes alone."""

    async def send(self, data: bytes) -> None: ...
    async def receive(self) -> bytes: ...
    async def close(self) -> None: ...


class Connection:
    """What the host knows of one client. ``principal`` is given by the transport, never by the client."""

    def __init__(
        self,
        link: Link,
        *,
        principal: Principal,
        admit: Callable[["Connection", bytes], Awaitable[Awaitable[None] | None]],
        on_end: Callable[["Connection"], None],
        on_overflow: Callable[["Connection", str], None],
        unsent_bytes: int = LIMITS.unsent_bytes,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self.principal = principal
        self.client = ClientInfo(kind="unknown", name="unknown", version="0")
        self.greeted = False
        self.capabilities: frozenset[str] = frozenset()
        self.interactions: frozenset[str] = frozenset()
        self.attached: set[str] = set()
        self.in_flight = 0
        self.outbox = Outbox(
            link.send, on_overflow=self._overflowed, limit=unsent_bytes, stall_seconds=stall_seconds
        )
        self._link = link
        self._admit = admit
        self._on_end = on_end
        self._on_overflow = on_overflow
        self._effects: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Serve the connection in tasks of the running loop."""
        self._tasks = [
            asyncio.create_task(self._read(), name="felan-connection-read"),
            asyncio.create_task(self._write(), name="felan-connection-write"),
        ]

    @property
    def busy(self) -> bool:
        """Whether something that it asked is still under way, or still being read."""
        return bool(self._effects) or not self._tasks[0].done()

    async def close(self) -> None:
        """End the connection; what was queued is sent first."""
        self.outbox.close()
        if self._tasks:
            await asyncio.wait(self._tasks[1:], timeout=1.0)
        await self._link.close()
        for task in (*self._tasks, *self._effects):
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.gather(*self._tasks, *self._effects, return_exceptions=True)

    async def _read(self) -> None:
        decoder = JsonLineDecoder()
        try:
            while data := await self._link.receive():
                for line in decoder.lines(data):
                    # A client that asks and does not read is asked to wait: replies are never dropped.
                    await self.outbox.room(0)
                    effect = await self._admit(self, line)
                    if effect is not None:
                        self._run(effect)
            decoder.finish()
        except ProtocolError as error:
            self.outbox.reply(encode_frame(NoticeFrame(notice=ProtocolFailure(error=error.body))))
        finally:
            self.outbox.close()

    def _run(self, effect: Awaitable[None]) -> None:
        async def run() -> None:
            await effect

        task = asyncio.create_task(run(), name="felan-request")
        self._effects.add(task)
        task.add_done_callback(self._effects.discard)

    async def _write(self) -> None:
        try:
            await self.outbox.run()
        except Exception:
            pass
        finally:
            await self._link.close()
            self._on_end(self)

    def resync(self, session: str, reason: str) -> None:
        """Tell the client that it is detached from ``session`` and has to attach anew."""
        self.outbox.forget(session)
        self.attached.discard(session)
        notice = ResyncRequired(session=session, reason=reason)
        self.outbox.reply(encode_frame(NoticeFrame(session=session, notice=notice)))

    def _overflowed(self, session: str) -> None:
        self.attached.discard(session)
        self._on_overflow(self, session)
