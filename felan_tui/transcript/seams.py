"""Where a long Markdown block whose end is still open can be cut, so that its beginning is drawn once.

The parser's tokens say where: before the last item of a list, the last paragraph of a quote, the last line
of a fence or a table. What is below the seam is parsed again with each piece that comes, behind the lines
that the parser needs above it (`Seam.context`), so the same parser decides when the block ends. A block
without a seam (a paragraph, a list of one endless item) is drawn plainly until it ends (`live.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from felan_tui.transcript.commonmark import parser
from felan_tui.transcript.markdown import Drawing, is_loose, quote_bar
from felan_tui.transcript.rows import Row

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Seam:
    """A cut before a line of the source; `rows` are those of what is above it."""

    line: int
    context: str
    rows: list[Row]


def find_seam(
    tokens: Sequence["Token"], source: str, drawing: Drawing, environment: dict[str, Any], context: str
) -> Seam | None:
    """Where to cut `source`, which is one open block; `context` are its first lines, if it was cut before.

    Only whole lines are above a seam, and the last whole line is below it.
    """
    opened = tokens[0]
    last_line = source.count("\n")
    continued = bool(context)
    if opened.type in ("bullet_list_open", "ordered_list_open"):
        at = _last(tokens, "list_item_open", last_line)
        if not at:
            return None
        rows = drawing.blocks([*tokens[:at], tokens[-1]], environment, "")
        line = (tokens[at].map or [0])[0]
        return Seam(line, "", [*rows, []] if is_loose(tokens, 0) else rows)
    if opened.type == "blockquote_open":
        at = _last(tokens, "", last_line)
        line = (tokens[at].map or [0])[0] if at else 0
        if not at or not source.split("\n", line + 1)[line].lstrip(" ").startswith(">"):
            return None
        rows = drawing.blocks([*tokens[:at], tokens[-1]], environment, "")
        return Seam(line, "", [*rows, [*quote_bar(drawing.look)[0]]])
    if opened.type in ("fence", "table_open"):
        first = (opened.map or [0])[0]
        kept = first + (1 if opened.type == "fence" else 2)
        if last_line - 1 <= kept:
            return None
        lines = source.split("\n")
        rows = _drawn("\n".join(lines[: last_line - 1]) + "\n", drawing, environment, continued=continued)
        return Seam(last_line - 1, "\n".join(lines[first:kept]) + "\n", rows)
    if opened.type == "code_block":
        lines = source.split("\n")
        line = last_line - 1
        while line > 0 and not (lines[line].strip() and lines[line - 1].strip()):
            line -= 1
        if line <= 0:
            return None
        rows = _drawn("\n".join(lines[:line]) + "\n", drawing, environment, continued=False)
        return Seam(line, "", rows)
    return None


def _last(tokens: Sequence["Token"], kind: str, before: int) -> int:
    """The last child of the block that begins above a line, if it is not the first; else 0."""
    children = [
        at
        for at, token in enumerate(tokens)
        if token.level == 1 and token.nesting >= 0 and token.map and (not kind or token.type == kind)
    ]
    while children and (tokens[children[-1]].map or [0])[0] >= before:
        children.pop()
    return children[-1] if len(children) > 1 else 0


def _drawn(source: str, drawing: Drawing, environment: dict[str, Any], *, continued: bool) -> list[Row]:
    return drawing.blocks(parser().parse(source, environment), environment, source, continued=continued)
