"""The Markdown that is understood: CommonMark with tables and strikethrough, by markdown-it-py, which is
loaded when the first text is parsed.

Three things differ from markdown-it's own reading. Emphasis beside Chinese, Japanese and Korean text follows
the "CJK-friendly" amendment to CommonMark (github.com/tats-u/markdown-cjk-friendly, specification.md). The
cells of a table's line beyond its heading are kept (`extra_cells`), which GitHub's Markdown drops. Inline
text is parsed when it is drawn.
"""

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from felan_tui.text.safe import safe_line, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

MAX_NESTING = 30
"""Levels of lists and quotes; deeper text is drawn as it was written."""

MAX_INLINE = 4_096
"""Characters of a paragraph that are parsed at once; a longer one is parsed in pieces, cut at spaces."""


@cache
def parser() -> "MarkdownIt":
    """The parser of blocks."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    made.disable("inline")
    made.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return made


def parse_inline(text: str, environment: dict[str, Any]) -> "list[Token]":
    """The tokens of inline text."""
    made = parser()
    state = _inline_state()(text, made, environment, [])
    made.inline.tokenize(state)
    for rule in made.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens


# --- emphasis beside CJK text ---


def is_cjk(character: str) -> bool:
    """A CJK character of the amendment: wide, full or half width and no emoji, or Hangul."""
    if character < "\u1100":
        return False
    if unicodedata.east_asian_width(character) in "WFH":
        return not ("\u2300" <= character <= "\u2bff" or "\U0001f000" <= character <= "\U0001faff")
    return "\u1100" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"


@cache
def _inline_state() -> type:
    from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
    from markdown_it.rules_inline.state_inline import Scanned, StateInline

    def is_punctuation(character: str) -> bool:
        return isMdAsciiPunct(ord(character)) or isPunctChar(character)

    class CjkFriendly(StateInline):
        """CommonMark's delimiter runs, with the amendment's exceptions for CJK text."""

        def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
            scanned = super().scanDelims(start, canSplitWord)
            before = self.src[start - 1] if start else " "
            if before == "\ufe0e" and start > 1:
                before = self.src[start - 2]
            stop = start + scanned.length
            after = self.src[stop] if stop < self.posMax else " "
            if not (is_cjk(before) or is_cjk(after)):
                return scanned
            space_before, space_after = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
            mark_before, mark_after = is_punctuation(before), is_punctuation(after)
            opens_word = not space_after and (
                is_cjk(after) or not mark_after or space_before or mark_before or is_cjk(before)
            )
            closes_word = not space_before and (
                is_cjk(before) or not mark_before or space_after or mark_after or is_cjk(after)
            )
            return Scanned(
                opens_word and (canSplitWord or not closes_word or mark_before),
                closes_word and (canSplitWord or not opens_word or mark_after),
                scanned.length,
            )

    return CjkFriendly


# --- tables ---


def extra_cells(row: "Token") -> list[str]:
    """The cells of a table's line (its `tr_open`) beyond those of the heading."""
    found: list[str] = row.meta.get("extra", [])
    return found


def _table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    from markdown_it.rules_block.table import escapedSplit, getLine, table

    first = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    made = state.tokens[first:]
    columns = sum(token.type == "th_open" for token in made)
    for token in made:
        if token.type == "tr_open" and token.map and token.map[0] > start:
            cells = escapedSplit(getLine(state, token.map[0]).strip())
            if cells and not cells[0]:
                del cells[0]
            if cells and not cells[-1]:
                del cells[-1]
            if len(cells) > columns:
                token.meta["extra"] = [cell.strip() for cell in cells[columns:]]
    return True


# --- link targets ---

_ENCODED = re.compile("(?:%[89A-Fa-f][0-9A-Fa-f])+")


def _decoded(match: re.Match[str]) -> str:
    try:
        text = unquote_to_bytes(match[0]).decode()
    except UnicodeDecodeError:
        return match[0]
    return text if visible(text) == text else match[0]


def target(token: "Token", name: str) -> str:
    """The address of a link or an image: percent-encoded letters are decoded where they are valid UTF-8 and
    can be seen; ASCII stays encoded, since it may change what the address means.
    """
    # An entity in it may have made a control character.
    return safe_line(_ENCODED.sub(_decoded, str(token.attrGet(name) or "")), mark="")


def title(token: "Token") -> str:
    """The title of a link or an image, on one line."""
    return safe_line(str(token.attrGet("title") or ""))


# --- long inline text ---


def split_inline(text: str, size: int = MAX_INLINE) -> list[str]:
    """A long inline text in pieces of about `size`, cut after spaces and, where it can be, outside of
    marks.
    """
    if len(text) <= size:
        return [text]
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        stop = _cut_point(text, start, start + size)
        pieces.append(text[start:stop])
        start = stop
    pieces.append(text[start:])
    return pieces


def _cut_point(text: str, start: int, stop: int) -> int:
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
