"""Puts a host together from a folder and its limits: store, processes, pointers, agents, and their end.

Whoever runs a host (an app, a script, a daemon, a test) owns the folder and calls ``open_assembly``; what it
opened is closed in the reverse order, also when the opening fails in the middle.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from felan_core.agents.backend import BackendFactory
from felan_core.host.connection import Connection, Link
from felan_core.host.host import Host
from felan_core.host.limits import HostLimits
from felan_core.host.services import Services
from felan_core.pointer.install.scripts import publisher
from felan_core.pointer.places import scripts_folder
from felan_core.pointer.store import PointerStore
from felan_core.processes.records import ProcessRecord
from felan_core.processes.table import ProcessTable
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.operations import Principal
from felan_core.store.store import Store

Report = Callable[[BaseException, str], None]
"""Takes a fault of the host and where it happened."""


def _rehearsal() -> BackendFactory:
    from felan_core.agents.rehearsal.backend import create

    return create


def _acp() -> BackendFactory:
    from felan_core.agents.acp.backend import create

    return create


AGENTS: Final[Mapping[str, Callable[[], BackendFactory]]] = {"rehearsal": _rehearsal, "acp": _acp}
"""The backends that come with Felan; each is imported when a session first needs it."""


class Assembly:
    """A host that runs, and what it stands on. ``close`` ends all of it."""

    def __init__(self, host: Host, services: Services, stack: AsyncExitStack) -> None:
        """Use ``open_assembly``."""
        self.host = host
        self.services = services
        self._stack = stack
        self._closing: asyncio.Task[None] | None = None

    def serve(self, link: Link, principal: Principal) -> Connection:
        """Serve one client over ``link``. ``principal``: who the transport says that it is."""
        return self.host.serve(link, principal)

    async def close(self) -> None:
        """End in good order: turns, questions, agents, processes, store. Twice is no error.

        It goes on to its end when the caller is cancelled, who gets the cancellation then.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._stack.aclose(), name="felan-assembly-close")
        await to_the_end(self._closing)


async def open_assembly(
    folder: Path,
    *,
    clock: Callable[[], int],
    report: Report,
    lost: Callable[[], str] = lambda: "",
    limits: HostLimits | None = None,
    pointers: Path | None = None,
    agents: Mapping[str, Callable[[], BackendFactory]] = AGENTS,
    default_agent: str = "rehearsal",
    namespace: str = "production",
    publisher_line: str | None = None,
    open_store: Callable[..., Awaitable[Store]] = Store.open,
) -> Assembly:
    """Open the store of ``folder`` and start a host on it. The caller owns the folder.

    ``clock``: milliseconds since the Unix epoch. ``lost``: why the caller does not own the folder any more,
    "" while it does; it blocks. ``pointers``: the state root of the task pointers, by default in the folder.
    ``publisher_line``: the shell line that publishes a task pointer, by default the folder's own.
    Raises ``StoreError``; then nothing is left open.
    """
    root = pointers or folder / "task-pointers" / "v3"
    line = publisher(scripts_folder(str(folder)), str(root)) if publisher_line is None else publisher_line
    hosts: list[Host] = []

    def changed(record: ProcessRecord) -> None:
        for host in hosts:
            host.process_changed(record)

    async with AsyncExitStack() as stack:
        store = await open_store(folder, clock=clock)
        stack.push_async_callback(store.close)
        processes = ProcessTable(folder / "processes", clock=clock, on_change=changed)
        stack.push_async_callback(processes.close)
        services = Services(
            store=store,
            processes=processes,
            pointers=PointerStore(str(root)),
            agents=agents,
            default_agent=default_agent,
            publisher=line,
            clock=clock,
            new_id=new_uuid7,
            report=report,
            lost=lambda: store.lost() or lost(),
            limits=limits or HostLimits(),
        )
        stack.callback(services.pointer_threads.shutdown, wait=False, cancel_futures=True)
        host = Host(services, namespace=namespace, root=str(folder))
        hosts.append(host)
        stack.push_async_callback(host.close)
        await host.start()
        return Assembly(host, services, stack.pop_all())


async def to_the_end(task: "asyncio.Task[None]") -> None:
    """Wait for ``task`` also when the caller is cancelled meanwhile, who is cancelled after it."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
