"""The composition root: a whole host in this process, and a client's end of it. The only module of the
screen's side that knows the host's insides.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import felan_core
from felan_core.daemon.ownership import Held, Ownership, OwnershipError, acquire
from felan_tui.cli import exits
from felan_tui.session.errors import HostUnavailable

if TYPE_CHECKING:
    from felan_core.agents.backend import BackendFactory
    from felan_core.client.transport import Transport
    from felan_core.host.host import Host
    from felan_core.processes.records import ProcessRecord
    from felan_core.processes.table import ProcessTable
    from felan_core.store.store import Store

LOG = logging.getLogger("felan.host")


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def _rehearsal() -> "BackendFactory":
    from felan_core.agents.rehearsal.backend import create

    return create


def _acp() -> "BackendFactory":
    from felan_core.agents.acp.backend import create

    return create


def _load() -> None:
    """Import what a host is made of; in a thread, so that the screen lives meanwhile."""
    from felan_core.agents.rehearsal import backend
    from felan_core.host import host
    from felan_core.pointer import store as pointers
    from felan_core.processes import table
    from felan_core.store import store

    del backend, host, pointers, table, store


AGENTS: "dict[str, Callable[[], BackendFactory]]" = {"rehearsal": _rehearsal, "acp": _acp}


def scenarios() -> list[str]:
    """The names of the rehearsals that come with Felan, by their files: nothing is loaded for it."""
    folder = Path(felan_core.__file__).parent / "agents" / "rehearsal" / "scenarios"
    return sorted(path.stem for path in folder.glob("*.toml"))


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the host keeps its things; all private."""

    data: Path

    @property
    def processes(self) -> Path:
        return self.data / "processes"

    @property
    def log(self) -> Path:
        return self.data / "felan.log"

    @property
    def pointers(self) -> Path:
        named = os.environ.get("FELAN_POINTER_ROOT")
        return Path(named) if named else self.data / "task-pointers" / "v3"


def claim(folders: Folders, *, terminal: str) -> Ownership:
    """Take the data folder, before the database is touched. Raises ``HostUnavailable`` (who holds it, why
    not).
    """
    try:
        return acquire(folders.data, terminal=terminal, clock=now_ms)
    except Held as error:
        raise HostUnavailable(exits.HELD, held_message(error, now_ms())) from error
    except OwnershipError as error:
        raise HostUnavailable(exits.UNWRITABLE, str(error)) from error


def held_message(error: Held, now: int) -> str:
    """Who has the data folder, since when, and where."""
    holder, folder = error.holder, error.path.parent
    advice = "Go on there, or take another folder with --data-dir."
    if holder is None:
        return f"Another felan has {folder}; it does not say which. {advice}"
    minutes = max(0, now - holder.since) // 60_000
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(holder.since / 1000))
    terminal = "".join(char if char.isprintable() else "?" for char in holder.terminal)
    return (
        f"Another felan (process {holder.pid}) has {folder}\n"
        f"since {since} ({minutes} min ago) on {terminal}.\n{advice}"
    )


def publisher_line(folders: Folders) -> str:
    """The shell line with which an agent publishes its task pointer: one executable in the data folder."""
    from felan_core.pointer.install.scripts import publisher
    from felan_core.pointer.places import scripts_folder

    return publisher(scripts_folder(str(folders.data)), str(folders.pointers))


class EmbeddedHost:
    """A host that lives as long as this object is open. Another one on the same data is refused
    (``Held``).
    """

    def __init__(self, host: "Host", store: "Store", processes: "ProcessTable", owner: Ownership) -> None:
        self._host = host
        self._store = store
        self._processes = processes
        self._owner = owner

    @classmethod
    async def open(
        cls, folders: Folders, owner: Ownership, refused: Callable[[str], None] | None = None
    ) -> Self:
        """Open the store and bring the host up, for the owner of the data folder.

        ``refused`` is told, in words for people, each time that something could not be stored behind
        nobody's request: the end of a turn, say. What could not be stored, no event can tell.
        What a host is made of is imported here, after the screen's first paint. When this fails, the folder
        is given free. Raises ``HostUnavailable``.
        """
        await asyncio.to_thread(_load)
        from felan_core.host.host import Host
        from felan_core.host.services import Services
        from felan_core.pointer.store import PointerStore
        from felan_core.processes.table import ProcessTable
        from felan_core.protocol.ids import new_uuid7
        from felan_core.store.errors import StoreBroken, StoreError, StoreLost, StoreNewer
        from felan_core.store.store import Store

        try:
            store = await Store.open(folders.data, clock=now_ms)
        except StoreError as error:
            owner.release()
            untouched = isinstance(error, StoreBroken | StoreNewer)
            raise HostUnavailable(exits.STORE if untouched else exits.UNWRITABLE, str(error)) from error
        hosts: list[Host] = []

        def fault(error: BaseException, where: str) -> None:
            report(error, where)
            # A lost folder ends the connection, which says so; nothing is tried again.
            if refused is not None and isinstance(error, StoreError) and not isinstance(error, StoreLost):
                refused(str(error))

        def changed(record: "ProcessRecord") -> None:
            for host in hosts:
                host.process_changed(record)

        processes = ProcessTable(folders.processes, clock=now_ms, on_change=changed)
        services = Services(
            store=store,
            processes=processes,
            pointers=PointerStore(str(folders.pointers)),
            agents=AGENTS,
            default_agent="rehearsal",
            publisher=publisher_line(folders),
            clock=now_ms,
            new_id=new_uuid7,
            report=fault,
            lost=lambda: store.lost() or owner.lost(),
        )
        host = Host(services, namespace="production", root=str(folders.data))
        hosts.append(host)
        try:
            await host.start()
        except BaseException:
            await store.close()
            owner.release()
            raise
        return cls(host, store, processes, owner)

    def connect(self) -> "Transport":
        """A client's end of a new connection, with the principal of this process's user."""
        from felan_core.client.transport import memory_pair
        from felan_core.protocol.operations import Principal

        ours, theirs = memory_pair()
        self._host.serve(ours, Principal(id=f"uid:{os.getuid()}", kind="local"))
        return theirs

    async def close(self) -> None:
        """End in good order: turns, questions, agents, processes, store, ownership."""
        try:
            await self._host.close()
            await self._processes.close()
        finally:
            await self._store.close()
            self._owner.release()


def report(error: BaseException, where: str) -> None:
    """Put a fault of ours into the log; the message alone goes to people."""
    LOG.error("%s: %r", where, error, exc_info=error)
