"""The output of one process as lines: the newest of it, within bounds, with the offsets of its bytes. Pure.

Lines have numbers that never change: the first line that was taken is 0, and dropping the oldest moves
`first` up. What is dropped is dropped in the slices in which it came, so that the offset of the oldest kept
byte is exact.

Lines are kept packed, as tuples of text and numbers: the garbage collector lets go of those, while it would
stop the screen for a tenth of a second each time that it walks through 20,000 lines of segments.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from felan_tui.elements.figures import amount, number
from felan_tui.text.ansi import AnsiLines, Line

MAX_LINES = 20_000
MAX_BYTES = 8 * 1024 * 1024
"""Memory of the kept lines, texts and styles."""

SLICE = 4096
"""Bytes that are taken at once: some milliseconds of work, whatever is in them."""

_SEARCHED = 8192
_LINE_WEIGHT = 110
_RUN_WEIGHT = 48
_STYLE_WEIGHT = 500


class Note(list[Segment]):
    """A line of ours among the output: what is not shown there."""


_Packed = tuple[str | int, ...]
"""The text of a line, then for each of its runs where it ends and the number of its style in its slice."""


class _Slice(NamedTuple):
    """From which line and which byte on a slice goes, what its lines weigh, and the styles that they have."""

    line: int
    offset: int
    weight: int
    styles: tuple[Style | None, ...]


def _packed(lines: list[Line]) -> tuple[list[_Packed | Note], tuple[Style | None, ...], int]:
    """The lines packed, their styles, and about the bytes of memory that all this takes."""
    packed: list[_Packed | Note] = []
    styles: dict[Style | None, int] = {None: 0}
    weight = 0
    for line in lines:
        if isinstance(line, Note):
            packed.append(line)
            weight += _LINE_WEIGHT
            continue
        runs: list[int] = []
        end = 0
        for text, style, _ in line:
            end += len(text)
            runs += end, styles.setdefault(style, len(styles))
        text = line[0].text if len(line) == 1 else "".join(segment.text for segment in line)
        # Plain text needs no runs.
        packed.append((text,) if len(line) == 1 and not runs[1] else (text, *runs))
        weight += _LINE_WEIGHT + len(text) * (1 if text.isascii() else 4) + _RUN_WEIGHT * len(line)
    return packed, tuple(styles), weight + _STYLE_WEIGHT * (len(styles) - 1)


def slices(data: bytes) -> Iterator[bytes]:
    """`data` in pieces of at most `SLICE` bytes, cut behind line ends where there are any."""
    at = 0
    while at < len(data):
        end = min(at + SLICE, len(data))
        if end < len(data):
            end = data.rfind(b"\n", at, end) + 1 or end
        yield data[at:end]
        at = end


class OutputLog:
    """The lines of one process, from `first` up to `end`, and the `open_line` that no line end has finished.

    `hold`: the number of a line that is being read; it and those below it are not dropped while it is set.
    """

    def __init__(self, *, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._ansi = AnsiLines()
        self._lines: list[_Packed | Note] = []
        self._slices: list[_Slice] = []
        self._weight = 0
        self.first = 0
        self.next_offset = 0
        self.hold: int | None = None

    @property
    def end(self) -> int:
        """The number of the line that comes next."""
        return self.first + len(self._lines)

    @property
    def begins_at(self) -> int:
        """The offset of the oldest byte that is shown; past 0 when older output is not shown."""
        return self._slices[0].offset if self._slices else self.next_offset

    @property
    def weight(self) -> int:
        """About the bytes of memory that the lines take."""
        return self._weight

    @property
    def open_line(self) -> Line:
        """The last line, when nothing has ended it yet."""
        return self._ansi.open_line

    @property
    def full(self) -> bool:
        """More than the bounds allow is kept, because of `hold`: nothing is to be added now."""
        return self.hold is not None and self._too_much(0)

    def line(self, number: int) -> Line:
        """A line that is kept. IndexError."""
        if not self.first <= number < self.end:
            raise IndexError(number)
        packed = self._lines[number - self.first]
        if isinstance(packed, Note):
            return packed
        text, *runs = packed
        assert isinstance(text, str)
        if not runs:
            return [Segment(text)] if text else []
        styles = self._slices[bisect_right(self._slices, number, key=_line_of) - 1].styles
        line: Line = []
        start = 0
        for end, style in zip(runs[::2], runs[1::2], strict=True):
            assert isinstance(end, int) and isinstance(style, int)
            line.append(Segment(text[start:end], styles[style]))
            start = end
        return line

    def lines(self, start: int, stop: int) -> list[Line]:
        """The kept lines of these numbers."""
        return [self.line(number) for number in range(max(start, self.first), min(stop, self.end))]

    def texts(self, start: int, stop: int) -> list[str]:
        """The texts of the kept lines of these numbers."""
        kept = self._lines[max(0, start - self.first) : max(0, stop - self.first)]
        return [one[0].text if isinstance(one, Note) else str(one[0]) for one in kept]

    def feed(self, data: bytes, offset: int) -> None:
        """The output from `offset` on. A note says what is missing before it."""
        if offset > self.next_offset:
            # The first line after a gap is half a line most of the time.
            whole = data.find(b"\n", 0, _SEARCHED) + 1
            data, offset = data[whole:], offset + whole
            self._gap(offset)
        before = self.end
        added = self._ansi.feed(data)
        self._add(added, before, offset)
        self.next_offset = offset + len(data)
        self.trim()

    def finish(self) -> None:
        """No more comes: what was held back is given up, and the last line is one."""
        self._add(self._ansi.feed(b"", final=True), self.end, self.next_offset)
        self.trim()

    def trim(self) -> None:
        """Drops the oldest slices that are too many."""
        dropped = gone = 0
        while self._too_much(dropped) and gone + 1 < len(self._slices):
            until = self._slices[gone + 1].line
            if self.hold is not None and until > self.hold:
                break
            self._weight -= self._slices[gone].weight
            gone += 1
            dropped = until - self.first
        if dropped < len(self._lines) and dropped and isinstance(self._lines[dropped], Note):
            dropped += 1
        del self._slices[:gone]
        del self._lines[:dropped]
        self.first += dropped

    def _too_much(self, dropped: int) -> bool:
        """Whether more is kept than the bounds allow when so many of the oldest lines are gone."""
        return len(self._lines) - dropped > self._max_lines or self._weight > self._max_bytes

    def _gap(self, offset: int) -> None:
        if self._slices:
            self._add(self._ansi.feed(b"", final=True), self.end, self.next_offset)
            missing = amount(offset - self.next_offset, "B")
            note = f"… {missing} not shown, bytes {number(self.next_offset)} to {number(offset)}"
            self._add([Note([Segment(note)])], self.end, offset)
        self._ansi = AnsiLines()
        self.next_offset = offset

    def _add(self, lines: list[Line], before: int, offset: int) -> None:
        if not lines and self._slices:
            # Gigabytes without a line end must not fill memory with slices of nothing.
            return
        packed, styles, weight = _packed(lines)
        self._lines += packed
        self._weight += weight
        self._slices.append(_Slice(before, offset, weight, styles))


def _line_of(one: _Slice) -> int:
    return one.line
