"""HostClient: one connection to a host, over any transport. ``ClientSession`` outlives connections.

One reader task pumps bytes into a ``ClientConnection`` and handles its events in order. The accepted reply
to ``attach`` precedes every frame of its session, so the replica is made while that reply is handled, and
nothing is lost in between.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec

from felan_core.client.operations import Operations
from felan_core.client.replica import Change, SessionReplica
from felan_core.client.transport import Transport, TransportClosed
from felan_core.protocol import operations as op
from felan_core.protocol.base import LIMITS
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
CLIENT_FAULT: Final = "client_fault"
"""The code of a connection that ended by a fault of this client."""
UI_CAPABILITIES = ("ui.status", "ui.progress", "ui.document", "ui.view", "ui.action")


class ConnectionLost(Exception):
    """The connection to the host ended; ``str()`` is the reason, ``code`` the host's where it named one.

    ``sent``: the request may have reached the host and may have been done. The same id again finds out.
    """

    def __init__(self, reason: str, *, code: str = "", sent: bool = True) -> None:
        super().__init__(reason)
        self.code = code
        self.sent = sent


class _Pending:
    """A request without a reply; ``taken`` runs while the reply is read, before the next frame."""

    def __init__(self, taken: Callable[[Any], None] | None) -> None:
        self.taken = taken
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class HostClient(Operations):
    """One connection to a host. ``replicas``: those of an earlier connection, to be refreshed on this one.

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
        replicas: dict[str, SessionReplica] | None = None,
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
        self._replicas: dict[str, SessionReplica] = {} if replicas is None else replicas
        self._resyncing: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._code = ""
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
        self._on_lost = None
        await self._transport.close()
        if self._reader is not None:
            await asyncio.wait([self._reader])
        for task in list(self._tasks):
            task.cancel()

    @property
    def ended(self) -> bool:
        """Whether the connection has ended."""
        return self._lost is not None

    async def lost(self) -> ConnectionLost:
        """Wait until the connection has ended; why it did."""
        if self._reader is not None:
            await asyncio.wait([self._reader])
            self._reader.exception()  # the reason names it
        return ConnectionLost(self._lost or "the host is gone", code=self._code)

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
        """``taken`` is called with the result while its reply is read, before the next frame."""
        self._require_connection()
        if OPERATION_CATALOG[name].result is not expect:
            raise TypeError(f"{name} does not answer with {expect.__name__}")
        identity = request_id or new_uuid7()
        if identity in self._pending:
            return await asyncio.shield(self._pending[identity].reply)  # asked already: one reply for both
        async with self._slots:
            self._require_connection()
            pending = self._pending[identity] = _Pending(taken)
            try:
                await self._send(self._wire.request(identity, name, params, session))
                return await pending.reply
            finally:
                self._pending.pop(identity, None)

    def _require_connection(self) -> None:
        if self._lost is not None:
            raise ConnectionLost(self._lost, code=self._code, sent=False)

    async def _send(self, data: bytes) -> None:
        try:
            await self._transport.send(data)
        except TransportClosed:
            raise ConnectionLost(self._lost or "the host is gone", code=self._code) from None

    async def _read(self) -> None:
        reason = "the host closed the connection"
        try:
            while self._lost is None:
                data = await self._received()
                now = self._clock()
                events = self._wire.expire(now) if data is None else self._wire.receive(data, now)
                for event in events:
                    if isinstance(event, Probe):
                        # Beside the reader: a host that reads nothing takes no probe, and counts as lost.
                        self._run(self._probe(event.data), "felan-client-probe")
                    elif isinstance(event, Failed):
                        self._code = event.error.code if event.noticed else ""
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
            reason, self._code = f"this client failed at a frame of the host: {error!r}", CLIENT_FAULT
            raise
        finally:
            self._wire.lose()
            self._lose(reason)
            await self._transport.close()

    def _lose(self, reason: str) -> None:
        self._lost = self._lost or reason
        for pending in self._pending.values():
            if not pending.reply.done():
                pending.reply.set_exception(ConnectionLost(self._lost, code=self._code))
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
        self._run(self.refresh(session), "felan-client-resync")

    def _run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _probe(self, data: bytes) -> None:
        with suppress(TransportClosed):
            await self._transport.send(data)

    async def refresh(self, session: str) -> None:
        """Attach an existing replica anew; a refusal that passes is asked again, any other ends the session.

        Returns early where the connection is lost.
        """
        self._resyncing.add(session)
        await self._fetch(session)

    async def _fetch(self, session: str) -> None:
        pause = RESYNC_SECONDS
        while (replica := self._replicas.get(session)) is not None:
            try:
                await self.attach(session, history_limit=replica.history_limit)
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

    async def attach(
        self, session: str, *, on_change: Callable[[Change], None] | None = None, history_limit: int = 64
    ) -> SessionReplica:
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
            known.history_limit = history_limit
            replicas.append(known)

        params = op.AttachParams(history_limit=history_limit)
        await self.request("attach", params, expect=op.AttachResult, session=session, taken=taken)
        return replicas[0]

    def replica(self, session: str) -> SessionReplica | None:
        return self._replicas.get(session)

    async def detach(self, session: str) -> None:
        # While the reply is read: the reply to an attach may follow in the same bytes.
        params = op.Empty()
        await self.request(
            "detach", params, expect=op.Empty, session=session, taken=lambda _: self._drop(session)
        )

    def _drop(self, session: str) -> None:
        self._replicas.pop(session, None)
