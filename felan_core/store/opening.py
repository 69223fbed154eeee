"""Opening the database: look before touching, create whole or not at all, copy before a migration.

What is checked, in this order: the rights of the folder, the owner of each file, the file's header (magic,
application id, schema version; the version there is the true one, because a migration never runs in WAL
mode), then its inside: ``quick_check`` up to ``DEEP_CHECK_BYTES``, past that the schema and the file's length
alone, so that a start never waits for the size of the history. SQLite gets other names of the files for it,
or a copy, because even a read-only connection rewrites the index (``-shm``) of a write-ahead log. Damage that
only reading finds is reported when it is read (``StoreBroken``).
"""

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from felan_core.files import private
from felan_core.store.errors import StoreError, StoreFailure, StoreNewer, StoreUnwritable
from felan_core.store.faults import broken, translated, unwritable
from felan_core.store.schema import APPLICATION_ID, TABLES, Migration

DATABASE: Final = "felan.db"
DEEP_CHECK_BYTES: Final = 4 * 1024 * 1024
_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_BUSY_S: Final = 5.0
_BESIDE: Final = ("-wal", "-shm", "-journal")
_LOOK_PREFIX: Final = ".felan-check-"


def open_database(
    folder: Path, migrations: Sequence[Migration], clock: Callable[[], int]
) -> tuple[Path, sqlite3.Connection, sqlite3.Connection]:
    """The database's path, the connection that writes and the one that reads. Blocks.

    Raises ``StoreBroken`` or ``StoreNewer`` (the file and its folder are as they were),
    ``StoreUnwritable``, or ``StoreFailure`` (a migration failed: the database is at the version before it).
    """
    folder = folder.absolute()
    path = folder / DATABASE
    try:
        private.data_folder(folder)
        version = _stored_version(path, len(migrations))
        _check_writable(folder)
        if version is None:
            _create(path, migrations)
        else:
            _check_writable(path)
            _check_inside(path)
            _seal(path)
            if version < len(migrations):
                _migrate(path, version, migrations, clock)
        return path, *_connect(path)
    except private.Untrusted as error:
        raise StoreUnwritable(error.path, error.message) from error
    except OSError as error:
        raise unwritable(Path(error.filename) if isinstance(error.filename, str) else path, error) from error
    except sqlite3.Error as error:
        raise translated(path, "opening the database", error) from error


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK | (os.X_OK if path.is_dir() else 0)):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number), str(path))


def _seal(path: Path) -> None:
    """Set the rights of the database's files, which are Felan's own, to 0600."""
    for file in _files(path):
        with suppress(FileNotFoundError):
            file.chmod(0o600)


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("", *_BESIDE)]


# --- looking ---


def _stored_version(path: Path, known: int) -> int | None:
    """The schema version in the file's header; None where there is no database yet."""
    for file in _files(path):
        with suppress(FileNotFoundError):
            found = file.lstat()
            if stat.S_ISREG(found.st_mode):
                private.check_owner(file, found.st_uid)
            elif not stat.S_ISLNK(found.st_mode) or file != path:
                raise broken(file, "is not a file")
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise broken(path, "is not a file")
        private.check_owner(path, found.st_uid)
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return None
    if not header:
        return None  # an empty file holds nothing that could be lost
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise broken(path, "is not a database")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise broken(path, "is the database of another program")
    version = int.from_bytes(header[60:64], "big", signed=True)
    if version > known:
        raise StoreNewer(
            path,
            f"{path} was written by a newer Felan (schema {version}, this one knows {known}). It was left "
            "as it is: start the newer Felan, or choose another data folder.",
        )
    if version < 1:
        raise broken(path, f"has no schema version that could be ({version})")
    return version


def _check_inside(path: Path) -> None:
    """Look for damage without touching anything. Raises ``StoreBroken``."""
    with _other_names(path) as look_at:
        journal = look_at.with_name(f"{look_at.name}-journal").exists()
        wal = look_at.with_name(f"{look_at.name}-wal")
        size = look_at.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
        # A migration that was killed is rolled back, in the copy.
        address = f"{look_at.as_uri()}?mode={'rw' if journal else 'ro'}"
        try:
            with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as look:
                tables = {str(name) for (name,) in look.execute("SELECT name FROM sqlite_schema")}
                if not tables >= TABLES:
                    raise broken(path, f"is damaged: no table {min(TABLES - tables)}")
                if size <= DEEP_CHECK_BYTES:
                    (verdict,) = look.execute("PRAGMA quick_check(1)").fetchone()
                    if verdict != "ok":
                        raise broken(path, f"is damaged ({str(verdict)[:200]})")
        except sqlite3.Error as error:
            raise translated(path, "checking it", error) from error


