"""Reads the output of one process into a log, as fast as a screen can show it and no faster.

It begins near the end of a long output. When more comes than is worth showing it goes on near the end. It
waits while nobody looks, and while the log is full of what a person is reading.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from felan_tui.panel.log import OutputLog, slices
from felan_tui.panel.source import OutputSource, Piece
from felan_tui.text.safe import safe_line

WAIT_MS = 20_000
TAIL = 1024 * 1024
"""Bytes before the end from which an output is shown that is longer than that."""

BEHIND = 2 * 1024 * 1024
"""Bytes that may wait to be read; of more all but the last `CATCH_UP` are left out."""

CATCH_UP = 256 * 1024
FRAME = 0.05
FRAME_BYTES = 256 * 1024
"""Bytes that are taken in one frame at most."""

FRAME_WORK = 0.03
"""Seconds of work in one frame, after which the screen and the person have the rest of it."""

FLOOD = 0.1
"""Seconds between two pieces of what comes too fast to be read: the process that writes it may be served by
the loop that draws it, and is not to be held up by that.
"""

BREATH = 0.005
RETRY = (0.5, 30.0)
"""Seconds before a read that failed is tried again, doubled each time up to the second."""

EMPTY_SECONDS = 0.25


class Follower:
    """Reads `process_id` from `source` into `log` until the output has ended; `changed` tells of each slice.

    `trouble` says why the last read failed, `retry_at` (in seconds of `clock`) when it is tried again.
    `sleep` takes seconds.
    """

    def __init__(
        self,
        source: OutputSource,
        process_id: str,
        log: OutputLog,
        *,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._source = source
        self._process = process_id
        self.log = log
        self._changed = changed
        self._clock = clock
        self._sleep = sleep
        self._shown = asyncio.Event()
        self._room = asyncio.Event()
        self._frame = self._breath = clock()
        self._work = 0.0
        self._bytes = 0
        self._stopped = False
        self.end = 0
        """Bytes of output so far, as the last read saw them."""
        self.ended = False
        self.trouble = ""
        self.retry_at = 0.0

    @property
    def waits_for_room(self) -> bool:
        """Whether nothing is read because the log is full of what is being read by a person."""
        return self.log.full and not self.ended

    def show(self, shown: bool) -> None:
        """Whether somebody looks; otherwise no read begins."""
        if shown:
            self._shown.set()
        else:
            self._shown.clear()

    def stop(self) -> None:
        """Nothing is put into the log from now on. A cancelled task may get its piece nevertheless, when both
        come at once.
        """
        self._stopped = True

    def go_on(self) -> None:
        """Looks again whether the log has room."""
        self._room.set()

    async def run(self) -> None:
        """Reads until the end of the output."""
        offset = self.log.next_offset
        begun = offset > 0
        wait = 0
        failed = 0
        while not (self.ended or self._stopped):
            await self._shown.wait()
            await self._until_room()
            asked = self._clock()
            try:
                piece = await self._source.read(self._process, offset, wait)
            except Exception as error:  # whatever the source raises is told, and tried again
                if self._stopped:
                    return
                failed += 1
                await self._failed(error, failed)
                continue
            if self._stopped:
                return
            wait, self.end = WAIT_MS, piece.end
            if failed:
                failed, self.trouble = 0, ""
                self._changed()
            if not begun and piece.end - piece.offset > TAIL:
                begun = True
                offset, wait = piece.end - TAIL, 0
                continue
            begun = True
            await self._take(piece)
            offset = piece.next_offset
            if piece.eof and not self._stopped:
                self.log.finish()
                self.ended = True
                self._changed()
            elif piece.end - offset > BEHIND:
                offset = piece.end - CATCH_UP
                await self._sleep(FLOOD)
            elif not piece.data and self._clock() - asked < EMPTY_SECONDS:
                # A source that does not wait is not asked without a pause.
                await self._sleep(EMPTY_SECONDS)

    async def _until_room(self) -> None:
        self.log.trim()
        while self.log.full:
            self._room.clear()
            self._changed()
            await self._room.wait()
            self.log.trim()

    async def _failed(self, error: Exception, times: int) -> None:
        delay = min(RETRY[1], RETRY[0] * 2 ** min(times - 1, 10))
        self.trouble = safe_line(str(error)).strip() or type(error).__name__
        self.retry_at = self._clock() + delay
        self._changed()
        await self._sleep(delay)

    async def _take(self, piece: Piece) -> None:
        at = piece.offset
        for part in slices(piece.data):
            if self._stopped:
                return
            began = self._clock()
            self.log.feed(part, at)
            self._changed()
            at += len(part)
            self._work += self._clock() - began
            self._bytes += len(part)
            await self._breathe()

    async def _breathe(self) -> None:
        now = self._clock()
        if self._bytes >= FRAME_BYTES or self._work >= FRAME_WORK:
            await self._sleep(max(self._frame + FRAME - now, self._work))
        elif now - self._breath >= BREATH:
            await asyncio.sleep(0)
            self._breath = self._clock()
            if self._breath - self._frame < FRAME:
                return
        else:
            return
        self._frame = self._breath = self._clock()
        self._work, self._bytes = 0.0, 0
