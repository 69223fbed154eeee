"""What a piece of a streamed message costs at its beginning and at its end, for four messages of 100 KB.

Two measures, in CPU time of this process, so that a busy machine does not blur them: the live text alone
(`felan_tui.transcript.live`), and the whole app around it (appending, layout, drawing the visible lines,
Textual's frames). The message comes in pieces of 40 characters; imports and the first 5 % are left out. The
peer is the message's own first tenth, and, to place the figures, `rich.markdown` drawing the whole message
once.
"""

import asyncio
import gc
import time
from collections.abc import Callable
from statistics import mean, median

SIZE = 100_000
PIECE = 40
PIECE_IN_APP = 250
"""In the app a piece is what comes between two drawings of a fast agent: five thousand characters a
second.
"""
WIDTH = 100
LIMIT = 1.5
"""How much more the last tenth may cost than the first."""

_MIXED = (
    "## What I found\n\nThe test **waits** on a wall clock, see `tests/test_login.py` and [the docs](https://x.y/z).\n"
    "I will inject the clock and run it again.\n\n- one thing\n- another, 日本語\n  1. with a list\n\n"
    "> a quote\n\n| name | value |\n|---|--:|\n| first | 1 |\n| 둘째 | 22 |\n\n"
    "```python\ndef test(clock):\n    clock.advance(3)  # no sleep\n    assert login()\n```\n\n"
)


def messages() -> dict[str, str]:
    """The four messages, by name."""

    def filled(head: str, body: str, tail: str = "") -> str:
        room = SIZE - len(head) - len(tail)
        return head + (body * (room // len(body) + 1))[:room] + tail

    return {
        "mixed": filled("", _MIXED),
        "one fence": filled("```python\n", "def f(x):\n    return x + 1  # a comment\n\n", "\n```\n"),
        "one list": filled(
            "", "- an item with **bold** and `code` that goes on until it has to be wrapped at the edge\n"
        ),
        "one paragraph": filled(
            "", "Words of *one* paragraph with `code` and [a link](https://x.y) that never ends. "
        ),
    }


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _tenths(costs: list[float], average: Callable[[list[float]], float] = mean) -> tuple[float, float]:
    """Milliseconds a piece in the first and in the last tenth of what is left after the first 5 %."""
    costs = costs[len(costs) // 20 :]
    tenth = len(costs) // 10
    return 1000 * average(costs[:tenth]), 1000 * average(costs[-tenth:])


def live_alone(text: str) -> tuple[float, float]:
    """The live text without a screen: of three runs each piece's lowest cost, since noise only adds."""
    from felan_tui.transcript.live import LiveText
    from felan_tui.transcript.look import look_from_theme

    look = look_from_theme({"foreground": "#e0e0e0", "background": "#101010"})
    runs: list[list[float]] = []
    for _ in range(3):
        live = LiveText(WIDTH, look)
        live.append("warm **up** `a`\n\n")
        costs: list[float] = []
        gc.collect()
        for piece in _pieces(text, PIECE):
            started = time.thread_time()
            live.append(piece)
            costs.append(time.thread_time() - started)
        runs.append(costs)
    return _tenths([min(costs) for costs in zip(*runs, strict=True)])


def in_the_app(text: str) -> tuple[float, float]:
    """The whole app, headless: each piece is drawn in a frame of its own."""
    from textual.app import App, ComposeResult

    from felan_tui.transcript.pacing import Pacing
    from felan_tui.transcript.view import TranscriptView

    class Transcript(App[None]):
        def compose(self) -> ComposeResult:
            yield TranscriptView(pacing=Pacing(0.0))

    async def run() -> list[float]:
        app = Transcript()
        costs: list[float] = []
        async with app.run_test(size=(WIDTH + 3, 40)) as pilot:
            view = app.query_one(TranscriptView)
            view.append_text("m", "markdown", "warm **up** `a`\n\n")
            await pilot.pause()
            gc.collect()
            for piece in _pieces(text, PIECE_IN_APP):
                started = time.process_time()
                view.append_text("m", "markdown", piece)
                painted = asyncio.Event()
                view.call_after_refresh(painted.set)
                await painted.wait()
                costs.append(time.process_time() - started)
        return costs

    # A frame's cost varies with what else the machine does far more than with the message: the middle one.
    return _tenths(asyncio.run(run()), median)


def _rich_once(text: str) -> float:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=WIDTH, color_system="truecolor", force_terminal=True)
    started = time.process_time()
    console.render_lines(Markdown(text), console.options)
    return 1000 * (time.process_time() - started)


def measure() -> str:
    """The report, as text."""
    names = f"{'first':>8} {'last':>8} {'ratio':>7}"
    lines = [
        f"A streamed message of {SIZE:,} characters: CPU milliseconds a piece, in its first and last tenth.",
        f"Live text alone: pieces of {PIECE} characters, mean of each piece's lowest cost in three runs.",
        f"Whole app: pieces of {PIECE_IN_APP}, each drawn in a frame of its own, median.",
        f"Imports and the first 5 % are left out. The limit of a ratio is {LIMIT}.",
        "",
        f"{'':<15} {'live text alone':^25} {'in the whole app':^25} {'rich.markdown':>14}",
        f"{'message':<15} {names} {names} {'whole, once':>14}",
    ]
    worst = 0.0
    for name, text in messages().items():
        row = f"{name:<15}"
        for first, last in (live_alone(text), in_the_app(text)):
            worst = max(worst, last / first)
            row += f" {first:>8.2f} {last:>8.2f} {last / first:>7.2f}"
        lines.append(f"{row} {_rich_once(text):>11.0f} ms")
    lines += ["", f"worst ratio {worst:.2f}: {'within' if worst <= LIMIT else 'ABOVE'} {LIMIT}", ""]
    return "\n".join(lines)
