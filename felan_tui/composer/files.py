"""Where the composer keeps what was typed: the history of a folder, and the draft of a session."""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from felan_core.files import private

SLOTS = 64
"""Terminals in one folder that each have a draft of their own."""


def project_key(cwd: str) -> str:
    """A file name for a folder: its last part to be recognised by, and a digest to be told apart by."""
    from hashlib import sha256

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", cwd.rstrip("/").rpartition("/")[2])[:40].strip(".-") or "root"
    return f"{name}-{sha256(cwd.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file, with 0600 in a folder with 0700. OSError."""
    private.own_folder(path.parent)
    private.write_whole(path, data)


def draft_key(cwd: str, session: str | None) -> str:
    """The name of the draft of a session in a folder; without one that of what no session has yet."""
    folder = project_key(cwd)
    return folder if session is None else f"{folder}.{project_key(session)}"


class Slot:
    """A draft file that no other terminal has until `release`, or until this process dies."""

    def __init__(self, path: Path, lock: int | None) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Unlock it; without a draft nothing of it stays in the folder. Twice is no error."""
        lock, self._lock = self._lock, None
        if lock is not None:
            if not self.path.exists():
                with suppress(OSError):
                    self.path.with_suffix(".lock").unlink()
            os.close(lock)


def left_drafts(folder: Path, cwd: str, own: Path) -> list[Path]:
    """The drafts of this folder's other sessions that no terminal has open, the oldest first. Blocks."""
    found: list[tuple[float, Path]] = []
    for path in folder.glob(f"{project_key(cwd)}.*.json"):
        with suppress(OSError):
            if path != own and not _locked(path.with_suffix(".lock")):
                found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found)]


def _locked(path: Path) -> bool:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def claim_slot(folder: Path, key: str) -> Slot:
    """A draft file that no other terminal has: one with a draft in it first. Blocks.

    Without a lock (a file system that has none, a folder that cannot be written) it is the folder's first.
    """
    first = folder / f"{key}.json"
    free: list[Slot] = []
    try:
        private.own_folder(folder)
        for number in range(1, SLOTS + 1):
            path = first if number == 1 else folder / f"{key}-{number}.json"
            lock = private.open_private(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.fstat(lock).st_nlink:
                    raise BlockingIOError  # its terminal has just removed it
            except BlockingIOError:
                os.close(lock)
                continue
            except OSError:
                os.close(lock)
                break
            free.append(Slot(path, lock))
            if path.exists() or not path.with_name(f"{key}-{number + 1}.lock").exists():
                break
    except OSError:
        pass
    if not free:
        return Slot(first, None)
    chosen = next((slot for slot in free if slot.path.exists()), free[0])
    for slot in free:
        if slot is not chosen:
            slot.release()
    return chosen
