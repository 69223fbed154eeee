"""The output of one process on disk: segment files, absolute byte offsets, the oldest dropped first."""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from felan_core.files import private
from felan_core.processes.errors import DuplicateProcess, OffsetPastEnd, SpoolUnavailable

SEGMENT_BYTES = 8 * 1024 * 1024
RETAIN_BYTES = 256 * 1024 * 1024
SUFFIX = ".out"


@dataclass(frozen=True, slots=True)
class FileOps:
    """The two calls that a full or failing disk answers with an error; a test hands in ones that do."""

    open: Callable[[str, int, int], int] = os.open
    write: Callable[[int, memoryview], int] = os.write


class Spool:
    """Bytes `start` to `end` of an output, in files named after the offset of their first byte.

    `append`, `seal` and `drop_output` are called by one thread; `read` may run in another at the same time. A
    disk that is full never stops the process that writes: older segments give way first, then output is left
    out, and a line in the output says how much as soon as there is room again.
    """

    def __init__(
        self, folder: Path, segments: list[int], end: int, *, segment: int, retain: int, files: FileOps
    ) -> None:
        self._folder = folder
        self._segments = segments
        self._end = end
        self._segment = segment
        self._retain = max(retain, segment)
        self._files = files
        self._fd: int | None = None
        self._missed = 0

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        segment: int = SEGMENT_BYTES,
        retain: int = RETAIN_BYTES,
        files: FileOps | None = None,
    ) -> "Spool":
        """A new spool in a new private folder.

        DuplicateProcess when the folder is there, SpoolUnavailable else.
        """
        try:
            private.own_folder(folder.parent)
        except OSError as error:
            raise SpoolUnavailable(f"The folder for the output cannot be made: {error.strerror}.") from error
        try:
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)
        except FileExistsError as error:
            raise DuplicateProcess(f"There is already output of a process in {folder.name}.") from error
        except OSError as error:
            raise SpoolUnavailable(f"The folder for the output cannot be made: {error.strerror}.") from error
        return cls(folder, [], 0, segment=segment, retain=retain, files=files or FileOps())

    @classmethod
    def open(cls, folder: Path, known_end: int = 0) -> "Spool":
        """The spool of an earlier host, for reading.

        Without files all of it counts as dropped, up to `known_end`.
        """
        sizes: dict[int, int] = {}
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(SUFFIX)
                    if name != entry.name and name.isascii() and name.isdigit():
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            sizes[int(name)] = status.st_size
        except OSError:
            sizes = {}
        segments = sorted(sizes)
        end = segments[-1] + sizes[segments[-1]] if segments else known_end
        # What lies before a hole cannot be read on from, so it counts as dropped.
        for at in range(len(segments) - 1, 0, -1):
            if segments[at - 1] + sizes[segments[at - 1]] != segments[at]:
                segments = segments[at:]
                break
        return cls(folder, segments, end, segment=SEGMENT_BYTES, retain=RETAIN_BYTES, files=FileOps())

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def start(self) -> int:
        segments = self._segments
        return segments[0] if segments else self._end

    @property
    def end(self) -> int:
        return self._end

    def append(self, data: bytes) -> None:
        """Add bytes at the end. Never raises for a disk that does not take them."""
        if self._missed:
            note = (
                f"\r\n[{self._missed} bytes of output are missing here: the disk took no more]\r\n".encode()
            )
            if self._store(memoryview(note)):
                self._missed += len(data)
                return
            self._missed = 0
        self._missed += self._store(memoryview(data))

    def seal(self) -> None:
        """Nothing is added any more: let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def read(self, offset: int, limit: int) -> tuple[int, bytes]:
        """At most `limit` bytes from `offset`, or from `start` where that is later; says from where."""
        segments, end = tuple(self._segments), self._end
        if not 0 <= offset <= end:
            raise OffsetPastEnd(f"The output has {end} bytes so far; {offset} is not among them.")
        at = max(offset, segments[0] if segments else end)
        while True:
            try:
                return at, self._collect(segments, at, min(end, at + limit))
            except _GoneError as gone:
                # The writer dropped it while we looked, or somebody else took it away.
                at = gone.until

    def drop_output(self) -> None:
        """Delete the output of a process that has ended; all of it counts as dropped."""
        segments, self._segments = self._segments, []
        for segment in segments:
            with contextlib.suppress(OSError):
                os.unlink(self._path(segment))

    def remove(self) -> None:
        """Delete the folder with all that is in it."""
        self.seal()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, segment: int) -> str:
        return os.path.join(self._folder, f"{segment:020d}{SUFFIX}")

    def _store(self, view: memoryview) -> int:
        """Write all of it if the disk lets us; the number of bytes that it did not take."""
        while view:
            try:
                if self._fd is None or self._end - self._segments[-1] >= self._segment:
                    self._next_segment()
                assert self._fd is not None
                room = self._segment - (self._end - self._segments[-1])
                written = self._files.write(self._fd, view[:room])
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT) or len(self._segments) < 2:
                    return len(view)
                self._drop_oldest()
                continue
            view = view[written:]
            self._end += written
        while self._end - self.start > self._retain:
            self._drop_oldest()
        return 0

    def _next_segment(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fresh = self._files.open(self._path(self._end), flags, 0o600)
        self.seal()
        self._fd = fresh
        if not self._segments or self._segments[-1] != self._end:
            self._segments = [*self._segments, self._end]

    def _drop_oldest(self) -> None:
        oldest = self._segments[0]
        # A new list, not a changed one: a reader in another thread holds the old one.
        self._segments = self._segments[1:]
        with contextlib.suppress(OSError):
            os.unlink(self._path(oldest))

    def _collect(self, segments: tuple[int, ...], at: int, end: int) -> bytes:
        parts: list[bytes] = []
        for index, segment in enumerate(segments):
            until = segments[index + 1] if index + 1 < len(segments) else self._end
            if not at < min(until, end):
                continue
            try:
                fd = os.open(self._path(segment), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                if not parts:
                    raise _GoneError(until) from None
                break
            try:
                while at < min(until, end):
                    part = os.pread(fd, min(until, end) - at, at - segment)
                    if not part:
                        if not parts:
                            raise _GoneError(until)
                        return b"".join(parts)
                    parts.append(part)
                    at += len(part)
            finally:
                os.close(fd)
        return b"".join(parts)


class _GoneError(Exception):
    """A segment is not there any more; what comes next begins at `until`."""

    def __init__(self, until: int) -> None:
        super().__init__(until)
        self.until = until
