"""The store: opened once by the host that owns the folder, awaited from its event loop.

Writes go to one thread (``writer``), reads to another with a connection of its own, so that neither waits
for the other nor the loop for either. A read sees every write that was answered before it began.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from felan_core.files.presence import Presence
from felan_core.protocol.entries import Entry
from felan_core.protocol.records import StoredRequestRecord
from felan_core.store import reads
from felan_core.store.batch import Batch, Change
from felan_core.store.errors import StoreClosed, StoreFailure, StoreLost
from felan_core.store.faults import translated, unwritable
from felan_core.store.opening import open_database
from felan_core.store.rows import Commits, Counts, LoadedSession, SessionRecord, UnreadableSession
from felan_core.store.schema import MIGRATIONS, Migration
from felan_core.store.writer import Writer

T = TypeVar("T")
_PURGE_ROWS: Final = 2000
_PURGE: Final = """
DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE retain_until <= ? LIMIT ?)
"""


class Store:
    """One database.

    Every method but ``open`` and ``close`` may raise ``StoreClosed``, ``StoreLost``, ``StoreFailure`` or, for
    damage that it meets, ``StoreBroken``.
    """

    def __init__(
        self, path: Path, write: sqlite3.Connection, read: sqlite3.Connection, presence: Presence
    ) -> None:
        """Use ``Store.open``."""
        self._path = path
        self._presence = presence
        self._loss = ""
        self._writer = Writer(write, path, self.lost)
        self._read = read
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="felan-store-reader")
        self._closed: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, folder: Path, *, clock: Callable[[], int], migrations: Sequence[Migration] = MIGRATIONS
    ) -> "Store":
        """Open ``felan.db`` in ``folder``; both are made where they are not there (0700, 0600).

        The caller owns the folder (``felan_core.daemon.ownership``). ``clock``: milliseconds since the Unix
        epoch, for the names of copies. Raises ``StoreBroken``, ``StoreNewer``, ``StoreUnwritable`` or
        ``StoreFailure``; ``felan_core.store.opening`` says what is left untouched.
        """
        return cls(*await asyncio.to_thread(_opened, folder, migrations, clock))

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._path

    @property
    def commits(self) -> Commits:
        """How many transactions were made so far, and how many of those were synced to the disk."""
        return self._writer.commits

    @property
    def queued(self) -> int:
        """How many writes wait for the transaction after the one that is under way."""
        return self._writer.queued

    async def write(self, batch: Batch) -> None:
        """Apply ``batch`` in one transaction; returns when that is on disk.

        Batches are applied in the order of the calls, and nothing of one that fails (``StoreFailure``,
        ``AlreadyReserved``). Cancelling the call does not take the batch back.
        """
        if len(batch):
            await self._writer.submit(partial(_apply, self._path, batch.changes), durable=batch.durable)

    async def load_session(self, id: str, history_limit: int = 64) -> LoadedSession | None:
        """All that a host needs to bring a session up again; None where there is no such session."""
        return await self._ask(reads.load_session, self._path, id, history_limit)

    async def open_sessions(self) -> list[str]:
        """The ids of what a restart has to look at.

        Sessions that are not closed and have a run, open interactions, running processes or a queue.
        """
        return await self._ask(reads.open_sessions)

    async def history(
        self, session: str, leaf: str, *, before: str = "", last: str = "", limit: int
    ) -> tuple[list[Entry], bool]:
        """A page of the branch that ends with the entry ``leaf``, oldest first; whether there are older ones.

        It ends with the entry ``last``, else before the entry ``before``, else with the leaf. At most
        ``limit`` and at most ``pageBytes`` of JSON, but never none where there is one. Raises
        ``NoSuchEntry`` for each of the three that is not in the session, or is newer than the leaf.
        """
        return await self._ask(reads.history, self._path, session, leaf, before, last, limit)

    async def list_sessions(
        self,
        *,
        after: tuple[int, str] | None = None,
        limit: int,
        cwd: str | None = None,
        query: str | None = None,
        state: str | None = None,
        parent: str | None = None,
    ) -> list[SessionRecord | UnreadableSession]:
        """Sessions, the newest created first and those of one instant by descending id.

        One whose row does not decode is there as what its columns say.

        ``after``: the ``(created_at, id)`` of the last row of the page before. ``query``: a part of the
        name or of the folder, in any case. The other filters compare whole.
        """
        return await self._ask(
            reads.list_sessions,
            self._path,
            after=after,
            limit=limit,
            cwd=cwd,
            query=query,
            state=state,
            parent=parent,
        )

    async def session_exists(self, id: str) -> bool:
        return await self._ask(reads.session_exists, id)

    async def session_record(self, id: str) -> SessionRecord | None:
        return await self._ask(reads.session_record, self._path, id)

    async def request(self, id: str) -> StoredRequestRecord | None:
        """The record of a request, by its normalised id."""
        return await self._ask(reads.request, self._path, id)

    async def request_counts(self, session: str | None) -> tuple[int, int]:
        """How many request records are kept: of ``session`` and of the namespace. O(1)."""
        return await self._ask(reads.request_counts, session)

    async def purge_requests(self, now: int) -> int:
        """Remove the request records that are retained no more (``protocol.is_retained``); how many."""
        removed = 0
        while True:
            # In pieces, so that no write waits behind a week of them.
            some = await self._writer.submit(partial(_purge, now), durable=False)
            removed += some
            if some < _PURGE_ROWS:
                return removed

    async def counts(self) -> Counts:
        """How many sessions, open ones, running processes and request records are stored."""
        return await self._ask(reads.counts)

    async def storage_bytes(self) -> int:
        """What the database takes on the disk, its log included."""
        return await asyncio.to_thread(_size, self._path)

    def lost(self) -> str:
        """Why the data folder is not the one that was opened; "" while it is. Blocks; from any thread.

        Once lost it stays lost: whatever comes to that place later is not what was opened.
        """
        if not self._loss:
            self._loss = self._presence.lost()
        return self._loss

    async def close(self) -> None:
        """Write what was asked for and close. Twice is no error."""
        if self._closed is None:
            self._closed = asyncio.create_task(asyncio.to_thread(self._shut))
        await asyncio.shield(self._closed)

    def _shut(self) -> None:
        self._reader.shutdown(wait=True)
        self._read.close()
        # Last, because the last connection to close folds the log into the database.
        self._writer.close()
        self._presence.close()

    async def _ask(self, read: Callable[..., T], *values: object, **named: object) -> T:
        """Run ``read(connection, …)`` on the reading thread."""
        if self._closed is not None:
            raise StoreClosed(self._path, f"{self._path} was closed.")
        if self._loss:
            raise StoreLost(self._path, self._loss)
        call = partial(read, self._read, *values, **named)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reader, call)
        except sqlite3.Error as error:
            raise translated(self._path, "reading", error) from error


def _opened(
    folder: Path, migrations: Sequence[Migration], clock: Callable[[], int]
) -> tuple[Path, sqlite3.Connection, sqlite3.Connection, Presence]:
    path, write, read = open_database(folder, migrations, clock)
    try:
        return path, write, read, Presence(path.parent, path)
    except OSError as error:
        write.close()
        read.close()
        raise unwritable(path, error) from error


def _apply(path: Path, changes: Sequence[Change], connection: sqlite3.Connection) -> None:
    for statement, values, one_row in changes:
        changed = connection.execute(statement, values).rowcount
        if one_row and changed != 1:
            raise StoreFailure(path, f"{path}: there is no request record {values[-1]!r} to finish.")


def _purge(now: int, connection: sqlite3.Connection) -> int:
    return connection.execute(_PURGE, (now, _PURGE_ROWS)).rowcount


def _size(path: Path) -> int:
    total = 0
    for end in ("", "-wal", "-shm"):
        try:
            total += path.with_name(path.name + end).stat().st_size
        except FileNotFoundError:
            continue
    return total
