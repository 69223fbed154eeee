"""Three things that the tests of the screen do unlike Textual, to save the waiting.

Their loop jumps to the next timer instead of sleeping (``tests/harness/clock.py``). A key is over when the
loop has nothing to do: Textual's pilot waits until the process has used little of the processor for 20 ms,
twice a key, and on a busy machine that is also true of an app that never got its turn. And styles are parsed
once a process: each app would parse the same rules with the same variables again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import textual.app
import textual.pilot
from textual.css.stylesheet import Stylesheet

from felan_core.store.writer import Writer
from tests.harness.clock import JumpingLoop

SOON: Final = 1 / 50
"""Seconds. A timer that is due within that time is waited for: a repaint comes within a sixtieth."""


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"jumping": JumpingLoop}


def counted(submit: Callable[..., "asyncio.Future[Any]"]) -> Callable[..., "asyncio.Future[Any]"]:
    """``Writer.submit``, announced to the loop: the writer's thread is at work until its future is done."""

    def counting(self: Writer, *args: Any, **options: Any) -> "asyncio.Future[Any]":
        future = submit(self, *args, **options)
        loop = future.get_loop()
        return loop.outside(future) if isinstance(loop, JumpingLoop) else future

    return counting


async def wait_for_rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Until nothing is ready to run and no timer is due soon; at most ``max_sleep`` seconds."""
    loop: Any = asyncio.get_running_loop()
    end = time.monotonic() + max_sleep
    quiet = 0
    while quiet < 2 and time.monotonic() < end:
        # Not 0: what a thread has in hand (a file, the host's database) comes back from outside of the loop.
        await asyncio.sleep(0.008)
        if loop._ready:
            quiet = 0
            continue
        quiet += 1
        now = loop.time()
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=now + 1)
        if due <= now + SOON:
            quiet = 0
            await asyncio.sleep(due - now)


def parsed_once(parse: Callable[..., Any]) -> Callable[..., Any]:
    """``Stylesheet._parse_rules`` with what every app of this process has parsed."""
    known: dict[object, Any] = {}

    def parse_rules(self: Any, *args: Any, **options: Any) -> Any:
        if getattr(self, "_known_as", (None,))[0] is not self._variables:
            self._known_as = (self._variables, frozenset(self._variables.items()))
        key = (args, frozenset(options.items()), self._known_as[1])
        if key not in known:
            known[key] = parse(self, *args, **options)
        return known[key]

    return parse_rules


textual.app.wait_for_idle = wait_for_rest  # pyright: ignore[reportPrivateImportUsage]
textual.pilot.wait_for_idle = wait_for_rest  # pyright: ignore[reportPrivateImportUsage]
Writer.submit = counted(Writer.submit)
Stylesheet._parse_rules = parsed_once(Stylesheet._parse_rules)
