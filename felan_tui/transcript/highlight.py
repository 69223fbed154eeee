"""Colours source code by language, with pygments, which is loaded when the first code is shown.

Only whole, bounded code is highlighted: what is too large, has a line like a minified file, or names a
language that pygments does not know is drawn in one style. pygments runs regular expressions over untrusted
text, so the bounds are also what keeps hostile code from holding the screen up.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, lines_of

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CODE = 100_000
"""Characters of code that are highlighted at most."""

MAX_CODE_LINE = 2_000
"""Characters of its longest line."""


@lru_cache(maxsize=32)
def _lexer(language: str) -> "Lexer | None":
    from pygments.lexers import (
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType] its options are untyped
    )
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# By the first words of pygments' own hierarchy of token types.
_KINDS = {
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Name.Tag": "keyword",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Comment": "comment",
    "Name.Function": "name",
    "Name.Class": "name",
    "Name.Decorator": "name",
    "Name.Attribute": "name",
    "Generic.Inserted": "added",
    "Generic.Deleted": "removed",
    "Generic.Heading": "keyword",
    "Generic.Subheading": "keyword",
}


@lru_cache(maxsize=512)
def _kind(token_type: str) -> str | None:
    words = token_type.split(".")[1:]
    while words:
        if kind := _KINDS.get(".".join(words)):
            return kind
        words.pop()
    return None


def language_of(info: str) -> str:
    """The language of a fence's info string (```` ```python title=x ````, ```` ```js:src/main.js ````)."""
    words = re.match(r"[{.]*([^\s:{},]*)", info)
    return words[1].lower() if words else ""


def highlight(code: str, language: str, look: Look, *, limit: int = MAX_CODE) -> list[Row]:
    """The lines of safe `code`, coloured when it may be (see above); `limit` is the caller's bound on its
    size.
    """
    plain: list[Segment] = [Segment(code, look.block)]
    if not language or len(code) > min(limit, MAX_CODE):
        return lines_of(plain)
    if max(map(len, code.split("\n")), default=0) > MAX_CODE_LINE:
        return lines_of(plain)
    lexer = _lexer(language)
    if lexer is None:
        return lines_of(plain)
    runs: list[Segment] = []
    for token_type, text in lexer.get_tokens(code):
        kind = _kind(str(token_type))
        style: Style = look.syntax[kind] if kind else look.block
        if runs and runs[-1].style is style:
            runs[-1] = Segment(runs[-1].text + text, style)
        else:
            runs.append(Segment(text, style))
    return lines_of(runs)
