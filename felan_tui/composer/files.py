"""Where the composer keeps what was typed: which file is a folder's, and which draft is this terminal's."""

import fcntl
import os
import re
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


class Slot:
    """The draft file of one terminal: no other has it until `release`, or until this process dies."""

    def __init__(self, path: Path, lock: int | None) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Give it free. Twice is no error."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


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
