"""Opening: what is made, what is refused and left as it is, and how an older database is brought on."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from felan_core.store.batch import Batch
from felan_core.store.errors import StoreBroken, StoreError, StoreFailure, StoreNewer, StoreUnwritable
from felan_core.store.opening import DEEP_CHECK_BYTES
from felan_core.store.schema import APPLICATION_ID, MIGRATIONS, Migration
from felan_core.store.store import Store
from tests.core.daemon.test_ownership import NOBODY, open_to_all_above
from tests.core.store.samples import before, bytes_in, clock, message, notice, session
from tests.house.tree import ROOT


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def filled(folder: Path, text: str = "hello", entries: int = 50) -> Path:
    """A database with a session in it, closed."""
    store = await Store.open(folder, clock=clock)
    batch = Batch()
    batch.put_session(session(leaf=f"m{entries}"))
    for seq in range(1, entries + 1):
        batch.put_entry("s", message(f"m{seq}", seq, text, before(f"m{seq}")))
    await store.write(batch)
    await store.close()
    return store.path


async def refused(folder: Path, error: type[StoreError]) -> StoreError:
    """Opening raises ``error``, and not a byte in the folder is another, nor a file more or less."""
    before = bytes_in(folder)
    with pytest.raises(error) as raised:
        await Store.open(folder, clock=clock)
    assert bytes_in(folder) == before
    assert str(raised.value.path) in str(raised.value)
    return raised.value


# what is made


async def test_folder_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = await Store.open(tmp_path / "a" / "data", clock=clock)
        batch = Batch()
        batch.put_session(session())
        await store.write(batch)
    finally:
        os.umask(old)
    assert mode(tmp_path / "a" / "data") == 0o700
    assert {path.name: mode(path) for path in (tmp_path / "a" / "data").iterdir()} == {
        "felan.db": 0o600,
        "felan.db-wal": 0o600,
        "felan.db-shm": 0o600,
    }
    await store.close()


@pytest.mark.parametrize("rights", [0o755, 0o1777])
async def test_the_database_is_made_private_and_the_folder_that_was_there_left(
    tmp_path: Path, rights: int
) -> None:
    path = await filled(tmp_path)
    path.chmod(0o644)
    tmp_path.chmod(rights)
    await (await Store.open(tmp_path, clock=clock)).close()
    assert mode(path) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == rights


async def test_everything_is_private_under_a_umask_that_takes_all(tmp_path: Path) -> None:
    old = os.umask(0o777)
    try:
        store = await Store.open(tmp_path / "a" / "data", clock=clock)
        await store.close()
    finally:
        os.umask(old)
    assert [mode(one) for one in (tmp_path / "a", tmp_path / "a" / "data", store.path)] == [
        0o700,
        0o700,
        0o600,
    ]


async def test_a_folder_that_others_can_write_is_refused_and_left(tmp_path: Path) -> None:
    await filled(tmp_path)
    tmp_path.chmod(0o777)
    error = await refused(tmp_path, StoreUnwritable)
    assert "chmod go-w" in str(error)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o777


@pytest.mark.parametrize("name", ["felan.db", "felan.db-wal"])
async def test_a_file_of_another_user_is_refused(tmp_path: Path, name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    await filled(tmp_path)
    (tmp_path / name).touch()
    os.chown(tmp_path / name, 65534, 65534)
    error = await refused(tmp_path, StoreUnwritable)
    assert error.path == tmp_path / name and "another user" in str(error)


async def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    assert int.from_bytes(header[60:64], "big") == len(MIGRATIONS)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "felan.db").touch()
    (tmp_path / "felan.db.new").write_bytes(b"left over")
    await filled(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["felan.db"]


async def test_a_folder_whose_name_means_something_in_an_address_is_taken(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a?mode=memory&x=%41#b c")
    assert path.is_file()
    store = await Store.open(path.parent, clock=clock)
    assert await store.session_exists("s")
    await store.close()


# what is refused


async def test_garbage_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "felan.db").write_bytes(b"These are my notes.\n" * 1000)
    error = await refused(tmp_path, StoreBroken)
    assert "move it away" in str(error)


async def test_a_file_that_is_too_short_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "felan.db").write_bytes(b"SQLite format 3\0")
    await refused(tmp_path, StoreBroken)


async def test_the_database_of_another_program_is_named_and_left(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "felan.db")) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE theirs (x)")
        await refused(tmp_path, StoreBroken)


async def test_a_folder_in_its_place_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "felan.db").mkdir()
    await refused(tmp_path, StoreBroken)


async def test_a_pipe_in_its_place_is_named_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "felan.db")
    await refused(tmp_path, StoreBroken)


async def test_a_newer_schema_is_named_and_left(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("PRAGMA user_version = 99")
    error = await refused(tmp_path, StoreNewer)
    assert "99" in str(error)


async def test_a_schema_without_a_version_is_named_and_left(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("PRAGMA user_version = 0")
    await refused(tmp_path, StoreBroken)


async def test_a_missing_table_is_named_and_the_file_left(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE elements")
    error = await refused(tmp_path, StoreBroken)
    assert "elements" in str(error)


def scribble(path: Path) -> None:
    """Damage every page after the fourth, as a broken disk would."""
    data = bytearray(path.read_bytes())
    for start in range(4 * 4096, len(data), 4096):
        data[start : start + 200] = b"\xa5" * 200
    path.write_bytes(data)


def cut(path: Path) -> None:
    """Take the last third away, as a copy that broke off would."""
    os.truncate(path, path.stat().st_size * 2 // 3)


@pytest.mark.parametrize("damage", [scribble, cut])
async def test_damage_is_named_and_the_file_left(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    damage(await filled(tmp_path, "x" * 2000))
    await refused(tmp_path, StoreBroken)


async def test_damage_beside_a_log_that_is_not_folded_in_yet_is_named_and_both_left(tmp_path: Path) -> None:
    path = await filled(tmp_path, "x" * 2000)
    store = await Store.open(tmp_path, clock=clock)
    batch = Batch()
    batch.put_entry("s", notice("n", 99))
    await store.write(batch)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("felan.db", "felan.db-wal"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    await store.close()
    assert path.is_file()
    scribble(crashed / "felan.db")
    await refused(crashed, StoreBroken)


async def test_a_refused_start_leaves_database_log_and_index_as_they_are(tmp_path: Path) -> None:
    path = await filled(tmp_path, "x" * 2000)
    store = await Store.open(tmp_path, clock=clock)
    batch = Batch()
    batch.put_entry("s", notice("n", 99))
    await store.write(batch)
    crashed = tmp_path / "crashed"
    crashed.mkdir(mode=0o700)
    for name in ("felan.db", "felan.db-wal", "felan.db-shm"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    await store.close()
    scribble(crashed / "felan.db")
    (crashed / "felan.db-shm").write_bytes(b"\0" * 32768)  # an index that has to be made anew
    await refused(crashed, StoreBroken)
    assert path.is_file()


async def test_a_step_back_that_would_find_damage_is_not_taken_in_the_file(tmp_path: Path) -> None:
    path = await filled(tmp_path, "x" * 2000)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("PRAGMA cache_size = 1")
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE entries SET body = zeroblob(9000)")
        killed = tmp_path / "killed"
        killed.mkdir(mode=0o700)
        for name in ("felan.db", "felan.db-journal"):
            (killed / name).write_bytes((tmp_path / name).read_bytes())
    data = bytearray((killed / "felan.db").read_bytes())
    data[4096:4296] = b"\xa5" * 200
    (killed / "felan.db").write_bytes(data)
    journal = (killed / "felan.db-journal").read_bytes()
    (killed / "felan.db-journal").write_bytes(journal[:512])  # its pages are lost
    await refused(killed, StoreBroken)


async def test_a_log_whose_folding_in_was_killed_halfway_is_no_damage(tmp_path: Path) -> None:
    path = await filled(tmp_path, "x" * 2000)
    old = path.read_bytes()
    store = await Store.open(tmp_path, clock=clock)
    for seq in range(51, 101):
        batch = Batch()
        batch.put_entry("s", message(f"m{seq}", seq, "y" * 3000, before(f"m{seq}")))
        await store.write(batch)
    log = path.with_name("felan.db-wal").read_bytes()
    await store.close()
    new = path.read_bytes()
    # Every second page is the new one, the first among them, and the rest was not reached.
    pages = [(new if start % 8192 == 0 else old)[start : start + 4096] for start in range(0, len(old), 4096)]
    path.write_bytes(b"".join(pages))
    path.with_name("felan.db-wal").write_bytes(log)
    again = await Store.open(tmp_path, clock=clock)
    entries, more = await again.history("s", "m100", limit=256)
    await again.close()
    assert ([entry.seq for entry in entries], more) == (list(range(1, 101)), False)


async def test_a_large_database_that_was_cut_is_named_at_once_all_the_same(tmp_path: Path) -> None:
    path = await filled(tmp_path, "x" * (DEEP_CHECK_BYTES // 20))
    cut(path)
    assert path.stat().st_size > DEEP_CHECK_BYTES
    await refused(tmp_path, StoreBroken)


async def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(StoreUnwritable) as raised:
        await Store.open(tmp_path / "data", clock=clock)
    assert raised.value.path == tmp_path / "data"
    assert (tmp_path / "data").read_text() == "mine"


OPENS = """
import asyncio, os, sys
from pathlib import Path
from felan_core.store.errors import StoreError
from felan_core.store.store import Store
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
async def main():
    try:
        await (await Store.open(Path(sys.argv[1]), clock=lambda: 0)).close()
    except StoreError as error:
        print(type(error).__name__, error)
