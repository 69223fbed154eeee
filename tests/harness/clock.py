"""A clock that jumps: the tests of the screen wait for timers without sleeping.

``install`` puts ``time.monotonic``, ``time.time`` and ``time.time_ns`` behind an offset. It runs before
Textual and our modules are imported, because they keep these functions by name and as defaults. Only a
``JumpingLoop`` moves the offset: when nothing is ready to run and nothing outside of the loop is at work, it
adds the time to the next timer instead of sleeping. With any other loop the clocks run as they always do, and
the wall clock is the real one again as soon as the loop is closed. ``time.perf_counter`` stays real: a test
measures with it.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

STEP: Final = 0.002
"""Seconds of real waiting at a time while something outside of the loop is at work."""

IDLE_THREADS: Final = ("asyncio_", "felan-store-")
"""Names of threads that wait for work. Their work is counted where it is submitted."""

AnyFuture = TypeVar("AnyFuture", bound="asyncio.Future[Any]")

_monotonic, _time, _time_ns = time.monotonic, time.time, time.time_ns


class _Offset:
    """How far the clocks are ahead of the real ones, in seconds."""

    monotonic = 0.0
    wall = 0.0


def install() -> None:
    time.monotonic = lambda: _monotonic() + _Offset.monotonic
    time.time = lambda: _time() + _Offset.wall
    time.time_ns = lambda: _time_ns() + int(_Offset.wall * 1e9)


class _JumpingSelector(selectors.DefaultSelector):
    """Polls, and moves the clock on where ``asyncio`` would sleep."""

    busy: Callable[[], bool]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        # Asked first: a thread that answers and ends in between has then written to a descriptor.
        busy = self.busy()
        if (ready := super().select(0)) or busy:
            return ready or super().select(min(timeout, STEP))
        _Offset.monotonic += timeout
        _Offset.wall += timeout
        return []


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _JumpingSelector()
        super().__init__(selector)
        selector.busy = self._is_busy
        self._watched = selector.get_map()
        self._own = len(self._watched)  # the descriptors that wake the loop
        self._threads = set(threading.enumerate())
        self._outside: set[asyncio.Future[Any]] = set()

    def outside(self, future: AnyFuture) -> AnyFuture:
        """Wait in real time until ``future`` is done: a thread works on it."""
        self._outside.add(future)
        future.add_done_callback(self._outside.discard)
        return future

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> "asyncio.Future[Any]":
        return self.outside(super().run_in_executor(executor, func, *args))

    def close(self) -> None:
        super().close()
        _Offset.wall = 0.0

    def _is_busy(self) -> bool:
        """Whether a thread, a process or a connection may have an answer underway, which takes real time."""
        return (
            bool(self._outside)
            or len(self._watched) > self._own
            or any(
                thread not in self._threads and not thread.name.startswith(IDLE_THREADS)
                for thread in threading.enumerate()
            )
        )
