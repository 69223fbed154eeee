"""The message that is still coming: text in pieces, rows that cost the same at its end as at its start.

Finished top-level blocks are drawn once and never again. The open block at the end is parsed and drawn anew
with each piece; when it is long its beginning is drawn once too (`seams.py`), and where it cannot be cut
what comes is drawn as plain text. A block that ends is drawn whole once more, unless it is very long: the
finished `MarkdownBlock`, which replaces a `LiveBlock` under the same key, is drawn from the whole text.

One parser decides everything. `LiveText` is live text at one width; `LiveBlock` is it as a block of a
transcript.
"""

import re
from typing import TYPE_CHECKING, Any, Literal

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import wrap_spans
from felan_tui.text.safe import SafeStream, original
from felan_tui.transcript.blocks import HEAVY, BaseBlock, thinking_row
from felan_tui.transcript.commonmark import MAX_NESTING, parser
from felan_tui.transcript.look import Look
from felan_tui.transcript.markdown import Drawing
from felan_tui.transcript.rows import PROSE, Row, expand_tabs, indent, row_cells, wrap_runs, wrap_text
from felan_tui.transcript.seams import find_seam

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 1_000
"""Characters from which an open block is cut, and a line of plain text is final but for its end."""

MAX_OPEN = 4_000
"""Characters of an open block without a seam that are parsed with each piece; what follows is plain text."""

QUICK_CODE = 4_000
"""Characters of code that are highlighted when its fence closes; longer code stays plain until the message
ends.
"""

UNDECIDED = 80
"""Characters of an incomplete line from which on what comes no longer changes which block it begins."""

PARSED_PER_CHARACTER = 4
"""Characters that are parsed, at most, for each character of plain text that comes: a bound on the work."""

# `-` and `=` under a paragraph make it a heading; until the line is longer it may as well be a list's first
# mark.
_PERHAPS_HEADING = re.compile(r" {0,3}(?:-+|=+) *$")
# Where the plain text of an open block may end, so that it is worth to parse it again.
_PERHAPS_END = re.compile(r"\n[ \t>]*(?:\n|[`~#>*+_-]|\d+[.)])")


