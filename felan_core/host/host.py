"""Host: connections, admission, sessions. Where it runs (in the app, in a daemon) is not its business."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakSet

import msgspec

from felan_core import __version__
from felan_core.host.admission import Admission, Handler
from felan_core.host.connection import Connection, Link
from felan_core.host.creating import create_session
from felan_core.host.cursors import DEFAULT_PAGE, parse_row_cursor, row_cursor
from felan_core.host.limits import HostLimits
from felan_core.host.process_requests import list_processes, read_process, stop_process
from felan_core.host.registry import Registry
from felan_core.host.request_context import RequestContext
from felan_core.host.sanitize import label
from felan_core.host.services import Services
from felan_core.host.session import LiveSession
from felan_core.processes.records import ProcessRecord
from felan_core.protocol import INTERACTION_KINDS, LIMITS, PROTOCOL_VERSION, UNSET, ProtocolError, or_default
from felan_core.protocol import operations as op
from felan_core.protocol.base import Maybe
from felan_core.protocol.connection import Offer
from felan_core.protocol.control import require_target
from felan_core.protocol.session import KnownLifecycle, SessionRow
from felan_core.store.errors import StoreError
from felan_core.store.rows import SessionRecord, UnreadableSession

UI: Final = ("ui.status", "ui.progress", "ui.document", "ui.view", "ui.action")
FEATURES: Final = ("sessions.create.instructions",)
HEARTBEAT_MS: Final = 15_000

LOST_ADVICE: Final = (
    "Nothing more is stored and agents were stopped. Quit, put the folder back, and start felan again."
)


class OwnershipLost(Exception):
    """The data folder is not this host's any more."""


class Host:
    """A session host on open services. ``serve`` takes a link, ``close`` ends all in good order."""

    def __init__(self, services: Services, *, namespace: str, root: str) -> None:
        self._services = services
        self._tasks: list[asyncio.Task[None]] = []
        self._drain: asyncio.Task[None] | None = None
        self._namespace = namespace
        self._root = root
        self._instance = services.new_id()
        self._started_at = services.clock()
        self._lifecycle: KnownLifecycle = "starting"
        self._connections: set[Connection] = set()
        # Those whose client left while something that it had asked was under way.
        self._left: WeakSet[Connection] = WeakSet()
        self.sessions: Final = Registry(services)
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
                async with self.sessions.use(session):
                    pass
            except Exception as error:
                # One session that cannot be brought up must not keep the others from being there.
                self._services.report(error, f"bringing up session {session}")
        await self._purge()
        self._lifecycle = "running"
        self._tasks = [
            asyncio.create_task(self._watch_folder(), name="felan-host-watch"),
            asyncio.create_task(self._keep_purging(), name="felan-host-purge"),
        ]

    async def _purge(self) -> None:
        """Remove the request records whose time is over (session protocol §8)."""
        try:
            await self._services.store.purge_requests(self._services.clock())
        except StoreError as error:
            self._services.report(error, "purging request records")

    async def _keep_purging(self) -> None:
        while True:
            await asyncio.sleep(self._services.limits.purge_seconds)
            await self._purge()

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
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
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
        await self.sessions.close()

    def process_changed(self, record: ProcessRecord) -> None:
        """The process table saw a change; called from the loop."""
        live = self.sessions.get(record.owner)
        if live is not None:
            live.actor.later(lambda: live.process_changed(record), "a process")

    def _ended(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.busy:
            self._left.add(connection)
        for session in list(connection.attached):
            self._unsubscribe(connection, session)

    def _unsubscribe(self, connection: Connection, session: str) -> None:
        live = self.sessions.get(session)
        if live is not None:
            live.actor.unsubscribe(connection)
            self.sessions.settle(session)

    # --- operations ---

    def _handlers(self) -> dict[str, Handler]:
        def on_session(
            method: Callable[[LiveSession, RequestContext, Any], Awaitable[msgspec.Struct]],
        ) -> Handler:
            async def handle(call: RequestContext) -> msgspec.Struct:
                async with self.sessions.use(call.session or "") as live:
                    return await method(live, call, call.params)

            return handle

        return {
            "host.status": self._status,
            "sessions.list": self._list,
            "sessions.create": self._create,
            "attach": on_session(self._attach),
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
            "processes.list": on_session(list_processes),
            "processes.read": on_session(read_process),
            "processes.stop": on_session(stop_process),
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
        lives = self.sessions.loaded()
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

    async def _attach(
        self, live: LiveSession, call: RequestContext, params: op.AttachParams
    ) -> op.AttachResult:
        if isinstance(params.target, op.Target):
            host = self._hello(call.connection.principal).host
            here = op.Target(namespace=host.namespace, instance=host.instance, root=host.root)
            require_target(params.target, here, os.path.realpath)
        return await live.attach(call, params)


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
