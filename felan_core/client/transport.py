"""What frames travel over. In memory here: the same bytes as a socket would carry, in one process.

A transport carries bytes and knows no frames. Sending waits while the peer has more unread than ``WINDOW``,
so a peer that does not read holds its sender up, as a socket does.
"""

import asyncio
from collections import deque
from typing import Final, Protocol

WINDOW: Final = 256 * 1024
"""Unread bytes past which a sender waits."""


class TransportClosed(Exception):
    """The other side is gone, or this side closed."""


class Transport(Protocol):
    """One end of a connection."""

    async def send(self, data: bytes) -> None:
        """Hand ``data`` to the peer. Raises ``TransportClosed``."""
        ...

    async def receive(self) -> bytes:
        """The next bytes; ``b""`` when the peer is gone and all was read."""
        ...

    async def close(self) -> None:
        """End both directions. Never raises."""
        ...


class _Pipe:
    """One direction: chunks in the order they were sent."""

    def __init__(self) -> None:
        self.chunks: deque[bytes] = deque()
        self.unread = 0
        self.closed = False
        self.changed = asyncio.Condition()

    async def put(self, data: bytes) -> None:
        async with self.changed:
            while self.unread > WINDOW and not self.closed:
                await self.changed.wait()
            if self.closed:
                raise TransportClosed
            self.chunks.append(data)
            self.unread += len(data)
            self.changed.notify_all()

    async def take(self) -> bytes:
        async with self.changed:
            while not self.chunks and not self.closed:
                await self.changed.wait()
            data = b"".join(self.chunks)
            self.chunks.clear()
            self.unread = 0
            self.changed.notify_all()
            return data

    async def close(self) -> None:
        async with self.changed:
            self.closed = True
            self.changed.notify_all()


class MemoryTransport:
    """One end of a pair made by ``memory_pair``."""

    def __init__(self, outgoing: _Pipe, incoming: _Pipe) -> None:
        self._outgoing = outgoing
        self._incoming = incoming

    async def send(self, data: bytes) -> None:
        await self._outgoing.put(data)

    async def receive(self) -> bytes:
        return await self._incoming.take()

    async def close(self) -> None:
        await self._outgoing.close()
        await self._incoming.close()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two ends of one connection inside this process."""
    one, other = _Pipe(), _Pipe()
    return MemoryTransport(one, other), MemoryTransport(other, one)
