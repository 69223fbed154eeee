"""Host: connections, admission, sessions. Where it runs (in the app, in a daemon) is not its business."""

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakSet

import msgspec

from felan_core import __version__
from felan_core.host.admission import Admission, Handler
from felan_core.host.connection import Connection, Link
from felan_core.host.creating import create_session
from felan_core.host.cursors import parse_row_cursor, row_cursor
from felan_core.host.limits import HostLimits
from felan_core.host.processes import process_row
from felan_core.host.request_context import RequestContext
from felan_core.host.sanitize import label
from felan_core.host.services import Services
from felan_core.host.session import LiveSession
from felan_core.processes.errors import OffsetPastEnd, ProcessError, UnknownProcess
from felan_core.processes.records import ProcessRecord
from felan_core.protocol import INTERACTION_KINDS, LIMITS, PROTOCOL_VERSION, UNSET, ProtocolError, or_default
from felan_core.protocol import operations as op
from felan_core.protocol.base import Maybe
from felan_core.protocol.connection import Offer
from felan_core.protocol.control import require_target
from felan_core.protocol.errors import invalid
from felan_core.protocol.session import KnownLifecycle, SessionRow
from felan_core.store.rows import SessionRecord, UnreadableSession

UI: Final = ("ui.status", "ui.progress", "ui.document", "ui.view", "ui.action")
FEATURES: Final = ("sessions.create.instructions",)
HEARTBEAT_MS: Final = 15_000
DEFAULT_PAGE: Final = 64


LOST_ADVICE: Final = (
    "Nothing more is stored and agents were stopped. Quit, put the folder back, and start felan again."
)


class OwnershipLost(Exception):
    """The data folder is not this host's any more."""


