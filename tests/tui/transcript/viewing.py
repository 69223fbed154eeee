"""What the tests of the transcript's view share: an app around it, and blocks that count."""

import asyncio
import time
from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from felan_tui.transcript.blocks import BaseBlock, UserBlock
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, wrap_text
from felan_tui.transcript.view import TranscriptView


class Transcript(App[None]):
    CSS = "TranscriptView { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[bool, int, str]] = []
        self.toggled: list[tuple[str, bool]] = []
        self.cursors: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield TranscriptView()

    @property
    def view(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def on_transcript_view_follow_changed(self, message: TranscriptView.FollowChanged) -> None:
        self.told.append((message.following, message.new_lines, message.mark))

    def on_transcript_view_toggled(self, message: TranscriptView.Toggled) -> None:
        self.toggled.append((message.block.key, message.expanded))

    def on_transcript_view_cursor_moved(self, message: TranscriptView.CursorMoved) -> None:
        self.cursors.append(message.block.key if message.block else None)


class Counted(BaseBlock):
    """A text that counts how often it is drawn."""

    drawn = 0

    def __init__(self, key: str, text: str, counter: list[str]) -> None:
        self._key, self._text, self._counter = key, text, counter

    @property
    def key(self) -> str:
        return self._key

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        self._counter.append(self._key)
        return wrap_text(self._text, look.text, width)

    def estimate(self, width: int, *, expanded: bool) -> int:
        return 1

    def plain_text(self) -> str:
        return self._text


def screen(view: TranscriptView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def fill(view: TranscriptView, count: int, text: str = "block") -> None:
    for number in range(count):
        view.put(UserBlock(f"b{number}", f"{text} {number}"), number)


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        await asyncio.sleep(0.01)
