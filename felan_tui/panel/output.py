"""The output of one process on the screen: drawn where it is visible, at its end or held for a reader.

What is kept is in `log.py`, where lines stand in `fold.py`, when the view follows in
`felan_tui.transcript.following`, how often it is drawn in `felan_tui.transcript.pacing`.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from felan_tui.panel.fold import Fold
from felan_tui.panel.log import Note, OutputLog
from felan_tui.text.ansi import Line
from felan_tui.text.safe import safe_line
from felan_tui.transcript.following import Following
from felan_tui.transcript.line_view import LineView
from felan_tui.transcript.look import State
from felan_tui.transcript.pacing import Pacing
from felan_tui.transcript.rows import Row, cut_row, fold_runs, row_text, strip_of

STEP = 32
"""Lines that are folded between two looks at the clock."""

SLICE = 0.008
"""Seconds of folding in one go; then the person has a turn."""

MAX_COPIED = 50_000
"""Rows of a selection that are copied."""

_KNOWN_ROWS = 256


@lru_cache(1024)
def _on_ours(style: Style) -> Style:
    """A style of the output, in which "the default colour" is that of the panel."""
    color = style.color if style.color is not None and not style.color.is_default else None
    behind = style.bgcolor if style.bgcolor is not None and not style.bgcolor.is_default else None
    if color is style.color and behind is style.bgcolor:
        return style
    return style.without_color + Style.from_color(color, behind)


class OutputView(LineView, can_focus=True, inherit_bindings=False):
    """Shows an `OutputLog`; `show` gives it another, `grew` tells it of more. Posts `FollowChanged`.

    Above the lines stands what `head` says of the log's beginning (nothing for ""), below them the `tail`.
    `moved` is called when the reader moves, which may give the log room.
    """

    ALLOW_SELECT = True

    DEFAULT_CSS = """
    OutputView {
        overflow-y: scroll;
    }
    """

    BINDINGS = [
        Binding("end", "follow", "Follow the end", show=False),
        Binding("home", "scroll_home", "To the beginning", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
    ]

    class FollowChanged(Message):
        """The view began or ceased to follow its end, or more came below it."""

        def __init__(self, following: bool, mark: str) -> None:
            super().__init__()
            self.following = following
            self.mark = mark

    def __init__(
        self,
        *,
        head: Callable[[int], str],
        moved: Callable[[], None],
        unicode: bool = True,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(unicode=unicode, id=id)
        self._head = head
        self._moved = moved
        self._pacing = pacing or Pacing()
        self._clock = clock
        self._log: OutputLog | None = None
        self._tail: tuple[State, str] | None = None
        self._policy = Following()
        self._fold = Fold(80, 0)
        self._next: Fold | None = None
        self._folded: dict[int, list[Row]] = {}
        self._words = ""
        self._open: list[Row] = []
        self._reading: tuple[int, int] | None = None
        self._bottom = 0
        self._waiting = False
        self._folding = False
        self._told = (True, "")

    @property
    def following(self) -> bool:
        """Whether what comes is shown as it comes."""
        return self._policy.on

    @property
    def mark(self) -> str:
        """`↓ 12 new`, or nothing."""
        return self._policy.mark

    # --- what is shown ---

    def show(self, log: OutputLog | None, tail: tuple[State, str] | None = None) -> None:
        """Another log, from its end."""
        self._log = log
        self._tail = tail
        self._policy = Following()
        self._reading = None
        self._next = None
        self._fold = Fold(self._width, log.first if log else 0)
        self._forget_rows()
        self._bottom = 0
        self._catch_up()
        self._settle()

    def set_tail(self, tail: tuple[State, str] | None) -> None:
        """Another line below the output: how the process ended, or what is wrong."""
        if tail != self._tail:
            self._tail = tail
            self._soon()

    def grew(self) -> None:
        """More is in the log; it is folded now and drawn soon."""
        self._catch_up()
        self._soon()

    # --- folding ---

    @property
    def _width(self) -> int:
        return max(2, self.line_width)

    def _forget_rows(self) -> None:
        self._folded.clear()
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()

    def _catch_up(self) -> None:
        """Folds the lines that are not yet, for a short time; the rest in further turns."""
        log = self._log
        if log is None:
            return
        fold = self._next or self._fold
        until = self._clock() + SLICE
        if fold.end < log.first:
            fold.trim(log.first)
        while fold.end < log.end and self._clock() < until:
            fold.extend(log.texts(fold.end, fold.end + STEP))
        if fold.end < log.end:
            if not self._folding:
                self._folding = True
                self.set_timer(SLICE, self._fold_on)
        elif self._next is not None:
            self._exchange(self._next)

    def _fold_on(self) -> None:
        self._folding = False
        self._catch_up()
        self._soon()

    def _exchange(self, fold: Fold) -> None:
        """The lines are folded at another width: the same text stays at the top."""
        before, self._fold, self._next = self._fold.width, fold, None
        self._forget_rows()
        self._bottom = 0
        if self._reading is not None and self._reading[1] > 0:
            line, row = self._reading
            self._reading = line, row * before // fold.width

    # --- the place ---

    @property
    def _top(self) -> int:
        """The row, as the fold counts, that is the view's line 0. It changes in `_settle` alone, where the
        place is put right.
        """
        return self._fold.base - (1 if self._words else 0)

    def _soon(self) -> None:
        wait = self._pacing.wait(self._clock())
        if not self._waiting and self.is_attached:
            self._waiting = True
            if wait:
                self.set_timer(wait, self._settle)
            else:
                self.call_next(self._settle)

    def _settle(self) -> None:
        """Puts the end, or what is being read, in its place, and has it drawn."""
        self._waiting = False
        log = self._log
        if not self.is_attached or self.line_width < 1:
            return
        self._pacing.drew(self._clock())
        if (self._next or self._fold).width != self._width:
            self._next = Fold(self._width, log.first if log else 0)
            self._catch_up()
        if log is not None:
            if log.first > self._fold.first:
                for number in [number for number in self._folded if number < log.first]:
                    del self._folded[number]
            self._fold.trim(log.first)
        self._words = self._head(log.begins_at) if log else ""
        self._open = fold_runs(log.open_line, self._fold.width) if log and log.open_line else []
        bottom = self._fold.row_end + len(self._open)
        if self._bottom:
            self._policy = self._policy.grew(bottom - self._bottom)
        self._bottom = bottom
        total = bottom + (1 if self._tail else 0) - self._top
        end = max(0, total - self.page)
        if self._policy.on or self._reading is None:
            self._hold(None)
            top = end
        else:
            if log is not None and self._reading[0] < log.first:
                self._reading = log.first, -1  # it went before the reader came there: from the note on
            line, row = self._reading
            top = min(end, max(0, self._fold.row_of(line) + row - self._top))
            self._hold(line)
        self.place(top, total)
        self.refresh()
        self._policy = self._policy.below(total - top - self.page)
        self._tell()

    def _hold(self, line: int | None) -> None:
        if self._log is not None and self._log.hold != line:
            self._log.hold = line
            self._moved()

    def _tell(self) -> None:
        now = self._policy.on, self._policy.mark
        if now != self._told:
            self._told = now
            self.post_message(self.FollowChanged(*now))

    def on_resize(self, _event: events.Resize) -> None:
        self._settle()

    def scrolled(self, before: int, after: int) -> None:
        self._policy = self._policy.scrolled(before, after, self.max_scroll_y)
        self._reading = None if self._policy.on else self._fold.at(after + self._top)
        self._settle()

    def action_follow(self) -> None:
        """Goes to the end and follows it."""
        self._policy = self._policy.to_end()
        self._reading = None
        self._settle()

    def action_scroll_end(self) -> None:
        self.action_follow()

    # --- drawing ---

    def _row(self, row: int) -> tuple[Row, bool] | None:
        """What stands at a row of the fold, and whether it is the process's; None for no row."""
        log, fold = self._log, self._fold
        if row < fold.base:
            return ([Segment(self._words, self.look.muted)], False) if row == self._top else None
        if row < fold.row_end:
            number, part = fold.at(row)
            if log is None or not log.first <= number < log.end:
                return None
            line = log.line(number)
            rows = self._rows_of(number, line)
            return (rows[part] if part < len(rows) else []), not isinstance(line, Note)
        row -= fold.row_end
        if row < len(self._open):
            return self._open[row], True
        if row == len(self._open) and self._tail is not None:
            state, words = self._tail
            glyph, style = self.look.of(state)
            return [Segment(f"{glyph} {safe_line(words)}", style)], False
        return None

    def _rows_of(self, number: int, line: Line) -> list[Row]:
        rows = self._folded.get(number)
        if rows is None:
            if len(self._folded) >= _KNOWN_ROWS:
                self._folded.clear()
            rows = self._folded[number] = fold_runs(line, self._fold.width)
        return rows

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.line_width
        place = self.scroll_offset.y + y + self._top
        found = self._row(place)
        if found is None:
            return Strip.blank(width, self.ground)
        row, theirs = found
        if theirs:
            row = [Segment(text, style and _on_ours(style)) for text, style, _ in row]
        else:
            row = [Segment(text, style or self.look.muted) for text, style, _ in cut_row(row, width)]
        strip = strip_of(row).adjust_cell_length(width).apply_style(self.ground)
        if self.text_selection is not None and (span := self.text_selection.get_span(place)) is not None:
            strip = self.with_selection(strip, *span)
        return strip.apply_offsets(0, place)

    def selection_updated(self, selection: Selection | None) -> None:
        """What is being selected stays where it is, whatever comes."""
        if selection is not None and self._policy.on:
            self._policy = self._policy.released()
            self._reading = self._fold.at(self.scroll_offset.y + self._top)
            self._settle()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, of lines out of sight too; a line that was cut at the edge is one line again."""
        if self._log is None:
            return None
        first = self._top if selection.start is None else max(self._top, selection.start.y)
        last = self._fold.row_end + len(self._open) - 1
        if selection.end is not None:
            last = min(last, selection.end.y)
        text: list[str] = []
        for row in range(first, min(last + 1, first + MAX_COPIED)):
            found = self._row(row)
            span = selection.get_span(row)
            if found is None or span is None:
                continue
            goes_on = found[1] and (
                self._fold.at(row)[1] > 0 if row < self._fold.row_end else row > self._fold.row_end
            )
            if text and not goes_on:
                text.append("\n")
            shown = row_text(found[0])
            text.append(shown[span[0] :] if span[1] < 0 else shown[span[0] : span[1]])
        return "".join(text), "\n"