class Host:
    """A session host on open services. ``serve`` takes a link, ``close`` ends all in good order."""

    def __init__(self, services: Services, *, namespace: str, root: str) -> None:
        self._services = services
        self._watch: asyncio.Task[None] | None = None
        self._drain: asyncio.Task[None] | None = None
        self._namespace = namespace
        self._root = root
        self._instance = services.new_id()
        self._started_at = services.clock()
        self._lifecycle: KnownLifecycle = "starting"
        self._connections: set[Connection] = set()
        # Those whose client left while something that it had asked was under way.
        self._left: WeakSet[Connection] = WeakSet()
        self._sessions: dict[str, asyncio.Task[LiveSession]] = {}
        self._admission = Admission(
            services.store,
            self._handlers(),
            clock=services.clock,
            draining=lambda: self._lifecycle in ("draining", "stopping"),
            report=services.report,
        )

    # --- life ---

    async def start(self) -> None:
        """Put in order what an earlier host left in the middle, then take requests."""
        # Agents first: one that goes on with its turn must not do so beside the one that is started next.
        await self._services.processes.recover()
        for session in await self._services.store.open_sessions():
            try:
                await self._live(session)
            except Exception as error:
                # One session that cannot be brought up must not keep the others from being there.
                self._services.report(error, f"bringing up session {session}")
        await self._services.store.purge_requests(self._services.clock())
        self._lifecycle = "running"
        self._watch = asyncio.create_task(self._watch_folder(), name="felan-host-watch")

    async def _watch_folder(self) -> None:
        """Stop when the data folder is lost: what runs is ended, and every client gets to know why."""
        while True:
            why = await asyncio.to_thread(self._services.lost)
            if why:
                break
            await asyncio.sleep(self._services.limits.look_seconds)
        self._services.report(OwnershipLost(why), "the data folder")
        for connection in list(self._connections):
            connection.fail(ProtocolError("ownership_lost", f"{why} {LOST_ADVICE}"))
        await self._end_sessions()

    def serve(self, link: Link, principal: op.Principal, *, limits: HostLimits | None = None) -> Connection:
        """Serve one client. ``principal`` is what the transport has authenticated; ``limits`` are by default
        those of the host.
        """
        limits = limits or self._services.limits
        connection = Connection(
            link,
            Offer(lambda: self._hello(principal), os.path.realpath),
            principal=principal,
            admit=self._admission.admit,
            on_end=self._ended,
            on_overflow=lambda one, session: self._unsubscribe(one, session),
            unsent_bytes=limits.unsent_bytes,
            stall_seconds=limits.stall_seconds,
        )
        self._connections.add(connection)
        connection.start()
        return connection

    async def close(self) -> None:
        """Drain and end: turns are interrupted, what can be deferred is, processes are stopped. Never
        raises.
        """
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        await self._end_sessions()
        self._lifecycle = "stopping"
        # At once: each that does not read takes its second.
        await asyncio.gather(*(connection.close() for connection in (*self._connections, *self._left)))

    async def _end_sessions(self) -> None:
        """Drain, once: turns are interrupted, agents are closed. Who asks meanwhile waits for the same."""
        if self._drain is None:
            self._drain = asyncio.create_task(self._drained(), name="felan-host-drain")
        await asyncio.shield(self._drain)

    async def _drained(self) -> None:
        self._lifecycle = "draining"
        await asyncio.gather(*self._sessions.values(), return_exceptions=True)  # those just being brought up
        lives = [task.result() for task in self._sessions.values() if task.done() and not task.exception()]
        for outcome in await asyncio.gather(*(live.shut_down() for live in lives), return_exceptions=True):
            if isinstance(outcome, BaseException):
                self._services.report(outcome, "closing a session")

    def process_changed(self, record: ProcessRecord) -> None:
        """The process table saw a change; called from the loop."""
        task = self._sessions.get(record.owner)
        if task is not None and task.done() and not task.exception():
            live = task.result()
            live.actor.later(lambda: live.process_changed(record), "a process")

    async def _live(self, session: str) -> LiveSession:
        """The session, brought up at first use. Raises ``not_found``."""
        task = self._sessions.get(session)
        if task is None:
            if self._lifecycle in ("draining", "stopping"):
                raise ProtocolError("unavailable", "the host is ending", retryable=True)
            task = self._sessions[session] = asyncio.create_task(self._bring_up(session))
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and (task.cancelled() or task.exception() is not None):
                self._sessions.pop(session, None)
            raise

    async def _bring_up(self, session: str) -> LiveSession:
        loaded = await self._services.store.load_session(session, LIMITS.page_entries)
        if loaded is None:
            raise ProtocolError("not_found", "session: there is none with this id")
        live = LiveSession(self._services, loaded)
        try:
            await live.open()
        except BaseException:
            await live.actor.stop()
            raise
        return live

    def _ended(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.busy:
            self._left.add(connection)
        for session in list(connection.attached):
            self._unsubscribe(connection, session)

    def _unsubscribe(self, connection: Connection, session: str) -> None:
        task = self._sessions.get(session)
        if task is not None and task.done() and not task.exception():
            task.result().actor.unsubscribe(connection)

    # --- operations ---

    def _handlers(self) -> dict[str, Handler]:
        def on_session(
            method: Callable[[LiveSession, RequestContext, Any], Awaitable[msgspec.Struct]],
        ) -> Handler:
            async def handle(call: RequestContext) -> msgspec.Struct:
                return await method(await self._live(call.session or ""), call, call.params)

            return handle

        return {
            "host.status": self._status,
            "sessions.list": self._list,
            "sessions.create": self._create,
            "attach": self._attach,
            "detach": on_session(lambda live, call, _: live.detach(call)),
            "close": on_session(lambda live, call, _: live.close(call)),
            "prompt": on_session(LiveSession.prompt),
            "steer": on_session(LiveSession.steer),
            "follow_up": on_session(LiveSession.follow_up),
            "cancel": on_session(LiveSession.cancel),
            "interaction.answer": on_session(LiveSession.answer),
            "ui.action": on_session(LiveSession.act),
            "shell.execute": on_session(LiveSession.shell),
            "session.rename": on_session(LiveSession.rename),
            "session.history": on_session(LiveSession.history),
            "processes.list": self._processes,
            "processes.read": self._read_process,
            "processes.stop": self._stop_process,
        }

    def _hello(self, principal: op.Principal) -> op.HelloResult:
        """The result of hello for a client that knows everything."""
        return op.HelloResult(
            protocol_version=PROTOCOL_VERSION,
            host=op.HostInfo(
                namespace=self._namespace,
                instance=self._instance,
                root=self._root,
                version=__version__,
                lifecycle=self._lifecycle,
            ),
            operations=self._admission.operations,
            interactions=list(INTERACTION_KINDS),
            capabilities=op.Capabilities(ui=list(UI), features=list(FEATURES)),
            principal=principal,
            limits=op.HelloLimits(
                frame_bytes=LIMITS.frame_bytes,
                unsent_bytes=LIMITS.unsent_bytes,
                in_flight_requests=LIMITS.in_flight_requests,
                page_entries=LIMITS.page_entries,
                page_bytes=LIMITS.page_bytes,
                process_read_bytes=LIMITS.process_read_bytes,
                process_write_bytes=LIMITS.process_write_bytes,
                heartbeat_ms=HEARTBEAT_MS,
            ),
        )

    async def _status(self, call: RequestContext) -> op.HostStatusResult:
        store = self._services.store
        counts = await store.counts()
        lives = [task.result() for task in self._sessions.values() if task.done() and not task.exception()]
        return op.HostStatusResult(
            lifecycle=self._lifecycle,
            sessions=counts.sessions,
            attachments=sum(len(connection.attached) for connection in self._connections),
            runs=sum(live.actor.state.run is not None for live in lives),
            processes=sum(record.state == "running" for record in self._services.processes.list()),
            storage_bytes=await store.storage_bytes(),
            started_at=self._started_at,
        )

    async def _list(self, call: RequestContext) -> op.SessionsPage:
        params: op.SessionsListParams = call.params
        wanted = or_default(params.filter, op.SessionsFilter())
        limit = or_default(params.limit, DEFAULT_PAGE)
        scope = msgspec.json.encode(wanted).decode()
        after = None if params.cursor is UNSET else parse_row_cursor(str(params.cursor), scope)
        if after is not None and not await self._services.store.session_exists(after[1]):
            raise ProtocolError("stale_request", "cursor: the session that it names is gone")
        records = await self._services.store.list_sessions(
            after=after,
            limit=limit + 1,
            cwd=wanted.cwd or None,
            query=wanted.query or None,
            state=wanted.state or None,
            parent=wanted.parent or None,
        )
        shown = records[:limit]
        cursor: Maybe[str] = UNSET
        if len(records) > limit:
            cursor = row_cursor((shown[-1].created_at, shown[-1].id), scope)
        return op.SessionsPage(items=[session_row(record) for record in shown], next_cursor=cursor)

    async def _create(self, call: RequestContext) -> op.SessionResult:
        return await create_session(self._services, call, call.params)

    async def _attach(self, call: RequestContext) -> op.AttachResult:
        params: op.AttachParams = call.params
        if isinstance(params.target, op.Target):
            host = self._hello(call.connection.principal).host
            here = op.Target(namespace=host.namespace, instance=host.instance, root=host.root)
            require_target(params.target, here, os.path.realpath)
        live = await self._live(call.session or "")
        result = await live.attach(call, call.params)
        if call.connection.client.kind == "tui":
            live.wake_agent()  # a person is there: the agent is ready when the first message is written
        return result

    # --- processes ---

    async def _processes(self, call: RequestContext) -> op.ProcessesPage:
        params: op.PageParams = call.params
        live = await self._live(call.session or "")
        rows = sorted(live.actor.state.processes.values(), key=lambda row: (row.started_at, row.id))
        scope = f"processes {call.session}"
        if params.cursor is not UNSET:
            after = parse_row_cursor(str(params.cursor), scope)
            rows = [row for row in rows if (row.started_at, row.id) > after]
        limit = or_default(params.limit, DEFAULT_PAGE)
        shown = [self._fresh(row.id) or row for row in rows[:limit]]
        cursor: Maybe[str] = UNSET
        if len(rows) > limit:
            cursor = row_cursor((shown[-1].started_at, shown[-1].id), scope)
        return op.ProcessesPage(items=shown, next_cursor=cursor)

    def _fresh(self, process: str):
        try:
            return process_row(self._services.processes.get(process))
        except UnknownProcess:
            return None

    async def _read_process(self, call: RequestContext) -> op.ProcessReadResult:
        params: op.ProcessReadParams = call.params
        (await self._live(call.session or "")).check_process(params.process)
        try:
            read = await self._services.processes.read(
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

    async def _stop_process(self, call: RequestContext) -> op.ProcessStopResult:
        params: op.ProcessStopParams = call.params
        (await self._live(call.session or "")).check_process(params.process)
        await call.reserve()
        try:
            record = await self._services.processes.stop(
                params.process, or_default(params.signal, "term"), or_default(params.grace_ms, 2000)
            )
        except ProcessError as error:
            raise ProtocolError("not_found", f"process: {error}") from error
        return op.ProcessStopResult(state=record.state)


def session_row(record: SessionRecord | UnreadableSession) -> SessionRow:
    """The row that a client sees."""
    if isinstance(record, UnreadableSession):
        return SessionRow(
            id=record.id,
            root_id=record.root,
            parent_id=record.parent or UNSET,
            cwd=label(record.cwd, LIMITS.text_bytes),
            created_at=record.created_at,
            updated_at=record.updated_at,
            revision=1,
            state="idle",
            waiting=0,
            problem=label(record.problem),
        )
    return SessionRow(
        id=record.id,
        root_id=record.root,
        parent_id=record.parent or UNSET,
        name=record.name or UNSET,
        cwd=record.cwd,
        created_at=record.created_at,
        updated_at=record.updated_at,
        revision=record.revision,
        state=record.header.state,
        waiting=record.waiting,
    )
