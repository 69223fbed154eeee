"""CommonMark, tables and strikethrough as rows: parsed by markdown-it-py, drawn here.

Own drawing rather than `rich.markdown`, because it is faster, exact for wide characters, and draws what an
agent writes harmlessly: the text of a link is never clickable and its address is always shown, raw HTML is
text, an image is its description and address. markdown-it is loaded when the first text is drawn.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import cell_len
from felan_tui.text.safe import safe, safe_line
from felan_tui.transcript.highlight import MAX_CODE, highlight, language_of
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, fill, fold_runs, indent, wrap_runs, wrap_text
from felan_tui.transcript.tables import Align, table_rows

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 30
"""Levels of lists and quotes; deeper text is drawn as it was written."""

MAX_INLINE = 4_096
"""Characters of a paragraph that are parsed at once; a longer one is parsed in pieces, cut at spaces."""

MAX_TEXT = 2_000_000
"""Characters that are drawn as Markdown; more is drawn as plain text."""

MAX_MARKS = 100
"""Opening brackets in one such piece; more are not prose, and markdown-it's time grows with their square."""

_BOLD = Style(bold=True)
_ITALIC = Style(italic=True)
_STRIKE = Style(strike=True)


@cache
def parser() -> "MarkdownIt":
    """The parser of blocks: inline text is parsed when it is drawn."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    made.disable("inline")
    return made


def split_inline(text: str, size: int = MAX_INLINE) -> list[str]:
    """A long inline text in pieces of about `size`, cut after spaces and, where it can be, outside of
    marks.
    """
    if len(text) <= size:
        return [text]
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        stop = cut_point(text, start, start + size)
        pieces.append(text[start:stop])
        start = stop
    pieces.append(text[start:])
    return pieces


def cut_point(text: str, start: int, stop: int) -> int:
    """Where before `stop` a text may be cut so that emphasis, code and links stay whole in most cases."""
    best = 0
    at = stop
    for _ in range(12):
        at = max(text.rfind(" ", start + 1, at), text.rfind("\n", start + 1, at))
        if at <= start + (stop - start) // 4:
            break
        best = best or at + 1
        piece = text[start:at]
        if not piece.count("`") % 2 and not piece.count("*") % 2 and piece.count("[") == piece.count("]"):
            return at + 1
    return best or stop


class Drawing:
    """Draws the tokens of one text at one width.

    `highlighted=False` leaves code in one style, for a text whose end is still open; `limit` bounds the
    code that is highlighted.
    """

    def __init__(
        self,
        width: int,
        look: Look,
        *,
        highlighted: bool = True,
        limit: int = MAX_CODE,
        base: Style | None = None,
    ) -> None:
        self.width = max(8, width)
        self.look = look
        self.base = base or look.text
        self.limit = limit if highlighted else 0

    def rows(self, text: str) -> list[Row]:
        """The rows of a whole text, which is safe already."""
        if len(text) > MAX_TEXT:
            return wrap_text(text, self.base, self.width)
        environment: dict[str, object] = {}
        try:
            tokens = parser().parse(text, environment)
        except RecursionError:
            return wrap_text(text, self.base, self.width)
        if any(token.level >= MAX_NESTING - 1 for token in tokens):
            return wrap_text(text, self.base, self.width)
        return self.blocks(tokens, environment)

    def blocks(self, tokens: Sequence["Token"], environment: dict[str, object]) -> list[Row]:
        """The rows of block tokens."""
        return _Blocks(self, tokens, environment).draw(self.width)

    def inline(self, text: str, style: Style, environment: dict[str, object] | None = None) -> list[Segment]:
        """The runs of inline text."""
        runs: list[Segment] = []
        for piece in split_inline(text):
            if piece.count("[") > MAX_MARKS or piece.count("<") > MAX_MARKS:
                runs.append(Segment(piece.replace("\n", " "), style))
                continue
            self._inline(piece, style, {} if environment is None else environment, runs)
        return runs

    def _inline(self, text: str, style: Style, environment: dict[str, object], runs: list[Segment]) -> None:
        tokens: list[Token] = []
        made = parser()
        made.inline.parse(text, made, environment, tokens)
        styles = [style]
        targets: list[tuple[str, int]] = []
        look = self.look
        # An entity may name any character: the text is safe, what it stands for need not be.
        entities = "&" in text
        for token in tokens:
            kind = token.type
            if kind == "text":
                if token.content:
                    shown = safe_line(token.content) if entities else token.content
                    runs.append(Segment(shown, styles[-1]))
            elif kind == "softbreak":
                runs.append(Segment(" ", styles[-1]))
            elif kind == "hardbreak":
                runs.append(Segment("\n", styles[-1]))
            elif kind == "code_inline":
                runs.append(Segment(token.content, styles[-1] + look.code))
            elif kind == "strong_open":
                styles.append(styles[-1] + _BOLD)
            elif kind == "em_open":
                styles.append(styles[-1] + _ITALIC)
            elif kind == "s_open":
                styles.append(styles[-1] + _STRIKE)
            elif kind == "link_open":
                targets.append((_address(token, "href"), len(runs)))
                styles.append(styles[-1] + look.link)
            elif kind == "link_close":
                styles.pop()
                address, first = targets.pop()
                shown = "".join(run.text for run in runs[first:])
                if address and address not in (shown, "mailto:" + shown):
                    runs.append(Segment(f" ({address})", styles[-1] + look.muted))
            elif kind.endswith("_close"):
                styles.pop()
            elif kind == "image":
                address = _address(token, "src")
                runs.append(Segment(f"{token.content or 'image'} ({address})", styles[-1] + look.muted))
            elif token.content:
                runs.append(Segment(safe(token.content), styles[-1]))


def _address(token: "Token", name: str) -> str:
    # markdown-it keeps what was written percent-encoded, so the address is what a browser would get. An
    # entity in it may have made a control character.
    return safe_line(str(token.attrGet(name) or ""), mark="")


class _Blocks:
    """One pass over the tokens; each container draws its children at what width is left to it."""

    def __init__(self, drawing: Drawing, tokens: Sequence["Token"], environment: dict[str, object]) -> None:
        self.drawing = drawing
        self.look = drawing.look
        self.tokens = tokens
        self.environment = environment
        self.at = 0
        self.depth = 0

    def draw(
        self, width: int, *, tight: bool = False, until: str = "", style: Style | None = None
    ) -> list[Row]:
        """The blocks up to the token `until`, with an empty row between them unless they are tight."""
        style = style or self.drawing.base
        rows: list[Row] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == until:
                break
            drawn = self._block(token, width, style)
            if drawn is None:
                continue
            if rows and not (tight and (token.type.endswith("list_open") or token.hidden)):
                rows.append([])
            rows += drawn
        return rows

    def _block(self, token: "Token", width: int, style: Style) -> list[Row] | None:
        look = self.look
        kind = token.type
        if kind == "paragraph_open":
            return self._text(width, style)
        if kind == "heading_open":
            level = int(token.tag[1:])
            heading = style + look.heading + (Style(underline=True) if level == 1 else Style())
            return self._text(width, heading)
        if kind in ("fence", "code_block"):
            return self._code(token, width)
        if kind in ("bullet_list_open", "ordered_list_open"):
            return self._list(token, width, style)
        if kind == "blockquote_open":
            inner = self.draw(width - 2, until="blockquote_close", style=style + look.muted)
            bar = [Segment(look.glyphs.bar + " ", look.bar)]
            return indent(inner or [[]], bar, bar)
        if kind == "hr":
            return [[Segment(look.glyphs.rule * width, look.bar)]]
        if kind == "table_open":
            return self._table(width, style)
        if kind == "html_block":
            return wrap_text(token.content.rstrip("\n"), style + look.muted, width)
        return None

    def _text(self, width: int, style: Style) -> list[Row]:
        """The inline token that follows, and its end."""
        token = self.tokens[self.at]
        self.at += 2
        runs = self.drawing.inline(token.content, style, self.environment)
        return wrap_runs(runs, max(4, width))

    def _code(self, token: "Token", width: int) -> list[Row]:
        code = token.content.removesuffix("\n")
        return code_rows(
            code,
            language_of(token.info) if token.type == "fence" else "",
            width,
            self.look,
            self.drawing.limit,
        )

    def _list(self, opened: "Token", width: int, style: Style) -> list[Row]:
        ordered = opened.type == "ordered_list_open"
        number = int(opened.attrGet("start") or 1) if ordered else 0
        if ordered and opened.attrGet("start") == 0:
            number = 0
        bullet = self.look.glyphs.bullets[min(self.depth, len(self.look.glyphs.bullets) - 1)]
        self.depth += 1
        rows: list[Row] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == opened.type.replace("open", "close"):
                break
            if token.type != "list_item_open":
                continue
            marker = f"{number}{token.markup or '.'} " if ordered else f"{bullet} "
            number += 1
            size = cell_len(marker)
            inner = self.draw(max(8, width - size), tight=True, until="list_item_close", style=style)
            inner = ticked(inner, self.look)
            first = [Segment(marker, style + self.look.accent)]
            rows += indent(inner or [[]], first, [Segment(" " * size, self.look.bar)])
        self.depth -= 1
        return rows

    def _table(self, width: int, style: Style) -> list[Row]:
        grid: list[list[list[Segment]]] = []
        aligns: list[Align] = []
        heading = True
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                grid.append([])
            elif token.type == "tbody_open":
                heading = False
            elif token.type in ("th_open", "td_open"):
                if heading:
                    aligns.append(align_of(str(token.attrGet("style") or "")))
                cell = self.tokens[self.at]
                cell_style = style + _BOLD if heading else style
                grid[-1].append(self.drawing.inline(cell.content, cell_style, self.environment))
        return table_rows(grid, aligns, width, self.look)


def ticked(rows: list[Row], look: Look) -> list[Row]:
    """The rows of an item with the box of a task, `[x]`, as a sign."""
    if rows and rows[0] and rows[0][0].text[:4] in ("[ ] ", "[x] ", "[X] "):
        text, style, _ = rows[0][0]
        sign = look.glyphs.unticked if text[1] == " " else look.glyphs.ticked
        return [[Segment(f"{sign} {text[4:]}", style), *rows[0][1:]], *rows[1:]]
    return rows


def align_of(css: str) -> Align:
    """The alignment that markdown-it wrote as a style."""
    for name in ("right", "center"):
        if name in css:
            return name
    return "left"


CODE_INDENT = 2
"""Cells of background to the left of code; they are decoration, so a copy leaves them out."""


def code_rows(code: str, language: str, width: int, look: Look, limit: int = MAX_CODE) -> list[Row]:
    """Code on its own background, cut hard at the width, highlighted when it is no longer than `limit`."""
    rows: list[Row] = []
    pad = Segment(" " * CODE_INDENT, look.pad)
    inner = max(4, width - CODE_INDENT)
    for line in highlight(code, language, look, limit=limit):
        if not line:
            rows.append([Segment(" " * width, look.pad)])
            continue
        for row in fold_runs(line, inner):
            rows.append(fill([pad, *row], width, look.pad))
    return rows


def markdown_rows(text: str, width: int, look: Look, *, base: Style | None = None) -> list[Row]:
    """The rows of a finished Markdown text, which may hold anything."""
    return Drawing(width, look, base=base).rows(safe(text))
