"""Long lists and quotes while their end is open: each item is a small live text of its own."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.segment import Segment

from felan_tui.text.cells import cell_len
from felan_tui.transcript.markdown import Drawing, ticked
from felan_tui.transcript.rows import Row, indent
from felan_tui.transcript.tails import Hold, LineTail, interrupts, is_rule

_MARKER = re.compile(r"([-+*]|\d{1,9}[.)])( +|$)")
_PERHAPS = re.compile(r"([-+*][-+* ]{0,4}|\d{1,9}[.)]?|[#>`~_=]{0,7})$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Inner(Protocol):
    """The live text inside of an item or a quote."""

    def append(self, text: str) -> None: ...
    def take(self) -> tuple[list[Row], list[Row]]: ...
    def close(self) -> list[Row]: ...


MakeInner = Callable[[Drawing], Inner]
"""Makes the live text of an item, drawn as the drawing says."""


def narrower(drawing: Drawing, cells: int) -> Drawing:
    """A drawing of what stands behind a prefix of so many cells."""
    return Drawing(drawing.width - cells, drawing.look, highlighted=drawing.limit > 0, base=drawing.base)


@dataclass(slots=True)
class _Level:
    """A list that is open: where the content of its items begins, in the source and on the screen."""

    content: int
    pad: int
    marker: int
    mark: str
    ordered: bool
    number: int


class ListTail(LineTail):
    """A list of any depth. Its items are drawn tight, each final when the next begins."""

    def __init__(self, drawing: Drawing, make_inner: MakeInner) -> None:
        super().__init__()
        self._drawing = drawing
        self._make_inner = make_inner
        self._levels: list[_Level] = []
        self._item: Inner | None = None
        self._first: Row = []
        self._rest: Row = []
        self._prefixed = False
        self._blank = False
        self._fence = ""
        self._line = ""

    def decide(self, line: str, complete: bool) -> str | None:
        stripped = line.lstrip(" ")
        at = len(line) - len(stripped)
        if not stripped:
            if not complete:
                raise Hold
            self._blank = True
            return ""
        content = self._levels[-1].content if self._levels else 0
        if self._fence and at >= content:
            return line[content:]
        if not complete and _PERHAPS.match(stripped):
            raise Hold
        marker = _MARKER.match(stripped)
        if marker and not is_rule(line) and not (self._levels and at >= content + 4):
            if self._levels and at < self._levels[0].content and marker[1][-1] != self._levels[0].mark:
                return None  # another list
            return self._begin(at, marker, stripped)
        if not self._levels:
            return None
        if at < content:
            if self._blank or is_rule(line):
                if not self._return_to(at):
                    return None
                return line[self._levels[-1].content :]
            if interrupts(line):
                return None
            content = at
        self._blank = False
        return line[content:]

    def _begin(self, at: int, marker: re.Match[str], stripped: str) -> str:
        """A new item; returns the beginning of its text."""
        self._end_item()
        sibling: _Level | None = None
        while self._levels and at < self._levels[-1].content:
            sibling = self._levels.pop()
        mark, spaces = marker[1], len(marker[2])
        ordered = mark[0] not in "-+*"
        if ordered and sibling and sibling.ordered:
            number = sibling.number + 1
        else:
            number = int(mark[:-1]) if ordered else 0
        look = self._drawing.look
        bullet = look.glyphs.bullets[min(len(self._levels), len(look.glyphs.bullets) - 1)]
        shown = f"{number}{mark[-1]} " if ordered else f"{bullet} "
        pad = sum(level.marker for level in self._levels)
        width = cell_len(shown)
        offset = at + len(mark) + (spaces if 0 < spaces <= 4 else 1)
        self._levels.append(_Level(offset, pad, width, mark[-1], ordered, number))
        self._open_item([Segment(" " * pad, look.bar), Segment(shown, self._drawing.base + look.accent)])
        self._blank = False
        self._fence = ""
        return stripped[offset - at :]

    def _return_to(self, at: int) -> bool:
        """After an empty line, text at a smaller indent goes on in an outer item; False when there is
        none.
        """
        self._end_item()
        while self._levels and at < self._levels[-1].content:
            self._levels.pop()
        if not self._levels:
            return False
        self.done.append([])
        level = self._levels[-1]
        self._open_item([Segment(" " * (level.pad + level.marker), self._drawing.look.bar)])
        self._blank = False
        return True

    def _open_item(self, first: Row) -> None:
        level = self._levels[-1]
        size = level.pad + level.marker
        self._first = first
        self._rest = [Segment(" " * size, self._drawing.look.bar)]
        self._prefixed = False
        self._item = self._make_inner(narrower(self._drawing, size))

    def _end_item(self) -> None:
        if self._item is not None:
            rows = self._item.close()
            self.done += self._prefix(rows or ([[]] if not self._prefixed else []))
            self._item = None

    def _prefix(self, rows: list[Row]) -> list[Row]:
        if not rows:
            return []
        prefixed = self._shown(rows)
        self._prefixed = True
        return prefixed

    def _shown(self, rows: list[Row]) -> list[Row]:
        if self._prefixed:
            return indent(rows, self._rest, self._rest)
        return indent(ticked(rows, self._drawing.look), self._first, self._rest)

    def body(self, text: str) -> None:
        self._line = (self._line + text)[:200]
        if self._item is not None:
            self._item.append(text)

    def newline(self) -> None:
        if match := _FENCE.match(self._line):
            if not self._fence:
                self._fence = match[1]
            elif match[1].startswith(self._fence):
                self._fence = ""
        self._line = ""
        if self._item is not None:
            self._item.append("\n")

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        tail: list[Row] = []
        if self._item is not None:
            final, open_rows = self._item.take()
            self.done += self._prefix(final)
            tail = self._shown(open_rows)
            if not open_rows and not self._prefixed:
                tail = [self._first]
        done, self.done = self.done, []
        return done, tail

    def close(self) -> list[Row]:
        """`Tail.close`."""
        self.rest()
        self._end_item()
        done, self.done = self.done, []
        return done


class QuoteTail(LineTail):
    """A block quote: what follows the `>` is a live text."""

    def __init__(self, drawing: Drawing, make_inner: MakeInner) -> None:
        super().__init__()
        look = drawing.look
        inner = Drawing(
            drawing.width - 2, look, highlighted=drawing.limit > 0, base=drawing.base + look.muted
        )
        self._item = make_inner(inner)
        self._bar: Row = [Segment(look.glyphs.bar + " ", look.bar)]

    def decide(self, line: str, complete: bool) -> str | None:
        stripped = line.lstrip(" ")
        if stripped.startswith(">"):
            if len(stripped) == 1 and not complete:
                raise Hold
            return stripped[1:].removeprefix(" ")
        if not complete and (not stripped or _PERHAPS.match(stripped)):
            raise Hold
        return None if not stripped or interrupts(line) else stripped

    def body(self, text: str) -> None:
        self._item.append(text)

    def newline(self) -> None:
        self._item.append("\n")

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        done, tail = self._item.take()
        return indent(done, self._bar, self._bar), indent(tail, self._bar, self._bar)

    def close(self) -> list[Row]:
        """`Tail.close`."""
        self.rest()
        return indent(self._item.close(), self._bar, self._bar)
