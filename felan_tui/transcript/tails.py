"""Draws one long Markdown block while its end is still open, at a cost that does not grow with it.

`felan_tui.transcript.live` draws a short open block anew at each write. Once the block is long it hands it
to one of these: they take its text as it comes, give away the rows that nothing can change any more
(`take`), and keep a few. What they draw is what the finished block will look like in all ordinary cases,
not in each: the finished message is drawn once more by `felan_tui.transcript.markdown`. What they may get
wrong until then: a table's columns keep the widths of its first rows, emphasis across more than a thousand
characters, a paragraph that turns out to be a heading.

Not here: lists and quotes, which hold other blocks (`felan_tui.transcript.nested`).
"""

import re
from typing import TYPE_CHECKING, Protocol

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import wrap_spans
from felan_tui.transcript.highlight import language_of
from felan_tui.transcript.markdown import Drawing, align_of, code_rows, cut_point, parser
from felan_tui.transcript.rows import Row, cut_runs, lines_of, row_cells, row_text, wrap_runs, wrap_text
from felan_tui.transcript.tables import Align, column_widths, fits, line_rows, rule

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 1_000
"""Characters from which an open block is drawn by a tail, and a piece of a long paragraph is committed."""

QUICK_CODE = 4_000
"""Characters of code that are highlighted when its fence closes; longer code stays plain until the message
ends.
"""

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([^`\n]*)$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_INTERRUPTS = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|>|`{3}|~{3}|[-+*][ \t]+\S|1[.)][ \t]+\S)")
_UNDECIDED = re.compile(r"[ \t]*(?:[#>`~*+=_-]{0,7}[ \t]*|1[.)]?[ \t]*)$")


def interrupts(line: str) -> bool:
    """Whether a line ends the paragraph above it."""
    return bool(_INTERRUPTS.match(line) or _RULE.match(line))


def is_rule(line: str) -> bool:
    """Whether a line is a thematic break."""
    return bool(_RULE.match(line))


class Tail(Protocol):
    """A block that is open at its end."""

    def feed(self, text: str) -> str | None:
        """Takes safe text; returns None, or, when the block has ended, the text that is no longer its own."""
        ...

    def take(self) -> tuple[list[Row], list[Row]]:
        """The rows that became final since the last call, and those that may still change."""
        ...

    def close(self) -> list[Row]:
        """No more text: all rows that were not taken as final."""
        ...


class LineTail:
    """Cuts the stream into lines and asks, at the start of each, whether it still belongs to the block.

    A line is passed on as it comes (`body`), once enough of it is there to decide.
    """

    def __init__(self) -> None:
        self.start = ""
        """The beginning of a line that is not decided yet."""
        self.inside = False
        self.done: list[Row] = []

    def decide(self, line: str, complete: bool) -> str | None:
        """What of the line's beginning is content; None ends the block. Raises `Hold` when it is too
        early.
        """
        raise Hold

    def body(self, text: str) -> None:
        """Content within a line."""

    def newline(self) -> None:
        """The end of a line."""

    def feed(self, text: str) -> str | None:
        """`Tail.feed`."""
        while text:
            if self.inside:
                head, end, text = text.partition("\n")
                self.body(head)
                if end:
                    self.inside = False
                    self.newline()
                continue
            whole = self.start + text
            head, end, text = whole.partition("\n")
            try:
                content = self.decide(head, bool(end))
            except Hold:
                self.start = head
                return None
            self.start = ""
            if content is None:
                return whole
            self.body(content)
            if end:
                self.newline()
            else:
                self.inside = True
        return None

    def rest(self) -> None:
        """Takes the undecided beginning of the last line as content."""
        if self.start:
            self.body(self.start)
            self.start = ""


class Hold(Exception):
    """More of the line is needed."""


