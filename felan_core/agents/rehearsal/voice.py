"""The voice: text streamed in small chunks at a pace, paragraph after paragraph, message after message."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from felan_core.agents.backend import Session
from felan_core.agents.rehearsal.words import chunks
from felan_core.protocol.entries import MessageOutcome, StreamKind

Sleep = Callable[[float], Awaitable[None]]
TICK: Final = 0.05
"""Seconds between two chunks at pace 1: smooth to look at, and a frame or two of the screen each."""
AT_ONCE: Final = 8192
"""Characters of a chunk where nothing is waited for."""


class Voice:
    """What one turn says. ``pace`` is a factor on every wait; 0 waits for nothing."""

    def __init__(self, session: Session, pace: float, sleep: Sleep) -> None:
        self.pace = pace
        self._session = session
        self._sleep = sleep
        self._flowing: StreamKind | None = None

    async def rest(self, seconds: float) -> None:
        """Wait ``seconds`` times the pace; at pace 0 it lets others run and goes on."""
        if seconds * self.pace > 0:
            await self._sleep(seconds * self.pace)
        else:
            await asyncio.sleep(0)

    async def pour(
        self, kind: StreamKind, text: str, speed: float, broken_off: Callable[[], bool] | None = None
    ) -> None:
        """Stream ``text`` at ``speed`` characters a second (0: at once) until ``broken_off`` says to stop.

        What follows text of the same kind in the same message begins a paragraph.
        """
        if self._flowing == kind:
            text = f"\n\n{text}"
        self._flowing = kind
        await self.flow(kind, text, speed, broken_off)

    async def flow(
        self, kind: StreamKind, text: str, speed: float, broken_off: Callable[[], bool] | None = None
    ) -> None:
        """Stream ``text`` as it is, right after what was said before."""
        self._flowing = kind
        waits = speed * self.pace > 0
        size = max(4, round(speed * TICK)) if waits else AT_ONCE
        for chunk in chunks(text, size):
            if broken_off is not None and broken_off():
                return
            await self._session.text(kind, chunk)
            await self.rest(len(chunk) / speed if waits else 0)

    async def finish(self, outcome: MessageOutcome = "completed") -> None:
        """Complete the message, so that what follows is another."""
        if self._flowing is not None:
            await self._session.end_message(outcome)
            self._flowing = None

    def interrupted(self) -> None:
        """A tool call came in between: the session has completed the message by itself."""
        self._flowing = None