asyncio.run(main())
"""


@pytest.mark.parametrize("exists", [True, False])
async def test_a_folder_that_cannot_be_written_is_named(
    tmp_path_factory: pytest.TempPathFactory, exists: bool
) -> None:
    # Root may write everywhere, so the one who tries is somebody else; the folder is then where all may look.
    folder = tmp_path_factory.mktemp("readonly")
    open_to_all_above(folder)
    if exists:
        (await filled(folder)).chmod(0o444)
    if os.geteuid() == 0:
        for one in (folder, *folder.iterdir()):
            os.chown(one, NOBODY, NOBODY)
    folder.chmod(0o555)
    before = bytes_in(folder)
    try:
        done = subprocess.run(
            [sys.executable, "-c", OPENS, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
    finally:
        folder.chmod(0o700)
    assert done.stdout.startswith(f"StoreUnwritable {folder}"), done
    assert "choose another data folder" in done.stdout
    assert bytes_in(folder) == before


# how an older one is brought on


def add_labels(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE labels (entry TEXT)")
    connection.execute("INSERT INTO labels SELECT id FROM entries")


def fill_labels(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO labels SELECT entry || '!' FROM labels")


def fail_halfway(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entries")
    connection.execute("SELECT * FROM nowhere")


KNOWN = len(MIGRATIONS)
LATER = (*MIGRATIONS, Migration("labels", add_labels), Migration("more labels", fill_labels))


def copy_of(version: int, again: str = "") -> str:
    """The name of a copy that is made at the time of the samples' clock."""
    return f"felan-v{version}-20270115T080000Z{again}.db"


