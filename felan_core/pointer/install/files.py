"""Whole files: read, and replaced at once and durably."""

import contextlib
import os


def read_whole(path: str) -> bytes | None:
    """The bytes of a file, None where there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write_whole(path: str, data: bytes, mode: int) -> None:
    """Replaces a file (never a link's target; resolve that first), its folder made private if it is missing.

    Raises OSError, and the file is then what it was.
    """
    folder = os.path.dirname(path)
    private_folder(folder)
    name = os.path.join(folder, f".{os.path.basename(path)}-{os.urandom(6).hex()}.tmp")
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync_folder(folder)


def private_folder(path: str) -> None:
    """Makes a folder, and what is missing above it, for nobody but the user."""
    if not os.path.isdir(path):
        private_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def sync_folder(folder: str) -> None:
    """Makes what was renamed or removed in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
