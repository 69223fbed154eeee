"""HostClient: session protocol v1 from the client's side, one method an operation, over any transport.

Frames are taken in order by one reader task. The accepted reply to ``attach`` precedes every frame of its
session, so the replica is made while that reply is being read, and nothing is lost in between.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from felan_core.client.replica import Change, SessionReplica
from felan_core.client.transport import Transport, TransportClosed
from felan_core.protocol import operations as op
from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.catalogue import OPERATION_CATALOG
from felan_core.protocol.envelopes import (
    Accepted,
    EventFrame,
    NoticeFrame,
    ProtocolFailure,
    Refused,
    Request,
    TextFrame,
    Unclaimed,
)
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.frames import parse_server_frame
from felan_core.protocol.framing import JsonLineDecoder, encode_frame
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.interactions import INTERACTION_KINDS

R = TypeVar("R")
RESYNC_SECONDS = 0.1
PASSING_CODES = ("busy", "unavailable", "storage_failure", "request_capacity")
"""Refusals of a fresh snapshot that a later try may not get."""
UI_CAPABILITIES = ("ui.status", "ui.progress", "ui.document", "ui.view", "ui.action")


class ConnectionLost(Exception):
    """The host is gone; what was asked may or may not have been done. Ask again with the same id to find
    out.
    """


class _Pending:
    """A request without a reply; ``taken`` runs while the reply is read, before the next frame."""

    def __init__(self, name: str, taken: Callable[[Any], None] | None) -> None:
        self.op = name
        self.taken = taken
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class HostClient:
    """One connection to a host.

    ``on_lost`` is called once when the connection ends; ``on_resync`` after a session's replica was started
    again from a fresh snapshot.
    """

    def __init__(
        self,
        transport: Transport,
        client: op.ClientInfo,
        *,
        on_lost: Callable[[str], None] | None = None,
        on_resync: Callable[[str], None] | None = None,
    ) -> None:
        self._transport = transport
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
        """Say hello and start reading. Raises ``ProtocolError`` or ``ConnectionLost``."""
        self._reader = asyncio.create_task(self._read(), name="felan-client-reader")
        result = await self.request(
            "hello",
            op.HelloParams(
                protocol_versions=[1],
                client=self._client,
                capabilities=list(UI_CAPABILITIES),
                interactions=list(INTERACTION_KINDS),
            ),
            expect=op.HelloResult,
        )
        self.hello_result = result
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

        A refusal is raised as ``ProtocolError`` with the host's code; a lost connection as
        ``ConnectionLost``. ``request_id``: the id of an earlier try, so that the host does it once.
        """
        if self._lost is not None:
            raise ConnectionLost(self._lost)
        if OPERATION_CATALOG[name].result is not expect:
            raise TypeError(f"{name} does not answer with {expect.__name__}")
        identity = request_id or new_uuid7()
        if identity in self._pending:
            return await asyncio.shield(self._pending[identity].reply)  # asked already: one reply for both
        pending = _Pending(name, taken)
        self._pending[identity] = pending
        frame = encode_frame(
            Request(id=identity, op=name, session=session or UNSET, params=msgspec.to_builtins(params))
        )
        try:
            await self._transport.send(frame)
            return await pending.reply
        except TransportClosed:
            raise ConnectionLost(self._lost or "the host is gone") from None
        finally:
            self._pending.pop(identity, None)

    async def _read(self) -> None:
        decoder = JsonLineDecoder()
        reason = "the host closed the connection"
        try:
            while data := await self._transport.receive():
                for line in decoder.lines(data):
                    self._take(line)
            decoder.finish()
        except ProtocolError as error:
            reason = f"the host sent what is not the protocol: {error.message}"
        except TransportClosed:
            pass
        except Exception as error:
            reason = f"this client failed at what the host sent: {error!r}"
            raise
        finally:
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

    def _op_of(self, identity: str) -> str | None:
        pending = self._pending.get(identity)
        return None if pending is None else pending.op

    def _take(self, line: bytes) -> None:
        frame = parse_server_frame(line, self._op_of)
        match frame:
            case Unclaimed():
                pass  # the reply to a request whose caller gave up
            case Accepted():
                pending = self._pending[frame.re]
                if pending.taken is not None:
                    pending.taken(frame.result)
                if not pending.reply.done():
                    pending.reply.set_result(frame.result)
            case Refused():
                pending = self._pending.get(frame.re)
                if pending is not None and not pending.reply.done():
                    pending.reply.set_exception(ProtocolError.of(frame.error))
                    pending.reply.exception()
            case EventFrame() | TextFrame():
                replica = self._replicas.get(frame.session)
                if replica is not None and replica.apply(frame) == "gap":
                    self._resync(frame.session)
            case NoticeFrame():
                self._notice(frame)

    def _notice(self, frame: NoticeFrame) -> None:
        if isinstance(frame.notice, ProtocolFailure):
            self._lost = f"the host refused this client: {frame.notice.error.message}"
        else:
            self._resync(frame.notice.session)

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
                if error.code not in PASSING_CODES:
                    self._resyncing.discard(session)
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
            else:
                if self._on_resync is not None:
                    self._on_resync(session)
                return

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
