"""Starts one child in a session of its own, on a pipe or a pty; says plainly why it did not."""

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
# Opening the terminal makes it the controlling one of the session that the shell leads, so that Ctrl+C, job
# control and /dev/tty work. Python could do that between fork and exec alone, which is not safe in a program
# with threads.
TAKE_TERMINAL = ': <"$1"; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Spawned:
    """A running child and our end of its output.

    `handle` must be kept and given its return code at the end.
    """

    pid: int
    fd: int
    handle: subprocess.Popen[bytes]


def shell_of(environ: Mapping[str, str]) -> str:
    """The user's shell if it takes a POSIX `-c`, and /bin/sh otherwise."""
    shell = environ.get("SHELL", "")
    if os.path.basename(shell) in POSIX_SHELLS and os.path.isabs(shell) and os.access(shell, os.X_OK):
        return shell
    return "/bin/sh"


def spawn(
    argv: Sequence[str], *, cwd: str, environ: Mapping[str, str], pty: tuple[int, int] | None = None
) -> Spawned:
    """Start it. `pty` is (columns, rows). Raises CommandNotFound, FolderMissing, NotPermitted or SpawnFailed.

    Takes a millisecond or two and stays on the caller's thread: fork and exec hold Python's lock anyway, and
    so no cancelled task can leave a child behind that nobody knows.
    """
    if not argv or not argv[0]:
        raise CommandNotFound("There is no command to run.")
    if not os.path.isabs(cwd):
        raise FolderMissing(f"The working folder must be an absolute path: {cwd!r}.")
    try:
        return _on_pty(argv, cwd, environ, pty) if pty else _on_pipe(argv, cwd, environ)
    except OSError as error:
        raise _explained(error, argv[0], cwd) from error
    except ValueError as error:
        # A NUL byte or a lone surrogate: no system call takes those.
        raise SpawnFailed(f"The command cannot be passed to the system: {error}.") from error


def _on_pipe(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Spawned:
    ours, theirs = os.pipe()
    try:
        if sys.platform == "linux":
            # Fewer turns for a chatty child. The kernel refuses when this user has too many large pipes.
            with contextlib.suppress(OSError):
                fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        handle = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return Spawned(handle.pid, ours, handle)


def _on_pty(argv: Sequence[str], cwd: str, environ: Mapping[str, str], size: tuple[int, int]) -> Spawned:
    # The shell below would report a missing program as output and exit code 127.
    _find(argv[0], cwd, environ)
    columns, rows = size
    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        handle = subprocess.Popen(
            ["/bin/sh", "-c", TAKE_TERMINAL, "sh", os.ttyname(theirs), *argv],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    except struct.error as error:
        os.close(ours)
        raise SpawnFailed(f"No terminal is {columns} columns by {rows} rows.") from error
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return Spawned(handle.pid, ours, handle)


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