class Lines:
    """Rows that grow at their end: `rows[:final]` stay for good, `rows[:kept]` until the block ends."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.final = 0
        self.kept = 0

    def freeze(self, rows: list[Row]) -> None:
        """These rows are final, in place of all that are not."""
        del self.rows[self.final :]
        self.rows += rows
        self.final = self.kept = len(self.rows)

    def keep(self, rows: list[Row]) -> None:
        """These rows are kept, in place of those at the end."""
        del self.rows[self.kept :]
        self.rows += rows
        self.kept = len(self.rows)

    def show(self, rows: list[Row]) -> None:
        """These rows are at the end until the next ones."""
        del self.rows[self.kept :]
        self.rows += rows


class PlainText:
    """Text wrapped as it was written, each row once: `feed` returns the rows that are final, and `last` those
    of the last line.
    """

    def __init__(self, width: int, style: Style, prefix: Row | None = None) -> None:
        self._width = width
        self._style = style
        self._prefix = prefix
        self._line = ""
        self._continued = False

    def feed(self, text: str) -> list[Row]:
        """More text."""
        done: list[Row] = []
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            done += wrap_text(line, self._style, self._width)
        if len(self._line) > LONG:
            spans = wrap_spans(self._line, self._width)
            if len(spans) > 2:
                runs = expand_tabs([Segment(self._line[: spans[-2][0]].rstrip(), self._style)])
                done += wrap_runs(runs, self._width)
                self._line = self._line[spans[-2][0] :]
        return self._prefixed(done)

    def last(self) -> list[Row]:
        """The rows of the line that is not complete."""
        return self._prefixed(wrap_text(self._line, self._style, self._width)) if self._line else []

    def _prefixed(self, rows: list[Row]) -> list[Row]:
        return indent(rows, self._prefix, self._prefix) if self._prefix else rows


class LiveMarkdown:
    """Safe Markdown in pieces, drawn into `lines`."""

    def __init__(self, drawing: Drawing) -> None:
        look = drawing.look
        self.lines = Lines()
        self._open_drawing = Drawing(drawing.width, look, highlighted=False, base=drawing.base)
        self._final_drawing = Drawing(drawing.width, look, limit=QUICK_CODE, base=drawing.base)
        self._references: dict[str, dict[str, Any]] = {}
        # The source of the open block below its last seam. The source above the seams, and the parser's state
        # there, are kept apart.
        self._source = ""
        self._above: list[str] = []
        self._context = ""
        self._plain: PlainText | None = None
        self._plain_from = 0
        self._credit = 0

    def append(self, text: str) -> None:
        """The next piece."""
        before = self._source[-1:]
        self._source += text
        if self._plain is not None:
            self._credit += PARSED_PER_CHARACTER * len(text)
            if self._credit < len(self._source) or not _PERHAPS_END.search(before + text):
                self._show_plain(text)
                return
            self._credit = 0
        self._settle(text)

    def close(self) -> None:
        """No more text: all rows are final."""
        self._freeze(self._ended(self._source) if self._source.strip() or self._above else [])
        self._source = ""

    # --- what is final ---

    def _environment(self) -> dict[str, Any]:
        """The definitions of links that are final; their lines are drawn already."""
        return {"references": {key: {**one, "map": [-1, -1]} for key, one in self._references.items()}}

    def _freeze(self, rows: list[Row]) -> None:
        self.lines.freeze([[], *rows] if rows and self.lines.final else rows)
        self._above.clear()
        self._context = ""
        self._plain = None

    def _ended(self, own: str) -> list[Row]:
        """The rows of the open block, which ended; `own` is its source below the last seam."""
        drawing = self._final_drawing
        if self._plain is None and not self._above:
            return drawing.rows(own, self._environment())
        whole = "".join(self._above) + own
        if len(whole) <= HEAVY:
            return drawing.rows(whole, self._environment())
        first = self.lines.final + (1 if self.lines.final else 0)
        if self._plain is not None:
            return self.lines.rows[first : max(first, self._plain_from)] + drawing.plain(own)
        source, environment = self._context + own, self._environment()
        rest = self._open_drawing.blocks(
            parser().parse(source, environment), environment, source, continued=bool(self._context)
        )
        return self.lines.rows[first : self.lines.kept] + rest

    # --- what is open ---

    def _settle(self, text: str) -> None:
        """Parses the open source, freezes the blocks that ended, and draws the open one; `text` is new."""
        source = self._context + self._source
        line_at = source.rfind("\n") + 1
        shown = source
        if line_at and _PERHAPS_HEADING.match(source[line_at:]):
            shown = source[:line_at]
        environment = self._environment()
        tokens = _parsed(shown, environment)
        starts = [index for index, token in enumerate(tokens) if not token.level and token.nesting >= 0]
        if not source[:line_at].strip() and not starts:
            self._source = source[line_at:]
            return
        # A block that begins in a line of which there is little may yet turn out to belong to the one
        # before it.
        undecided = len(source) - line_at < UNDECIDED and len(starts) > 1
        kept = 2 if undecided and _line_of(tokens[starts[-1]]) >= source.count("\n") else 1
        if len(starts) > kept:
            self._freeze_blocks(tokens, starts[: 1 - kept or None], environment, source)
            self._settle(self._source)
            return
        if len(starts) <= 1 and self._cut(tokens, source, environment):
            self._settle(self._source)
            return
        if self._plain is not None or (len(starts) <= 1 and len(self._source) > MAX_OPEN):
            self._show_plain(text)
            return
        rows = self._open_drawing.blocks(tokens, environment, source, continued=bool(self._context))
        self.lines.show(self._apart(rows))

    def _freeze_blocks(
        self, tokens: "list[Token]", starts: list[int], environment: dict[str, Any], source: str
    ) -> None:
        """Freezes the blocks that begin at `starts`, without the last one, which stays open."""
        second, last = starts[1], starts[-1]
        second_line, line = _line_of(tokens[second]), _line_of(tokens[last])
        if self._above or self._plain is not None:
            rows = self._ended(source[len(self._context) : _start_of(source, second_line)])
            if last > second:
                rest = self._final_drawing.blocks(
                    tokens[second:last], environment, source, first_line=second_line, end_line=line
                )
                rows = [*rows, [], *rest]
        else:
            rows = self._final_drawing.blocks(tokens[:last], environment, source, end_line=line)
        for key, one in environment["references"].items():
            if 0 <= one["map"][0] < line:
                self._references.setdefault(key, one)
        self._freeze(rows)
        self._source = source[_start_of(source, line) :]

    def _cut(self, tokens: "list[Token]", source: str, environment: dict[str, Any]) -> bool:
        """Cuts the open block at a seam, when it is long and has one."""
        if len(self._source) <= LONG or not tokens:
            return False
        seam = find_seam(tokens, source, self._open_drawing, environment, self._context)
        if seam is None:
            return False
        if self._plain is not None:
            self.lines.kept = self._plain_from
            self._plain = None
        self.lines.keep(self._apart(seam.rows))
        stop = _start_of(source, seam.line)
        self._above.append(source[len(self._context) : stop])
        self._source = source[stop:]
        self._context = seam.context
        return True

    def _apart(self, rows: list[Row]) -> list[Row]:
        """Put an empty row before the first rows of an open block, except at the start of the text."""
        return [[], *rows] if rows and self.lines.final and self.lines.kept == self.lines.final else rows

    def _show_plain(self, text: str) -> None:
        if self._plain is None:
            drawing = self._open_drawing
            self._plain = PlainText(min(drawing.width, PROSE), drawing.base)
            self._plain_from = self.lines.kept
            self._credit = 0
            text = self._source
        self.lines.keep(self._apart(self._plain.feed(text)))
        self.lines.show(self._apart(self._plain.last()))


def _parsed(source: str, environment: dict[str, Any]) -> "list[Token]":
    """The tokens of a text; none when it is nested too deeply to be drawn as Markdown."""
    try:
        tokens = parser().parse(source, environment)
    except RecursionError:
        return []
    return [] if any(token.level >= MAX_NESTING - 1 for token in tokens) else tokens


def _line_of(token: "Token") -> int:
    return token.map[0] if token.map else 0


def _start_of(text: str, line: int) -> int:
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
    return at


class LiveText:
    """Untrusted text in pieces, as rows at one width; a row that is final stays the same object for good.

    `prefix` stands before each row of plain text, which is wrapped as it is (`markdown=False`).
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
        self._safe = SafeStream(tab=0)
        style = base or look.text
        self._markdown = LiveMarkdown(Drawing(width, look, base=style)) if markdown else None
        inner = max(8, min(width, PROSE) - (row_cells(prefix) if prefix else 0))
        self._plain = PlainText(inner, style, prefix)
        self._lines = self._markdown.lines if self._markdown else Lines()

    @property
    def rows(self) -> list[Row]:
        """All rows, as they are now: the same list each time."""
        return self._lines.rows

    @property
    def final(self) -> int:
        """How many of the rows nothing changes any more."""
        return self._lines.final

    def append(self, text: str) -> None:
        """The next piece."""
        self._add(self._safe.feed(text))

    def close(self) -> None:
        """No more comes; the rows are then all final."""
        self._add(self._safe.close())
        if self._markdown:
            self._markdown.close()

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._markdown:
            self._markdown.append(text)
        else:
            self._lines.keep(self._plain.feed(text))
            self._lines.show(self._plain.last())


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
        return original(self.text)
