"""What the tests of cards and elements share: a clock that stands, and the screen as lines of text."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from textual.app import App
from textual.message import Message
from textual.pilot import Pilot

from felan_tui.cards.card import CardContext
from tests.tui.gallery import Gallery
from tests.tui.gallery_samples import INTERACTIONS

M = TypeVar("M", bound=Message)
SIZES = [(80, 24), (160, 48)]
CARD_SIZES = [(60, 16), *SIZES]


class Clock:
    """Seconds that go on only when a test says so."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds


def gallery(name: str) -> tuple[Gallery, Clock]:
    """The gallery with this sample and a clock that stands."""
    clock = Clock()
    waiting = INTERACTIONS.get(name, [])
    now = waiting[0].created_at + 7_500 if waiting else 0
    return Gallery(
        name, around=CardContext(me="me", clock=clock, now=lambda: now, agent=lambda: "opencode")
    ), clock


def lines(app: App[None]) -> list[str]:
    """The rows of the screen as a person reads them."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def text(app: App[None]) -> str:
    return "\n".join(lines(app))


def told(app: Gallery, kind: type[M]) -> list[M]:
    """The messages of this kind that the widgets told so far."""
    return [message for message in app.told if isinstance(message, kind)]


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; a test that waits in vain fails."""
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never came true; the screen:\n{text(pilot.app)}")


async def shows(pilot: Pilot[None], *words: str) -> None:
    """Wait until all of the words are on the screen."""

    def all_there() -> bool:
        shown = text(pilot.app)
        return all(one in shown for one in words)

    await until(pilot, all_there)


async def go(pilot: Pilot[None], clock: Clock) -> None:
    """Go to the card with the key for it, and wait out the time in which nothing counts."""
    await pilot.press("f2")
    await until(pilot, lambda: pilot.app.focused is not None)
    clock.wait(1)
