"""What waits to be sent on one connection: bounded, ordered, never losing a reply (session protocol §7).

A connection that falls behind loses the queued events and text of the session that would pass the bound; it
is told ``resync_required`` once and counts as detached from it. It is closed only when it takes nothing for
10 s.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from felan_core.protocol.base import LIMITS
from felan_core.protocol.envelopes import NoticeFrame, ResyncRequired
from felan_core.protocol.framing import encode_frame

STALL_SECONDS: Final = 10.0
_BURST: Final = 256 * 1024


class Outbox:
    """``send`` takes bytes and waits while the peer is full. ``on_overflow`` is told which session was
    dropped.
    """

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        *,
        on_overflow: Callable[[str], None],
        limit: int = LIMITS.unsent_bytes,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._send = send
        self._on_overflow = on_overflow
        self._limit = limit
        self._stall_seconds = stall_seconds
        self._queue: deque[tuple[bytes, str | None]] = deque()
        self._unsent = 0
        self._behind = False
        self._closing = False
        self._ended = False
        self._large = asyncio.Lock()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def unsent(self) -> int:
        """Bytes that were queued and not yet taken."""
        return self._unsent

    @property
    def ended(self) -> bool:
        """Nothing is sent any more: what is queued now goes nowhere."""
        return self._ended

    def reply(self, frame: bytes) -> None:
        """Queue a frame that must not be lost: a reply or a notice."""
        self._push(frame, None)

    def tell(self, frame: bytes, session: str) -> None:
        """Queue an event or text of ``session``, or drop that session from this connection."""
        if self._unsent + len(frame) > self._limit:
            self._overflow(session)
            return
        self._push(frame, session)

    async def room(self, size: int) -> None:
        """Wait until ``size`` more bytes would stay within the bound, or nothing is queued at all."""
        while self._unsent and self._unsent + size > self._limit and not self._ended:
            self._room.clear()
            await self._room.wait()

    @asynccontextmanager
    async def space(self, size: int) -> AsyncGenerator[None]:
        """Room for one large reply, queued inside; the next one waits until it can be counted."""
        async with self._large:
            await self.room(size)
            yield

    def forget(self, session: str) -> None:
        """Drop what is queued of ``session``: it was detached or attached anew."""
        kept = deque(item for item in self._queue if item[1] != session)
        self._unsent -= sum(len(frame) for frame, owner in self._queue if owner == session)
        self._queue = kept

    def close(self) -> None:
        """Send what is queued, then end ``run``."""
        self._closing = True
        self._filled.set()

    async def run(self) -> None:
        """Send until closed. Raises what ``send`` raises, and ``TimeoutError`` for a stalled peer."""
        try:
            await self._run()
        finally:
            self._ended = True
            self._queue.clear()
            self._unsent = 0
            self._room.set()

    async def _run(self) -> None:
        while True:
            while not self._queue:
                if self._closing:
                    return
                self._filled.clear()
                await self._filled.wait()
            burst: list[bytes] = []
            size = 0
            while self._queue and size < _BURST:
                frame, _ = self._queue.popleft()
                burst.append(frame)
                size += len(frame)
            await self._hand_over(b"".join(burst))
            self._unsent -= size
            self._behind = self._behind and self._unsent > self._limit // 2
            self._room.set()

    async def _hand_over(self, data: bytes) -> None:
        sending = asyncio.ensure_future(self._send(data))
        try:
            while True:
                done, _ = await asyncio.wait([sending], timeout=self._stall_seconds)
                if done:
                    return sending.result()
                if self._behind or self._unsent > self._limit:
                    raise TimeoutError("the client takes nothing")
        finally:
            sending.cancel()

    def _push(self, frame: bytes, session: str | None) -> None:
        if self._ended:
            return
        self._queue.append((frame, session))
        self._unsent += len(frame)
        self._filled.set()

    def _overflow(self, session: str) -> None:
        self._behind = True
        self.forget(session)
        notice = ResyncRequired(session=session, reason="this client fell behind")
        self._push(encode_frame(NoticeFrame(session=session, notice=notice)), None)
        self._on_overflow(session)
