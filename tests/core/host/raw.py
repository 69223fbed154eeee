"""A client of bare frames: it sees what is on the wire, in the order in which it came."""

import asyncio
import json
from typing import Any

from felan_core.client.transport import MemoryTransport
from felan_core.protocol import JsonLineDecoder, new_uuid7

HELLO = {
    "v": 1,
    "id": "h",
    "op": "hello",
    "params": {"protocolVersions": [1], "client": {"kind": "x", "name": "raw", "version": "0"}},
}


class Raw:
    """A client of bare frames."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._decoder = JsonLineDecoder()
        self._frames: list[Any] = []

    async def send(self, *frames: Any) -> None:
        await self._transport.send(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    async def send_bytes(self, data: bytes) -> None:
        await self._transport.send(data)

    async def frame(self) -> Any:
        """The next frame; None when the host closed the connection."""
        async with asyncio.timeout(10):
            while not self._frames:
                data = await self._transport.receive()
                if not data:
                    return None
                self._frames.extend(self._decoder.push(data))
        return self._frames.pop(0)

    async def ask(self, frame: Any) -> Any:
        await self.send(frame)
        while (answer := await self.frame()) is not None:
            if answer.get("re") == frame["id"]:
                return answer
        return None

    async def request(self, op: str, params: Any, session: str | None = None, id: str | None = None) -> Any:
        """The reply to one request."""
        frame: dict[str, Any] = {"v": 1, "id": id or new_uuid7(), "op": op, "params": params}
        if session is not None:
            frame["session"] = session
        return await self.ask(frame)
