"""Rows to bytes and back: JSON of the wire structs, checked on the way in and on the way out."""

from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import Entry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.records import StoredRequestRecord
from felan_core.protocol.session import ProcessRow, Queue, Run, SessionHeader
from felan_core.store.errors import InvalidRow, StoreBroken
from felan_core.store.rows import SessionRecord

T = TypeVar("T")
_encoder = msgspec.json.Encoder()


class Codec(Generic[T]):
    """Encodes and decodes the bodies of one table."""

    def __init__(self, table: str, shape: type[T]) -> None:
        self._table = table
        self._decoder = msgspec.json.Decoder(shape)

    def encode(self, id: str, value: T) -> bytes:
        """The value's JSON, decoded once as a check. Raises ``InvalidRow``.

        Structs that Python code makes are not checked by msgspec, and what is found out at the next start is
        found out too late.
        """
        try:
            body = _encoder.encode(value)
            self._decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise InvalidRow(self._table, id, str(error)) from error
        return body

    def decode(self, path: Path, id: str, body: bytes) -> T:
        """The value. Raises ``StoreBroken`` that names table and id."""
        try:
            return self._decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            raise StoreBroken(
                path,
                f"{path}: the row {id!r} of table {self._table} cannot be read ({error}). "
                "Nothing was changed; an earlier copy of the database may be beside it.",
            ) from error


class SessionBody(msgspec.Struct, frozen=True, kw_only=True):
    """What changes with every revision: small."""

    root: str
    parent: str | None
    created_at: int
    updated_at: int
    revision: int
    next_seq: int
    cwd: str
    name: str | None
    header: SessionHeader
    run: Run | None
    policy: str
    leaf: str | None
    waiting: int


class SessionBulk(msgspec.Struct, frozen=True, kw_only=True):
    """What is large or seldom changes."""

    queue: Queue
    settings: JsonObject
    memory: JsonObject | None
    instructions: str


# A union is a form, not a class, to a type checker; msgspec takes both.
ENTRY = Codec("entries", cast(type[Entry], Entry))
ELEMENT = Codec("elements", cast(type[Element], Element))
INTERACTION = Codec("interactions", Interaction)
RESUME = Codec("interactions", JsonObject)
PROCESS = Codec("processes", ProcessRow)
REPLY = Codec("requests", JsonObject)
_REQUEST = Codec("requests", StoredRequestRecord)
_SESSION = Codec("sessions", SessionBody)
_BULK = Codec("session_bulk", SessionBulk)


def encode_session(record: SessionRecord) -> bytes:
    """The body of a session. Raises ``InvalidRow``."""
    body = SessionBody(
        root=record.root,
        parent=record.parent,
        created_at=record.created_at,
        updated_at=record.updated_at,
        revision=record.revision,
        next_seq=record.next_seq,
        cwd=record.cwd,
        name=record.name,
        header=record.header,
        run=record.run,
        policy=record.policy,
        leaf=record.leaf,
        waiting=record.waiting,
    )
    return _SESSION.encode(record.id, body)


def encode_bulk(record: SessionRecord) -> bytes:
    """The large half of a session. Raises ``InvalidRow``."""
    bulk = SessionBulk(
        queue=record.queue,
        settings=record.settings,
        memory=record.memory,
        instructions=record.instructions,
    )
    return _BULK.encode(record.id, bulk)


def decode_session(path: Path, id: str, body: bytes, bulk: bytes) -> SessionRecord:
    """The record of two bodies. Raises ``StoreBroken``."""
    hot = _SESSION.decode(path, id, body)
    cold = _BULK.decode(path, id, bulk)
    return SessionRecord(
        id=id,
        root=hot.root,
        parent=hot.parent,
        created_at=hot.created_at,
        updated_at=hot.updated_at,
        revision=hot.revision,
        next_seq=hot.next_seq,
        cwd=hot.cwd,
        name=hot.name,
        header=hot.header,
        queue=cold.queue,
        run=hot.run,
        settings=cold.settings,
        memory=cold.memory,
        instructions=cold.instructions,
        policy=hot.policy,
        leaf=hot.leaf,
        waiting=hot.waiting,
    )


def searchable(name: str | None, cwd: str) -> str:
    """What ``list_sessions(query=…)`` looks in: name and folder, without regard to case."""
    return f"{name or ''}\n{cwd}".casefold()


def check_request(path: Path | None, record: StoredRequestRecord) -> None:
    """Check a record's bounds: ``InvalidRow`` on the way in (no path), ``StoreBroken`` on the way out."""
    if path is None:
        _REQUEST.encode(record.id, record)
    else:
        _REQUEST.decode(path, record.id, _encoder.encode(record))
