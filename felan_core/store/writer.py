"""The one thread that writes: what was asked for while it commits goes into its next transaction together.

A group is FULL (synced to the disk) when any job in it is durable, otherwise NORMAL: it survives the death
of the process, and the next FULL one syncs it too. When a group fails it is rolled back, and each of its
jobs is tried by itself, so that one that cannot be applied does not take the others with it.
"""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from felan_core.store.errors import StoreClosed, StoreError, StoreFailure, StoreLost
from felan_core.store.faults import translated
from felan_core.store.rows import Commits

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
GROUP: Final = 512
"""At most so many jobs a transaction, so that the first of them does not wait for ever."""


class _Job:
    __slots__ = ("durable", "error", "future", "result", "work")

    def __init__(self, work: Work[Any], durable: bool, future: "asyncio.Future[Any]") -> None:
        self.work = work
        self.durable = durable
        self.future = future
        self.result: Any = None
        self.error: Exception | None = None

    def settle(self) -> None:
        """Tell the caller, on its loop. One that was cancelled is not told; the job was done all the same."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Owns the writing connection. Made and used on one event loop; works on a thread of its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path, lost: Callable[[], str]) -> None:
        """``lost``: why nothing that is written is kept any more; "" while it is. Called on the thread."""
        self._connection = connection
        self._path = path
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._wake = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._closing = False
        self._full: bool = False
        self._commits = Commits(0, 0)
        # A daemon thread: a program that ends without closing its store ends, and SQLite survives that.
        self._thread = threading.Thread(target=self._run, name="felan-store-writer", daemon=True)
        self._thread.start()

    @property
    def commits(self) -> Commits:
        return self._commits

    @property
    def queued(self) -> int:
        return len(self._jobs)

    def submit(self, work: Work[T], *, durable: bool) -> "asyncio.Future[T]":
        """Queue ``work`` for the next transaction. The future is done when that is on disk, or failed."""
        future: asyncio.Future[T] = self._loop.create_future()
        with self._wake:
            if self._closing:
                raise StoreClosed(self._path, f"{self._path} was closed.")
            self._jobs.append(_Job(work, durable, future))
            self._wake.notify()
        return future

    def close(self) -> None:
        """Write what was asked for, then close the connection. Blocks; call it from another thread."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._next():
            self._commit(jobs)
            try:
                self._loop.call_soon_threadsafe(_settle, jobs)
            except RuntimeError:
                continue  # the loop is gone, and with it whoever waited
        self._connection.close()

    def _next(self) -> list[_Job]:
        """The jobs of the next transaction; none when the writer was closed and all is written."""
        with self._wake:
            while not self._jobs and not self._closing:
                self._wake.wait()
            return [self._jobs.popleft() for _ in range(min(GROUP, len(self._jobs)))]

    def _commit(self, jobs: list[_Job]) -> None:
        if self._is_lost(jobs):
            return
        try:
            self._transaction(jobs)
        except _NoTransaction as error:
            for job in jobs:
                job.error = self._failure(error.reason)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].error = self._failure(error)
                return
            for job in jobs:
                self._commit([job])
        else:
            # A folder that went away meanwhile took the transaction with it.
            self._is_lost(jobs)

    def _is_lost(self, jobs: list[_Job]) -> bool:
        """Refuse ``jobs`` where the folder is not there any more."""
        if why := self._lost():
            for job in jobs:
                job.error = StoreLost(self._path, why)
        return bool(why)

    def _transaction(self, jobs: list[_Job]) -> None:
        connection = self._connection
        durable = any(job.durable for job in jobs)
        try:
            if connection.in_transaction:  # an earlier rollback failed, with the disk gone or full
                connection.execute("ROLLBACK")
            if durable is not self._full:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._full = durable
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _NoTransaction(error) from error
        try:
            for job in jobs:
                job.result = job.work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        total, synced = self._commits
        self._commits = Commits(total + 1, synced + durable)

    def _failure(self, error: Exception) -> Exception:
        if isinstance(error, StoreError):
            return error
        if isinstance(error, sqlite3.Error):
            failure = translated(self._path, "writing", error)
        else:
            failure = StoreFailure(self._path, f"{self._path}: writing failed ({error!r}).")
        failure.__cause__ = error
        return failure


class _NoTransaction(Exception):
    """Not even begun: no job's fault, so none is tried again by itself."""

    def __init__(self, reason: sqlite3.Error) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