class ParagraphTail(LineTail):
    """A paragraph (or a heading, `one_line`) whose words are wrapped as they come."""

    def __init__(self, drawing: Drawing, style: Style, *, one_line: bool = False) -> None:
        super().__init__()
        self._drawing = drawing
        self._style = style
        self._one_line = one_line
        self._first = True
        self._pending = ""
        self._carried: list[Segment] = []

    def decide(self, line: str, complete: bool) -> str | None:
        if self._first:
            self._first = False
            return line
        if self._one_line:
            return None
        if not complete and _UNDECIDED.match(line):
            raise Hold
        if not line.strip() or interrupts(line):
            return None
        return line.lstrip()

    def body(self, text: str) -> None:
        self._pending += text
        while len(self._pending) > LONG:
            stop = cut_point(self._pending, 0, LONG)
            piece, self._pending = self._pending[:stop], self._pending[stop:]
            self._commit(piece)

    def newline(self) -> None:
        self._pending += "\n"

    def _runs(self, text: str) -> list[Segment]:
        # The parser drops space at the ends, which between two pieces is a word's border.
        inner = text.strip(" \n")
        if not inner:
            return [Segment(" ", self._style)] if text and self._carried else []
        runs = self._drawing.inline(inner, self._style)
        if text[0] in " \n" and self._carried:
            runs.insert(0, Segment(" ", self._style))
        if text[-1] in " \n":
            runs.append(Segment(" ", self._style))
        return runs

    def _commit(self, piece: str) -> None:
        width = self._drawing.width
        *full, last = lines_of([*self._carried, *self._runs(piece)])
        for line in full:
            self.done += wrap_runs(line, width)
        spans = wrap_spans(row_text(last), width)
        if len(spans) <= 2:
            self._carried = last
            return
        # The last row may grow, and a mark that comes may take the last character of the row before along.
        self.done += cut_runs(last, spans[:-2])
        self._carried = cut_runs(last, [(spans[-2][0], len(row_text(last)))])[0]

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        done, self.done = self.done, []
        return done, wrap_runs([*self._carried, *self._runs(self._pending.rstrip())], self._drawing.width)

    def close(self) -> list[Row]:
        """`Tail.close`."""
        self.rest()
        done, tail = self.take()
        return done + tail


class CodeTail(LineTail):
    """A fence, or an indented block: lines cut hard at the width, coloured when it closes and is not long."""

    def __init__(self, drawing: Drawing, *, fenced: bool) -> None:
        super().__init__()
        self._drawing = drawing
        self._fenced = fenced
        self._mark = ""
        self._indent = 0
        self._language = ""
        self._code: list[str] = []
        self._size = 0
        self._kept: list[Row] = []
        self._blanks = 0
        self._line = ""
        self._continued = False
        self._opened = not fenced
        self._closed = False
        self._first = True

    def decide(self, line: str, complete: bool) -> str | None:
        if self._closed:
            return None
        if not self._opened:
            if not complete:
                raise Hold
            return line
        if not self._fenced:
            if (
                line.strip()
                and not line.startswith("    ")
                and (complete or len(line) >= 4 or line[0] != " ")
            ):
                return None
            if not complete and len(line) < 4:
                raise Hold
            return line[4:]
        if not complete and len(line) <= 4 * self._drawing.width:
            raise Hold
        return line

    def body(self, text: str) -> None:
        self._line += text
        width = self._drawing.width
        if self._opened and len(self._line) > 8 * width:
            # A line without an end: all of its rows but the last are final.
            keep = len(self._line) - len(self._line) % width - width
            self._add(self._line[:keep], whole=False)
            self._line = self._line[keep:]

    def newline(self) -> None:
        line, self._line = self._line, ""
        if not self._opened:
            self._opened = True
            if match := FENCE.match(line):
                self._mark = match[1]
                self._language = language_of(match[2])
                self._indent = len(line) - len(line.lstrip(" "))
            return
        if self._fenced and not self._continued and self._closes(line):
            self._closed = True
            return
        if not self._fenced and not line.strip():
            # Empty lines belong to an indented block only when code follows them.
            self._blanks += 1
            return
        for _ in range(self._blanks):
            self._add("", whole=True)
        self._blanks = 0
        self._add(line, whole=True)
        self._continued = False

    def _closes(self, line: str) -> bool:
        mark = line.strip()
        return (
            bool(mark)
            and not mark.strip(self._mark[:1])
            and len(mark) >= len(self._mark)
            and (len(line) - len(line.lstrip(" ")) < 4)
        )

    def _add(self, line: str, *, whole: bool) -> None:
        if self._indent and not self._continued:
            line = line[min(self._indent, len(line) - len(line.lstrip(" "))) :]
        self._continued = not whole
        self._kept += self._draw(line)
        self._size += len(line) + 1
        if self._size <= QUICK_CODE and whole:
            self._code.append(line)
        else:
            self._size = QUICK_CODE + 1
            self.done += self._kept
            self._kept = []

    def _draw(self, text: str, language: str = "") -> list[Row]:
        return code_rows(text, language, self._drawing.width, self._drawing.look, QUICK_CODE)

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        done, self.done = self.done, []
        last = self._line + self.start
        tail = self._kept
        if (
            last
            and self._opened
            and not (self._fenced and not self._continued and self._mark and self._closes(last))
        ):
            tail = tail + self._draw(last)
        return done, tail

    def close(self) -> list[Row]:
        """`Tail.close`."""
        done, tail = self.take()
        if self._language and self._kept and self._size <= QUICK_CODE:
            code = self._code if self._closed else [*self._code, self._line + self.start]
            return done + self._draw("\n".join(code).rstrip("\n"), self._language)
        return done + tail


