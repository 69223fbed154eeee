"""One admitted request: its parameters, its record, and the moment at which its reply is decided.

A mutation is recorded before or together with its effect (session protocol §8). Where the effect lies in the
database, ``settle`` puts record, effect and reply into one transaction; where it lies outside, ``reserve``
puts the record on disk first, and the reply follows when it is known.
"""

from typing import Any

import msgspec

from felan_core.host.connection import Connection
from felan_core.protocol.base import JsonObject
from felan_core.protocol.catalogue import Operation
from felan_core.protocol.entries import LocalOrigin
from felan_core.protocol.envelopes import Accepted, Refused
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.interactions import Responder
from felan_core.protocol.records import StoredRequestRecord
from felan_core.store.batch import Batch
from felan_core.store.store import Store


class RequestContext:
    """A request that passed admission. ``record`` is None for what keeps nothing."""

    def __init__(
        self,
        *,
        operation: Operation,
        params: Any,
        session: str | None,
        re: str,
        connection: Connection,
        record: StoredRequestRecord | None,
        store: Store,
        now: int,
    ) -> None:
        self.operation = operation
        self.params = params
        self.session = session
        self.re = re
        self.connection = connection
        self.record = record
        self.now = now
        self.replied = False
        self._store = store
        self._reserved = False
        self._settled = False

    @property
    def origin(self) -> LocalOrigin:
        """Where what this request starts came from."""
        return LocalOrigin(client=self.connection.client.name)

    @property
    def responder(self) -> Responder:
        """Who answers with this request."""
        return Responder(id=self.connection.principal.id, client=self.connection.client.name)

    @property
    def reserved(self) -> bool:
        """The record stands on disk; what follows may have had its effect."""
        return self._reserved

    async def reserve(self) -> None:
        """Put the record on disk, before an effect that lies outside the database."""
        if self.record is not None and not self._reserved:
            batch = Batch()
            batch.reserve(self.record)
            await self._store.write(batch)
            self._reserved = True

    def settle(self, batch: Batch, result: msgspec.Struct) -> None:
        """Put record and reply into the transaction that holds the effect."""
        if self.record is None:
            return
        reply = accepted(self.re, result)
        if self._reserved:
            batch.finish(self.record.id, reply)
        else:
            batch.reserve(msgspec.structs.replace(self.record, reply=reply))
        self._settled = True

    async def conclude(self, reply: JsonObject, *, accepted: bool) -> None:
        """Store the reply where no transaction did. A refusal before the reservation is not recorded."""
        if self.record is None or self._settled or not (accepted or self._reserved):
            return
        batch = Batch()
        if self._reserved:
            batch.finish(self.record.id, reply)
        else:
            batch.reserve(msgspec.structs.replace(self.record, reply=reply))
        await self._store.write(batch)
        self._settled = True


def accepted(re: str, result: msgspec.Struct) -> JsonObject:
    """The accepted reply as plain JSON."""
    return msgspec.to_builtins(Accepted(re=re, result=result))


def refused(re: str, error: ProtocolError) -> JsonObject:
    """The rejected or indeterminate reply as plain JSON."""
    outcome = "indeterminate" if error.code == "indeterminate" else "rejected"
    return msgspec.to_builtins(Refused(re=re, outcome=outcome, error=error.body))
