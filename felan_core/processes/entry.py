"""One process of the table: its record, its spool, and the child or the survivor that it is."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

from felan_core.processes import kernel
from felan_core.processes.child import ChildProcess
from felan_core.processes.kernel import Member
from felan_core.processes.piped import PipedProcess
from felan_core.processes.records import ProcessRecord
from felan_core.processes.spool import Spool
from felan_core.processes.tree import ProcessTree

PENDING_BYTES = 2 * 1024 * 1024
"""Output of one process that may wait for the disk; with more of it the process is read no further."""


class Entry:
    """`writer` runs the spool's file operations, one at a time; `changed` is called when the record changed.

    Output waits in memory until it is on disk, and is read from there alone.
    """

    def __init__(
        self, record: ProcessRecord, spool: Spool, writer: Executor, changed: Callable[[], None]
    ) -> None:
        self.record = record
        self.spool = spool
        self.child: ChildProcess | None = None
        self.piped: PipedProcess | None = None
        self.survivor: ProcessTree | None = None
        self.reported = record
        """As it was reported last, without the offsets of its output."""
        self.left: list[Member] = []
        """What an earlier host's process left, or what a piped one has outside its session."""
        self._writer = writer
        self._changed = changed
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._sealed = False
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def shown(self) -> bool:
        """Whether it is anybody's business: a piped process is, once it left something."""
        return self.piped is None or bool(self.left) or self.record.ended_at is not None

    @property
    def output_ended(self) -> bool:
        """Nothing will be added to the output any more."""
        return self.child is None or self.piped is not None or self._sealed

    @property
    def over(self) -> bool:
        """The process has ended and no more output will come."""
        return self.output_ended and self.record.state != "running"

    def now(self) -> ProcessRecord:
        """The record as of now."""
        left = self.left if self.child is None or self.piped is not None else self.child.left
        return replace(
            self.record,
            start=self.spool.start,
            end=self.spool.end,
            output_ended=self.output_ended,
            leftovers=len(left),
        )

    @property
    def may_leave(self) -> bool:
        """Whether something may be left that is to be looked at."""
        if self.piped is not None:
            return self.piped.running or bool(self.left) or self.piped.child.leaves_group
        return bool(self.left) or (self.child is not None and self.child.leaves_group)

    async def look(self) -> None:
        """See what is left as of now."""
        if self.piped is not None:
            child = self.piped.child
            with child.hold():
                self.left = await child.tree.left()
            if not self.piped.running:
                child.left = self.left
        elif self.child is not None:
            await self.child.look()
        elif self.left:
            self.left = await asyncio.to_thread(kernel.still_living, self.left)

    def mark_stopped(self) -> None:
        """It is about to get TERM or KILL from us, so that its end is ours, whatever its code will be."""
        runs = self.piped is not None or (self.child is not None and self.child.state == "running")
        if self.record.state == "running" and runs:
            self.record = replace(self.record, stopped=True)

    def add(self, data: bytes) -> None:
        """Output of the process: written soon, in order."""
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > PENDING_BYTES and self.child is not None:
            self.child.drain.pause()
        self._write()

    def finish(self) -> None:
        """No more output comes: the spool is sealed when all of it is written."""
        self._write()

    async def written(self, seconds: float) -> None:
        """Wait until everything is on disk, no longer than that."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=seconds)

    def _write(self) -> None:
        if self._writing is None and not self._sealed:
            self._writing = asyncio.create_task(self._write_all(), name="felan-spool")

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._pending:
            pieces, self._pending = self._pending, []
            try:
                await loop.run_in_executor(self._writer, self.spool.append, b"".join(pieces))
            except Exception as error:
                # A fault of ours; the process is still read to its end.
                loop.call_exception_handler({"message": "storing output failed", "exception": error})
            self._pending_bytes -= sum(map(len, pieces))
            if self.child is not None and self._pending_bytes <= PENDING_BYTES // 2:
                self.child.drain.resume()
            self.wake()
        if self.child is not None and self.child.output_ended:
            await loop.run_in_executor(self._writer, self.spool.seal)
            self._sealed = True
        self._writing = None
        if self._sealed:
            self.wake()
            self._changed()

    async def news(self, offset: int, seconds: float) -> None:
        """Wait until there is output from `offset` on, or all is over, no longer than that.

        The exit alone is no news, and neither is a child that closed its output and runs on.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while offset == self.spool.end and not self.over and (left := until - loop.time()) > 0:
            waiting: asyncio.Future[None] = loop.create_future()
            self._waiting.add(waiting)
            try:
                await asyncio.wait([waiting], timeout=left)
            finally:
                self._waiting.discard(waiting)

    def wake(self) -> None:
        """There may be news for those who wait."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
