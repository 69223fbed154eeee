"""A host that a test plays frame by frame."""

import asyncio
from typing import Any

import msgspec

from felan_core.client.host_client import HostClient
from felan_core.client.transport import MemoryTransport, memory_pair
from felan_core.protocol import JsonLineDecoder, encode_frame
from felan_core.protocol import operations as op
from felan_core.protocol.session import (
    AgentInfo,
    Branch,
    Catalogue,
    History,
    Policy,
    Queue,
    SessionHeader,
    SessionSnapshot,
)

HELLO = op.HelloResult(
    protocol_version=1,
    host=op.HostInfo(namespace="n", instance="i", root="/", version="0", lifecycle="running"),
    operations=["attach"],
    interactions=[],
    capabilities=op.Capabilities(ui=[], features=[]),
    principal=op.Principal(id="p", kind="local"),
    limits=op.HelloLimits(
        frame_bytes=1,
        unsent_bytes=1,
        in_flight_requests=1,
        page_entries=1,
        page_bytes=1,
        process_read_bytes=1,
        process_write_bytes=1,
        heartbeat_ms=1,
    ),
)


def snapshot(revision: int = 1, **more: Any) -> SessionSnapshot:
    header = SessionHeader(
        state="idle", cwd="/", agent=AgentInfo(kind="x", name="x", state="none", memory=True)
    )
    members: dict[str, Any] = {
        "session": "s",
        "root": "s",
        "revision": revision,
        "created_at": 1,
        "header": header,
        "branch": Branch(),
        "history": History(entries=[]),
        "queue": Queue(items=[], held=False),
        "catalogue": Catalogue(operations=[], commands=[], tools=[], models=[]),
        "policy": Policy(name="default"),
        **{name: [] for name in ("tools", "interactions", "children", "processes", "presentation")},
        "streams": [],
        "completion_only_streams": [],
        **more,
    }
    return SessionSnapshot(**members)


def event(revision: int, name: str = "x") -> dict[str, Any]:
    header = msgspec.to_builtins(snapshot().header)
    told = {"type": "session.updated", "header": {**header, "name": name}}
    return {"v": 1, "session": "s", "revision": revision, "at": 1, "event": told}


def text(
    offset: int, piece: str, message: str = "m", stream: str = "s0", kind: str = "assistant"
) -> dict[str, Any]:
    where = {"message": message, "id": stream, "kind": kind, "offset": offset}
    return {"v": 1, "session": "s", "stream": where, "text": piece}


def resync(session: str = "s") -> dict[str, Any]:
    notice = {"type": "resync_required", "session": session, "reason": "behind"}
    return {"v": 1, "session": session, "notice": notice}


class Scripted:
    """The other end of a ``HostClient``."""

    def __init__(self, **client: Any) -> None:
        end, self._end = memory_pair()
        self.client = HostClient(end, op.ClientInfo(kind="headless", name="t", version="0"), **client)
        self._decoder = JsonLineDecoder()
        self._asked: list[dict[str, Any]] = []

    @property
    def end(self) -> MemoryTransport:
        return self._end

    async def start(self) -> None:
        connecting = asyncio.create_task(self.client.connect())
        await self.accept(await self.asked("hello"), HELLO)
        await connecting

    async def asked(self, name: str) -> dict[str, Any]:
        """The next request, which must be ``name``."""
        async with asyncio.timeout(5):
            while not self._asked:
                self._asked.extend(self._decoder.push(await self._end.receive()))
        request = self._asked.pop(0)
        assert request["op"] == name, request
        return request

    async def nothing_asked(self) -> bool:
        await asyncio.sleep(0.02)
        async with asyncio.timeout(5):
            probe = asyncio.create_task(self.client.host_status())
            request = await self.asked("host.status")
            await self.refuse(request, "unavailable")
            await asyncio.gather(probe, return_exceptions=True)
        return not self._asked

    async def send(self, *frames: Any) -> None:
        await self._end.send(b"".join(encode_frame(frame) for frame in frames))

    @staticmethod
    def accepted(request: dict[str, Any], result: Any) -> dict[str, Any]:
        result = msgspec.to_builtins(result)
        return {"v": 1, "re": request["id"], "outcome": "accepted", "result": result}

    async def accept(self, request: dict[str, Any], result: Any) -> None:
        await self.send(self.accepted(request, result))

    async def refuse(self, request: dict[str, Any], code: str) -> None:
        error: dict[str, Any] = {"code": code, "message": code}
        if code == "retryable":
            error |= {"code": "brand_new", "retryable": True}
        await self.send({"v": 1, "re": request["id"], "outcome": "rejected", "error": error})

    async def attach(self, first: SessionSnapshot | None = None, **how: Any) -> Any:
        attaching = asyncio.create_task(self.client.attach("s", **how))
        await self.accept(await self.asked("attach"), op.AttachResult(snapshot=first or snapshot()))
        return await attaching
