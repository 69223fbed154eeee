"""What SQLite and the file system say, in the store's own errors."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from felan_core.files import advice
from felan_core.store.errors import AlreadyReserved, StoreBroken, StoreError, StoreFailure, StoreUnwritable

_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SHUT: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_HINTS: Final = {
    sqlite3.SQLITE_FULL: "Make room on the disk; nothing of this change was written.",
    sqlite3.SQLITE_IOERR: "Look at the disk (full, over quota, faulty?); nothing of this change was written.",
    sqlite3.SQLITE_BUSY: "Another program holds the database; close it and try again.",
}
_GENERIC: Final = "Nothing of this change was written."


def broken(path: Path, problem: str) -> StoreBroken:
    """The error for a file that is not Felan's database or is damaged."""
    return StoreBroken(
        path,
        f"{path} {problem}. It was left as it is: move it away to start anew, or put a copy in its place.",
    )


def unwritable(path: Path, error: OSError) -> StoreUnwritable:
    """The error for a folder or file that cannot be made, read or written."""
    return StoreUnwritable(path, advice.unwritable(path, error))


def translated(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    """SQLite's error in ours. ``doing``: what failed, for the sentence."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED or (not code and "decode" in str(error)):
        return broken(path, f"is damaged ({error}, found while {doing})")
    if code in _SHUT:
        return StoreUnwritable(path, f"{path} cannot be written ({error}): {_shut_advice(path)}.")
    if code == sqlite3.SQLITE_CONSTRAINT and "requests.id" in str(error):
        return AlreadyReserved(path, f"{path}: a request record with this id is there already.")
    return StoreFailure(path, f"{path}: {doing} failed ({error}). {_HINTS.get(code, _GENERIC)}")


def _shut_advice(path: Path) -> str:
    """SQLite gives no errno: ask the system again what stands in the way."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return advice.advice(error.errno)
    return advice.advice(errno.EACCES)
