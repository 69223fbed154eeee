"""The composition root: a whole host in this process, and a client's end of it. The only module of the
screen's side that knows the host's insides.
"""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Self

import felan_core
from felan_core.daemon.ownership import Held, Ownership, OwnershipError, acquire
from felan_tui.cli import exits
from felan_tui.session.errors import HostUnavailable
from felan_tui.text.spans import ago

if TYPE_CHECKING:
    from felan_core import embedding
    from felan_core.client.transport import Transport


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def scenarios() -> list[str]:
    """The names of the rehearsals that come with Felan, by their files: nothing is loaded for it."""
    folder = Path(felan_core.__file__).parent / "agents" / "rehearsal" / "scenarios"
    return sorted(path.stem for path in folder.glob("*.toml"))


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the host keeps its things; all private."""

    data: Path

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
    advice = "Continue there, or choose another folder with --data-dir."
    if holder is None:
        return f"Another felan uses {folder}; its process is unknown. {advice}"
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(holder.since / 1000))
    terminal = "".join(char if char.isprintable() else "?" for char in holder.terminal)
    return (
        f"Another felan (process {holder.pid}) uses {folder}\n"
        f"since {since} ({ago((now - holder.since) / 1000)}) on {terminal}.\n{advice}"
    )


class EmbeddedHost:
    """The host of the screen. It lives as long as this object is open."""

    def __init__(self, host: "embedding.EmbeddedHost") -> None:
        self._host = host

    @classmethod
    async def open(
        cls, folders: Folders, owner: Ownership, refused: Callable[[str], None] | None = None
    ) -> Self:
        """Open a host for the owner of the data folder, who loses it when this fails.

        ``refused`` is called with a sentence for people each time that something could not be stored behind
        nobody's request: the end of a turn, say. No event can say it.
        What a host is made of is imported here, after the screen's first paint. Raises ``HostUnavailable``.
        """
        await asyncio.to_thread(_load)
        from felan_core.embedding import EmbeddedHost, log
        from felan_core.store.errors import StoreBroken, StoreError, StoreLost, StoreNewer

        def report(error: BaseException, where: str) -> None:
            log(error, where)
            # A lost folder ends the connection, which says so; nothing is tried again.
            if refused is not None and isinstance(error, StoreError) and not isinstance(error, StoreLost):
                refused(str(error))

        try:
            host = await EmbeddedHost.open(folders.data, owner, report=report, pointers=folders.pointers)
        except StoreError as error:
            untouched = isinstance(error, StoreBroken | StoreNewer)
            raise HostUnavailable(exits.STORE if untouched else exits.UNWRITABLE, str(error)) from error
        return cls(host)

    def connect(self) -> "Transport":
        """A client's end of a new connection, with the principal of this process's user."""
        return self._host.transport()

    async def close(self) -> None:
        """End in good order: turns, questions, agents, processes, store, ownership."""
        await self._host.close()


def _load() -> None:
    """Import what a host is made of; in a thread, so that the screen lives meanwhile."""
    for name in ("felan_core.embedding", "felan_core.agents.rehearsal.backend"):
        import_module(name)
