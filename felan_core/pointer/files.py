"""The folder of one session: safe opening, the lock between processes, and the atomic write (task pointer
§1).

    <state root>/<session_id>/state.json     the state
    <state root>/<session_id>/.lock          held (flock) by whoever writes; it stays and is empty
    <state root>/<session_id>/.state-*.tmp   a write that is under way, or whose writer was killed

Folders are 0700, files 0600. A state root, session folder, state or lock that is a symbolic link or of
another kind than it should be, and a session folder of somebody else, are refused with PATH_UNSAFE; every
other failure of the system is IO_ERROR. Readers take no lock: a state is only ever replaced whole.
"""

from __future__ import annotations

import errno
import os
import stat

from felan_core.pointer.errors import IO_ERROR, LOCK_TIMEOUT, PATH_UNSAFE, PointerError
from felan_core.pointer.fileops import FileOps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STATE_NAME = "state.json"
LOCK_NAME = ".lock"
_TEMP_PREFIX, _TEMP_SUFFIX = ".state-", ".tmp"
_TEMP_LENGTH = len(_TEMP_PREFIX) + 16 + len(_TEMP_SUFFIX)

LOCK_WAIT = 5.0  # seconds
_FIRST_POLL, _LONGEST_POLL = 0.001, 0.02  # seconds; a holder is done within a few milliseconds

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# O_NONBLOCK: a FIFO in a file's place would hold the open for ever. It means nothing to a regular file.
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK
_CHUNK = 65536

# What the system says where something of another kind stands in a folder's or a file's place.
_WRONG_KIND = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EOPNOTSUPP)


def refusal(error: OSError, doing: str) -> PointerError:
    """The PointerError for an OSError; `doing` names the operation, as in `write the state`."""
    if error.errno in _WRONG_KIND:
        return _unsafe(f"cannot {doing}: a symbolic link, or not what should be in its place")
    reason = os.strerror(error.errno) if error.errno else "the system refuses"
    return PointerError(IO_ERROR, f"Cannot {doing}: {reason}.")


def _unsafe(reason: str) -> PointerError:
    return PointerError(PATH_UNSAFE, f"The state root is not safe to use: {reason}.")


def open_session(ops: FileOps, root: str, session_id: str, *, create: bool) -> int | None:
    """A descriptor of the session's folder; None where it is not there and is not to be made.

    `root` is absolute and has no slash at its end, which would make the system follow a link. Raises
    PointerError PATH_UNSAFE or IO_ERROR.
    """
    try:
        root_folder = _open_root(ops, root, create)
        if root_folder is None:
            return None
        try:
            return _open_folder(ops, session_id, root_folder, create)
        finally:
            release(ops, root_folder)
    except OSError as error:
        raise refusal(error, "open the state root or the session's folder in it") from error
    except ValueError as error:  # a NUL, or what no file name can hold
        raise _unsafe("its name cannot be one") from error


def _open_root(ops: FileOps, root: str, create: bool) -> int | None:
    try:
        return ops.open(root, _FOLDER_FLAGS, 0, None)
    except FileNotFoundError:
        if not create:
            return None
    # Missing parents are made as private as the root itself.
    missing = [root]
    while True:
        above = os.path.dirname(missing[-1])
        try:
            parent = ops.open(above, os.O_RDONLY | os.O_DIRECTORY, 0, None)
            break
        except FileNotFoundError:
            missing.append(above)
    while missing:
        name = os.path.basename(missing.pop())
        try:
            made = _make_folder(ops, name, parent)
        finally:
            release(ops, parent)
        parent = made
    return parent


def _make_folder(ops: FileOps, name: str, parent: int) -> int:
    try:
        ops.mkdir(name, 0o700, parent)
    except FileExistsError:
        pass  # another process was first
    else:
        ops.fsync(parent)  # or a power cut takes the folder away, with a state that was reported as written
    return ops.open(name, _FOLDER_FLAGS, 0, parent)


def _open_folder(ops: FileOps, session_id: str, root_folder: int, create: bool) -> int | None:
    try:
        folder = ops.open(session_id, _FOLDER_FLAGS, 0, root_folder)
    except FileNotFoundError:
        if not create:
            return None
        folder = _make_folder(ops, session_id, root_folder)
    mine = False
    try:
        mine = ops.fstat(folder).st_uid == os.geteuid()
    finally:
        if not mine:
            release(ops, folder)
    if not mine:
        raise _unsafe("the session's folder belongs to somebody else")
    return folder


