"""All processes of a host by resource id: start, read and follow, stop, and what an earlier host left."""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from felan_core.processes import identity, kernel
from felan_core.processes.budget import SPOOLS_BYTES, drop, over_budget
from felan_core.processes.child import ID_VARIABLE, MARKER_VARIABLE, SESSION_VARIABLE, ChildProcess
from felan_core.processes.entry import Entry
from felan_core.processes.errors import (
    DuplicateProcess,
    InvalidRead,
    InvalidSignal,
    OffsetPastEnd,
    TableClosed,
    UnknownProcess,
)
from felan_core.processes.piped import PipedProcess
from felan_core.processes.records import ProcessRecord, ReadResult, StopSignal
from felan_core.processes.spawn import shell_of
from felan_core.processes.spool import Spool
from felan_core.processes.tree import SIGNALS, ProcessTree
from felan_core.protocol.base import LIMITS

READ_BYTES = LIMITS.process_read_bytes
# A terminal that the panel can draw, whatever the one is in which the host was started.
PTY_TERM = "xterm-256color"
PIPED: Final = "a-"
"""How the folder of a spawned process begins."""
NOBODY: Final = -1
"""The leader of a tree whose leader is not known."""
LOOK_SECONDS = 2.0
EARLIER_GRACE_SECONDS = 0.5
WRITE_SECONDS = 5.0
"""How long the end of a host waits for a disk that takes no output."""
BUDGET_STARTS = 32


