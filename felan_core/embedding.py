"""A host inside another program, opened on a folder for as long as a block runs (docs/embedding.md)."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Self

from felan_core import __version__
from felan_core.client.host_client import HostClient
from felan_core.client.transport import Transport, memory_pair
from felan_core.daemon.ownership import Ownership, acquire
from felan_core.host.assembly import Assembly, Report, open_assembly
from felan_core.host.limits import HostLimits
from felan_core.protocol.operations import ClientInfo, Principal

LOG: Final = logging.getLogger("felan.host")


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def log(error: BaseException, where: str) -> None:
    """Put a fault of the host into the log."""
    LOG.error("%s: %r", where, error, exc_info=error)


class EmbeddedHost:
    """A host in this process, on a folder that this process owns. Use ``open_host``."""

    def __init__(self, assembly: Assembly, owner: Ownership) -> None:
        self._assembly = assembly
        self._owner = owner
        self._clients: list[HostClient] = []

    @classmethod
    async def open(
        cls,
        folder: Path,
        owner: Ownership,
        *,
        report: Report = log,
        limits: HostLimits | None = None,
        pointers: Path | None = None,
        clock: Callable[[], int] = now_ms,
    ) -> Self:
        """Start a host on ``folder``. ``owner`` is released when that fails, and at ``close``.

        Raises ``StoreError`` where the database cannot be opened.
        """
        try:
            assembly = await open_assembly(
                folder, clock=clock, report=report, lost=owner.lost, limits=limits, pointers=pointers
            )
        except BaseException:
            owner.release()
            raise
        return cls(assembly, owner)

    def transport(self) -> Transport:
        """A client's end of a new connection, with the principal of this process's user."""
        ours, theirs = memory_pair()
        self._assembly.serve(ours, Principal(id=f"uid:{os.getuid()}", kind="local"))
        return theirs

    async def connect(self, name: str = "embedded") -> HostClient:
        """A client that has said hello, closed with the host. ``name`` stands beside what it starts."""
        client = HostClient(self.transport(), ClientInfo(kind="headless", name=name, version=__version__))
        self._clients.append(client)
        await client.connect()
        return client

    async def close(self) -> None:
        """End in good order: clients, turns, questions, agents, processes, store, ownership."""
        async with AsyncExitStack() as stack:
            stack.callback(self._owner.release)
            stack.push_async_callback(self._assembly.close)
            for client in self._clients:
                stack.push_async_callback(client.close)


async def _acquired(folder: Path, clock: Callable[[], int]) -> Ownership:
    """Own ``folder``. A lock that comes after the caller was cancelled is released at once."""
    acquiring = asyncio.ensure_future(
        asyncio.to_thread(acquire, folder, terminal="an embedded host", clock=clock)
    )
    try:
        return await asyncio.shield(acquiring)
    except asyncio.CancelledError:
        acquiring.add_done_callback(_released)
        raise


def _released(acquiring: "asyncio.Future[Ownership]") -> None:
    if not acquiring.cancelled() and acquiring.exception() is None:
        acquiring.result().release()


@asynccontextmanager
async def open_host(
    folder: str | Path,
    *,
    limits: HostLimits | None = None,
    report: Report = log,
    clock: Callable[[], int] = now_ms,
) -> AsyncGenerator[EmbeddedHost]:
    """A host on ``folder`` (made with 0700 where it is not there) for as long as the block runs.

    Clients, agents, processes, database and lock are ended when the block is left, also by an exception or a
    cancellation. Raises ``OwnershipError`` (``Held`` where another process has the folder) or ``StoreError``.
    """
    owner = await _acquired(Path(folder), clock)
    host = await EmbeddedHost.open(owner.path.parent, owner, report=report, limits=limits, clock=clock)
    try:
        yield host
    finally:
        await host.close()
