"""A batch: what one transaction changes, collected in the host's words and encoded at once.

Encoding (and decoding once, as a check) happens when a change is put in, so that a value that could not be
read back is refused where it comes from, and so that what is written is the value as it was then.
"""

from typing import Final

from felan_core.protocol.base import LIMITS, UNSET, JsonObject, or_default
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import Entry, MessageEntry, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.records import StoredRequestRecord
from felan_core.protocol.session import ProcessRow
from felan_core.store import codec
from felan_core.store.errors import InvalidRow
from felan_core.store.rows import SessionRecord

Value = str | int | bytes | None
Change = tuple[str, tuple[Value, ...], bool]
"""A statement, its parameters, and whether it must touch exactly one row."""

OPEN_STATES: Final = ("waiting", "deferred")

_PUT_SESSION: Final = """
INSERT INTO sessions (id, root, parent, created_at, updated_at, state, cwd, search, busy, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET root = excluded.root, parent = excluded.parent,
    created_at = excluded.created_at, updated_at = excluded.updated_at, state = excluded.state,
    cwd = excluded.cwd, search = excluded.search, busy = excluded.busy, body = excluded.body
"""
# The large and seldom changed half of a session, apart: SQLite leaves the pages of a row that stays the same
# as they are, so a revision does not write it again.
_PUT_BULK: Final = """
INSERT INTO session_bulk (session, body) VALUES (?, ?)
ON CONFLICT (session) DO UPDATE SET body = excluded.body
"""
# An entry keeps the place in the tree that it was first stored with.
_PUT_ENTRY: Final = """
INSERT INTO entries (session, id, seq, parent, role, running, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session, id) DO UPDATE SET running = excluded.running, body = excluded.body
"""
_PUT_INTERACTION: Final = """
INSERT INTO interactions (session, id, open, body, resume) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (session, id) DO UPDATE SET open = excluded.open, body = excluded.body, resume = excluded.resume
"""
_PUT_ELEMENT: Final = """
INSERT INTO elements (session, id, body) VALUES (?, ?, ?)
ON CONFLICT (session, id) DO UPDATE SET body = excluded.body
"""
_REMOVE_ELEMENT: Final = "DELETE FROM elements WHERE session = ? AND id = ?"
_PUT_PROCESS: Final = """
INSERT INTO processes (session, id, open, body) VALUES (?, ?, ?, ?)
ON CONFLICT (session, id) DO UPDATE SET open = excluded.open, body = excluded.body
"""
_RESERVE: Final = """
INSERT INTO requests (id, principal, op, session, payload, admitted_at, retain_until, v, reply)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FINISH: Final = "UPDATE requests SET reply = ? WHERE id = ?"


class Batch:
    """The changes of one transaction, applied in the order they were put in. Use it once.

    Every method may raise ``InvalidRow``. The structs stay the caller's: they are encoded at once.
    """

    __slots__ = ("_changes", "_durable")

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._durable = False

    @property
    def changes(self) -> list[Change]:
        """The statements, for the writer."""
        return self._changes

    @property
    def durable(self) -> bool:
        """Whether it must survive a power cut: it holds a request, a decided interaction or a message."""
        return self._durable

    def __len__(self) -> int:
        return len(self._changes)

    def put_session(self, record: SessionRecord, *, bulk: bool = True) -> None:
        """Store or replace a session's record. Without ``bulk`` its large half stays as it is stored."""
        body = codec.encode_session(record)
        state = record.header.state
        busy = state != "closed" and (
            state != "idle" or record.run is not None or record.waiting > 0 or bool(record.queue.items)
        )
        self._add(
            _PUT_SESSION,
            record.id,
            record.root,
            record.parent,
            record.created_at,
            record.updated_at,
            state,
            record.cwd,
            codec.searchable(record.name, record.cwd),
            int(busy),
            body,
        )
        if bulk:
            self._add(_PUT_BULK, record.id, codec.encode_bulk(record))

    def put_entry(self, session: str, entry: Entry) -> None:
        """Store an entry, or replace it in place by its id; it keeps its first seq and parent.

        An entry that fits no page (``pageBytes``) is refused.
        """
        body = codec.ENTRY.encode(entry.id, entry)
        if len(body) >= LIMITS.page_bytes:
            raise InvalidRow("entries", entry.id, f"{len(body)} bytes, a page holds {LIMITS.page_bytes}")
        running = isinstance(entry, ToolEntry) and entry.state == "running"
        role = entry.role if isinstance(entry, MessageEntry) else None
        self._add(_PUT_ENTRY, session, entry.id, entry.seq, entry.parent or None, role, int(running), body)
        self._durable = self._durable or isinstance(entry, MessageEntry)

    def put_interaction(
        self, session: str, interaction: Interaction, resume: JsonObject | None = None
    ) -> None:
        """Store or replace an interaction. ``resume`` None: there is nothing (any more) to go on with."""
        body = codec.INTERACTION.encode(interaction.id, interaction)
        extra = None if resume is None else codec.RESUME.encode(interaction.id, resume)
        is_open = interaction.state in OPEN_STATES
        self._add(_PUT_INTERACTION, session, interaction.id, int(is_open), body, extra)
        self._durable = self._durable or not is_open

    def put_element(self, session: str, element: Element) -> None:
        """Store an element, or replace it where it stands."""
        self._add(_PUT_ELEMENT, session, element.id, codec.ELEMENT.encode(element.id, element))

    def remove_element(self, session: str, element_id: str) -> None:
        """Remove an element; one that is not there is no error."""
        self._add(_REMOVE_ELEMENT, session, element_id)

    def put_process(self, session: str, row: ProcessRow) -> None:
        """Store or replace a process of a session."""
        # What an ended process left running is still to be looked after.
        is_open = row.state == "running" or bool(or_default(row.leftovers, 0))
        body = codec.PROCESS.encode(row.id, row)
        self._add(_PUT_PROCESS, session, row.id, int(is_open), body)

    def reserve(self, record: StoredRequestRecord) -> None:
        """Store a request record. The write raises ``AlreadyReserved`` where one with its id is there."""
        codec.check_request(None, record)
        reply = None if record.reply is UNSET else codec.REPLY.encode(record.id, record.reply)
        self._add(
            _RESERVE,
            record.id,
            record.principal,
            record.op,
            None if record.session is UNSET else record.session,
            record.payload,
            record.admitted_at,
            record.retain_until,
            record.v,
            reply,
        )
        self._durable = True

    def finish(self, request_id: str, reply: JsonObject) -> None:
        """Store the reply of a reserved request. The write fails where no record has this id."""
        self._changes.append((_FINISH, (codec.REPLY.encode(request_id, reply), request_id), True))
        self._durable = True

    def _add(self, statement: str, *values: Value) -> None:
        self._changes.append((statement, values, False))
