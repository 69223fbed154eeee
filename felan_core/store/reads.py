"""What is read, as plain functions on the reading connection; each sees one moment of the database."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from felan_core.protocol.base import LIMITS, UNSET
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.records import StoredRequestRecord
from felan_core.store import codec
from felan_core.store.errors import NoSuchEntry, StoreBroken
from felan_core.store.rows import Counts, LoadedSession, SessionRecord, StoredInteraction, UnreadableSession

_LAST: Final = 2**53

_SESSION: Final = """
SELECT s.id, s.body, b.body FROM sessions AS s LEFT JOIN session_bulk AS b ON b.session = s.id
"""
_LISTED: Final = """
SELECT s.id, s.body, b.body, s.root, s.parent, s.created_at, s.updated_at, s.cwd
FROM sessions AS s LEFT JOIN session_bulk AS b ON b.session = s.id
"""
_OPEN: Final = """
SELECT id FROM sessions WHERE busy = 1
UNION SELECT i.session FROM interactions AS i JOIN sessions AS s ON s.id = i.session
    WHERE i.open = 1 AND s.state <> 'closed'
UNION SELECT p.session FROM processes AS p JOIN sessions AS s ON s.id = p.session
    WHERE p.open = 1 AND s.state <> 'closed'
"""
# From an entry backwards; a parent always has the lower seq, so that a spoiled row cannot make a circle.
_BRANCH: Final = """
WITH RECURSIVE branch (n, seq, parent, depth) AS (
    SELECT n, seq, parent, 0 FROM entries WHERE session = ? AND id = ?
    UNION ALL
    SELECT e.n, e.seq, e.parent, b.depth + 1 FROM branch AS b
        JOIN entries AS e ON e.session = ? AND e.id = b.parent AND e.seq < b.seq
    LIMIT ?
)
SELECT e.id, e.seq, e.parent, e.body FROM branch AS b JOIN entries AS e USING (n) ORDER BY b.depth
"""


@contextmanager
def _moment(connection: sqlite3.Connection) -> Generator[None]:
    """Several statements on one moment of the database."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def session_record(connection: sqlite3.Connection, path: Path, id: str) -> SessionRecord | None:
    row = connection.execute(f"{_SESSION} WHERE s.id = ?", (id,)).fetchone()
    return None if row is None else _record(path, row)


def _record(path: Path, row: tuple[str, bytes, bytes | None]) -> SessionRecord:
    id, body, bulk = row
    return codec.decode_session(path, id, body, b"" if bulk is None else bulk)


def load_session(
    connection: sqlite3.Connection, path: Path, id: str, history_limit: int
) -> LoadedSession | None:
    with _moment(connection):
        record = session_record(connection, path, id)
        if record is None:
            return None
        entries, more = _page(connection, path, id, record.leaf, history_limit)
        tools = connection.execute(
            "SELECT id, seq, parent, body FROM entries WHERE session = ? AND running = 1 ORDER BY seq", (id,)
        )
        decoded = [_entry(path, *row) for row in tools]
        interactions = [
            StoredInteraction(
                codec.INTERACTION.decode(path, one, body),
                None if resume is None else codec.RESUME.decode(path, one, resume),
            )
            for one, body, resume in _open_and_newest(connection, "interactions", "resume", id)
        ]
        elements = connection.execute("SELECT id, body FROM elements WHERE session = ? ORDER BY n", (id,))
        return LoadedSession(
            record=record,
            entries=entries,
            more=more,
            running_tools=[entry for entry in decoded if isinstance(entry, ToolEntry)],
            interactions=interactions,
            elements=[codec.ELEMENT.decode(path, one, body) for one, body in elements],
            processes=[
                codec.PROCESS.decode(path, one, body)
                for one, body, _ in _open_and_newest(connection, "processes", "NULL", id)
            ],
        )


def _open_and_newest(
    connection: sqlite3.Connection, table: str, extra: str, session: str
) -> list[tuple[str, bytes, bytes | None]]:
    """All open rows, and the newest others up to a page, in the order they came."""
    columns = f"SELECT n, id, body, {extra} FROM {table} WHERE session = ?"
    rows = connection.execute(f"{columns} AND open = 1", (session,)).fetchall()
    room = max(0, LIMITS.page_entries - len(rows))
    rows += connection.execute(f"{columns} AND open = 0 ORDER BY n DESC LIMIT ?", (session, room)).fetchall()
    rows.sort(key=lambda row: row[0])
    return [(id, body, more) for _, id, body, more in rows]


def history(
    connection: sqlite3.Connection,
    path: Path,
    session: str,
    leaf: str,
    before: str,
    last: str,
    limit: int,
) -> tuple[list[Entry], bool]:
    with _moment(connection):
        newest, _ = _place(connection, session, leaf)
        start: str | None = leaf
        if anchor := last or before:
            seq, parent = _place(connection, session, anchor)
            if seq > newest:
                raise NoSuchEntry(anchor)
            start = anchor if last else parent
        return _page(connection, path, session, start, limit)


