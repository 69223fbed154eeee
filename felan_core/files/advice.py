"""What a person can do about an error of the file system: one table for every room.

The words are advice, without a full stop: the caller says which path failed and puts its own sentence around.
"""

import errno
from pathlib import Path
from typing import Final

_DEFAULT: Final = "look at the disk, or choose another data folder"
_ROOM: Final = "make room on the disk"
_QUOTA: Final = "your disk quota is used up: delete files of yours, or ask for a larger quota"
_RIGHTS: Final = "give yourself the right to write there, or choose another data folder"
_READ_ONLY: Final = "the file system is mounted read-only: choose a data folder on another one"
_DESCRIPTORS: Final = "close other programs, or raise the limit of open files (ulimit -n)"
_IN_THE_WAY: Final = "move away what is in its place, or choose another data folder"
_MISSING: Final = "the folder is missing: make it again, or choose another data folder"
_LARGE: Final = "a limit on the size of a file is reached: raise it (ulimit -f), or make room"
_FAULTY: Final = "the disk reports a fault: check it, and choose a data folder on another one"

ADVICE: Final[dict[int, str]] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _QUOTA,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _READ_ONLY,
    errno.EMFILE: _DESCRIPTORS,
    errno.ENFILE: _DESCRIPTORS,
    errno.EEXIST: _IN_THE_WAY,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EISDIR: _IN_THE_WAY,
    errno.ENXIO: _IN_THE_WAY,
    errno.ELOOP: "it is a symbolic link: look at who put it there, and move it away",
    errno.ENOENT: _MISSING,
    errno.ENAMETOOLONG: "the name is too long: choose a data folder with a shorter one",
    errno.EFBIG: _LARGE,
    errno.EIO: _FAULTY,
    errno.ESTALE: "the network file system lost the folder: mount it again, or choose another data folder",
}
"""Advice for a person, by ``errno``."""


def advice(number: int | None) -> str:
    """What to do about the error with this ``errno``."""
    return ADVICE.get(number or 0, _DEFAULT)


def unwritable(path: Path, error: OSError) -> str:
    """One sentence: which path, what the system answered, what to do."""
    if error.errno is None:
        return str(error)  # it is a sentence already (``private.Untrusted``)
    return f"{path} cannot be written ({error.strerror or error}): {advice(error.errno)}."
