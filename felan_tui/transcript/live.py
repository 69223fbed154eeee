"""The message that is still coming: text in pieces, rows that cost the same at its end as at its start.

What is finished is drawn once. Only the last top-level block is open: while it is short it is parsed and
drawn anew at each write, and once it is long it is handed to a tail (`felan_tui.transcript.tails`,
`.nested`), which keeps a few rows of it open. A message is never scanned from its beginning again.

`LiveText` is that for untrusted text at one width; `LiveBlock` is it as a block of a transcript, which the
finished `MarkdownBlock` replaces under the same key.
"""

import re
from typing import Literal

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.safe import SafeStream, safe
from felan_tui.transcript.blocks import BaseBlock, thinking_row
from felan_tui.transcript.look import Look
from felan_tui.transcript.markdown import Drawing, parser
from felan_tui.transcript.nested import ListTail, QuoteTail
from felan_tui.transcript.rows import Row, indent, row_cells
from felan_tui.transcript.tails import LONG, QUICK_CODE, CodeTail, ParagraphTail, PlainTail, TableTail, Tail

MAX_DEPTH = 8
"""Levels of live text inside of live text; what is deeper is drawn as a paragraph."""

UNDECIDED = 80
"""Characters of an incomplete line from which on what comes no longer changes which block it begins."""

# `-` and `=` under a paragraph make it a heading; until the line is longer it may as well be a list's first
# mark.
_PERHAPS_HEADING = re.compile(r" {0,3}(?:-+|=+) *$")


class LiveMarkdown:
    """Safe Markdown in pieces. `append`, then `take`: the rows that became final, and those still open."""

    def __init__(self, drawing: Drawing, *, depth: int = 0) -> None:
        look = drawing.look
        self._depth = depth
        self._open_drawing = Drawing(drawing.width, look, highlighted=False, base=drawing.base)
        self._final_drawing = Drawing(drawing.width, look, limit=QUICK_CODE, base=drawing.base)
        self._incoming: list[str] = []
        self._source = ""
        self._tail: Tail | None = None
        self._tail_started = False
        self._done: list[Row] = []
        self._rows: list[Row] = []
        self._any = False

    def append(self, text: str) -> None:
        """More text; it is looked at when rows are asked for."""
        if text:
            self._incoming.append(text)

    def take(self) -> tuple[list[Row], list[Row]]:
        """The rows that became final since the last call, and those that may still change."""
        if self._incoming:
            text = "".join(self._incoming)
            self._incoming.clear()
            self._feed(text)
        done, self._done = self._done, []
        return done, self._rows

    def close(self) -> list[Row]:
        """No more text: all rows that were not taken as final."""
        done, _ = self.take()
        if self._tail is not None:
            self._end_tail()
        elif self._source.strip():
            self._freeze(self._final_drawing.rows(self._source))
        self._source = ""
        self._rows = []
        done += self._done
        self._done = []
        return done

    def _feed(self, text: str) -> None:
        while True:
            if self._tail is None:
                self._source += text
                if not self._settle():
                    return
                text = ""
            assert self._tail is not None
            rest = self._tail.feed(text)
            if rest is None:
                self._take_tail()
                return
            self._end_tail()
            if not rest:
                self._rows = []
                return
            text = rest

    def _freeze(self, rows: list[Row]) -> None:
        if not rows:
            return
        if self._any:
            self._done.append([])
        self._done += rows
        self._any = True

    def _take_tail(self) -> None:
        assert self._tail is not None
        done, rows = self._tail.take()
        self._add_of_tail(done)
        self._rows = [[], *rows] if self._any and not self._tail_started and rows else list(rows)

    def _add_of_tail(self, rows: list[Row]) -> None:
        if not rows:
            return
        if self._tail_started:
            self._done += rows
        else:
            self._freeze(rows)
            self._tail_started = True

    def _end_tail(self) -> None:
        assert self._tail is not None
        self._add_of_tail(self._tail.close())
        self._tail = None
        self._tail_started = False

    def _settle(self) -> bool:
        """Parses the open source, freezes what is finished; True when a tail took over the rest."""
        source = self._source
        shown = source
        line_at = source.rfind("\n") + 1
        if line_at and _PERHAPS_HEADING.match(source[line_at:]):
            shown = source[:line_at]
        environment: dict[str, object] = {}
        try:
            tokens = parser().parse(shown, environment)
        except RecursionError:
            tokens = []
        starts = [index for index, token in enumerate(tokens) if not token.level and token.nesting >= 0]
        if not starts:
            self._rows = []
            if not source[:line_at].strip():
                self._source = source[line_at:]
            return False
        # A block that begins in a line of which there is little may yet turn out to belong to the one
        # before it.
        undecided = len(source) - line_at < UNDECIDED and len(starts) > 1
        kept = 2 if undecided and (tokens[starts[-1]].map or [0])[0] >= source.count("\n") else 1
        if len(starts) > kept:
            first = starts[-kept]
            self._freeze(self._final_drawing.blocks(tokens[:first], environment))
            self._source = source = _from_line(source, (tokens[first].map or [0])[0])
            tokens = tokens[first:]
            starts = [index - first for index in starts[-kept:]]
        if len(source) > LONG and len(starts) == 1:
            self._tail = self._make_tail(tokens[0].type, source)
            self._source = ""
            return self._begin_tail(source)
        rows = self._open_drawing.blocks(tokens, environment)
        self._rows = [[], *rows] if self._any and rows else rows
        return False

    def _begin_tail(self, source: str) -> bool:
        """Feeds the source of the open block to its new tail; False when that was all."""
        assert self._tail is not None
        rest = self._tail.feed(source)
        if rest is None:
            self._take_tail()
            return False
        self._end_tail()
        if len(rest) >= len(source):
            # The tail does not know the block that the parser saw: it is drawn as it is.
            self._freeze(self._final_drawing.rows(source))
            self._rows = []
            return False
        self._source = rest
        return self._settle()

    def _make_tail(self, kind: str, source: str) -> Tail:
        drawing = self._open_drawing
        if kind == "fence" or kind == "code_block":
            return CodeTail(drawing, fenced=kind == "fence")
        if kind in ("bullet_list_open", "ordered_list_open") and self._depth < MAX_DEPTH:
            return ListTail(drawing, self._inner)
        if kind == "blockquote_open" and self._depth < MAX_DEPTH:
            return QuoteTail(drawing, self._inner)
        if kind == "table_open":
            return TableTail(drawing, source)
        if kind == "html_block":
            return PlainTail(drawing.width, drawing.base + drawing.look.muted)
        if kind == "heading_open":
            return ParagraphTail(drawing, drawing.base + drawing.look.heading, one_line=True)
        return ParagraphTail(drawing, drawing.base)

    def _inner(self, drawing: Drawing) -> "LiveMarkdown":
        return LiveMarkdown(drawing, depth=self._depth + 1)


