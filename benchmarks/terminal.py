"""What the output of a process costs on its way to lines: `felan_tui.text.ansi` against two peers.

Both take the same megabyte, in one run and in CPU time; the best of some rounds counts. The peer for lines is
Rich's decoder. It knows no carriage return, so for a progress bar the peer is pyte, which plays a terminal.
"""

import time
from collections.abc import Callable

import pyte
from rich.ansi import AnsiDecoder

from felan_tui.text.ansi import AnsiLines

SIZE = 1_000_000
CHUNK = 64 * 1024
ROUNDS = 3
LIMIT = 1.0
"""Ours takes at most as long as the peer."""

LINES = {
    "plain": b"plain text of an ordinary build that goes on for about ninety characters, as they do\n",
    "coloured": b"\x1b[32mINFO\x1b[0m 2026-11-30 12:00 \x1b[1mserver\x1b[0m: \x1b[33m12 ms\x1b[0m in all\n",
    "progress": b"\r 42% |################                   | 421/1000 [00:03<00:05, 110.2 files/s]",
}


def _ours(data: bytes) -> None:
    screen = AnsiLines()
    for at in range(0, len(data), CHUNK):
        screen.feed(data[at : at + CHUNK])


def _rich(data: bytes) -> None:
    for _ in AnsiDecoder().decode(data.decode()):
        pass


def _pyte(data: bytes) -> None:
    pyte.ByteStream(pyte.Screen(120, 24)).feed(data)


def _best(do: Callable[[bytes], None], data: bytes) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        do(data)
        times.append(time.process_time() - started)
    return min(times)


def measure() -> str:
    """Run it, and say what it found."""
    report = ["Output of a process, CPU time for a megabyte\n"]
    for name, line in LINES.items():
        data = line * (SIZE // len(line))
        peer, play = ("pyte", _pyte) if name == "progress" else ("Rich", _rich)
        ours, theirs = _best(_ours, data), _best(play, data)
        verdict = "ok" if ours <= LIMIT * theirs else "TOO SLOW"
        report.append(
            f"{name:9} {ours * 1000:6.0f} ms, {peer} {theirs * 1000:6.0f} ms:"
            f" {ours / theirs:.2f} of it, {verdict}\n"
        )
    return "".join(report)
