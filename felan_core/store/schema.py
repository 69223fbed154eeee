"""The database's schema, as the list of migrations that lead to it.

There is no table of events. A client that attaches gets a snapshot, and from then on frames that were made
from the same change that was written; one that lost some asks for a fresh snapshot. A stored event would be
a second transcript that nobody reads.

Bodies are JSON of the wire structs (``codec``). A column beside a body is there to be searched or ordered by.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

APPLICATION_ID: Final = 0x46454C4E
"""``FELN`` in the header of the file: whose database it is."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; the n-th of a list leads to version n. ``apply`` runs in its transaction."""

    name: str
    apply: Callable[[sqlite3.Connection], None]


_FIRST: Final = (
    """
    CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        root TEXT NOT NULL,
        parent TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        cwd TEXT NOT NULL,
        search TEXT NOT NULL, -- name and folder, case folded
        busy INTEGER NOT NULL, -- 1: a restart has to look at it
        body BLOB NOT NULL
    )
    """,
    "CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC)",
    "CREATE INDEX sessions_in_folder ON sessions (cwd, created_at DESC, id DESC)",
    "CREATE INDEX sessions_of_parent ON sessions (parent, created_at DESC, id DESC) WHERE parent IS NOT NULL",
    "CREATE INDEX sessions_busy ON sessions (id) WHERE busy = 1",
    "CREATE TABLE session_bulk (session TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL)",
    """
    CREATE TABLE entries (
        n INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        running INTEGER NOT NULL, -- 1: a tool call that has not ended
        body BLOB NOT NULL,
        UNIQUE (session, id),
        UNIQUE (session, seq)
    )
    """,
    "CREATE INDEX entries_running ON entries (session, seq) WHERE running = 1",
    """
    CREATE TABLE interactions (
        n INTEGER PRIMARY KEY, -- the order they were asked in
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        open INTEGER NOT NULL, -- 1: waiting or deferred
        body BLOB NOT NULL,
        resume BLOB,
        UNIQUE (session, id)
    )
    """,
    "CREATE INDEX interactions_open ON interactions (session, open)",
    "CREATE INDEX interactions_to_answer ON interactions (session) WHERE open = 1",
    """
    CREATE TABLE elements (
        n INTEGER PRIMARY KEY, -- the order they were first shown in
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (session, id)
    )
    """,
    """
    CREATE TABLE processes (
        n INTEGER PRIMARY KEY, -- the order they were started in
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        open INTEGER NOT NULL, -- 1: running
        body BLOB NOT NULL,
        UNIQUE (session, id)
    )
    """,
    "CREATE INDEX processes_open ON processes (session, open)",
    "CREATE INDEX processes_running ON processes (session) WHERE open = 1",
    """
    CREATE TABLE requests (
        id TEXT NOT NULL PRIMARY KEY,
        principal TEXT NOT NULL,
        op TEXT NOT NULL,
        session TEXT,
        payload TEXT NOT NULL,
        admitted_at INTEGER NOT NULL,
        retain_until INTEGER NOT NULL,
        v INTEGER NOT NULL,
        reply BLOB
    )
    """,
    "CREATE INDEX requests_to_purge ON requests (retain_until)",
    # Capacity is asked at every request: counted as they come and go. '' is the whole namespace.
    "CREATE TABLE request_tally (session TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL)",
    "INSERT INTO request_tally (session, n) VALUES ('', 0)",
    """
    CREATE TRIGGER request_added AFTER INSERT ON requests BEGIN
        UPDATE request_tally SET n = n + 1 WHERE session = '';
        INSERT OR IGNORE INTO request_tally (session, n) SELECT new.session, 0 WHERE new.session IS NOT NULL;
        UPDATE request_tally SET n = n + 1 WHERE session = new.session;
    END
    """,
    """
    CREATE TRIGGER request_removed AFTER DELETE ON requests BEGIN
        UPDATE request_tally SET n = n - 1 WHERE session = '' OR session = old.session;
        DELETE FROM request_tally WHERE session = old.session AND n <= 0;
    END
    """,
)


def _first(connection: sqlite3.Connection) -> None:
    for statement in _FIRST:
        connection.execute(statement)


def _tree(connection: sqlite3.Connection) -> None:
    """The place of an entry in its session's tree gets columns, and what was stored is linked by seq.

    Before, an entry got its parent when it began: one that ended after a later one was on no branch.
    """
    connection.execute("ALTER TABLE entries ADD COLUMN parent TEXT")  # the entry before it; NULL: a root
    connection.execute("ALTER TABLE entries ADD COLUMN role TEXT")  # of a message: user or assistant
    connection.execute("ALTER TABLE entries ADD COLUMN label TEXT")  # given by a person
    connection.create_function("role_of", 1, _role_of, deterministic=True)
    connection.create_function("with_leaf", 2, _with_leaf, deterministic=True)
    connection.execute(
        """
        UPDATE entries SET role = role_of(body), parent = (
            SELECT before.id FROM entries AS before
            WHERE before.session = entries.session AND before.seq < entries.seq
            ORDER BY before.seq DESC LIMIT 1
        )
        """
    )
    connection.execute(
        """
        UPDATE sessions SET body = with_leaf(body, (
            SELECT id FROM entries WHERE session = sessions.id ORDER BY seq DESC LIMIT 1
        )) WHERE EXISTS (SELECT 1 FROM entries WHERE session = sessions.id)
        """
    )


class _Message(msgspec.Struct):
    kind: str
    role: str | None = None


def _role_of(body: bytes) -> str | None:
    """The role in an entry's body; a spoiled body costs its own role alone."""
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return None
    return message.role if message.kind == "message" else None


def _with_leaf(body: bytes, leaf: str) -> bytes:
    """A session's body with this leaf; a spoiled body stays as it is."""
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, TypeError, RecursionError):
        return body
    return msgspec.json.encode({**members, "leaf": leaf})


MIGRATIONS: Final = (Migration("the first schema", _first), Migration("the tree of entries", _tree))

TABLES: Final = frozenset(
    {
        "sessions",
        "session_bulk",
        "entries",
        "interactions",
        "elements",
        "processes",
        "requests",
        "request_tally",
    }
)
"""The tables that every version of the schema has."""