def _place(connection: sqlite3.Connection, session: str, id: str) -> tuple[int, str | None]:
    """The seq and the parent of an entry. Raises ``NoSuchEntry``."""
    row = connection.execute(
        "SELECT seq, parent FROM entries WHERE session = ? AND id = ?", (session, id)
    ).fetchone()
    if row is None:
        raise NoSuchEntry(id)
    return row


def _page(
    connection: sqlite3.Connection, path: Path, session: str, start: str | None, limit: int
) -> tuple[list[Entry], bool]:
    """The entry ``start`` and those before it on its branch, oldest first; whether there are older ones."""
    rows = connection.execute(_BRANCH, (session, start, session, limit + 1))
    newest_first: list[Entry] = []
    room = LIMITS.page_bytes
    for id, seq, parent, body in rows:
        # And its comma. A spoiled body may be no text at all, and is named when it is decoded.
        room -= _size(body) + 1
        if len(newest_first) == limit or room < 0:
            rows.close()
            return newest_first[::-1], True
        newest_first.append(_entry(path, id, seq, parent, body))
    return newest_first[::-1], False


def _size(body: object) -> int:
    return len(body) if isinstance(body, bytes | str) else 0


def _entry(path: Path, id: str, seq: int, parent: str | None, body: bytes) -> Entry:
    """The entry of a row; its columns say where it is in the tree."""
    entry = codec.ENTRY.decode(path, id, body)
    if (entry.seq, entry.parent or None) == (seq, parent):
        return entry
    return msgspec.structs.replace(entry, seq=seq, parent=parent or UNSET)


def list_sessions(
    connection: sqlite3.Connection,
    path: Path,
    *,
    after: tuple[int, str] | None,
    limit: int,
    cwd: str | None,
    query: str | None,
    state: str | None,
    parent: str | None,
) -> list[SessionRecord | UnreadableSession]:
    where: list[str] = []
    values: list[str | int] = []
    for column, value in (("cwd", cwd), ("state", state), ("parent", parent)):
        if value is not None:
            where.append(f"s.{column} = ?")
            values.append(value)
    if query:
        where.append("instr(s.search, ?) > 0")
        values.append(query.casefold())
    if after is not None:
        where.append("(s.created_at, s.id) < (?, ?)")
        values.extend(after)
    condition = f"WHERE {' AND '.join(where)}" if where else ""
    rows = connection.execute(
        f"{_LISTED} {condition} ORDER BY s.created_at DESC, s.id DESC LIMIT ?", (*values, limit)
    )
    return [_listed(path, row[:3], row[3:]) for row in rows]


def _listed(
    path: Path, row: tuple[str, bytes, bytes | None], columns: tuple[object, ...]
) -> SessionRecord | UnreadableSession:
    """One spoiled row costs one session, not the list: its columns are shown in its place."""
    try:
        return _record(path, row)
    except StoreBroken as error:
        root, parent, created_at, updated_at, cwd = columns
        return UnreadableSession(
            id=row[0],
            root=_string(root) or row[0],
            parent=_string(parent) or None,
            created_at=_instant(created_at),
            updated_at=_instant(updated_at),
            cwd=_string(cwd),
            problem=error.message,
        )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _instant(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < _LAST else 0


def open_sessions(connection: sqlite3.Connection) -> list[str]:
    return [id for (id,) in connection.execute(f"{_OPEN} ORDER BY 1")]


def session_exists(connection: sqlite3.Connection, id: str) -> bool:
    return connection.execute("SELECT 1 FROM sessions WHERE id = ?", (id,)).fetchone() is not None


def request(connection: sqlite3.Connection, path: Path, id: str) -> StoredRequestRecord | None:
    row = connection.execute(
        "SELECT principal, op, session, payload, admitted_at, retain_until, v, reply FROM requests"
        " WHERE id = ?",
        (id,),
    ).fetchone()
    if row is None:
        return None
    principal, op, session, payload, admitted_at, retain_until, v, reply = row
    record = StoredRequestRecord(
        id=id,
        principal=principal,
        op=op,
        payload=payload,
        admitted_at=admitted_at,
        retain_until=retain_until,
        session=UNSET if session is None else session,
        reply=UNSET if reply is None else codec.REPLY.decode(path, id, reply),
        v=v,
    )
    codec.check_request(path, record)
    return record


def request_counts(connection: sqlite3.Connection, session: str | None) -> tuple[int, int]:
    # '' is the namespace's own row, and no session has an empty id.
    tally: dict[str, int] = dict(
        connection.execute(
            "SELECT session, n FROM request_tally WHERE session IN ('', ?)", (session,)
        ).fetchall()
    )
    return (tally.get(session, 0) if session else 0), tally.get("", 0)


def counts(connection: sqlite3.Connection) -> Counts:
    with _moment(connection):
        (sessions,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
        (still_open,) = connection.execute(f"SELECT count(*) FROM ({_OPEN})").fetchone()
        (processes,) = connection.execute("SELECT count(*) FROM processes WHERE open = 1").fetchone()
        return Counts(sessions, still_open, processes, request_counts(connection, None)[1])
