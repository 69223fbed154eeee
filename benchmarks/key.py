"""A key at idle: from its byte in the terminal to the byte that paints it, in the composer of a session.

Twice: as it is, and with Textual's own repaint, which waits for the next tick of a timer of 60 Hz.
"""

import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.felan import Felan

KEYS = 60
LETTERS = "äëïöüáéíóú"  # in no escape sequence
AT_TICKS = (
    "from felan_tui.compat import PromptScreen\n"
    "PromptScreen._needs_repaint = lambda self: False\n"
    "from felan_tui.cli.main import main\n"
    "main()\n"
)
"""The command with the repaint of Textual."""


def _echo(felan: Felan, letter: str) -> float:
    """Milliseconds until the letter is painted."""
    at, began = len(felan.output), time.perf_counter()
    felan.write(letter)
    while letter.encode() not in felan.output[at:]:
        felan.pump(5.0)
    return (time.perf_counter() - began) * 1000


def _times(felan: Felan) -> list[float]:
    felan.ready()
    felan.past(3.0)
    pauses = random.Random(1)
    times: list[float] = []
    for number in range(KEYS):
        times.append(_echo(felan, LETTERS[number % len(LETTERS)]))
        felan.past(pauses.uniform(0.1, 0.2))  # so that no key keeps step with a timer
    return times


def _run(command: tuple[str, ...]) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        data = ("--data-dir", str(Path(folder) / "data"), "--agent", "cat")
        felan = Felan(
            Path(folder), *data[2:], command=(*command, *data) if command else (), columns=120, rows=40
        )
        try:
            return _times(felan)
        finally:
            felan.signal(signal.SIGTERM)
            felan.ended(30)


def measure() -> str:
    """Run it; what it found."""
    report = [f"key to paint at idle ({KEYS} keys, 120x40)\n"]
    for name, command in (("at once", ()), ("at Textual's ticks", (sys.executable, "-c", AT_TICKS))):
        times = sorted(_run(command))
        report.append(
            f"  {name:20} {statistics.median(times):6.1f} ms (95 %: {times[len(times) * 95 // 100]:.1f})\n"
        )
    return "".join(report)
