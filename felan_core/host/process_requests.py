"""What clients ask of a session's processes: a page of them, their output, and to stop one (§4 Processes)."""

import base64

from felan_core.host.cursors import DEFAULT_PAGE, parse_row_cursor, row_cursor
from felan_core.host.processes import process_row
from felan_core.host.request_context import RequestContext
from felan_core.host.session import LiveSession
from felan_core.processes.errors import OffsetPastEnd, ProcessError, UnknownProcess
from felan_core.processes.table import ProcessTable
from felan_core.protocol import LIMITS, UNSET, ProtocolError, or_default
from felan_core.protocol import operations as op
from felan_core.protocol.base import Maybe
from felan_core.protocol.errors import invalid
from felan_core.protocol.session import ProcessRow


async def list_processes(live: LiveSession, call: RequestContext, params: op.PageParams) -> op.ProcessesPage:
    """``processes.list``, the earliest first."""
    table = live.actor.services.processes
    rows = sorted(live.actor.state.processes.values(), key=lambda row: (row.started_at, row.id))
    scope = f"processes {call.session}"
    if params.cursor is not UNSET:
        after = parse_row_cursor(str(params.cursor), scope)
        rows = [row for row in rows if (row.started_at, row.id) > after]
    limit = or_default(params.limit, DEFAULT_PAGE)
    shown = [_as_of_now(table, row) for row in rows[:limit]]
    cursor: Maybe[str] = UNSET
    if len(rows) > limit:
        cursor = row_cursor((shown[-1].started_at, shown[-1].id), scope)
    return op.ProcessesPage(items=shown, next_cursor=cursor)


def _as_of_now(table: ProcessTable, row: ProcessRow) -> ProcessRow:
    try:
        return process_row(table.get(row.id))
    except UnknownProcess:
        return row


async def read_process(
    live: LiveSession, call: RequestContext, params: op.ProcessReadParams
) -> op.ProcessReadResult:
    """``processes.read``."""
    live.check_process(params.process)
    try:
        read = await live.actor.services.processes.read(
            params.process,
            params.offset,
            or_default(params.limit, LIMITS.process_read_bytes),
            or_default(params.wait_ms, 0),
        )
    except OffsetPastEnd as error:
        raise invalid(f"offset: {error}") from error
    except ProcessError as error:
        raise ProtocolError("not_found", f"process: {error}") from error
    return op.ProcessReadResult(
        data=base64.b64encode(read.data).decode(),
        offset=read.offset,
        next_offset=read.next_offset,
        start=read.start,
        end=read.end,
        eof=read.eof,
    )


async def stop_process(
    live: LiveSession, call: RequestContext, params: op.ProcessStopParams
) -> op.ProcessStopResult:
    """``processes.stop``."""
    live.check_process(params.process)
    await call.reserve()
    try:
        record = await live.actor.services.processes.stop(
            params.process, or_default(params.signal, "term"), or_default(params.grace_ms, 2000)
        )
    except ProcessError as error:
        raise ProtocolError("not_found", f"process: {error}") from error
    return op.ProcessStopResult(state=record.state)
