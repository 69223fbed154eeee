"""The hint rule: one line between the session and the composer. Notices and the turn on the left, keys after
them.

Only keys that work now are on it, and a click on one is as good as the key. A notice takes the left side;
one that is too long gets rows of its own above the rule, so that nothing of it is cut.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from felan_tui.bars.notices import SECONDS, Notice, Notices, notice_rows
from felan_tui.bars.run import RunStatus
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.widgets import Piece, content, line_content

if TYPE_CHECKING:
    from felan_core.protocol.session import Run, RunOutcome

DASH = "─"
LEAST_RULE = 2
"""Cells of the rule between what is on its left and on its right."""


class KeyHint(NamedTuple):
    """A key as a person reads it, what it does in a word or two, and its name for Textual ("" where a click
    cannot press it: `↑↓`).

    ``rank``: of those that do not fit the highest ranks go first. ``loud``: something waits for it.
    """

    key: str
    does: str
    press: str = ""
    rank: int = 5
    loud: bool = False
    side: Literal["left", "right"] = "left"


class Zone(NamedTuple):
    """The cells of a line that press a key when they are clicked."""

    start: int
    end: int
    press: str


class RuleLine(NamedTuple):
    """The rule in its width: the pieces, and where a click presses what."""

    pieces: list[Piece]
    zones: list[Zone]


def fitting(hints: Sequence[KeyHint], cells: int) -> list[KeyHint]:
    """As many of the hints as fit in ``cells`` cells, in their order; the lowest ranks are kept longest."""
    kept = list(hints)
    while kept and size_of(kept) > cells:
        last = max(one.rank for one in kept)
        kept.remove(next(one for one in reversed(kept) if one.rank == last))
    return kept


def size_of(hints: Sequence[KeyHint]) -> int:
    """Cells of the hints in a row, with the dots between them."""
    return sum(_width(one) for one in hints) + 3 * max(0, len(hints) - 1)


def _width(hint: KeyHint) -> int:
    return cell_len(hint.key) + (1 + cell_len(hint.does) if hint.does else 0)


def rule_line(
    hints: Sequence[KeyHint], status: tuple[str, str], notice: tuple[str, str], cells: int, *, ink: str
) -> RuleLine:
    """``─ status · hints ───── hints ─`` in exactly ``cells`` cells. A notice takes the place of status and
    left hints. ``ink``: the style of the rule itself.
    """
    room = max(0, cells - 4)  # a dash and a space at each end
    right = [one for one in hints if one.side == "right"]
    if notice[0]:
        words, style = notice
        kept = fitting(right, room - cell_len(words) - LEAST_RULE - 2)
        lead, left = [(cut(words, room), style)], []
    else:
        words, style = status
        words = cut(words, room)
        gap = 3 if words else 0
        both = fitting(hints, room - cell_len(words) - gap - LEAST_RULE - 2)
        left = [one for one in both if one.side == "left"]
        kept = [one for one in both if one.side == "right"]
        lead = [(words, style)] if words else []
    line = _Line(ink)
    line.rule(min(1, cells))
    if cells > 4 and (lead or left):
        line.text(" ")
        for one in lead:
            line.text(*one)
        if lead and left:
            line.text(" · ", "$text-muted")
        line.hints(left)
        line.text(" ")
    end = size_of(kept) + 3 if kept else 0
    line.rule(max(0, cells - line.at - end))
    if kept:
        line.text(" ")
        line.hints(kept)
        line.text(" ")
        line.rule(cells - line.at)
    return RuleLine(line.pieces, line.zones)


class _Line:
    """A line under construction, with the cell at which it goes on."""

    def __init__(self, ink: str) -> None:
        self.pieces: list[Piece] = []
        self.zones: list[Zone] = []
        self.at = 0
        self._ink = ink

    def text(self, words: str, style: str = "") -> None:
        self.pieces.append((words, style) if style else words)
        self.at += cell_len(words)

    def rule(self, cells: int) -> None:
        if cells > 0:
            self.text(DASH * cells, self._ink)

    def hints(self, hints: Sequence[KeyHint]) -> None:
        for number, hint in enumerate(hints):
            if number:
                self.text(" · ", "$text-muted")
            start = self.at
            self.text(hint.key, "bold $text-warning" if hint.loud else "$text")
            if hint.does:
                self.text(f" {hint.does}", "$text-warning" if hint.loud else "$text-muted")
            if hint.press:
                self.zones.append(Zone(start, self.at, hint.press))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class HintRule(Widget):
    """The line on the screen. ``hints`` returns the keys that work now; ``notices`` is the app's list.

    It is drawn once a second while it counts the seconds of a turn, and else when something changed.
    """

    DEFAULT_CSS = """
    HintRule { height: auto; width: 1fr; background: $background; }
    """

    class Pressed(Message):
        """A click on a key."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Opened(Message):
        """A click on a notice: the person wants to read them."""

    def __init__(
        self,
        hints: Callable[[], Sequence[KeyHint]],
        notices: Notices | None = None,
        *,
        now: Callable[[], int] = _now_ms,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.status = RunStatus()
        self.typing = True
        """Whether the composer below has the focus: the rule shows it by its colour."""
        self.notices = notices or Notices()
        self._hints = hints
        self._now = now
        self._clock = clock
        self._tick: Timer | None = None
        self._rows = 1
        self._zones: list[Zone] = []

    # --- what the screen says ---

    def show_run(self, run: "Run | None", *, waiting: bool = False) -> None:
        """The run as it is now, and whether an answer is waited for. None: no turn runs."""
        self.status.show(run, waiting=waiting)
        self.update_line()

    def stop_sent(self) -> None:
        """The cancel was sent."""
        self.status.stop_sent()
        self.update_line()

    def run_ended(self, outcome: "RunOutcome", message: str = "") -> None:
        """How the turn ended."""
        self.status.ended(outcome, message)
        self.update_line()

    def show_notice(self) -> None:
        """There is another notice."""
        self.update_line()
        self.set_timer(SECONDS + 0.05, self.update_line)

    def key_pressed(self) -> None:
        """A key was pressed anywhere on the screen."""
        if self.notices.key_pressed(self._clock()):
            self.update_line()

    def update_line(self) -> None:
        """Draw anew, since keys, turn or notices may have changed."""
        if not self.is_attached:
            return
        if self.status.counts and self._tick is None:
            self._tick = self.set_interval(1.0, self.refresh)
        elif not self.status.counts and self._tick is not None:
            self._tick.stop()
            self._tick = None
        rows = 1 + len(self._above(self._notice(), self.size.width))
        self.refresh(layout=rows != self._rows)
        self._rows = rows

    # --- drawing ---

    def on_mount(self) -> None:
        self.update_line()

    def _notice(self) -> Notice | None:
        return self.notices.shown(self._clock())

    def _above(self, notice: Notice | None, cells: int) -> list[str]:
        if notice is None or cells < 1:
            return []
        return notice_rows(notice.words + self.notices.more, cells - 2, cells - 4)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row, and those of a long notice."""
        return 1 + len(self._above(self._notice(), width))

    def line(self, cells: int) -> tuple[list[str], RuleLine]:
        """The rows above, and the rule."""
        notice = self._notice()
        above = self._above(notice, cells)
        words = ("", "")
        if notice is not None and not above:
            words = (notice.words + self.notices.more, notice.style)
        ink = "$accent" if self.typing else "$border-blurred"
        return above, rule_line(self._hints(), self.status.words(self._now()), words, cells, ink=ink)

    def render(self) -> Content:
        notice = self._notice()
        above, line = self.line(self.size.width)
        self._zones = line.zones
        rows = [content((f" {row}", notice.style)) for row in above] if notice is not None else []
        return Content("\n").join([*rows, line_content(*line.pieces)])

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        above = self.size.height - 1
        zone = next((one for one in self._zones if one.start <= event.x < one.end), None)
        if event.y >= above and zone is not None:
            self.post_message(self.Pressed(zone.press))
        elif self._notice() is not None:
            self.post_message(self.Opened())


__all__ = ["HintRule", "KeyHint", "RuleLine", "Zone", "fitting", "rule_line", "size_of"]