class FolderGone(PointerError):
    """The session's folder was removed since it was opened; the caller opens it again."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(IO_ERROR, "The session's folder was removed meanwhile.")


def lock_session(
    ops: FileOps,
    folder: int,
    *,
    wait: float,
    monotonic: Callable[[], float],
    sleep: Callable[[float], object],
) -> int:
    """Locks the session and returns the lock's descriptor, for `unlock_session`.

    Waits at most `wait` seconds; raises PointerError LOCK_TIMEOUT then, PATH_UNSAFE or IO_ERROR at once, and
    FolderGone where the folder was removed since it was opened (`prune` does that).
    """
    deadline = monotonic() + wait
    pause = _FIRST_POLL
    try:
        while True:
            try:
                descriptor = ops.open(LOCK_NAME, os.O_RDWR | os.O_CREAT | _FILE_FLAGS, 0o600, folder)
            except FileNotFoundError:
                raise FolderGone from None
            taken = False
            try:
                opened = ops.fstat(descriptor)
                if not stat.S_ISREG(opened.st_mode):
                    raise _unsafe("the lock is not a regular file")
                while not ops.lock(descriptor):
                    left = deadline - monotonic()
                    if left <= 0:
                        message = f"Another process has held the session's lock for {wait:g} seconds."
                        raise PointerError(LOCK_TIMEOUT, message)
                    sleep(min(pause, left))
                    pause = min(pause * 2, _LONGEST_POLL)
                # Somebody may have removed the file that we waited for; then the next one locks another.
                taken = _same_file(ops, opened, folder)
            finally:
                if not taken:
                    release(ops, descriptor)
            if taken:
                return descriptor
    except OSError as error:
        raise refusal(error, "lock the session") from error


def _same_file(ops: FileOps, opened: os.stat_result, folder: int) -> bool:
    try:
        now = ops.stat(LOCK_NAME, folder)
    except FileNotFoundError:
        return False
    return (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)


def unlock_session(ops: FileOps, descriptor: int) -> None:
    """Unlocks the session. Never raises: the state is on disk already."""
    try:  # noqa: SIM105 # contextlib costs more to import than all of this
        ops.unlock(descriptor)
    except OSError:
        pass  # closing unlocks it as well
    release(ops, descriptor)


def release(ops: FileOps, descriptor: int) -> None:
    """Closes a descriptor that was only read from; an error is ignored."""
    try:  # noqa: SIM105
        ops.close(descriptor)
    except OSError:
        pass


def read_file(ops: FileOps, folder: int, limit: int) -> bytes | None:
    """The bytes of the state file, at most `limit` + 1 of them; None where there is none.

    Raises PointerError PATH_UNSAFE where it is no regular file, IO_ERROR where it cannot be read.
    """
    try:
        return _read(ops, STATE_NAME, folder, limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, "read the state") from error


def _read(ops: FileOps, name: str, folder: int, limit: int) -> bytes:
    descriptor = ops.open(name, os.O_RDONLY | _FILE_FLAGS, 0, folder)
    try:
        if not stat.S_ISREG(ops.fstat(descriptor).st_mode):
            raise _unsafe("the state is not a regular file")
        parts: list[bytes] = []
        left = limit + 1
        while left > 0:
            part = ops.read(descriptor, min(left, _CHUNK))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        release(ops, descriptor)


def write_file(
    ops: FileOps,
    folder: int,
    data: bytes,
    verify: Callable[[bytes], bool],
    previous: bytes | None,
) -> None:
    """Replaces the state file by `data`, as a whole and durably; the caller holds the lock.

    `verify` says whether what was read back is what was meant; `previous` is what the file holds now.
    Raises PointerError PATH_UNSAFE or IO_ERROR, and the state is then what it was and the temporary file is
    gone. The last step of all, the sync of the folder, can fail when the new state stands already: the
    previous one is written back then.
    """
    try:
        sweep(ops, folder)
        name = _TEMP_PREFIX + os.urandom(8).hex() + _TEMP_SUFFIX
        try:
            _write_new(ops, name, folder, data)
            back = _read(ops, name, folder, len(data))
            if back != data or not verify(back):
                raise PointerError(IO_ERROR, "The state was read back as something else than was written.")
            ops.replace(name, STATE_NAME, folder)
            ops.fsync(folder)
        except BaseException:
            _remove(ops, name, folder)
            _put_back(ops, folder, data, previous)
            raise
    except OSError as error:
        raise refusal(error, "write the state") from error


def _write_new(ops: FileOps, name: str, folder: int, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS
    descriptor = ops.open(name, flags, 0o600, folder)
    try:
        written = 0
        while written < len(data):
            written += ops.write(descriptor, data[written:])
        ops.fsync(descriptor)
    finally:
        ops.close(descriptor)


def _put_back(ops: FileOps, folder: int, data: bytes, previous: bytes | None) -> None:
    """After a failure: restores the previous state, in case the new one is in its place already."""
    try:
        if _read(ops, STATE_NAME, folder, len(data)) != data:
            return
        if previous is None:
            ops.unlink(STATE_NAME, folder)
        else:
            name = _TEMP_PREFIX + os.urandom(8).hex() + _TEMP_SUFFIX
            try:
                _write_new(ops, name, folder, previous)
                ops.replace(name, STATE_NAME, folder)
            except BaseException:
                _remove(ops, name, folder)
                raise
        ops.fsync(folder)
    except (OSError, PointerError):
        pass  # the failure that brought us here is the one to report


def sweep(ops: FileOps, folder: int) -> None:
    """Removes the temporary files of writers that were killed: under the lock, no other writer is alive."""
    for name in ops.listdir(folder):
        if len(name) == _TEMP_LENGTH and name.startswith(_TEMP_PREFIX) and name.endswith(_TEMP_SUFFIX):
            _remove(ops, name, folder)


def _remove(ops: FileOps, name: str, folder: int) -> None:
    try:  # noqa: SIM105
        ops.unlink(name, folder)
    except OSError:
        pass  # it is not there, or the next write sweeps it
