"""One live host a data folder: a lock that dies with its process (session protocol §9).

``owner.lock`` is locked with ``flock`` and holds, for people, who has it. The lock is what counts: a file
that a killed host left behind says something and forbids nothing. The database is never opened here.
"""

import errno
import fcntl
import os
import stat
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Annotated, Final

import msgspec

from felan_core import __version__
from felan_core.files import advice, private

LOCK_FILE: Final = "owner.lock"
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_HOLDER_BYTES: Final = 4096
# A holder that has just locked may not have written yet: looked at so often, so many seconds apart.
_LOOKS: Final = 10
_LOOK_S: Final = 0.02

Short = Annotated[str, msgspec.Meta(max_length=256)]


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a folder. ``since``: milliseconds since the Unix epoch. The texts are not to be trusted."""

    pid: Annotated[int, msgspec.Meta(ge=1)]
    since: Annotated[int, msgspec.Meta(ge=0)]
    terminal: Short
    version: Short


class OwnershipError(Exception):
    """The folder was not acquired. ``path``: its lock file; ``str()`` is for people."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.message)


class Held(OwnershipError):
    """Another live process holds it. ``holder`` is None where it does not say who."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        who = (
            "another Felan (unknown which)"
            if holder is None
            else f"another Felan (process {holder.pid}, {holder.terminal!r})"
        )
        super().__init__(path, f"{path.parent} is in use by {who}.")
        self.holder = holder

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.holder)


class LockUnusable(OwnershipError):
    """The folder or the lock file cannot be made, written or trusted; the message says what to do."""


class Ownership:
    """A folder that this process holds until ``release``, or until it dies. Also a context manager."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        """Use ``acquire``."""
        self.path: Final = path
        self.holder: Final = holder
        self._descriptor: int | None = descriptor
        _held.add(self)

    @property
    def held(self) -> bool:
        """False once it was released, and in a fork of the process that holds it."""
        return self._descriptor is not None

    def lost(self) -> str:
        """Why the lock is not this process's any more; "" while it is. Blocks; from any thread.

        Its file was deleted or replaced: another process can lock the new one.
        """
        descriptor = self._descriptor
        if descriptor is None:
            return "The data folder was released."
        found = os.fstat(descriptor)
        try:
            named = self.path.stat(follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return f"{self.path} was deleted while Felan runs."
        except OSError:
            return ""
        same = (named.st_dev, named.st_ino) == (found.st_dev, found.st_ino)
        return "" if same else f"{self.path} was replaced while Felan runs."

    def release(self) -> None:
        """Give the folder free. Twice is no error. The file stays: its name is the lock's identity."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        # Unlocked by hand: a copy of the descriptor, should one be left anywhere, then holds nothing.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)

    def forget(self) -> None:
        """Close this process's copy and leave the lock with the process that this one was forked from."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> "Ownership":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


_held: "weakref.WeakSet[Ownership]" = weakref.WeakSet()


def _after_fork() -> None:
    for ownership in list(_held):
        ownership.forget()


# exec closes the descriptor (O_CLOEXEC); a bare fork would keep the folder locked past its owner's death.
os.register_at_fork(after_in_child=_after_fork)


def acquire(folder: Path, *, terminal: str, clock: Callable[[], int]) -> Ownership:
    """Lock ``folder`` (made with 0700 where it is not there, its rights never changed) for this process.

    ``terminal``: where this process shows itself, for whoever comes second; ``clock``: milliseconds since the
    Unix epoch. Raises ``Held`` or ``LockUnusable``. Takes 0.2 s where another takes it just now.
    """
    path = folder.absolute() / LOCK_FILE
    holder = Holder(pid=os.getpid(), since=clock(), terminal=terminal[:256], version=__version__)
    try:
        private.data_folder(path.parent)
        while True:
            descriptor = os.open(path, _FLAGS, 0o600)
            try:
                if _lock(path, descriptor):
                    _write(descriptor, holder)
                    return Ownership(path, descriptor, holder)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
    except private.Untrusted as error:
        raise LockUnusable(path, error.message) from error
    except OSError as error:
        raise _unusable(path, error) from error


def _lock(path: Path, descriptor: int) -> bool:
    """Lock the opened file; False where it is no longer the one with that name. Raises ``Held``."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_uid != os.geteuid():
        if found.st_nlink == 0:
            return False
        raise LockUnusable(
            path, f"{path} is not a plain file of yours. Look at who put it there, and move it away."
        )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise Held(path, _read_holder(descriptor)) from None
        raise
    try:
        named = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (found.st_dev, found.st_ino)


def _write(descriptor: int, holder: Holder) -> None:
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, msgspec.json.encode(holder) + b"\n", 0)


def _read_holder(descriptor: int) -> Holder | None:
    """Who holds the lock, as far as the file says; waits a moment for a holder that is still writing."""
    holder: Holder | None = None
    for look in range(_LOOKS):
        if look:
            time.sleep(_LOOK_S)
        try:
            holder = msgspec.json.decode(os.pread(descriptor, _HOLDER_BYTES, 0), type=Holder)
        except (OSError, msgspec.MsgspecError, ValueError):
            continue
        if _alive(holder.pid):
            return holder
    return holder


def _alive(pid: int) -> bool:
    """Whether there is such a process here; a file that names none is of a holder before this one."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _unusable(path: Path, error: OSError) -> LockUnusable:
    if error.errno == errno.ELOOP:
        return LockUnusable(path, f"{path} is a symbolic link. Look at who put it there, and move it away.")
    named = Path(error.filename) if isinstance(error.filename, str) else path
    return LockUnusable(path, advice.unwritable(named, error))