class PlainTail(LineTail):
    """Text wrapped as it was written: a block of HTML, up to the next empty line, or, `whole`, all that
    comes.
    """

    def __init__(self, width: int, style: Style, *, whole: bool = False) -> None:
        super().__init__()
        self._width = width
        self._style = style
        self._whole = whole
        self._line = ""

    def decide(self, line: str, complete: bool) -> str | None:
        if self._whole or line.strip():
            return line
        if not complete:
            raise Hold
        return None

    def body(self, text: str) -> None:
        self._line += text
        spans = wrap_spans(self._line, self._width) if len(self._line) > LONG else []
        if len(spans) > 2:
            self.done += wrap_text(self._line[: spans[-2][0]].rstrip(), self._style, self._width)
            self._line = self._line[spans[-2][0] :]

    def newline(self) -> None:
        self.done += wrap_text(self._line, self._style, self._width)
        self._line = ""

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        done, self.done = self.done, []
        return done, wrap_text(self._line, self._style, self._width) if self._line else []

    def close(self) -> list[Row]:
        """`Tail.close`."""
        self.rest()
        done, tail = self.take()
        return done + tail


class TableTail(LineTail):
    """A table: its columns are as wide as the rows that were there when it became long need them."""

    def __init__(self, drawing: Drawing, source: str) -> None:
        super().__init__()
        self._drawing = drawing
        self._lines = 0
        head = [line for line in source.split("\n") if line.strip()]
        self._columns = len(split_cells(head[0]))
        self._aligns: list[Align] = [
            align_of(str(token.attrGet("style") or "")) for token in _table_head(source)
        ]
        grid = [
            [self._cell(cell) for cell in split_cells(line)] for index, line in enumerate(head) if index != 1
        ]
        natural = [
            max(row_cells(line[column]) for line in grid if column < len(line))
            for column in range(self._columns)
        ]
        self._fits = fits(self._columns, drawing.width)
        self._widths = column_widths(natural, drawing.width) if self._fits else natural

    def _cell(self, text: str, style: Style | None = None) -> list[Segment]:
        return self._drawing.inline(text.replace("\\|", "|"), style or self._drawing.base)

    def decide(self, line: str, complete: bool) -> str | None:
        if not complete:
            raise Hold
        if not line.strip() or (self._lines > 1 and "|" not in line and interrupts(line)):
            return None
        return line

    def body(self, text: str) -> None:
        look = self._drawing.look
        self._lines += 1
        if self._lines == 2:
            if self._fits:
                self.done.append(rule(self._widths, look))
            return
        self.done += self._draw(text, Style(bold=True) if self._lines == 1 else Style())

    def _draw(self, line: str, style: Style) -> list[Row]:
        drawing = self._drawing
        if not self._fits:
            return wrap_text(line, drawing.base + style, drawing.width)
        cells = [self._cell(cell, drawing.base + style) for cell in split_cells(line)[: self._columns]]
        return line_rows(cells, self._aligns, self._widths, drawing.look)

    def take(self) -> tuple[list[Row], list[Row]]:
        """`Tail.take`."""
        done, self.done = self.done, []
        partial = (
            self.start if self.start.strip() and self._lines >= 2 and len(self.start) <= 8 * LONG else ""
        )
        return done, self._draw(partial, Style()) if partial else []

    def close(self) -> list[Row]:
        """`Tail.close`."""
        self.rest()
        done, _ = self.take()
        return done


_CELL_BORDER = re.compile(r"(?<!\\)\|")


def split_cells(line: str) -> list[str]:
    """The cells of a table's line, as GitHub's Markdown cuts them."""
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip() for cell in _CELL_BORDER.split(line)]


def _table_head(source: str) -> list["Token"]:
    head = "\n".join(source.split("\n")[:2]) + "\n"
    return [token for token in parser().parse(head) if token.type == "th_open"]