@contextmanager
def _other_names(path: Path) -> Generator[Path]:
    """The database and its log under names of their own, in a folder that is removed afterwards.

    Hard links, and a copy where SQLite would write into the file (a rollback journal) or where the file
    system has no links. Opened read-only they cannot be changed; the index of the log is made anew beside.
    """
    for left_over in path.parent.glob(f"{_LOOK_PREFIX}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    journal = path.with_name(f"{path.name}-journal").exists()
    folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=_LOOK_PREFIX))
    try:
        folder.chmod(0o700)
        for file in _files(path):
            if file.name.endswith("-shm") or not file.exists():
                continue
            if journal:
                shutil.copyfile(file, folder / file.name)
                continue
            try:
                os.link(file.resolve(), folder / file.name)
            except OSError:
                shutil.copyfile(file, folder / file.name)
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- making ---


def _create(path: Path, migrations: Sequence[Migration]) -> None:
    """Build the database under another name and move it into place whole."""
    part = path.with_name(f"{path.name}.new")
    for left_over in (part, part.with_name(part.name + "-journal")):
        left_over.unlink(missing_ok=True)
    _make_private(part)
    with closing(sqlite3.connect(part, isolation_level=None)) as made:
        made.execute("BEGIN IMMEDIATE")
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for migration in migrations:
            migration.apply(made)
        made.execute(f"PRAGMA user_version = {len(migrations)}")
        made.execute("COMMIT")
    # A log of a database that is no more would be taken for this one's.
    for stale in ("-wal", "-shm"):
        path.with_name(path.name + stale).unlink(missing_ok=True)
    part.replace(path)
    _sync(path.parent)


def _migrate(path: Path, version: int, migrations: Sequence[Migration], clock: Callable[[], int]) -> None:
    """Take the steps that are missing, each in one transaction and with a copy before it."""
    with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as database:
        # In WAL mode the version could be in the log, where an older Felan does not look.
        database.execute("PRAGMA journal_mode = DELETE")
        for step, migration in enumerate(migrations[version:], start=version + 1):
            copy = _copy(database, path, step - 1, clock())
            try:
                database.execute("BEGIN IMMEDIATE")
                migration.apply(database)
                database.execute(f"PRAGMA user_version = {step}")
                database.execute("COMMIT")
            except Exception as error:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise StoreFailure(
                    path,
                    f"{path}: the step to schema {step} ({migration.name}) failed ({error}). The database is "
                    f"at schema {step - 1} as before, and a copy of it is in {copy.name}.",
                ) from error


def _copy(database: sqlite3.Connection, path: Path, version: int, now: int) -> Path:
    """A copy beside the database, named with its version and the time (UTC); it is whole or not there."""
    moment = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    stem = f"{path.stem}-v{version}-{moment}"
    target, again = path.with_name(f"{stem}.db"), 1
    while target.exists():
        again += 1
        target = path.with_name(f"{stem}-{again}.db")
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        _make_private(part)
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            database.backup(copy)
        _sync(part)
        part.rename(target)
        _sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreFailure(
            path,
            f"{path}: no copy could be made before the step to schema {version + 1} ({error}). "
            "Nothing was changed; make room on the disk and start again.",
        ) from error
    return target


def _make_private(path: Path) -> None:
    os.close(private.open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# --- connecting ---


def _connect(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    write = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        (mode,) = write.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreFailure(
                path, f"{path}: this file system takes no write-ahead log; choose another folder."
            )
        write.execute("PRAGMA synchronous = NORMAL")
        # macOS: only F_FULLFSYNC survives a power cut. Elsewhere these two do nothing.
        write.execute("PRAGMA fullfsync = ON")
        write.execute("PRAGMA checkpoint_fullfsync = ON")
        write.execute(f"PRAGMA journal_size_limit = {16 * 1024 * 1024}")
        write.execute("BEGIN IMMEDIATE")  # says now, not at the first change, that it cannot be written
        write.execute("ROLLBACK")
        read = sqlite3.connect(
            f"{path.as_uri()}?mode=ro",
            uri=True,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        # Text that is no UTF-8 spoils its own row: SQLite's module would refuse the whole answer.
        read.text_factory = _text
    except (sqlite3.Error, StoreError):
        write.close()
        raise
    return write, read


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
