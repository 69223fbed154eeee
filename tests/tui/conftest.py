"""What the tests of the screen do unlike Textual: wait for the app's own loop, and parse styles once.

Textual's pilot calls a process idle that has used little of the processor for 20 ms, twice a key. On a busy
machine that says idle of an app that never got its turn, and on a quiet one it is most of what a key costs.
Here the loop itself says when it has nothing to do. And each app of a process would parse the same styles
with the same variables again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import textual.app
import textual.pilot
from textual.css.stylesheet import Stylesheet

SOON: Final = 1 / 50
"""Seconds. A timer that is due within that time is waited for: a repaint comes within a sixtieth."""


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
Stylesheet._parse_rules = parsed_once(Stylesheet._parse_rules)
