"""Sees that a child exited, without a thread and without taking its status away before its owner lets go.

While the status is not taken the kernel gives the pid to nobody else, so signals to it and to its group are
safe.
"""

import asyncio
import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

POLL_SECONDS = 0.05
SOON_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """An exit code, or the name of the signal that ended it; neither when somebody else took the status."""

    code: int | None = None
    signal: str | None = None


def signal_name(number: int) -> str:
    """`SIGTERM` for 15; a number that has no name of its own counts on from SIGRTMIN."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - 34}" if number > 34 else f"SIG{number}"


class ExitWatch:
    """Calls `exited` once, from the loop.

    Through a pidfd (Linux), a kqueue (macOS, BSD), or else by looking often.
    """

    def __init__(self, pid: int, exited: Callable[[ExitStatus], None]) -> None:
        self._pid = pid
        self._exited = exited
        self._loop = asyncio.get_running_loop()
        self._fd: int | None = None
        self._close_fd: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.seen = False
        """`exited` was called."""
        self.reaped = False
        """The status was taken: the pid is no longer ours."""
        try:
            self._fd, self._close_fd = _exit_descriptor(pid)
        except OSError:
            # An old kernel, no descriptors left, or the child is gone already.
            self._timer = self._loop.call_later(0, self._look)
        else:
            self._loop.add_reader(self._fd, self._look)

    def reap(self) -> None:
        """Take the status, so that no zombie stays. Only after `exited`; harmless a second time."""
        if self.seen and not self.reaped:
            self.reaped = True
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, os.WNOHANG)

    def close(self) -> None:
        """Stop looking."""
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            self._fd = None
        if self._close_fd is not None:
            self._close_fd()
            self._close_fd = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        status = self._peek()
        if status is None:
            # Without a descriptor we poll. With one we were called a moment before the kernel had the status
            # ready.
            polling = self._fd is None and self._close_fd is None
            self.close()
            self._timer = self._loop.call_later(POLL_SECONDS if polling else SOON_SECONDS, self._look)
            return
        self.close()
        self.seen = True
        self._exited(status)

    def _peek(self) -> ExitStatus | None:
        try:
            if hasattr(os, "waitid"):
                found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return None
                if found.si_code == os.CLD_EXITED:
                    return ExitStatus(code=found.si_status)
                return ExitStatus(signal=signal_name(found.si_status))
            # Python has no waitid on macOS before 3.13: there the status must be taken at once.
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            self.reaped = True
            return ExitStatus()
        if pid == 0:
            return None
        self.reaped = True
        code = os.waitstatus_to_exitcode(status)
        return ExitStatus(code=code) if code >= 0 else ExitStatus(signal=signal_name(-code))


def _exit_descriptor(pid: int) -> tuple[int, Callable[[], None]]:
    """A descriptor that becomes readable when the child exits, and what closes it."""
    if sys.platform == "linux":
        fd = os.pidfd_open(pid)
        return fd, lambda: os.close(fd)
    queue = select.kqueue()
    try:
        note = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        queue.control([note], 0)
    except OSError:
        queue.close()
        raise
    return queue.fileno(), queue.close
