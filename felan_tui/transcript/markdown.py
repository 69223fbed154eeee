"""Markdown as rows: parsed in `commonmark.py`, drawn here.

Own drawing rather than `rich.markdown`, because it is faster, exact for wide characters, and draws what an
agent writes harmlessly and whole: the text of a link is never clickable, and its address and title are
always shown, as are the definitions of links and what a fence says behind its language; raw HTML is text
(but a `<br>` is a line break); an image is its description and address.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe, safe_line
from felan_tui.transcript.commonmark import (
    MAX_NESTING,
    extra_cells,
    parse_inline,
    parser,
    split_inline,
    target,
    title,
)
from felan_tui.transcript.highlight import MAX_CODE, highlight, language_of
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import (
    PROSE,
    Row,
    expand_tabs,
    fill,
    fold_runs,
    indent,
    row_cells,
    wrap_runs,
    wrap_text,
)
from felan_tui.transcript.tables import Align, column_widths, table_rows

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_TEXT = 2_000_000
"""Characters that are drawn as Markdown; more is drawn as plain text."""

MAX_MARKS = 100
"""Opening brackets in one piece of inline text; more are not prose, and markdown-it's time grows with their
square.
"""

_BOLD = Style(bold=True)
_ITALIC = Style(italic=True)
_STRIKE = Style(strike=True)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BREAKS = re.compile(r"(?:\s*<br\s*/?>\s*)+", re.IGNORECASE)


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
        self.columns: list[int] = []
        """The widths of the columns of the table that was drawn last; none when it did not fit."""

    def rows(self, text: str, environment: dict[str, Any] | None = None) -> list[Row]:
        """The rows of a whole text, which is safe already but for its tabs."""
        if len(text) > MAX_TEXT:
            return self.plain(text)
        environment = {} if environment is None else environment
        try:
            tokens = parser().parse(text, environment)
        except RecursionError:
            return self.plain(text)
        if any(token.level >= MAX_NESTING - 1 for token in tokens):
            return self.plain(text)
        return self.blocks(tokens, environment, text)

    def plain(self, text: str) -> list[Row]:
        """The rows of a text as it was written."""
        return wrap_text(text.strip("\n"), self.base, min(self.width, PROSE))

    def blocks(
        self,
        tokens: Sequence["Token"],
        environment: dict[str, Any],
        source: str,
        *,
        continued: bool = False,
        first_line: int = 0,
        end_line: int | None = None,
    ) -> list[Row]:
        """The rows of block tokens of `source`, with the definitions of links between two of its lines.

        `continued` leaves out what stands above the first block's content (a table's heading, a fence's
        info), because it was drawn before.
        """
        made = _Blocks(self, tokens, environment, source.split("\n")[:end_line], first_line)
        made.continued = continued
        return made.draw(self.width)

    def inline(self, text: str, style: Style, environment: dict[str, Any] | None = None) -> list[Segment]:
        """The runs of inline text."""
        runs: list[Segment] = []
        for piece in split_inline(text):
            if piece.count("[") > MAX_MARKS or piece.count("<") > MAX_MARKS:
                runs.append(Segment(piece.replace("\n", " "), style))
                continue
            self._inline(piece, style, {} if environment is None else environment, runs)
        return expand_tabs(runs)

    def _inline(self, text: str, style: Style, environment: dict[str, Any], runs: list[Segment]) -> None:
        styles = [style]
        targets: list[tuple[Token, int]] = []
        look = self.look
        # An entity may name any character: the text is safe, what it stands for need not be.
        entities = "&" in text
        for token in parse_inline(text, environment):
            kind = token.type
            if kind == "text":
                if token.content:
                    shown = safe_line(token.content) if entities else token.content
                    runs.append(Segment(shown, styles[-1]))
            elif kind == "softbreak":
                runs.append(Segment(" ", styles[-1]))
            elif kind == "hardbreak" or (kind == "html_inline" and _BREAK.fullmatch(token.content)):
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
                targets.append((token, len(runs)))
                styles.append(styles[-1] + look.link)
            elif kind == "link_close":
                styles.pop()
                opened, first = targets.pop()
                shown = "".join(run.text for run in runs[first:])
                if where := _address(opened, "href", shown):
                    runs.append(Segment(f" ({where})", styles[-1] + look.muted))
            elif kind.endswith("_close"):
                styles.pop()
            elif kind == "image":
                where = _address(token, "src", "")
                description = safe_line(token.content) or "image"
                runs.append(Segment(f"{description} ({where})", styles[-1] + look.muted))
            elif token.content:
                runs.append(Segment(safe(token.content, tab=0), styles[-1]))


def _address(token: "Token", name: str, shown: str) -> str:
    """What stands in brackets behind a link: its address, when the text is another, and its title."""
    address, words = target(token, name), title(token)
    if address in (shown, f"mailto:{shown}"):
        address = ""
    return " ".join(part for part in (address, f'"{words}"' if words else "") if part)


class _Blocks:
    """One pass over the tokens; each container draws its children at what width is left to it."""

    def __init__(
        self,
        drawing: Drawing,
        tokens: Sequence["Token"],
        environment: dict[str, Any],
        lines: list[str],
        first_line: int,
    ) -> None:
        self.drawing = drawing
        self.look = drawing.look
        self.tokens = tokens
        self.environment = environment
        self.lines = lines
        self.continued = False
        self.at = 0
        self.depth = 0
        self.wider = max(0, drawing.width - PROSE)
        definitions = [*environment.get("references", {}).values(), *environment.get("duplicate_refs", [])]
        places: list[list[int]] = [one["map"] for one in definitions]
        self.definitions = sorted((place for place in places if place[0] >= first_line), reverse=True)

    def draw(
        self,
        width: int,
        *,
        in_item: bool = False,
        opened: "Token | None" = None,
        style: Style | None = None,
    ) -> list[Row]:
        """The blocks up to the end of what was `opened`, with an empty row between them.

        In an item of a list a paragraph without space around it, and a list below it, stand close.
        """
        style = style or self.drawing.base
        until = opened.type.replace("open", "close") if opened else ""
        last = opened.map[1] if opened and opened.map else len(self.lines)
        rows: list[Row] = []
        end = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == until:
                break
            first = token.map[0] if token.map else last
            rows += self._definitions(first, width, apart=bool(rows))
            drawn = self._block(token, width, style)
            self.continued = False
            if drawn is None:
                continue
            close = in_item and first <= end and (token.type.endswith("list_open") or token.hidden)
            if rows and not close:
                rows.append([])
            rows += drawn
            end = token.map[1] if token.map else end
        rows += self._definitions(last, width, apart=bool(rows))
        return rows

    def _definitions(self, before: int, width: int, *, apart: bool) -> list[Row]:
        """The definitions of links above a line, as they were written: a link that nothing uses is seen."""
        rows: list[Row] = []
        while self.definitions and self.definitions[-1][0] < before:
            first, end = self.definitions.pop()
            for line in self.lines[first:end]:
                text = line.strip(" \t>")
                rows += self._prose([Segment(text, self.drawing.base + self.look.muted)], width)
        return [[], *rows] if rows and apart else rows

    def _prose(self, runs: list[Segment], width: int) -> list[Row]:
        return wrap_runs(runs, max(4, width - self.wider))

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
            inner = self.draw(width - 2, opened=token, style=style + look.muted)
            return indent(inner or [[]], *quote_bar(look))
        if kind == "hr":
            return [[Segment(look.glyphs.rule * max(4, width - self.wider), look.bar)]]
        if kind == "table_open":
            return self._table(width, style)
        if kind == "html_block":
            if _BREAKS.fullmatch(token.content):
                return [[]]
            return wrap_text(token.content.rstrip("\n"), style + look.muted, max(4, width - self.wider))
        return None

    def _text(self, width: int, style: Style) -> list[Row]:
        """The inline token that follows, and its end."""
        token = self.tokens[self.at]
        self.at += 2
        return self._prose(self.drawing.inline(token.content, style, self.environment), width)

    def _code(self, token: "Token", width: int) -> list[Row]:
        code = token.content.removesuffix("\n")
        info = "" if self.continued else safe_line(token.info).strip()
        language = language_of(token.info) if token.type == "fence" else ""
        return code_rows(code, language, width, self.look, self.drawing.limit, info=info)

    def _list(self, opened: "Token", width: int, style: Style) -> list[Row]:
        ordered = opened.type == "ordered_list_open"
        bullet = self.look.glyphs.bullets[min(self.depth, len(self.look.glyphs.bullets) - 1)]
        loose = is_loose(self.tokens, self.at - 1)
        self.depth += 1
        rows: list[Row] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == opened.type.replace("open", "close"):
                break
            if token.type != "list_item_open":
                continue
            marker = f"{token.info}{token.markup or '.'} " if ordered else f"{bullet} "
            size = cell_len(marker)
            inner = self.draw(max(8, width - size), in_item=True, opened=token, style=style)
            inner = ticked(inner, self.look)
            first = [Segment(marker, style + self.look.accent)]
            if rows and loose:
                rows.append([])
            rows += indent(inner or [[]], first, [Segment(" " * size, self.look.bar)])
        self.depth -= 1
        return rows

    def _table(self, width: int, style: Style) -> list[Row]:
        continued = self.continued
        grid: list[list[list[Segment]]] = []
        aligns: list[Align] = []
        extra: list[str] = []
        heading = True
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                grid.append([])
                extra = extra_cells(token)
            elif token.type == "tr_close":
                grid[-1] += [self.drawing.inline(cell, style, self.environment) for cell in extra]
            elif token.type == "tbody_open":
                heading = False
            elif token.type in ("th_open", "td_open"):
                if heading:
                    aligns.append(align_of(str(token.attrGet("style") or "")))
                cell = self.tokens[self.at]
                cell_style = style + _BOLD if heading else style
                grid[-1].append(self.drawing.inline(cell.content, cell_style, self.environment))
        if not continued:
            self.drawing.columns = column_widths(grid, width)
        return table_rows(grid, aligns, self.drawing.columns, width, self.look, continued=continued)


def is_loose(tokens: Sequence["Token"], at: int) -> bool:
    """Whether the list that opens at an index has space between its items, as CommonMark reads it."""
    level = tokens[at].level
    for token in tokens[at + 1 :]:
        if token.level == level:
            return False
        if token.type == "paragraph_open" and token.level == level + 2:
            return not token.hidden
    return False


def quote_bar(look: Look) -> tuple[Row, Row]:
    """What stands before the first row of a quote, and before the others."""
    bar = [Segment(look.glyphs.bar + " ", look.bar)]
    return bar, bar


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


def code_rows(
    code: str, language: str, width: int, look: Look, limit: int = MAX_CODE, *, info: str = ""
) -> list[Row]:
    """Code on its own background, cut hard at the width, highlighted when it is no longer than `limit`.

    The fence's `info` stands at the right end of the first row, or above it where that is too long.
    """
    rows: list[Row] = []
    pad = Segment(" " * CODE_INDENT, look.pad)
    inner = max(4, width - CODE_INDENT)
    for line in highlight(code, language, look, limit=limit):
        if not line:
            rows.append([Segment(" " * width, look.pad)])
            continue
        for row in fold_runs(expand_tabs(line), inner):
            rows.append(fill([pad, *row], width, look.pad))
    if info:
        label = Segment(cut(info, inner - 2, ellipsis=look.glyphs.ellipsis), look.label)
        row = rows[0]
        used = row_cells([part for part in row if part.style is not look.pad]) + CODE_INDENT
        room = width - used - row_cells([label]) - 1
        if room >= 2:
            kept = [part for part in row if part.style is not look.pad]
            rows[0] = [pad, *kept, Segment(" " * room, look.pad), label, Segment(" ", look.pad)]
        else:
            before = width - row_cells([label]) - 1
            rows.insert(0, [Segment(" " * before, look.pad), label, Segment(" ", look.pad)])
    return rows


def markdown_rows(text: str, width: int, look: Look, *, base: Style | None = None) -> list[Row]:
    """The rows of a finished Markdown text, which may hold anything."""
    return Drawing(width, look, base=base).rows(safe(text, tab=0))
