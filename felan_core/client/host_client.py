"""HostClient: session protocol v1 from the client's side, one method an operation, over any transport.

One reader task pumps bytes into a ``ClientConnection`` and handles its events in order. The accepted reply
to ``attach`` precedes every frame of its session, so the replica is made while that reply is handled, and
nothing is lost in between.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from felan_core.client.replica import Change, SessionReplica
from felan_core.client.transport import Transport, TransportClosed
from felan_core.protocol import operations as op
from felan_core.protocol.base import LIMITS, UNSET, JsonObject
from felan_core.protocol.catalogue import OPERATION_CATALOG
from felan_core.protocol.connection import (
    ClientConnection,
    ClientEvent,
    Failed,
    Greeted,
    Probe,
    Published,
    Replied,
    Resync,
)
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.interactions import INTERACTION_KINDS

R = TypeVar("R")
_HELLO: Final = "hello"
RESYNC_SECONDS = 0.1
PASSING_CODES = ("busy", "unavailable", "storage_failure", "request_capacity")
"""Refusals of a fresh snapshot that pass: it is asked for again."""
UI_CAPABILITIES = ("ui.status", "ui.progress", "ui.document", "ui.view", "ui.action")


class ConnectionLost(Exception):
    """The host is gone; what was asked may or may not have been done. Ask again with the same id to find
    out.
    """


class _Pending:
    """A request without a reply; ``taken`` runs while the reply is read, before the next frame."""

    def __init__(self, taken: Callable[[Any], None] | None) -> None:
        self.taken = taken
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class HostClient:
    """One connection to a host.

    ``on_lost`` is called once when the connection ends, with the reason; ``on_resync`` after a session's
    replica started again from a fresh snapshot; ``on_session_lost`` when the host refuses that snapshot for
    good, with the session and the reason: its replica is gone (``on_lost`` takes its place where it is
    absent).
    """

    def __init__(
        self,
        transport: Transport,
        client: op.ClientInfo,
        *,
        on_lost: Callable[[str], None] | None = None,
        on_resync: Callable[[str], None] | None = None,
        on_session_lost: Callable[[str, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._wire = ClientConnection(now=clock())
        # One slot is left for the probe of a silent host.
        self._slots = asyncio.Semaphore(LIMITS.in_flight_requests - 1)
        self._on_session_lost = on_session_lost
        self._client = client
        self._on_lost = on_lost
        self._on_resync = on_resync
        self._pending: dict[str, _Pending] = {}
        self._replicas: dict[str, SessionReplica] = {}
        self._history_limits: dict[str, int] = {}
        self._resyncing: set[str] = set()
        self._fetching: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._lost: str | None = None
        self.hello_result: op.HelloResult | None = None

    # --- the connection ---

    async def connect(self) -> op.HelloResult:
        """Say hello and start reading. Raises ``RequestRefused`` or ``ConnectionLost``."""
        params = op.HelloParams(
            protocol_versions=[1],
            client=self._client,
            capabilities=list(UI_CAPABILITIES),
            interactions=list(INTERACTION_KINDS),
        )
        pending = self._pending[_HELLO] = _Pending(None)
        await self._send(self._wire.hello(_HELLO, params))
        self._reader = asyncio.create_task(self._read(), name="felan-client-reader")
        result = self.hello_result = await pending.reply
        return result

    async def close(self) -> None:
        """End the connection. It cancels, closes and stops nothing at the host."""
        self._on_lost = None
        await self._transport.close()
        if self._reader is not None:
            await asyncio.wait([self._reader])
        for task in list(self._fetching):
            task.cancel()

    async def request(
        self,
        name: str,
        params: msgspec.Struct,
        *,
        expect: type[R],
        session: str | None = None,
        request_id: str | None = None,
        taken: Callable[[R], None] | None = None,
    ) -> R:
        """Send one request and wait for its reply.

        A refusal is raised as ``RequestRefused`` or ``RequestIndeterminate`` with the host's code; a lost
        connection as ``ConnectionLost``. ``request_id``: the id of an earlier try, so that the host does it
        once.
        """
        if self._lost is not None:
            raise ConnectionLost(self._lost)
        if OPERATION_CATALOG[name].result is not expect:
            raise TypeError(f"{name} does not answer with {expect.__name__}")
        identity = request_id or new_uuid7()
        if identity in self._pending:
            return await asyncio.shield(self._pending[identity].reply)  # asked already: one reply for both
        async with self._slots:
            pending = self._pending[identity] = _Pending(taken)
            try:
                await self._send(self._wire.request(identity, name, params, session))
                return await pending.reply
            finally:
                self._pending.pop(identity, None)

    async def _send(self, data: bytes) -> None:
        try:
            await self._transport.send(data)
        except TransportClosed:
            raise ConnectionLost(self._lost or "the host is gone") from None

    async def _read(self) -> None:
        reason = "the host closed the connection"
        try:
            while self._lost is None:
                data = await self._received()
                now = self._clock()
                events = self._wire.expire(now) if data is None else self._wire.receive(data, now)
                for event in events:
                    if isinstance(event, Probe):
                        await self._transport.send(event.data)
                    elif isinstance(event, Failed):
                        fault = "refused this client" if event.noticed else "sent what is not the protocol"
                        reason = f"the host {fault}: {event.error.message}"
                        if event.noticed and event.error.code == "ownership_lost":
                            reason = event.error.message
                    else:
                        self._handle(event)
                if not self._wire.reads:
                    break
        except TransportClosed:
            pass
        except Exception as error:
            reason = f"this client failed at a frame of the host: {error!r}"
            raise
        finally:
            self._wire.lose()
            self._lose(reason)
            await self._transport.close()

    def _lose(self, reason: str) -> None:
        self._lost = self._lost or reason
        for pending in self._pending.values():
            if not pending.reply.done():
                pending.reply.set_exception(ConnectionLost(self._lost))
                pending.reply.exception()  # nobody may be waiting any more
        if self._on_lost is not None:
            on_lost, self._on_lost = self._on_lost, None
            on_lost(self._lost)

    async def _received(self) -> bytes | None:
        """The next bytes; None when the deadline came first."""
        deadline = self._wire.deadline
        if deadline is None:
            return await self._transport.receive()
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock())):
                return await self._transport.receive()
        except TimeoutError:
            return None

    def _handle(self, event: ClientEvent) -> None:
        match event:
            case Greeted():
                self._resolve(_HELLO, event.hello, None)
            case Replied():
                self._resolve(event.re, event.result, event.error)
            case Published(frame):
                replica = self._replicas.get(frame.session)
                if replica is not None and replica.apply(frame) == "gap":
                    self._resync(frame.session)
            case Resync():
                self._resync(event.session)
            case _:
                pass

    def _resolve(self, identity: str, result: Any, error: ProtocolError | None) -> None:
        pending = self._pending.get(identity)
        if pending is None:
            return  # its caller gave up
        if error is None and pending.taken is not None:
            pending.taken(result)
        if pending.reply.done():
            return
        if error is None:
            pending.reply.set_result(result)
        else:
            pending.reply.set_exception(error)
            pending.reply.exception()  # its caller may have given up

    def _resync(self, session: str) -> None:
        """Ask for one fresh snapshot; while one is on its way, another gap asks for nothing."""
        if session not in self._replicas or session in self._resyncing:
            return

        self._resyncing.add(session)
        task = asyncio.create_task(self._fetch(session), name="felan-client-resync")
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)

    async def _fetch(self, session: str) -> None:
        pause = RESYNC_SECONDS
        while session in self._replicas:
            try:
                await self.attach(session, history_limit=self._history_limits[session])
            except ConnectionLost:
                return
            except ProtocolError as error:
                if not error.retryable and error.code not in PASSING_CODES:
                    self._resyncing.discard(session)
                    self._drop(session)
                    self._end_session(session, error.message)
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
            else:
                if self._on_resync is not None:
                    self._on_resync(session)
                return

    def _end_session(self, session: str, reason: str) -> None:
        """A replica that cannot be refreshed is never left looking alive."""
        if self._on_session_lost is not None:
            self._on_session_lost(session, reason)
        elif self._on_lost is not None:
            self._on_lost(f"the session cannot be shown any more: {reason}")

    # --- host and sessions ---

    async def host_status(self) -> op.HostStatusResult:
        """``host.status``."""
        return await self.request("host.status", op.Empty(), expect=op.HostStatusResult)

    async def sessions_list(self, params: op.SessionsListParams | None = None) -> op.SessionsPage:
        """``sessions.list``: one page, newest created first."""
        return await self.request("sessions.list", params or op.SessionsListParams(), expect=op.SessionsPage)

    async def sessions_create(
        self, params: op.CreateParams, request_id: str | None = None
    ) -> op.SessionResult:
        """``sessions.create``."""
        return await self.request("sessions.create", params, expect=op.SessionResult, request_id=request_id)

    async def attach(
        self, session: str, *, on_change: Callable[[Change], None] | None = None, history_limit: int = 64
    ) -> SessionReplica:
        """``attach``: the session's replica, live from now on. Attaching again starts the same replica
        anew.
        """

        replicas: list[SessionReplica] = []

        def taken(result: op.AttachResult) -> None:
            # From here on what comes follows this snapshot: another gap, in the very next frame even, is new.
            self._resyncing.discard(session)
            known = self._replicas.get(session)
            if known is None:
                known = self._replicas[session] = SessionReplica(result.snapshot, on_change)
            else:
                known.reset(result.snapshot)
                known.on_change = on_change or known.on_change
            replicas.append(known)

        self._history_limits[session] = history_limit
        params = op.AttachParams(history_limit=history_limit)
        await self.request("attach", params, expect=op.AttachResult, session=session, taken=taken)
        return replicas[0]

    def replica(self, session: str) -> SessionReplica | None:
        """The replica of a session that this client is attached to; None where it is not."""
        return self._replicas.get(session)

    async def detach(self, session: str) -> None:
        """``detach``. It cancels, closes and stops nothing."""
        # While the reply is read: the reply to an attach may follow in the same bytes.
        params = op.Empty()
        await self.request(
            "detach", params, expect=op.Empty, session=session, taken=lambda _: self._drop(session)
        )

    def _drop(self, session: str) -> None:
        self._replicas.pop(session, None)

    async def close_session(self, session: str) -> int:
        """``close``: the revision of the session's row from then on."""
        return (await self.request("close", op.Empty(), expect=op.RevisionResult, session=session)).revision

    async def rename(self, session: str, name: str) -> int:
        """``session.rename``."""
        params = op.RenameParams(name=name)
        result = await self.request("session.rename", params, expect=op.RevisionResult, session=session)
        return result.revision

    async def history(self, session: str, params: op.HistoryParams) -> op.HistoryPage:
        """``session.history``: an older page, oldest first within it."""
        return await self.request("session.history", params, expect=op.HistoryPage, session=session)

    # --- the turn ---

    async def prompt(self, session: str, text: str, request_id: str | None = None) -> str:
        """``prompt``: the id of the run that was admitted."""
        params = op.PromptParams(text=text)
        result = await self.request(
            "prompt", params, expect=op.RunResult, session=session, request_id=request_id
        )
        return result.run_id

    async def steer(self, session: str, text: str, request_id: str | None = None) -> op.QueuedResult:
        """``steer``: put a message into the turn that runs."""
        params = op.PromptParams(text=text)
        return await self.request(
            "steer", params, expect=op.QueuedResult, session=session, request_id=request_id
        )

    async def follow_up(self, session: str, text: str, request_id: str | None = None) -> op.QueuedResult:
        """``follow_up``: queue a message for after the turn."""
        params = op.PromptParams(text=text)
        return await self.request(
            "follow_up", params, expect=op.QueuedResult, session=session, request_id=request_id
        )

    async def cancel(self, session: str, *, queue: bool = False) -> op.CancelResult:
        """``cancel``: end the turn; with ``queue`` drop what is queued and get its texts back."""
        params = op.CancelParams(queue=True if queue else UNSET)
        return await self.request("cancel", params, expect=op.CancelResult, session=session)

    async def answer(
        self, session: str, interaction: str, answer: JsonObject, request_id: str | None = None
    ) -> op.AnswerResult:
        """``interaction.answer``."""
        params = op.AnswerParams(interaction=interaction, answer=answer)
        return await self.request(
            "interaction.answer", params, expect=op.AnswerResult, session=session, request_id=request_id
        )

    async def ui_action(self, session: str, params: op.UiActionParams) -> None:
        """``ui.action``."""
        await self.request("ui.action", params, expect=op.Empty, session=session)

    # --- processes ---

    async def shell(self, session: str, params: op.ShellParams) -> str:
        """``shell.execute``: the id of the process."""
        return (await self.request("shell.execute", params, expect=op.ShellResult, session=session)).process

    async def processes_list(self, root: str, params: op.PageParams | None = None) -> op.ProcessesPage:
        """``processes.list``."""
        return await self.request(
            "processes.list", params or op.PageParams(), expect=op.ProcessesPage, session=root
        )

    async def processes_read(self, root: str, params: op.ProcessReadParams) -> op.ProcessReadResult:
        """``processes.read``: with ``wait_ms`` it waits for more, which is how a panel follows live."""
        return await self.request("processes.read", params, expect=op.ProcessReadResult, session=root)

    async def processes_stop(self, root: str, params: op.ProcessStopParams) -> op.ProcessStopResult:
        """``processes.stop``."""
        return await self.request("processes.stop", params, expect=op.ProcessStopResult, session=root)
