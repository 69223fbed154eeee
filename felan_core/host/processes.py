"""The processes of a session: started by a person or by the agent, shown in the process panel (§4
Processes).
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from felan_core.agents.backend import ProcessEnd
from felan_core.host.actor import SessionActor
from felan_core.host.sanitize import label
from felan_core.processes.errors import DuplicateProcess, ProcessError, UnknownProcess
from felan_core.processes.records import ProcessRecord
from felan_core.protocol import LIMITS, UNSET, ProtocolError
from felan_core.protocol.errors import invalid
from felan_core.protocol.events import KnownEvent, ProcessUpdated
from felan_core.protocol.session import ProcessOutput, ProcessRow


def process_row(record: ProcessRecord) -> ProcessRow:
    """The row that a client sees."""
    return ProcessRow(
        id=record.id,
        title=label(record.title),
        command=label(record.command, LIMITS.text_bytes),
        cwd=record.cwd,
        state=record.state,
        started_at=record.started_at,
        stdin=record.stdin,
        pty=record.pty,
        output=ProcessOutput(start=record.start, end=record.end),
        ended_at=UNSET if record.ended_at is None else record.ended_at,
        exit_code=UNSET if record.exit_code is None else record.exit_code,
        signal=UNSET if record.signal is None else record.signal,
        stopped=True if record.stopped and record.state in ("exited", "signalled") else UNSET,
        leftovers=record.leftovers or UNSET,
    )


def process_record(row: ProcessRow, owner: str) -> ProcessRecord:
    """The record of an earlier host's process, for the table to restore."""
    return ProcessRecord(
        id=row.id,
        owner=owner,
        title=row.title,
        command=row.command,
        cwd=row.cwd,
        state=row.state,
        started_at=row.started_at,
        stdin=row.stdin,
        pty=row.pty,
        start=row.output.start,
        end=row.output.end,
        ended_at=row.ended_at if isinstance(row.ended_at, int) else None,
        exit_code=row.exit_code if isinstance(row.exit_code, int) else None,
        signal=row.signal if isinstance(row.signal, str) else None,
        stopped=row.stopped is True,
        leftovers=row.leftovers if isinstance(row.leftovers, int) else 0,
    )


def checked_folder(folder: str, name: str) -> str:
    """``folder`` when it is absolute and there. Raises ``invalid_request``."""
    path = Path(folder)
    if not path.is_absolute():
        raise invalid(f"{name}: must be an absolute path")
    try:
        there = path.is_dir()
    except (OSError, ValueError):
        there = False
    if not there:
        raise invalid(f"{name}: there is no such folder")
    return folder


class SessionProcesses:
    """The processes of one session. ``on_end`` is called inside a job when one has ended."""

    def __init__(self, actor: SessionActor, on_end: Callable[[ProcessRow], None]) -> None:
        self._actor = actor
        self._table = actor.services.processes
        self._on_end = on_end
        self._ends: dict[str, asyncio.Future[ProcessEnd]] = {}

    @property
    def pending(self) -> bool:
        """Whether a process runs or has output that did not end."""
        return bool(self._ends)

    async def start(
        self,
        command: str,
        *,
        cwd: str | None,
        title: str | None,
        pty: tuple[int, int] | None = None,
        beside: Callable[[ProcessRow], list[KnownEvent]] = lambda row: [],
    ) -> ProcessRow:
        """Start a process. ``beside``: what is published together with it. Inside a job. Raises
        ``ProcessError``.

        It runs on when its row is on disk; one whose row cannot be stored never runs.
        """
        actor = self._actor
        id = actor.services.new_id()

        async def store(record: ProcessRecord) -> None:
            row = process_row(record)
            await actor.commit(ProcessUpdated(process=row), *beside(row))

        self._ends[id] = asyncio.get_running_loop().create_future()
        try:
            record = await self._table.start(
                id=id,
                owner=actor.id,
                command=command,
                cwd=cwd or actor.cwd,
                pty=pty,
                title=title,
                stored=store,
            )
        except BaseException:
            del self._ends[id]
            raise
        return process_row(record)

    async def changed(self, record: ProcessRecord) -> None:
        """The table saw a change. Inside a job."""
        # As it is by now: changes that were told before this job ran must not be undone by it.
        try:
            record = self._table.get(record.id)
        except UnknownProcess:
            return
        row = process_row(record)
        known = self._actor.state.processes.get(row.id)
        # A leftover of an agent becomes a process of the session when a look finds it.
        if known != row and (known is not None or row.leftovers):
            await self._actor.commit(ProcessUpdated(process=row))
        end = self._ends.get(row.id)
        if end is not None and row.state != "running" and record.output_ended:
            del self._ends[row.id]
            end.set_result(ProcessEnd(row.state, record.exit_code, record.signal))
            self._on_end(row)

    async def restore(self) -> None:
        """After a restart: what ran is lost, its output still readable. Inside a job."""
        for row in list(self._actor.state.processes.values()):
            try:
                restored = process_row(self._table.restore(process_record(row, self._actor.id)))
            except DuplicateProcess:
                continue
            except (ProcessError, OSError):
                # Its output cannot be read any more, and it does not run under this host either.
                state = "lost" if row.state == "running" else row.state
                restored = msgspec.structs.replace(row, state=state)
            if restored != row:
                await self._actor.commit(ProcessUpdated(process=restored))

    async def end(self, process: str) -> ProcessEnd:
        """Wait for the end of a process. Outside jobs."""
        waiting = self._ends.get(process)
        if waiting is not None:
            return await asyncio.shield(waiting)
        record = self._table.get(process)
        state = "lost" if record.state == "running" else record.state
        return ProcessEnd(state, record.exit_code, record.signal)

    async def tail(self, process: str, limit: int) -> str:
        """The last ``limit`` bytes of the output as text."""
        record = self._table.get(process)
        offset = max(record.start, record.end - limit)
        data = bytearray()
        while offset < record.end:
            read = await self._table.read(process, offset)
            data += read.data
            if read.next_offset == offset:
                break
            offset = read.next_offset
        return bytes(data[-limit:]).decode("utf-8", "replace")

    def known(self, process: str) -> None:
        """Raises ``not_found`` when the session has no such process."""
        if process not in self._actor.state.processes:
            raise ProtocolError("not_found", "process: there is none with this id")
