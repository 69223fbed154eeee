"""Files of the session's folder: never outside it, changed only from what was seen, and never torn.

Every path is walked from the folder's own descriptor, one name at a time and through no symbolic link, so
that nothing that happens beside us can lead a write out of it. A change is written to a file of its own,
put on disk, and moved into place when what stands there is still what it was made from. (Between that last
look and the move lies an instant that POSIX gives no way to close for a file that exists; a file that is
new is linked, which never overwrites.)

All of it blocks: call it from a thread.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

MAX_BYTES: Final = 128 * 1024
"""The largest file that is read or written: both sides of its diff travel in one approval."""
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK}
)


class FileRefused(Exception):
    """A file that is not read or not changed. The text says why, for people."""


class FileChanged(FileRefused):
    """What stands on disk is no longer what the change was made from."""


@dataclass(frozen=True, slots=True)
class FileCalls:
    """The calls that can fail between a change and the disk, so that a test can let each of them fail."""

    fsync: Callable[[int], None] = os.fsync
    replace: Callable[..., None] = os.replace
    link: Callable[..., None] = os.link


class Folder:
    """One folder, and the files under it by relative path."""

    def __init__(self, root: str, calls: FileCalls | None = None) -> None:
        self.root = root
        self._calls = calls or FileCalls()

    def read(self, path: str) -> str | None:
        """The file's text, line ends as they are; None where there is no file. Raises ``FileRefused``."""
        with self._place(path, missing_ok=True) as (folder, name):
            return None if folder is None else _text(folder, name, path)[0]

    def write(self, path: str, old: str | None, new: str) -> None:
        """Replace ``old`` by ``new``; ``old`` None: the file is not there yet. It keeps its mode.

        Raises ``FileChanged`` when the file is not ``old``, ``FileRefused`` for every other reason.
        """
        data = _encoded(new, path)
        with self._place(path) as (folder, name):
            assert folder is not None  # without missing_ok
            mode = self._expect(folder, name, path, old)
            temporary = f".{name[:60]}.{os.urandom(6).hex()}.felan"
            try:
                self._put(folder, temporary, data, mode)
                self._expect(folder, name, path, old)
                if old is None:
                    self._link(folder, temporary, name, path)
                else:
                    self._calls.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                self._calls.fsync(folder)
            except OSError as error:
                raise _refused(path, error) from None
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)

    def delete(self, path: str, old: str) -> None:
        """Delete the file that reads ``old``. Raises ``FileChanged`` and ``FileRefused``."""
        with self._place(path) as (folder, name):
            assert folder is not None  # without missing_ok
            self._expect(folder, name, path, old)
            try:
                os.unlink(name, dir_fd=folder)
                self._calls.fsync(folder)
            except OSError as error:
                raise _refused(path, error) from None

    def free_name(self, path: str) -> str:
        """``path``, or with ``-2``, ``-3`` … before its suffix, where nothing stands yet.

        Raises ``FileRefused``.
        """
        wanted = PurePosixPath(path)
        with self._place(path) as (folder, _):
            for number in range(1, 1000):
                name = wanted.name if number == 1 else f"{wanted.stem}-{number}{wanted.suffix}"
                try:
                    os.stat(name, dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    return str(wanted.with_name(name))
                except OSError as error:
                    raise _refused(path, error) from None
        raise FileRefused(f"{path}: a thousand of that name are there")

    @contextlib.contextmanager
    def _place(self, path: str, missing_ok: bool = False) -> Generator[tuple[int | None, str]]:
        """The descriptor of the folder that the file stands in, and its name.

        None where that folder is not there, with ``missing_ok``.
        """
        names = _names(path)
        try:
            here = os.open(self.root, _DIRECTORY)
        except OSError as error:
            raise _refused("the session's folder", error) from None
        try:
            for depth, name in enumerate(names[:-1], 1):
                try:
                    below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                except FileNotFoundError:
                    if missing_ok:
                        yield None, names[-1]
                        return
                    raise FileRefused(f"{'/'.join(names[:depth])}: there is no such folder") from None
                except OSError as error:
                    raise _refused("/".join(names[:depth]), error) from None
                os.close(here)
                here = below
            yield here, names[-1]
        finally:
            os.close(here)

    def _expect(self, folder: int, name: str, path: str, old: str | None) -> int | None:
        """Hold the file to ``old``; its mode, or None where there is none."""
        found, mode = _text(folder, name, path)
        if found != old:
            what = "is there by now" if old is None else "is gone" if found is None else "changed meanwhile"
            raise FileChanged(f"{path} {what}")
        if mode is not None and not mode & stat.S_IWUSR:
            raise FileRefused(f"{path} is read-only")
        return mode

    def _put(self, folder: int, temporary: str, data: bytes, mode: int | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o666, dir_fd=folder), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            self._calls.fsync(file.fileno())

    def _link(self, folder: int, temporary: str, name: str, path: str) -> None:
        try:
            self._calls.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            raise FileChanged(f"{path} is there by now") from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without hard links: the look before it has to do.
            self._calls.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _names(path: str) -> tuple[str, ...]:
    if not path or "\0" in path:
        raise FileRefused("that is no path")
    if path.startswith("/"):
        raise FileRefused(f"{path}: outside the session's folder (only relative paths)")
    names = path.split("/")
    if ".." in names:
        raise FileRefused(f"{path}: outside the session's folder")
    kept = tuple(name for name in names if name not in ("", "."))
    if not kept or names[-1] in ("", "."):
        raise FileRefused(f"{path}: is a folder")
    return kept


def _text(folder: int, name: str, path: str) -> tuple[str | None, int | None]:
    """The text and mode of a regular file; (None, None) where there is none."""
    try:
        # Non-blocking, so that a named pipe is refused below instead of waited for.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise _refused(path, error) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise FileRefused(f"{path}: is {kind}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        os.close(descriptor)
    if len(data) > MAX_BYTES:
        raise FileRefused(f"{path}: larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8"), stat.S_IMODE(found.st_mode)
    except UnicodeDecodeError:
        raise FileRefused(f"{path}: is not UTF-8 text") from None


def _encoded(text: str, path: str) -> bytes:
    data = text.encode("utf-8")
    if len(data) > MAX_BYTES:
        raise FileRefused(f"{path}: would be larger than {MAX_BYTES // 1024} KiB")
    return data


def _refused(path: str, error: OSError) -> FileRefused:
    if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
        return FileRefused(f"{path}: is a symbolic link or no folder, and none is followed")
    return FileRefused(f"{path}: {(error.strerror or str(error)).lower()}")
