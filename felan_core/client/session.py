"""ClientSession: a client that outlives its connections.

A screen or a script holds it for as long as it likes. When a connection ends it connects again, refreshes
the replicas, and sends each request without a reply once more under its id: the host answers a repeat from
its record, so that each is done once. ``RequestIndeterminate`` reaches the caller and is never repeated.

``link.py`` decides when to connect; this module is the pump.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from felan_core.client.host_client import PASSING_CODES, ConnectionLost, HostClient
from felan_core.client.link import Link, LinkState
from felan_core.client.operations import Operations
from felan_core.client.replica import Change, SessionReplica
from felan_core.client.transport import Transport, TransportClosed
from felan_core.protocol import operations as op
from felan_core.protocol.catalogue import OPERATION_RESULTS
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.ids import new_uuid7

R = TypeVar("R")
HELLO_SECONDS: Final = 10.0
"""A host that has not accepted hello by then is tried again."""


class _Outgoing:
    """A request without a reply. ``sent``: some of it may have reached the host."""

    def __init__(self, identity: str, name: str, params: msgspec.Struct, session: str | None) -> None:
        self.id = identity
        self.name = name
        self.params = params
        self.session = session
        self.sent = False
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class ClientSession(Operations):
    """``connect`` makes a new transport; it raises ``OSError`` or ``TransportClosed`` when that fails.

    ``on_state`` is called after each change of ``link``; ``on_resync`` after a session's replica started
    again from a fresh snapshot; ``on_session_lost`` with a session and a reason when the host refuses that
    snapshot for good. ``clock`` and ``sleep`` are in seconds.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Transport]],
        client: op.ClientInfo,
        *,
        on_state: Callable[[Link], None] = lambda link: None,
        on_resync: Callable[[str], None] | None = None,
        on_session_lost: Callable[[str, str], None] = lambda session, reason: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.link = Link()
        self.hello_result: op.HelloResult | None = None
        self._connect = connect
        self._info = client
        self._on_state = on_state
        self._on_resync = on_resync
        self._on_session_lost = on_session_lost
        self._clock = clock
        self._sleep = sleep
        self._replicas: dict[str, SessionReplica] = {}
        self._outbox: dict[str, _Outgoing] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._client: HostClient | None = None
        self._changed = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    # --- the link ---

    async def open(self) -> op.HelloResult:
        """Connect for the first time. Raises ``RequestRefused`` or ``ConnectionLost`` when that fails."""
        client = await self._connection()
        self._greeted(client)
        self._keeper = asyncio.create_task(self._keep(client), name="felan-client-session")
        assert self.hello_result is not None
        return self.hello_result

    async def close(self) -> None:
        self.link.close()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        self._end()
        for task in list(self._sending):
            task.cancel()
        if self._client is not None:
            await self._client.close()

    @property
    def unanswered(self) -> int:
        """How many requests have no reply."""
        return len(self._outbox)

    async def _keep(self, client: HostClient) -> None:
        """Hold a connection until the link ends."""
        while True:
            lost = await client.lost()
            self._dropped(str(lost), lost.code)
            await client.close()
            while (found := await self._again()) is None:
                if self.link.ended:
                    return
            client = found

    async def _again(self) -> HostClient | None:
        """Wait for the next attempt and make it; None where it failed."""
        if self.link.ended:
            self._end()
            return None
        await self._sleep(max(0.0, self.link.due - self._clock()))
        self.link.retry()
        self._tell()
        client: HostClient | None = None
        try:
            client = await self._connection()
            # Answers and actions need an attached session: the snapshots come before the requests.
            for session in list(self._replicas):
                await client.refresh(session)
        except ConnectionLost as lost:
            self._dropped(str(lost), lost.code)
        except ProtocolError as error:
            if error.retryable or error.code in PASSING_CODES:
                self._dropped(error.message)
            else:
                self._refused(error.message)
        except Exception as error:
            self._refused(f"this client failed while it connected: {error!r}")
        else:
            if client.ended:
                lost = await client.lost()
                self._dropped(str(lost), lost.code)
            else:
                self._greeted(client)
        if self.link.state is LinkState.CONNECTED:
            return client
        if client is not None:
            await client.close()
        return None

    async def _connection(self) -> HostClient:
        """A connection that has said hello to the host of before."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                transport = await self._connect()
                client = HostClient(
                    transport,
                    self._info,
                    on_resync=self._on_resync,
                    on_session_lost=self._on_session_lost,
                    replicas=self._replicas,
                    clock=self._clock,
                )
                try:
                    hello = await client.connect()
                except BaseException:
                    await transport.close()
                    raise
        except (OSError, TransportClosed) as error:
            reason = "the host does not answer" if isinstance(error, TimeoutError) else str(error)
            raise ConnectionLost(reason or "the host is gone", sent=False) from None
        before = self.hello_result
        if before is not None and _place(before) != _place(hello):
            await client.close()
            raise ConnectionLost(f"another host answers now: {hello.host.root}", code="target_mismatch")
        self.hello_result = hello
        return client

    def _greeted(self, client: HostClient) -> None:
        self._client = client
        self.link.greet(self._clock())
        for request in list(self._outbox.values()):
            self._carry(client, request)
        self._tell()

    def _dropped(self, reason: str, code: str = "") -> None:
        self._client = None
        self.link.drop(reason, self._clock(), code=code)
        self._tell()

    def _refused(self, reason: str) -> None:
        self.link.refuse(reason)
        self._tell()

    def _tell(self) -> None:
        if self.link.ended:
            self._end()
        self._changed.set()
        self._changed = asyncio.Event()
        self._on_state(self.link)

    def _end(self) -> None:
        """The link ended: who waits for a reply gets the reason."""
        self._changed.set()
        for request in self._outbox.values():
            if not request.reply.done():
                request.reply.set_exception(ConnectionLost(self.link.reason, sent=request.sent))
                request.reply.exception()  # its caller may have given up

    # --- requests ---

    async def request(
        self,
        name: str,
        params: msgspec.Struct,
        *,
        expect: type[R],
        session: str | None = None,
        request_id: str | None = None,
    ) -> R:
        identity = request_id or new_uuid7()
        request = self._outbox.get(identity)
        if request is None:
            self._require_link()
            request = self._outbox[identity] = _Outgoing(identity, name, params, session)
            request.reply.add_done_callback(lambda _: self._outbox.pop(identity, None))
            if self._client is not None:
                self._carry(self._client, request)
        try:
            return await asyncio.shield(request.reply)
        except asyncio.CancelledError:
            self._outbox.pop(identity, None)  # not sent again on another connection
            raise

    def _require_link(self) -> None:
        if self.link.ended:
            raise ConnectionLost(self.link.reason, sent=False)

    def _carry(self, client: HostClient, request: _Outgoing) -> None:
        """Send a request on this connection. Without a reply it stays in the outbox."""

        async def carry() -> None:
            request.sent = True
            expect = OPERATION_RESULTS[request.name]
            try:
                result = await client.request(
                    request.name,
                    request.params,
                    expect=expect,
                    session=request.session,
                    request_id=request.id,
                )
            except ConnectionLost:
                return
            except Exception as error:
                if not request.reply.done():
                    request.reply.set_exception(error)
                    request.reply.exception()  # its caller may have given up
            else:
                if not request.reply.done():
                    request.reply.set_result(result)

        task = asyncio.create_task(carry(), name="felan-client-request")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    # --- sessions ---

    async def attach(
        self, session: str, *, on_change: Callable[[Change], None] | None = None, history_limit: int = 64
    ) -> SessionReplica:
        while True:
            client = await self._connected()
            try:
                return await client.attach(session, on_change=on_change, history_limit=history_limit)
            except ConnectionLost:
                continue

    async def detach(self, session: str) -> None:
        if self._client is None:
            self._replicas.pop(session, None)  # the next connection does not attach it
            return
        try:
            await self._client.detach(session)
        except ConnectionLost:
            self._replicas.pop(session, None)

    def replica(self, session: str) -> SessionReplica | None:
        return self._replicas.get(session)

    async def _connected(self) -> HostClient:
        """The connection, once there is one whose loss was not noticed."""
        while True:
            self._require_link()
            if self._client is not None and not self._client.ended:
                return self._client
            await self._changed.wait()


class _Place(NamedTuple):
    namespace: str
    root: str


def _place(hello: op.HelloResult) -> _Place:
    """The identity of a host: equal for two connections to it, also after it started again."""
    return _Place(hello.host.namespace, hello.host.root)
