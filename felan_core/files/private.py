"""Folders with 0700 and files with 0600 under any umask, and the rights that a data folder must have.

Felan sets the rights of what it makes and of what has a name of its own inside its data folder. A data folder
that was there before is somebody's: its rights are checked and never changed.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

_NO_FOLLOW: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class Untrusted(OSError):
    """A path that Felan does not use: not ours, not a plain file or folder, or open to others.

    ``path``; ``str()`` is one line with advice.
    """

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.message)


def data_folder(folder: Path) -> None:
    """Make ``folder`` with 0700, or check the one that is there; its rights stay as they are.

    It has to be ours, and others may write in it only where its sticky bit keeps what is ours (each file in
    it is then checked by itself). Raises ``Untrusted`` and other ``OSError``.
    """
    try:
        found = folder.stat()
    except FileNotFoundError:
        make_folder(folder)
        return
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(20, "Not a directory", str(folder))
    check_owner(folder, found.st_uid)
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise Untrusted(
            folder,
            f"{folder} can be written by other users, so its sessions are not safe. "
            "Take that right away (chmod go-w), or choose another data folder.",
        )


def check_owner(path: Path, owner: int) -> None:
    """Raise ``Untrusted`` unless ``owner``, the user id of ``path``, is this process's user."""
    if owner != os.geteuid():
        raise Untrusted(
            path,
            f"{path} belongs to another user (user id {owner}). "
            "Run felan as that user, or choose another data folder.",
        )


def make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it, each with 0700 under any umask. Raises ``OSError``.

    One that is there stays as it is.
    """
    missing: list[Path] = []
    at = folder
    while not at.is_dir():
        missing.append(at)
        if at.parent == at:
            break
        at = at.parent
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700)
        except FileExistsError:
            if not one.is_dir():
                raise
        else:
            one.chmod(0o700)


def own_folder(folder: Path) -> None:
    """Create or seal one of Felan's own folders inside the data folder: 0700 under any umask.

    Its parent must exist: a deleted data folder is not created again. Raises ``Untrusted``
    and ``OSError``.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW)
    try:
        found = os.fstat(opened)
        check_owner(folder, found.st_uid)
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(opened, 0o700)
    finally:
        os.close(opened)


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a plain file of ours, with 0600 under any umask. ``flags``: of ``os.open``.

    A pipe, a device or a link in its place is refused, and never waited for. Raises ``Untrusted`` and
    ``OSError``.
    """
    try:
        descriptor = os.open(path, flags | _NO_FOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError:
        _check_kind(path)
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _not_plain(path)
        check_owner(path, found.st_uid)
        if stat.S_IMODE(found.st_mode) != 0o600:
            os.fchmod(descriptor, 0o600)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(path: Path) -> None:
    """Name what cannot be opened because it is no plain file."""
    try:
        found = path.lstat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise _not_plain(path)


def _not_plain(path: Path) -> Untrusted:
    return Untrusted(path, f"{path} is not a plain file. Look at who put it there, and move it away.")


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Put ``data`` in the place of the file with 0600: a reader sees the old one or the new one.

    ``sync``: it is on the disk before it has the name. The folder has to be there. Raises ``OSError``.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), 0o600)  # mkstemp's own 0600 passes the umask
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
