"""Admission: who may ask what, and that a mutation happens once (session protocol §3 "order", §8).

The checks run in the contract's order. Everything up to the record look-up happens in the order of the
frames; what comes after runs beside the connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from felan_core.host.connection import Connection
from felan_core.host.request_context import RequestContext, accepted, refused
from felan_core.protocol import (
    LIMITS,
    UNSET,
    ProtocolError,
    Request,
    StoredRequestRecord,
    canonical_request_payload,
    compare_request_payload,
    normalise_mutation_id,
    operation_named,
    request_retain_until,
)
from felan_core.protocol.base import JsonObject
from felan_core.protocol.connection import Requested, too_many
from felan_core.protocol.framing import encode_frame
from felan_core.protocol.records import check_request_capacity
from felan_core.store.errors import AlreadyReserved, StoreBroken, StoreError, StoreLost
from felan_core.store.store import Store

FINISHED: Final = 1024
"""Ids of requests that ended last: one that ended while its repeat was looked up is looked up again."""
Handler = Callable[[RequestContext], Awaitable[msgspec.Struct]]
RESERVED: Final = ("queue.update",)
"""Named and parsed, never advertised (session protocol §4)."""


class Admission:
    """The gate before the handlers. ``handlers``: operation → what does it; the rest is unsupported here."""

    def __init__(
        self,
        store: Store,
        handlers: dict[str, Handler],
        *,
        clock: Callable[[], int],
        draining: Callable[[], bool],
        report: Callable[[BaseException, str], None],
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._clock = clock
        self._draining = draining
        self._report = report
        self._running: dict[str, tuple[StoredRequestRecord, asyncio.Future[JsonObject]]] = {}
        self._finished: dict[str, None] = {}

    @property
    def operations(self) -> list[str]:
        """The operations that are implemented here."""
        return sorted((*self._handlers, "hello"))

    async def admit(self, connection: Connection, requested: Requested) -> Awaitable[None] | None:
        """Check one request; the effect that is still to run, or None where it is answered already."""
        request = requested.request
        try:
            return await self._admit(connection, request, crowded=requested.crowded)
        except ProtocolError as error:
            connection.refuse(request.id, error)
        except StoreError as error:
            connection.refuse(request.id, storage_refusal(error))
        return None

    async def _admit(
        self, connection: Connection, request: Request, *, crowded: bool
    ) -> Awaitable[None] | None:
        operation = operation_named(request.op)
        params = request.params
        record: StoredRequestRecord | None = None
        now = self._clock()
        session = request.session or None
        if operation.mutates:
            identity = normalise_mutation_id(request.id)
            record = StoredRequestRecord(
                id=identity,
                principal=connection.principal.id,
                op=request.op,
                session=session or UNSET,
                payload=canonical_request_payload(request.op, session, params),
                admitted_at=now,
                retain_until=request_retain_until(identity, now),
            )
            known = await self._known(connection, request.id, record)
            if known is not None:
                return known
        if request.op in RESERVED:
            raise ProtocolError("unavailable", f"op: {request.op} is reserved; no host does it yet")
        if request.op not in self._handlers:
            raise ProtocolError("unsupported_operation", f"op: {request.op} is not available at this host")
        if self._draining() and operation.durability == "record":
            raise ProtocolError("unavailable", "the host is draining and takes no new work", retryable=True)
        if crowded:
            raise too_many()
        if record is not None:
            of_session, of_namespace = await self._store.request_counts(session)
            check_request_capacity(operation.durability, in_session=of_session, in_namespace=of_namespace)
            if record.id in self._running or record.id in self._finished:
                # Another connection sent the same meanwhile.
                known = await self._known(connection, request.id, record)
                if known is not None:
                    return known
        call = RequestContext(
            operation=operation,
            params=params,
            session=session,
            re=request.id,
            connection=connection,
            record=record,
            store=self._store,
            now=now,
        )
        if record is not None:
            self._running[record.id] = record, asyncio.get_running_loop().create_future()
        return self._perform(call)

    async def _known(
        self, connection: Connection, re: str, record: StoredRequestRecord
    ) -> Awaitable[None] | None:
        """The reply of an earlier request with this id: the stored one, or the one that is under way."""
        running = self._running.get(record.id)
        stored = running[0] if running else await self._store.request(record.id)
        if stored is None:
            return None
        same = compare_request_payload(stored, record.payload) == "same"
        if not same or stored.principal != record.principal:
            raise ProtocolError("request_conflict", "id: another request has this id")

        async def replay() -> None:
            reply = await asyncio.shield(running[1]) if running is not None else _kept_reply(stored)
            connection.answer(re, encode_frame({**reply, "re": re}))

        return replay()

    async def _perform(self, call: RequestContext) -> None:
        if not call.operation.bulk:
            return await self._answer(call)
        # A large reply is computed only when it can be queued, one at a time a connection.
        async with call.connection.space(LIMITS.page_bytes):
            await self._answer(call)

    async def _answer(self, call: RequestContext) -> None:
        reply = await self._reply(call)
        self._finish(call, reply)
        if call.replied:
            return
        try:
            call.connection.answer(call.re, encode_frame(reply))
        except ProtocolError as error:
            self._report(error, call.operation.name)
            call.connection.refuse(call.re, _failure(call))

    async def _reply(self, call: RequestContext) -> JsonObject:
        try:
            result = await self._handlers[call.operation.name](call)
            return await self._done(call, accepted(call.re, result))
        except ProtocolError as error:
            return await self._failed(call, error)
        except AlreadyReserved:
            return await self._overtaken(call)
        except StoreError as error:
            return await self._not_stored(call, error)
        except asyncio.CancelledError:
            self._finish(call, refused(call.re, ProtocolError("indeterminate", "the host is ending")))
            raise
        except Exception as error:
            self._report(error, call.operation.name)
            return await self._failed(call, _failure(call))

    async def _done(self, call: RequestContext, reply: JsonObject) -> JsonObject:
        """Keep the reply of what was done. Where that fails nobody is told what could not be told again."""
        try:
            await call.conclude(reply, accepted=True)
        except AlreadyReserved:
            raise
        except StoreError as failure:
            self._report(failure, call.operation.name)
            error = ProtocolError("indeterminate", f"it was done, and its record not kept: {failure}")
            return refused(call.re, error)
        return reply

    async def _not_stored(self, call: RequestContext, failure: StoreError) -> JsonObject:
        """A write failed. Whether its transaction is on disk all the same, the request's record decides.

        Where not even that can be read, nobody knows: ``indeterminate``, and asking again finds out.
        """
        record = call.record
        if record is None or isinstance(failure, StoreLost):
            return await self._failed(call, storage_refusal(failure))
        try:
            stored = await self._store.request(record.id)
        except StoreError as error:
            self._report(error, call.operation.name)
            return refused(call.re, ProtocolError("indeterminate", str(failure)))
        if stored is not None and isinstance(stored.reply, dict):
            return {**stored.reply, "re": call.re}
        return await self._failed(call, storage_refusal(failure))

    async def _overtaken(self, call: RequestContext) -> JsonObject:
        """The same request was taken, done and told while this one was being admitted."""
        assert call.record is not None
        stored = await self._store.request(call.record.id)
        same = compare_request_payload(stored, call.record.payload) == "same"
        if stored is None or not same or stored.principal != call.record.principal:
            return refused(call.re, ProtocolError("request_conflict", "id: another request has this id"))
        return {**_kept_reply(stored), "re": call.re}

    async def _failed(self, call: RequestContext, error: ProtocolError) -> JsonObject:
        reply = refused(call.re, error)
        try:
            await call.conclude(reply, accepted=False)
        except StoreError as failure:
            self._report(failure, call.operation.name)
        return reply

    def _finish(self, call: RequestContext, reply: JsonObject) -> None:
        if call.record is not None:
            _, future = self._running.pop(call.record.id)
            self._finished[call.record.id] = None
            if len(self._finished) > FINISHED:
                del self._finished[next(iter(self._finished))]
            if not future.done():
                future.set_result(reply)


def storage_refusal(error: StoreError) -> ProtocolError:
    """The refusal of a request that the store did not take."""
    if isinstance(error, StoreLost):
        return ProtocolError("ownership_lost", str(error))
    # A row that does not decode stays so: trying again is of no use, another session is.
    details: JsonObject | None = {"unreadable": True} if isinstance(error, StoreBroken) else None
    return ProtocolError("storage_failure", str(error), details=details)


def _failure(call: RequestContext) -> ProtocolError:
    """The refusal of a request at which the host itself failed."""
    code = "indeterminate" if call.reserved else "unavailable"
    return ProtocolError(code, "the host failed at this request")


def _kept_reply(stored: StoredRequestRecord) -> JsonObject:
    """The reply that a record holds; one without a result is never run again by itself."""
    if isinstance(stored.reply, dict):
        return stored.reply
    error = ProtocolError("indeterminate", "the host ended before it knew what became of this")
    return refused(stored.id, error)