class ProcessTable:
    """The processes of one host. `root` is a private folder; `clock` gives milliseconds since the epoch.

    `on_change` gets the record when a process exits, when its output ends, and when what it left running
    changes; growing output is no change. It is called from the loop, must not block, and is not called by
    `start`. Spools are written by a thread of the table's own.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], int],
        on_change: Callable[[ProcessRecord], None],
        environ: Mapping[str, str] | None = None,
        look_seconds: float = LOOK_SECONDS,
        spools_bytes: int = SPOOLS_BYTES,
    ) -> None:
        self._root = root
        self._clock = clock
        self._on_change = on_change
        self._environ = environ
        self._look_seconds = look_seconds
        self._spools_bytes = spools_bytes
        self._entries: dict[str, Entry] = {}
        self._doubtful: list[Entry] = []
        self._finding: asyncio.Task[None] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="felan-spools")
        self._watching: asyncio.Task[None] | None = None
        self._begun = 0
        self._closed = False

    async def start(
        self,
        *,
        id: str,
        owner: str,
        command: str,
        argv: Sequence[str] | None = None,
        cwd: str,
        pty: tuple[int, int] | None = None,
        title: str | None = None,
        stored: Callable[[ProcessRecord], Awaitable[None]] | None = None,
    ) -> ProcessRecord:
        """Run `argv`, or else `command` through the user's shell, in our environment.

        `pty` is (columns, rows). The child finds `owner` in FELAN_SESSION_ID. It runs on when `stored` has
        returned, which puts the record on disk; when that raises it never ran. Raises DuplicateProcess,
        TableClosed, SpoolUnavailable, or SpawnFailed in one of its kinds; then nothing is left behind.
        """
        self._check_new(id)
        base = os.environ if self._environ is None else self._environ
        environ = {**base, **self._names(id, owner), **({"TERM": PTY_TERM} if pty else {})}
        folder = self._folder(id)
        spool = await asyncio.to_thread(Spool.create, folder)
        before = await asyncio.to_thread(kernel.sessions)
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
        try:
            self._check_new(id)
            entry = self._add(record, spool)
            entry.child = ChildProcess.start(
                argv if argv is not None else [shell_of(environ), "-c", command],
                cwd=cwd,
                environ=environ,
                marker=str(folder),
                before=before,
                pty=pty,
                on_output=entry.add,
                on_change=lambda: self._changed(entry),
            )
        except BaseException:
            self._entries.pop(id, None)
            spool.remove()
            raise
        await self._release(entry, folder, stored)
        self._begun += 1
        self._keep_budget()
        return entry.now()

    async def spawn(
        self, argv: Sequence[str], *, id: str, owner: str, title: str, cwd: str, environ: Mapping[str, str]
    ) -> PipedProcess:
        """Run `argv` with `environ` on pipes; which process it is, is on disk before it runs on.

        It is in no list until it leaves something running in a session of its own: then its record, called
        `title`, is about that. A later host ends it (`recover`). Raises as `start`.
        """
        self._check_new(id)
        folder = self._root / f"{PIPED}{hashlib.sha256(id.encode()).hexdigest()}"
        spool = await asyncio.to_thread(Spool.create, folder)
        before = await asyncio.to_thread(kernel.sessions)
        record = ProcessRecord(
            id=id,
            owner=owner,
            title=title,
            command=" ".join(argv),
            cwd=cwd,
            state="running",
            started_at=self._clock(),
        )
        try:
            self._check_new(id)
            entry = self._add(record, spool)
            piped = PipedProcess(
                title,
                lambda on_errors, on_change: ChildProcess.start(
                    argv,
                    cwd=cwd,
                    environ={**environ, **self._names(id, owner)},
                    marker=str(folder),
                    before=before,
                    piped=True,
                    on_output=on_errors,
                    on_change=on_change,
                ),
            )
        except BaseException:
            self._entries.pop(id, None)
            spool.remove()
            raise
        entry.child, entry.piped = piped.child, piped
        await self._release(entry, folder, lambda _: piped.connect())
        self._watch()
        return piped

    def _check_new(self, id: str) -> None:
        if self._closed:
            raise TableClosed("The host is going down and starts no more processes.")
        if id in self._entries:
            raise DuplicateProcess("There is already a process of this id.")

    @staticmethod
    def _names(id: str, owner: str) -> Mapping[str, str]:
        return {SESSION_VARIABLE: owner, ID_VARIABLE: id}

    def _add(self, record: ProcessRecord, spool: Spool) -> Entry:
        entry = Entry(record, spool, self._writer, lambda: self._changed(entry))
        self._entries[record.id] = entry
        return entry

    async def _release(
        self, entry: Entry, folder: Path, stored: Callable[[ProcessRecord], Awaitable[None]] | None
    ) -> None:
        """Put on disk which process it is, and open its gate."""
        child = entry.child
        assert child is not None
        try:
            # Without that file (a full disk) a later host knows the process by its environment alone.
            with child.hold(), contextlib.suppress(OSError):
                await asyncio.to_thread(identity.save, folder, child.pid, f"{MARKER_VARIABLE}={folder}")
            if stored is not None:
                await stored(entry.now())
        except BaseException:
            self._entries.pop(entry.record.id, None)
            await child.stop("kill")
            await child.aclose()
            await asyncio.to_thread(entry.spool.remove)
            raise
        child.release()

    def get(self, id: str) -> ProcessRecord:
        """The record as of now. UnknownProcess."""
        return self._entry(id).now()

    def list(self, owner: str | None = None) -> "list[ProcessRecord]":
        """All of them, or those of one owner, in the order in which they were started or restored."""
        return [
            entry.now()
            for entry in self._entries.values()
            if entry.shown and owner in (None, entry.record.owner)
        ]

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
        """Stop a process with all that it started, and tell what became of it, from the kernel.

        `term` kills after the grace what is left, `kill` at once; `int` interrupts and leaves it at that. An
        ended process is answered as it is, after what it left in the background was stopped the same way. A
        lost one is stopped if it is proved to be the one of the earlier host; it stays `lost`, with
        `ended_at` once it is gone. Of a `spawn`ed one that runs, what it left is stopped, and not itself.
        """
        entry = self._entry(id)
        if signal not in SIGNALS:
            raise InvalidSignal(f"A process is stopped with int, term or kill, not with {signal!r}.")
        if signal != "int":
            entry.mark_stopped()
        if entry.piped is not None and entry.piped.running:
            await entry.piped.child.tree.end_left(0 if signal == "kill" else grace_ms / 1000)
            await self._look_at(entry)
        elif entry.child is not None:
            left = entry.child.left
            await entry.child.stop(signal, grace_ms / 1000)
            if entry.piped is not None:
                await self._look_at(entry)
            elif left and not entry.child.left:
                self._report(entry)
        else:
            tree = await self._survivor_of(entry)
            if tree is None or await tree.stop(signal, grace_ms / 1000):
                self._bury(entry)
        return entry.now()

    async def recover(self) -> None:
        """End what a dead host's `spawn` left, once, before anything starts: TERM, and KILL after half a
        second. Never raises.
        """
        with contextlib.suppress(OSError):
            folders = await asyncio.to_thread(lambda: sorted(self._root.glob(f"{PIPED}*")))
            await asyncio.gather(*(self._end_earlier(folder) for folder in folders))

    async def _end_earlier(self, folder: Path) -> None:
        tree = await asyncio.to_thread(identity.load, folder)
        if tree is None or await tree.stop("term", EARLIER_GRACE_SECONDS):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def restore(self, record: ProcessRecord) -> ProcessRecord:
        """Take in a process of an earlier host from its saved row, for reading; running becomes lost.

        Whether it runs on, or something that it left, is reported when it is found.
        """
        if record.id in self._entries:
            raise DuplicateProcess("There is already a process of this id.")
        doubtful = record.state == "running" or record.leftovers > 0
        if record.state == "running":
            record = replace(record, state="lost")
        spool = Spool.open(self._folder(record.id), record.end)
        entry = self._add(replace(record, output_ended=True), spool)
        entry.reported = replace(entry.now(), start=0, end=0)
        if doubtful:
            self._doubtful.append(entry)
            if self._finding is None or self._finding.done():
                self._finding = asyncio.create_task(self._find_left(), name="felan-leftovers")
        return entry.now()

    async def _find_left(self) -> None:
        """One look for all that were restored."""
        found = await asyncio.to_thread(kernel.carriers, MARKER_VARIABLE)
        entries, self._doubtful = self._doubtful, []
        for entry in entries:
            entry.left = found.get(str(entry.spool.folder), [])
            self._report(entry)
        self._watch()

    async def close(self, grace_ms: int = 2000) -> None:
        """The end of the host: nothing new starts, and everything of ours is stopped, background ones too.

        All at once, TERM first and KILL after the grace. What was spooled stays readable; a second call is
        harmless.
        """
        self._closed = True
        looking = [task for task in (self._watching, self._finding) if task is not None]
        for task in looking:
            task.cancel()
        if looking:
            await asyncio.wait(looking)
        for entry in self._entries.values():
            entry.mark_stopped()
        children = [entry.child for entry in self._entries.values() if entry.child is not None]
        await asyncio.gather(
            *(child.stop("term", grace_ms / 1000) for child in children if child.leaves_someone)
        )
        for entry in list(self._entries.values()):
            if entry.child is not None:
                await entry.child.aclose()
            await entry.written(WRITE_SECONDS)
            if entry.piped is not None:
                await asyncio.to_thread(entry.spool.remove)
        self._writer.shutdown(wait=False)

    def _entry(self, id: str) -> Entry:
        try:
            return self._entries[id]
        except KeyError:
            raise UnknownProcess("There is no process of this id.") from None

    def _folder(self, id: str) -> Path:
        """Ids are opaque: what is no plain name, or differs from another in case alone, is hashed."""
        plain = re.fullmatch(r"[0-9a-z][0-9a-z-]{0,63}", id) is not None
        return self._root / (f"p-{id}" if plain else f"h-{hashlib.sha256(id.encode()).hexdigest()}")

    def _changed(self, entry: Entry) -> None:
        child = entry.child
        if child is None or entry.piped is not None:
            return
        if child.state != "running" and entry.record.ended_at is None:
            entry.record = replace(
                entry.record,
                state=child.state,
                exit_code=child.exit_code,
                signal=child.signal,
                ended_at=self._clock(),
            )
        if child.output_ended:
            entry.finish()
        if child.leaves_group:
            self._watch()
        entry.wake()
        self._report(entry)

    # --- what processes leave behind ---

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look_around(), name="felan-processes")

    async def _look_around(self) -> None:
        """Look every two seconds at what was left, as long as there may be something."""
        while True:
            await asyncio.sleep(self._look_seconds)
            watched = [one for one in self._entries.values() if one.may_leave]
            if not watched:
                return
            for entry in watched:
                await self._look_at(entry)

    async def _look_at(self, entry: Entry) -> None:
        before = entry.now()
        await entry.look()
        if entry.piped is not None:
            running = bool(entry.left)
            if running and not before.leftovers:
                command = await asyncio.to_thread(kernel.command_of, entry.left[0].pid)
                entry.record = replace(entry.record, title=entry.piped.title, command=command)
            if running and entry.record.ended_at is not None:
                entry.record = replace(entry.record, state="running", ended_at=None, stopped=False)
            elif not running and before.leftovers and entry.record.ended_at is None:
                entry.record = replace(entry.record, state="exited", ended_at=self._clock())
            if not running and not entry.piped.running and not entry.piped.child.leaves_group:
                await self._forget_piped(entry)
        if entry.now() != before:
            self._report(entry)

    async def _forget_piped(self, entry: Entry) -> None:
        """It is gone with all that it started."""
        assert entry.child is not None
        await entry.child.aclose()
        await asyncio.to_thread(entry.spool.remove)
        if entry.record.ended_at is None:
            self._entries.pop(entry.record.id, None)

    async def _survivor_of(self, entry: Entry) -> ProcessTree | None:
        """What lives on of a process of an earlier host, proved to be it."""
        tree = entry.survivor
        if tree is None:
            tree = await asyncio.to_thread(identity.load, entry.spool.folder)
            # A host that died before it wrote the file: the environment alone tells.
            tree = entry.survivor = tree or ProcessTree(NOBODY, f"{MARKER_VARIABLE}={entry.spool.folder}")
        entry.left = await tree.survey()
        return tree if entry.left else None

    def _bury(self, entry: Entry) -> None:
        before = entry.left
        entry.left = []
        if entry.record.state == "lost" and entry.record.ended_at is None:
            entry.record = replace(entry.record, ended_at=self._clock())
            self._report(entry)
        elif before:
            self._report(entry)

    # --- the budget of the spools ---

    def _keep_budget(self) -> None:
        """Look now and then what all spools occupy; on the thread that writes them."""
        if (self._begun - 1) % BUDGET_STARTS == 0:
            running = {one.spool.folder for one in self._entries.values() if not one.output_ended}
            self._writer.submit(self._drop_oldest, running, dict(self._entries))

    def _drop_oldest(self, running: set[Path], entries: "dict[str, Entry]") -> None:
        known = {entry.spool.folder: entry.spool for entry in entries.values()}
        for folder in over_budget(self._root, running, self._spools_bytes):
            if (spool := known.get(folder)) is not None:
                spool.drop_output()
            else:
                drop(folder)

    def _report(self, entry: Entry) -> None:
        now = entry.now()
        news = replace(now, start=0, end=0)
        if news == entry.reported or not entry.shown:
            return
        entry.reported = news
        try:
            self._on_change(now)
        except Exception as error:
            # Whoever listens must not be able to stop the drain or the reaping.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_change of the process table failed", "exception": error}
            )
