"""Idle: the share of a core that Felan uses while nothing happens, and while a form waits for its answer.

The real command in a pty, its process's CPU time over spans of some seconds; the median span counts.
"""

import signal
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from tests.e2e.felan import Felan

LIMIT = 0.5
"""Percent of a core, with a card."""
SPAN = 6.0
SPANS = 5
SETTLING = 5.0
"""Seconds until what a start loads is loaded."""


def _percent(felan: Felan) -> list[float]:
    """The share of a core in each span."""
    process = psutil.Process(felan.app)
    felan.past(SETTLING)
    shares: list[float] = []
    for _ in range(SPANS):
        before, began = process.cpu_times(), time.perf_counter()
        felan.past(SPAN)
        after, lasted = process.cpu_times(), time.perf_counter() - began
        shares.append((after.user + after.system - before.user - before.system) / lasted * 100)
    return shares


def _measured(sees: str, *args: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        felan = Felan(Path(folder), *args, columns=120, rows=40)
        felan.ready()
        felan.see(sees)
        try:
            return statistics.median(_percent(felan))
        finally:
            felan.signal(signal.SIGTERM)
            felan.ended(30)


def measure() -> str:
    """Run it; what it found."""
    rests, waits = _measured("F1 keys", "--agent", "cat"), _measured("F2 answer", "demo", "form")
    verdict = "within" if waits < LIMIT else "OVER"
    return (
        f"idle, CPU time of the app (median of {SPANS} spans of {SPAN:.0f} s, 120x40)\n"
        f"  nothing to do              {rests:6.2f} % of a core\n"
        f"  a form waits               {waits:6.2f} % of a core ({verdict} {LIMIT})\n"
    )