def version_and_entries(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(path)) as other:
        (version,) = other.execute("PRAGMA user_version").fetchone()
        (entries,) = other.execute("SELECT count(*) FROM entries").fetchone()
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return version, entries


async def test_each_step_has_a_copy_of_what_was_before_it(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    store = await Store.open(tmp_path, clock=clock, migrations=LATER)
    assert len((await store.history("s", "m50", limit=256))[0]) == 50
    await store.close()
    assert version_and_entries(path) == (KNOWN + 2, 50)
    copies = sorted(file.name for file in tmp_path.iterdir() if file != path)
    assert copies == [copy_of(KNOWN), copy_of(KNOWN + 1)]
    assert [version_and_entries(tmp_path / name) for name in copies] == [(KNOWN, 50), (KNOWN + 1, 50)]
    assert {mode(tmp_path / name) for name in copies} == {0o600}
    with closing(sqlite3.connect(tmp_path / copies[1])) as other:
        assert other.execute("SELECT count(*) FROM labels").fetchone() == (50,)


async def test_a_copy_can_be_put_back_and_never_replaces_another(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    await (await Store.open(tmp_path, clock=clock, migrations=LATER)).close()
    (tmp_path / copy_of(KNOWN)).rename(path)
    store = await Store.open(tmp_path, clock=clock)
    assert await store.session_exists("s")
    await store.close()
    (tmp_path / copy_of(KNOWN)).write_bytes(b"kept")
    await (await Store.open(tmp_path, clock=clock, migrations=LATER)).close()
    assert (tmp_path / copy_of(KNOWN)).read_bytes() == b"kept"
    assert version_and_entries(tmp_path / copy_of(KNOWN, "-2")) == (KNOWN, 50)


async def test_a_new_database_needs_no_copy(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, clock=clock, migrations=LATER)
    await store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["felan.db"]
    assert version_and_entries(store.path) == (KNOWN + 2, 0)


async def test_a_step_that_fails_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    with pytest.raises(StoreFailure, match=f"schema {KNOWN + 1}"):
        await Store.open(tmp_path, clock=clock, migrations=(*MIGRATIONS, Migration("bad", fail_halfway)))
    assert version_and_entries(path) == (KNOWN, 50)
    store = await Store.open(tmp_path, clock=clock)
    assert len((await store.history("s", "m50", limit=256))[0]) == 50
    await store.close()


async def test_an_older_felan_refuses_what_a_newer_one_brought_on(tmp_path: Path) -> None:
    await filled(tmp_path)
    newer = await Store.open(tmp_path, clock=clock, migrations=LATER)
    batch = Batch()
    batch.put_session(session("t"))
    await newer.write(batch)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("felan.db", "felan.db-wal"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    await newer.close()
    await refused(crashed, StoreNewer)


DIES = """
import asyncio, os, signal, sys
from pathlib import Path
from felan_core.store.schema import MIGRATIONS, Migration
from felan_core.store.store import Store
def die(connection):
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("UPDATE entries SET body = zeroblob(100000)")
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(Store.open(Path(sys.argv[1]), clock=lambda: 0, migrations=(*MIGRATIONS, Migration("x", die))))
"""


async def test_a_step_that_is_killed_is_taken_back_at_the_next_start(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    done = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], cwd=ROOT, timeout=60)
    assert done.returncode == -9
    assert path.with_name("felan.db-journal").stat().st_size > 0
    store = await Store.open(tmp_path, clock=clock)
    assert len((await store.history("s", "m50", limit=256))[0]) == 50
    await store.close()
    assert version_and_entries(path) == (KNOWN, 50)
