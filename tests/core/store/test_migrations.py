"""Databases that earlier versions wrote, and what becomes of them."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from felan_core.protocol.base import UNSET
from felan_core.protocol.entries import Entry
from felan_core.store import codec
from felan_core.store.batch import Batch
from felan_core.store.schema import MIGRATIONS
from felan_core.store.store import Store
from tests.core.store.samples import clock, message, notice, session, tool
from tests.house.tree import ROOT

FIRST = MIGRATIONS[:1]
COLUMNS = "(session, id, seq, running, body)"


async def first_schema(folder: Path, entries: list[Entry], leaf: str) -> None:
    """A database as the first version left it: an entry's place is in its body alone."""
    store = await Store.open(folder, clock=clock, migrations=FIRST)
    await store.close()
    record = session(leaf=leaf)
    body, bulk = codec.encode_session(record), codec.encode_bulk(record)
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute(
            "INSERT INTO sessions (id, root, created_at, updated_at, state, cwd, search, busy, body)"
            " VALUES ('s', 's', 1, 1, 'idle', '/', '', 0, ?)",
            (body,),
        )
        database.execute("INSERT INTO session_bulk VALUES ('s', ?)", (bulk,))
        for entry in entries:
            row = ("s", entry.id, entry.seq, 0, codec.ENTRY.encode(entry.id, entry))
            database.execute(f"INSERT INTO entries {COLUMNS} VALUES (?, ?, ?, ?, ?)", row)


OVERLAPPING: list[Entry] = [
    # The answer began before the command, and was stored after it: the command's parent is the question.
    message("question", 1),
    message("answer", 2, parent="question"),
    tool("command", 3, "completed", parent="question"),
    message("next", 4, parent="command"),
    notice("end", 7, parent="next"),
]


async def test_the_entries_of_the_first_version_are_linked_by_seq(tmp_path: Path) -> None:
    await first_schema(tmp_path, OVERLAPPING, "end")
    store = await Store.open(tmp_path, clock=clock)
    try:
        found = await store.load_session("s")
        assert found is not None
        assert [entry.id for entry in found.entries] == ["question", "answer", "command", "next", "end"]
        assert [entry.parent for entry in found.entries] == [UNSET, "question", "answer", "command", "next"]
        assert found.record == session(leaf="end")
        assert [entry.seq for entry in found.entries] == [1, 2, 3, 4, 7]
    finally:
        await store.close()
    with closing(sqlite3.connect(store.path)) as database:
        roles = database.execute("SELECT id, role, label FROM entries ORDER BY seq").fetchall()
    said = "assistant"
    assert roles == [
        ("question", said, None),
        ("answer", said, None),
        ("command", None, None),
        ("next", said, None),
        ("end", None, None),
    ]


async def test_a_leaf_that_is_not_the_newest_entry_is_put_right(tmp_path: Path) -> None:
    await first_schema(tmp_path, OVERLAPPING, "command")
    store = await Store.open(tmp_path, clock=clock)
    try:
        record = await store.session_record("s")
        assert record == session(leaf="end")
    finally:
        await store.close()


async def test_spoiled_rows_stay_as_they_are_and_cost_nothing_else(tmp_path: Path) -> None:
    await first_schema(tmp_path, OVERLAPPING, "end")
    path = tmp_path / "felan.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE entries SET body = x'ff' WHERE id = 'answer'")
        database.execute("UPDATE entries SET body = 7 WHERE id = 'next'")
        database.execute(
            "INSERT INTO sessions SELECT 't', 't', parent, created_at, updated_at, state, cwd, search, busy,"
            " 'x' FROM sessions"
        )
        database.execute(f"INSERT INTO entries {COLUMNS} VALUES ('t', 'e', 1, 0, '{{}}')")
    store = await Store.open(tmp_path, clock=clock)
    try:
        assert await store.session_record("s") == session(leaf="end")
        entries, _ = await store.history("s", "end", last="end", limit=1)
        assert [entry.id for entry in entries] == ["end"]
    finally:
        await store.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT body FROM sessions WHERE id = 't'").fetchone() == ("x",)
        spoiled = database.execute("SELECT parent, body FROM entries WHERE id = 'next'").fetchone()
        assert spoiled == ("command", 7)


async def test_what_the_migrated_database_holds_can_be_gone_on_with(tmp_path: Path) -> None:
    await first_schema(tmp_path, OVERLAPPING, "end")
    store = await Store.open(tmp_path, clock=clock)
    try:
        batch = Batch()
        batch.put_entry("s", message("more", 8, parent="end"))
        batch.put_session(session(leaf="more"))
        await store.write(batch)
        entries, more = await store.history("s", "more", limit=3)
        assert ([entry.id for entry in entries], more) == (["next", "end", "more"], True)
    finally:
        await store.close()


KILLED = """
import os, shutil, signal, sqlite3, sys
from pathlib import Path
from felan_core.store import opening
from felan_core.store.schema import MIGRATIONS

connect, statements, last = sqlite3.connect, 0, 0

def count(statement):
    global statements
    statements += 1
    if statements == last:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(count)
    return connection

sqlite3.connect = counted
whole = False
while not whole:
    last += 1
    folder = Path(sys.argv[1]) / str(last)
    shutil.copytree(sys.argv[2], folder)
    child = os.fork()
    if child == 0:
        opening.open_database(folder, MIGRATIONS, lambda: 0)
        os._exit(0)
    whole = os.waitpid(child, 0)[1] == 0
print(last)
"""


async def test_a_kill_at_any_statement_of_the_migration_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    old = tmp_path / "old"
    await first_schema(old, OVERLAPPING, "command")
    killed = tmp_path / "killed"
    killed.mkdir()
    run = [sys.executable, "-c", KILLED, str(killed), str(old)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    versions: list[int] = []
    for number in range(1, int(done.stdout) + 1):
        folder = killed / str(number)
        with closing(sqlite3.connect(folder / "felan.db")) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            columns = {row[1] for row in database.execute("PRAGMA table_info(entries)")}
        assert ("parent" in columns) == (version == len(MIGRATIONS))
        versions.append(version)
        store = await Store.open(folder, clock=clock)
        try:
            found = await store.load_session("s")
        finally:
            await store.close()
        assert found is not None and found.record == session(leaf="end")
        assert [one.parent for one in found.entries] == [UNSET, "question", "answer", "command", "next"]
        assert list(folder.glob("felan-v1-*.db"))  # the copy before the step
    assert versions == sorted(versions) and set(versions) == {1, len(MIGRATIONS)}
