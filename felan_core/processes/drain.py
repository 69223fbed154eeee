"""Reads the output of one child as it comes, so that the child never waits for anybody."""

import asyncio
import errno
import os
from collections.abc import Callable

CHUNK_BYTES = 64 * 1024
# The most that a pipe of ours holds: what the child wrote before it exited is in there.
PIPE_BYTES = 256 * 1024


class Drain:
    """Hands every piece to `sink`, then calls `ended` once. `pause` stops it until `resume`.

    One piece of at most 64 KiB a turn of the loop: a child that never stops talking leaves room for everybody
    else. After the child's exit a background process may still hold the other end. `expire` gives it a grace;
    from then on its output is read and thrown away, since a closed pipe would kill it and a full one would
    block it.
    """

    def __init__(self, fd: int, sink: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._sink = sink
        self._ended = ended
        self._recording = True
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)

    @property
    def recording(self) -> bool:
        """Whether more output may come."""
        return self._recording

    @property
    def open(self) -> bool:
        """Whether somebody may hold the other end."""
        return self._fd is not None

    def pause(self) -> None:
        """Read nothing: what was read is not stored yet, and the child waits when its pipe is full."""
        if self._fd is not None and not self._paused:
            self._paused = True
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        """Read on."""
        if self._paused:
            self._paused = False
            if self._fd is not None:
                self._loop.add_reader(self._fd, self._readable)

    def expire(self, seconds: float) -> None:
        """The child is gone: end the record after that time, if the pipe does not end before."""
        if self._recording and self._timer is None:
            self._timer = self._loop.call_later(seconds, self._detach)

    def close(self) -> None:
        """Let go of the pipe, with what lies in it taken along."""
        self._detach()
        self._shut()

    def _readable(self) -> None:
        data = self._read()
        if data is None:
            return
        if not data:
            self._shut()
            self._finish()
        elif self._recording:
            self._sink(data)

    def _read(self) -> bytes | None:
        """Some bytes, none at the end, None when there are none now."""
        assert self._fd is not None
        try:
            return os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            # EIO is how Linux tells that nobody has the terminal open any more.
            if error.errno != errno.EIO:
                self._loop.call_exception_handler(
                    {"message": "reading a child's output failed", "exception": error}
                )
            return b""

    def _detach(self) -> None:
        # A busy loop may have kept us from what the child wrote long before it exited.
        taken = 0
        while self._recording and self._fd is not None and taken < PIPE_BYTES:
            data = self._read()
            if not data:
                break
            taken += len(data)
            self._sink(data)
        self._finish()

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._recording:
            self._recording = False
            self._ended()

    def _shut(self) -> None:
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None
