"""A transport that dies after some bytes, in the middle of a frame where it comes so."""

from felan_core.client.transport import MemoryTransport, TransportClosed


class CutTransport:
    """A client's end that carries ``out`` bytes to the host and ``back`` from it; then it is cut."""

    def __init__(self, end: MemoryTransport, out: int, back: int) -> None:
        self._end = end
        self._out = out
        self._back = back

    async def send(self, data: bytes) -> None:
        if len(data) > self._out:
            piece, self._out = data[: self._out], 0
            if piece:
                await self._end.send(piece)
            await self._end.close()
            raise TransportClosed
        self._out -= len(data)
        await self._end.send(data)

    async def receive(self) -> bytes:
        data = await self._end.receive()
        if len(data) > self._back:
            piece, self._back = data[: self._back], 0
            await self._end.close()
            return piece
        self._back -= len(data)
        return data

    async def close(self) -> None:
        await self._end.close()
