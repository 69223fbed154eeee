"""All processes of a host by resource id: start, read and follow, stop, and what an earlier host left."""

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from felan_core.processes import identity
from felan_core.processes.child import KILL_SECONDS, MARKER_VARIABLE, SESSION_VARIABLE, SIGNALS, ChildProcess
from felan_core.processes.errors import (
    DuplicateProcess,
    InvalidRead,
    InvalidSignal,
    OffsetPastEnd,
    StillRunning,
    TableClosed,
    UnknownProcess,
)
from felan_core.processes.group import ProcessGroup
from felan_core.processes.records import ProcessRecord, ReadResult, StopSignal
from felan_core.processes.spawn import shell_of
from felan_core.processes.spool import Spool
from felan_core.protocol.base import LIMITS

READ_BYTES = LIMITS.process_read_bytes
GROWTH_MS = 250
# A terminal that the panel can draw, whatever the one is in which the host was started.
PTY_TERM = "xterm-256color"


class ProcessTable:
    """The processes of one host. `root` is a private folder; `clock` gives milliseconds since the epoch.

    `on_change` gets the record when a process exits, when its output ends, and at most every 250 ms while its
    output grows (never when `growth_ms` is 0). It is called from the loop, must not block, and is not called
    by `start`.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], int],
        on_change: Callable[[ProcessRecord], None],
        growth_ms: int = GROWTH_MS,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._root = root
        self._clock = clock
        self._on_change = on_change
        self._growth = growth_ms / 1000
        self._environ = environ
        self._entries: dict[str, _Entry] = {}
        self._closed = False

    async def start(
        self,
        *,
        id: str,
        owner: str,
        command: str,
        argv: Sequence[str] | None = None,
        cwd: str,
        env: Mapping[str, str] | None = None,
        pty: tuple[int, int] | None = None,
        title: str | None = None,
    ) -> ProcessRecord:
        """Run `argv`, or else `command` through the user's shell, in our environment with `env` on top.

        `pty` is (columns, rows). The child finds `owner` in FELAN_SESSION_ID. Raises DuplicateProcess,
        TableClosed, SpoolUnavailable, or SpawnFailed in one of its kinds; then nothing is left behind.
        """
        if self._closed:
            raise TableClosed("The host is going down and starts no more processes.")
        if id in self._entries:
            raise DuplicateProcess("There is already a process of this id.")
        base = os.environ if self._environ is None else self._environ
        environ = {**base, SESSION_VARIABLE: owner, **({"TERM": PTY_TERM} if pty else {}), **(env or {})}
        folder = self._folder(id)
        spool = Spool.create(folder)
        record = ProcessRecord(
            id=id,
            owner=owner,
            title=title or command,
            command=command,
            cwd=cwd,
            state="running",
            started_at=self._clock(),
            pty=pty is not None,
        )
        entry = _Entry(record, spool)
        try:
            entry.child = ChildProcess.start(
                argv if argv is not None else [shell_of(environ), "-c", command],
                cwd=cwd,
                environ=environ,
                marker=id,
                pty=pty,
                on_output=lambda data: self._grown(entry, data),
                on_change=lambda: self._changed(entry),
            )
        except BaseException:
            spool.remove()
            raise
        self._entries[id] = entry
        # Without that file (a full disk) the process runs as well; only a later host could not stop it.
        with entry.child.hold(), contextlib.suppress(OSError):
            await asyncio.to_thread(identity.save, folder, entry.child.pid, f"{MARKER_VARIABLE}={id}")
        return entry.now()

    def get(self, id: str) -> ProcessRecord:
        """The record as of now. UnknownProcess."""
        return self._entry(id).now()

    def list(self, owner: str | None = None) -> "list[ProcessRecord]":
        """All of them, or those of one owner, in the order in which they were started or restored."""
        return [entry.now() for entry in self._entries.values() if owner in (None, entry.record.owner)]

    async def read(self, id: str, offset: int, limit: int = READ_BYTES, wait_ms: int = 0) -> ReadResult:
        """At most `limit` bytes from `offset`; waits up to `wait_ms` for some, or the end, if none are yet.

        An offset before `start` is answered from `start`. Raises UnknownProcess, OffsetPastEnd (below 0 too),
        and InvalidRead for a limit outside 1 to 65,536 or a negative wait.
        """
        entry = self._entry(id)
        if not 1 <= limit <= READ_BYTES:
            raise InvalidRead(f"A read takes 1 to {READ_BYTES} bytes, not {limit}.")
        if wait_ms < 0:
            raise InvalidRead("A wait is not negative.")
        spool = entry.spool
        if not 0 <= offset <= spool.end:
            raise OffsetPastEnd(f"The output has {spool.end} bytes so far; {offset} is not among them.")
        await entry.news(offset, wait_ms / 1000)
        at, data = await asyncio.to_thread(spool.read, offset, limit)
        after, end = at + len(data), spool.end
        return ReadResult(data, at, after, min(spool.start, at), end, entry.over and after == end)

    async def stop(self, id: str, signal: StopSignal = "term", grace_ms: int = 2000) -> ProcessRecord:
        """Stop a process with its whole group, and tell what became of it, from the kernel.

        `term` kills after the grace what is left, `kill` at once; `int` interrupts and leaves it at that. An
        ended process is answered as it is, after what it left in the background was stopped the same way. A
        lost one is stopped if it is proved to be the one of the earlier host; it stays `lost`, with
        `ended_at` once it is gone.
        """
        entry = self._entry(id)
        if signal not in SIGNALS:
            raise InvalidSignal(f"A process is stopped with int, term or kill, not with {signal!r}.")
        if entry.child is not None:
            if signal != "int":
                entry.mark_stopped()
            await entry.child.stop(signal, grace_ms / 1000)
        else:
            left = await self._left_of(entry)
            if left is None or await _stop_survivor(left, signal, grace_ms / 1000):
                self._bury(entry)
        return entry.now()

    def restore(self, record: ProcessRecord) -> ProcessRecord:
        """Take in a process of an earlier host from its saved row, for reading; running becomes lost."""
        if record.id in self._entries:
            raise DuplicateProcess("There is already a process of this id.")
        if record.state == "running":
            record = replace(record, state="lost")
        spool = Spool.open(self._folder(record.id), record.end)
        entry = _Entry(replace(record, output_ended=True), spool)
        self._entries[record.id] = entry
        return entry.now()

    async def adopt_lost(self, id: str) -> bool:
        """Whether a lost process, or a process of its group, lives on; it can then be stopped.

        Proved by the kernel's start time of the process, or by the marker in the environment of a member of
        its session. If it is gone, `ended_at` says since when that is known.
        """
        entry = self._entry(id)
        if entry.record.state != "lost" or entry.record.ended_at is not None:
            return False
        if await self._left_of(entry) is not None:
            return True
        self._bury(entry)
        return False

    async def forget(self, id: str) -> None:
        """Drop a process that has ended, with its output on disk. StillRunning while it runs.

        What it left in the background loses its output pipe; `stop` it first.
        """
        entry = self._entry(id)
        if entry.now().state == "running":
            raise StillRunning("This process is running; it must be stopped first.")
        if entry.child is not None:
            await entry.child.aclose()
        entry.calm()
        self._entries.pop(id, None)
        await asyncio.to_thread(entry.spool.remove)

    async def close(self, grace_ms: int = 2000) -> None:
        """The end of the host: nothing new starts, and everything of ours is stopped, background ones too.

        All at once, TERM first and KILL after the grace. What was spooled stays readable; a second call is
        harmless.
        """
        self._closed = True
        for entry in self._entries.values():
            entry.mark_stopped()
        children = [entry.child for entry in self._entries.values() if entry.child is not None]
        await asyncio.gather(
            *(child.stop("term", grace_ms / 1000) for child in children if child.leaves_someone)
        )
        for child in children:
            await child.aclose()
        for entry in self._entries.values():
            entry.calm()

    def _entry(self, id: str) -> "_Entry":
        try:
            return self._entries[id]
        except KeyError:
            raise UnknownProcess("There is no process of this id.") from None

    def _folder(self, id: str) -> Path:
        """Ids are opaque: what is no plain name, or differs from another in case alone, is hashed."""
        plain = re.fullmatch(r"[0-9a-z][0-9a-z-]{0,63}", id) is not None
        return self._root / (f"p-{id}" if plain else f"h-{hashlib.sha256(id.encode()).hexdigest()}")

    def _grown(self, entry: "_Entry", data: bytes) -> None:
        entry.spool.append(data)
        entry.wake()
        if self._growth and entry.timer is None:
            entry.timer = asyncio.get_running_loop().call_later(self._growth, self._report_growth, entry)

    def _report_growth(self, entry: "_Entry") -> None:
        entry.timer = None
        self._report(entry)

    def _changed(self, entry: "_Entry") -> None:
        child = entry.child
        if child is not None and child.state != "running" and entry.record.ended_at is None:
            entry.record = replace(
                entry.record,
                state=child.state,
                exit_code=child.exit_code,
                signal=child.signal,
                ended_at=self._clock(),
            )
        if entry.output_ended:
            entry.spool.seal()
            entry.calm()
        entry.wake()
        self._report(entry)

    async def _left_of(self, entry: "_Entry") -> ProcessGroup | None:
        """What lives on of a process of an earlier host, proved to be it."""
        if entry.survivor is None:
            entry.survivor = await asyncio.to_thread(identity.load, self._folder(entry.record.id))
        return entry.survivor if entry.survivor is not None and await entry.survivor.survey() else None

    def _bury(self, entry: "_Entry") -> None:
        if entry.record.state == "lost" and entry.record.ended_at is None:
            entry.record = replace(entry.record, ended_at=self._clock())
            self._report(entry)

    def _report(self, entry: "_Entry") -> None:
        try:
            self._on_change(entry.now())
        except Exception as error:
            # Whoever listens must not be able to stop the drain or the reaping.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_change of the process table failed", "exception": error}
            )


class _Entry:
    """One process of the table: its record, its spool, and the child or survivor that it is."""

    def __init__(self, record: ProcessRecord, spool: Spool) -> None:
        self.record = record
        self.spool = spool
        self.child: ChildProcess | None = None
        self.survivor: ProcessGroup | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def output_ended(self) -> bool:
        return self.child is None or self.child.output_ended

    @property
    def over(self) -> bool:
        """The process has ended and no more output will come."""
        return self.output_ended and self.record.state != "running"

    def now(self) -> ProcessRecord:
        return replace(
            self.record, start=self.spool.start, end=self.spool.end, output_ended=self.output_ended
        )

    def mark_stopped(self) -> None:
        """It is about to get TERM or KILL from us, so that its end is ours, whatever its code will be."""
        if self.record.state == "running" and self.child is not None and self.child.state == "running":
            self.record = replace(self.record, stopped=True)

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
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def calm(self) -> None:
        """No growth is left to be reported."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


async def _stop_survivor(group: ProcessGroup, name: StopSignal, grace: float) -> bool:
    gone = not await group.strike(SIGNALS[name])
    if not gone and name != "kill":
        gone = await group.gone_within(grace)
    if not gone and name != "int":
        gone = await group.gone_within(KILL_SECONDS, again=SIGNALS["kill"])
    return gone
