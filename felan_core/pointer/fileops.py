"""Every file operation of the pointer as one small object, so that a test can fail or kill at any of them.

Names are relative to an open folder wherever there is one: a folder that is moved or replaced by a symbolic
link after it was checked changes nothing then.
"""

from __future__ import annotations

import fcntl
import os

# macOS leaves data in the disk's cache after fsync; this asks for more (fsync(2) there).
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


class FileOps:
    """The operating system's own operations. Each raises OSError as the system does."""

    __slots__ = ()

    def open(self, name: str, flags: int, mode: int, folder: int | None) -> int:
        """A descriptor that no child process inherits."""
        return os.open(name, flags | os.O_CLOEXEC, mode, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def read(self, descriptor: int, size: int) -> bytes:
        return os.read(descriptor, size)

    def write(self, descriptor: int, data: bytes) -> int:
        """How many bytes of `data` were written, which can be fewer than there are."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        if _FULL_SYNC is not None:
            try:
                fcntl.fcntl(descriptor, _FULL_SYNC)
                return
            except OSError:
                pass  # some file systems do not know it; the plain one is what is left
        os.fsync(descriptor)

    def fstat(self, descriptor: int) -> os.stat_result:
        return os.fstat(descriptor)

    def stat(self, name: str, folder: int) -> os.stat_result:
        """The status of the name itself; a symbolic link is not followed."""
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def mkdir(self, name: str, mode: int, folder: int | None) -> None:
        os.mkdir(name, mode, dir_fd=folder)

    def listdir(self, folder: int) -> list[str]:
        return os.listdir(folder)

    def unlink(self, name: str, folder: int) -> None:
        os.unlink(name, dir_fd=folder)

    def replace(self, source: str, target: str, folder: int) -> None:
        os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)

    def lock(self, descriptor: int) -> bool:
        """Try the exclusive lock without waiting; True if it is locked now. It ends with the descriptor."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, descriptor: int) -> None:
        """Unlocks also where a forked child has a copy of the descriptor; closing alone would not."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


FILE_OPS = FileOps()
