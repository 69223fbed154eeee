"""Starts one child in a session of its own, on pipes or a pty, behind a gate; says plainly why it did not.

The gate is the child's first program: a shell that waits for a line on its standard input and then becomes
the program. So the child is on record before it runs on, and one whose host dies first never runs.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from felan_core.processes.drain import PIPE_BYTES
from felan_core.processes.errors import CommandNotFound, FolderMissing, NotPermitted, SpawnFailed

POSIX_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
NOT_RELEASED = 125
"""The exit code of a child whose gate never opened."""
# `read` takes its line byte by byte, so what follows it on that input is the program's.
GATE = f"read _ || exit {NOT_RELEASED}; "
WITH_INPUT = GATE + 'exec "$@"'
WITHOUT_INPUT = GATE + 'exec "$@" </dev/null'
# Opening the terminal makes it the controlling one of the session that the shell leads, so that Ctrl+C, job
# control and /dev/tty work. Python could do that between fork and exec alone, which is not safe in a program
# with threads.
ON_TERMINAL = GATE + 'exec <"$1" >"$1" 2>&1; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Spawned:
    """A child behind its gate and our ends: `gate` is its standard input, `errors` a second output.

    `handle` must be kept and given its return code at the end.
    """

    pid: int
    handle: subprocess.Popen[bytes]
    gate: int
    output: int
    errors: int | None = None


def shell_of(environ: Mapping[str, str]) -> str:
    """The user's shell if it takes a POSIX `-c`, and /bin/sh otherwise."""
    shell = environ.get("SHELL", "")
    if os.path.basename(shell) in POSIX_SHELLS and os.path.isabs(shell) and os.access(shell, os.X_OK):
        return shell
    return "/bin/sh"


def spawn(
    argv: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    pty: tuple[int, int] | None = None,
    piped: bool = False,
) -> Spawned:
    """Start it behind its gate: one output and no input, or a pty of (columns, rows), or `piped`: input,
    output and errors apart.

    Raises CommandNotFound, FolderMissing, NotPermitted or SpawnFailed. Takes a millisecond or two and stays
    on the caller's thread: fork and exec hold Python's lock anyway, and so no cancelled task can leave behind
    a child that nobody knows.
    """
    if not argv or not argv[0]:
        raise CommandNotFound("There is no command to run.")
    if not os.path.isabs(cwd):
        raise FolderMissing(f"The working folder must be an absolute path: {cwd!r}.")
    try:
        # The gate would report a missing program as output and exit code 127.
        _find(argv[0], cwd, environ)
        if pty is not None:
            return _on_pty(argv, cwd, environ, pty)
        return _piped(argv, cwd, environ) if piped else _on_pipe(argv, cwd, environ)
    except OSError as error:
        raise _explained(error, argv[0], cwd) from error
    except ValueError as error:
        # A NUL byte or a lone surrogate: no system call takes those.
        raise SpawnFailed(f"The command cannot be passed to the system: {error}.") from error


def _on_pipe(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Spawned:
    with _Pipes() as pipes:
        gate, ours = pipes.to_child(), pipes.from_child()
        handle = _popen(WITHOUT_INPUT, argv, cwd, environ, gate.theirs, ours.theirs, ours.theirs)
        return Spawned(handle.pid, handle, pipes.keep(gate), pipes.keep(ours))


def _piped(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Spawned:
    with _Pipes() as pipes:
        gate, output, errors = pipes.to_child(), pipes.from_child(), pipes.from_child()
        handle = _popen(WITH_INPUT, argv, cwd, environ, gate.theirs, output.theirs, errors.theirs)
        return Spawned(handle.pid, handle, pipes.keep(gate), pipes.keep(output), pipes.keep(errors))


def _on_pty(argv: Sequence[str], cwd: str, environ: Mapping[str, str], size: tuple[int, int]) -> Spawned:
    columns, rows = size
    with _Pipes() as pipes:
        gate, terminal = pipes.to_child(), pipes.add(*os.openpty())
        try:
            fcntl.ioctl(terminal.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        except struct.error as error:
            raise SpawnFailed(f"No terminal is {columns} columns by {rows} rows.") from error
        words = [os.ttyname(terminal.theirs), *argv]
        handle = _popen(ON_TERMINAL, words, cwd, environ, gate.theirs, terminal.theirs, terminal.theirs)
        return Spawned(handle.pid, handle, pipes.keep(gate), pipes.keep(terminal))


def _popen(
    gate: str, words: Sequence[str], cwd: str, environ: Mapping[str, str], *standard: int
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = standard
    return subprocess.Popen(
        ["/bin/sh", "-c", gate, "sh", *words],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=environ,
        start_new_session=True,
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    ours: int
    theirs: int


class _Pipes:
    """Pairs of descriptors: the child's ends are closed at the end, and ours that are not kept."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def to_child(self) -> _Ends:
        theirs, ours = os.pipe()
        return self.add(ours, theirs)

    def from_child(self) -> _Ends:
        ends = self.add(*os.pipe())
        if sys.platform == "linux":
            # Fewer turns for a chatty child. The kernel refuses when this user has too many large pipes.
            with contextlib.suppress(OSError):
                fcntl.fcntl(ends.ours, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return ends

    def add(self, ours: int, theirs: int) -> _Ends:
        self._open += [ours, theirs]
        return _Ends(ours, theirs)

    def keep(self, ends: _Ends) -> int:
        self._open.remove(ends.ours)
        return ends.ours

    def __enter__(self) -> "_Pipes":
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open:
            os.close(fd)


def _find(program: str, cwd: str, environ: Mapping[str, str]) -> None:
    if os.sep in program:
        path = os.path.join(cwd, program)
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        if os.path.isdir(path) or not os.access(path, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)
    elif shutil.which(program, path=environ.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)


def _explained(error: OSError, program: str, cwd: str) -> SpawnFailed:
    about_folder = error.filename == cwd or not os.path.isdir(cwd)
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if about_folder:
            return FolderMissing(f"The working folder is not there, or is no folder: {cwd}.")
        case errno.EACCES | errno.EPERM if about_folder:
            return NotPermitted(f"This user may not use the working folder {cwd}.")
        case errno.ENOENT | errno.ENOTDIR:
            return CommandNotFound(f"There is no program {program!r}, or what should run it is missing.")
        case errno.EACCES | errno.EPERM:
            return NotPermitted(f"This user may not run {program!r}.")
        case _:
            return SpawnFailed(f"{program!r} could not be started: {error.strerror}.")