def _from_line(text: str, number: int) -> str:
    at = 0
    for _ in range(number):
        at = text.find("\n", at) + 1
    return text[at:]


class LiveText:
    """Untrusted text in pieces, as rows at one width; a row that is final stays the same object for good.

    `prefix` stands before each row. With `markdown=False` the text is wrapped as it is.
    """

    def __init__(
        self,
        width: int,
        look: Look,
        *,
        base: Style | None = None,
        prefix: Row | None = None,
        markdown: bool = True,
    ) -> None:
        self.rows: list[Row] = []
        self._frozen = 0
        self._prefix = prefix
        self._safe = SafeStream()
        inner = max(8, width - (row_cells(prefix) if prefix else 0))
        style = base or look.text
        self._markdown = LiveMarkdown(Drawing(inner, look, base=style)) if markdown else None
        self._plain = PlainTail(inner, style, whole=True)

    def append(self, text: str) -> None:
        """The next piece."""
        self._add(self._safe.feed(text))

    def close(self) -> None:
        """No more comes; the rows are then all final."""
        self._add(self._safe.close())
        rest = self._markdown.close() if self._markdown else self._plain.close()
        del self.rows[self._frozen :]
        self.rows += self._prefixed(rest)
        self._frozen = len(self.rows)

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._markdown:
            self._markdown.append(text)
            done, tail = self._markdown.take()
        else:
            self._plain.feed(text)
            done, tail = self._plain.take()
        del self.rows[self._frozen :]
        self.rows += self._prefixed(done)
        self._frozen = len(self.rows)
        self.rows += self._prefixed(tail)

    def _prefixed(self, rows: list[Row]) -> list[Row]:
        return indent(rows, self._prefix, self._prefix) if self._prefix else rows


LiveKind = Literal["markdown", "thinking", "plain"]


class LiveBlock(BaseBlock):
    """A message (or thinking, or plain text) that is still coming, as a block of the transcript.

    Folded thinking draws nothing of its text. A new width or look draws what came so far once more.
    """

    __slots__ = ("_drawn", "_fed", "_key", "_lines", "_live", "_pieces", "_size", "kind")

    def __init__(self, key: str, kind: LiveKind) -> None:
        self._key = key
        self.kind: LiveKind = kind
        self._pieces: list[str] = []
        self._fed = 0
        self._size = 0
        self._lines = 1
        self._live: LiveText | None = None
        self._drawn: tuple[int, Look] | None = None

    @property
    def key(self) -> str:
        return self._key

    @property
    def folds(self) -> bool:
        return self.kind == "thinking"

    @property
    def text(self) -> str:
        """What came so far, as it came."""
        return "".join(self._pieces)

    def append(self, text: str) -> None:
        """The next piece, of untrusted text."""
        self._pieces.append(text)
        self._size += len(text)
        self._lines += text.count("\n")

    def compact(self, expanded: bool) -> bool:
        return self.kind == "thinking" and not expanded

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        thinking = self.kind == "thinking"
        if thinking and not expanded:
            return [thinking_row(None, True, False, look, width)]
        live = self._live
        if live is None or self._drawn is None or self._drawn[0] != width or self._drawn[1] is not look:
            prefix = [Segment(look.glyphs.bar + " ", look.bar)] if thinking else None
            base = look.muted + Style(italic=True) if thinking else look.text
            live = LiveText(width, look, base=base, prefix=prefix, markdown=self.kind == "markdown")
            self._live, self._drawn, self._fed = live, (width, look), 0
        if self._fed < len(self._pieces):
            live.append("".join(self._pieces[self._fed :]))
            self._fed = len(self._pieces)
        if thinking:
            return [thinking_row(None, True, True, look, width), *live.rows]
        return live.rows

    def estimate(self, width: int, *, expanded: bool) -> int:
        return 1 if self.compact(expanded) else self._lines + self._size // max(8, width)

    def plain_text(self) -> str:
        return safe(self.text)
