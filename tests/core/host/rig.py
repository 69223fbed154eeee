"""A whole host on a folder, with real store, processes and pointers, and an agent that a test plays by
hand.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from felan_core.agents.backend import (
    Abilities,
    AgentError,
    Backend,
    Deferred,
    Message,
    Session,
    Turn,
    TurnOutcome,
)
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.client.transport import MemoryTransport, Transport, memory_pair
from felan_core.host.assembly import Assembly, open_assembly
from felan_core.host.connection import Connection
from felan_core.host.limits import HostLimits
from felan_core.host.session import LiveSession
from felan_core.protocol import operations as op
from felan_core.protocol.base import JsonObject
from felan_core.store.store import Store

Script = Callable[["Puppet", Turn], Awaitable[TurnOutcome]]

REFUSALS = {
    "busy",
    "unavailable",
    "forbidden",
    "not_found",
    "stale_request",
    "already_resolved",
    "invalid_request",
    "expired",
}
"""What a host may answer when anybody asks for anything."""


@dataclass
class Clock:
    """Time that a test moves."""

    now: int = 1_800_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


class Puppet:
    """A backend whose turns a test writes. ``scripts`` are taken one a turn; without one a turn ends at
    once.
    """

    kind = "puppet"
    name = "Puppet"

    def __init__(self, session: Session, settings: JsonObject, stage: "Stagehand") -> None:
        self.session = session
        self.settings = settings
        self.abilities = stage.abilities
        self._stage = stage
        self._cancelled = asyncio.Event()
        stage.puppets.append(self)

    async def start(self, memory: JsonObject | None) -> bool:
        self._stage.memories.append(memory)
        if self._stage.start_error is not None:
            raise self._stage.start_error
        return self._stage.remembers

    async def turn(self, turn: Turn) -> TurnOutcome:
        self._stage.turns.append(turn)
        self._cancelled.clear()
        script = self._stage.scripts.pop(0) if self._stage.scripts else None
        return "completed" if script is None else await script(self, turn)

    async def resume(self, run: str, deferred: Deferred) -> TurnOutcome:
        self._stage.resumed.append(deferred)
        return "completed"

    async def steer(self, message: Message) -> None:
        self._stage.steered.append(message.text)
        self._stage.steered_with.append(message)

    async def cancel(self) -> None:
        self._cancelled.set()

    async def act(self, element: str, action: str, item: str | None, values: JsonObject) -> None:
        if action == "refuse":
            raise AgentError("the agent does not want to")
        self._stage.acts.append((element, action, item, values))

    async def close(self) -> None:
        self._stage.closed += 1

    async def until_cancelled(self) -> TurnOutcome:
        """Wait as a turn does that only ``cancel`` ends."""
        await self._cancelled.wait()
        return "cancelled"


@dataclass
class Stagehand:
    """What the puppets of one test share."""

    scripts: list[Script] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    resumed: list[Deferred] = field(default_factory=list)
    steered: list[str] = field(default_factory=list)
    steered_with: list[Message] = field(default_factory=list)
    acts: list[tuple[str, str, str | None, JsonObject]] = field(default_factory=list)
    memories: list[JsonObject | None] = field(default_factory=list)
    puppets: list[Puppet] = field(default_factory=list)
    abilities: Abilities = field(default_factory=lambda: Abilities(steer=True, deferrable=True))
    remembers: bool = True
    start_error: AgentError | None = None
    closed: int = 0
    publisher: str = ""

    def create(self, session: Session, settings: JsonObject) -> Backend:
        return Puppet(session, settings, self)


class Rig:
    """One host, opened on ``folder``. ``faults`` collects what the host reported as its own."""

    def __init__(self, folder: Path, assembly: Assembly, faults: list[str]) -> None:
        self.folder = folder
        self.assembly = assembly
        self.store = assembly.services.store
        self.processes = assembly.services.processes
        self.host = assembly.host
        self.faults = faults
        self.connections: list[Connection] = []
        self._clients: list[HostClient] = []
        self._raw: list[MemoryTransport] = []

    async def client(
        self,
        *,
        through: Callable[[MemoryTransport], Transport] = lambda end: end,
        serve: dict[str, Any] | None = None,
        **hello: Any,
    ) -> HostClient:
        """A client that has said hello; kind ``headless``, so that no agent is started by attaching.

        ``through``: what stands between it and its end of the connection. ``serve``: the bounds it is given.
        """
        ours, end = memory_pair()
        self.connections.append(self._serve(ours, serve or {}))
        theirs = through(end)
        client = HostClient(theirs, op.ClientInfo(kind="headless", name="test", version="0"), **hello)
        await client.connect()
        self._clients.append(client)
        return client

    def raw(self, **serve: Any) -> MemoryTransport:
        """A connection of bare bytes."""
        ours, theirs = memory_pair()
        self.connections.append(self._serve(ours, serve))
        self._raw.append(theirs)
        return theirs

    def _serve(self, link: MemoryTransport, bounds: dict[str, Any]) -> Connection:
        limits = replace(self.assembly.services.limits, **bounds)
        return self.host.serve(link, op.Principal(id="uid:1", kind="local"), limits=limits)

    async def session(self, client: HostClient, cwd: Path) -> SessionReplica:
        """A new session, attached."""
        created = await client.sessions_create(op.CreateParams(cwd=str(cwd)))
        return await client.attach(created.session)

    def live(self, session: str) -> LiveSession:
        """The session in the host, which has it loaded."""
        live = self.host.sessions.get(session)
        assert live is not None
        return live

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        for end in self._raw:
            await end.close()  # one that does not read would hold the end up for as long as a host allows
        await self.assembly.close()

    async def kill(self) -> None:
        """End without a word, as far as one process can: nothing is told, stored or interrupted."""
        await self.store.close()
        await self.processes.close(grace_ms=0)
        current = asyncio.current_task()
        ours = [
            task
            for task in asyncio.all_tasks()
            if task is not current and task.get_name().startswith("felan-")
        ]
        for task in ours:
            task.cancel()
        if ours:
            await asyncio.wait(ours, timeout=2)


@asynccontextmanager
async def rig(folder: Path, hand: Stagehand, clock: Callable[[], int] | None = None) -> AsyncIterator[Rig]:
    """A host on ``folder``; closed in good order unless it was killed."""
    opened = await open_rig(folder, hand, clock or Clock())
    try:
        yield opened
    finally:
        await opened.close()


async def open_rig(
    folder: Path,
    hand: Stagehand,
    clock: Callable[[], int],
    *,
    kind: type[Store] = Store,
    limits: HostLimits | None = None,
) -> Rig:
    """A host on ``folder`` that the test closes or kills itself. ``kind``: a store that misbehaves."""
    faults: list[str] = []
    assembly = await open_assembly(
        folder,
        clock=clock,
        report=lambda error, where: faults.append(f"{where}: {error!r}"),
        limits=limits,
        pointers=folder / "pointers",
        agents={"puppet": lambda: hand.create},
        default_agent="puppet",
        namespace="test",
        publisher_line=hand.publisher,
        open_store=kind.open,
    )
    return Rig(folder, assembly, faults)


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until ``condition`` holds; the frames that it waits for run in between."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)
