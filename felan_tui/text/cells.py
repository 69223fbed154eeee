"""Measures, cuts, pads and wraps text in terminal cells, never in characters.

The text given here is safe already (`felan_tui.text.safe`); width comes from `rich.cells`, as on screen.
"""

import re
from functools import cache, lru_cache
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size, split_text

__all__ = ["cell_len", "cut", "fold", "fold_spans", "pad", "wrap", "wrap_spans"]

ELLIPSIS = "…"

# Ideographs and kana may break anywhere; Korean words, like Latin ones, break at spaces.
_WIDE = (
    "\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_CLOSING = frozenset("、。，．・：；！？）］｝」』】〉》〕…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")


@cache
def _tokens() -> re.Pattern[str]:
    # Compiled when the first such text is wrapped: a class of so many characters takes some milliseconds.
    return re.compile(f"(?P<space>\\s+)|(?P<wide>[{_WIDE}]+)|(?P<word>[^\\s{_WIDE}]+)")


def _prefix(text: str, cells: int) -> str:
    """A short start of `text` that is longer than `cells`, so that a megabyte is not measured to show a
    line.
    """
    if len(text) <= 512:
        return text
    size = 4 * cells + 64
    while size < len(text) and cell_len(text[:size]) <= cells:
        size *= 4
    return text[:size]


def cut(text: str, cells: int, *, where: Literal["end", "middle"] = "end", ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `cells` cells; what is left out is marked by the ellipsis, of one cell, at the end or
    in the middle.
    """
    if cells <= 0:
        return ""
    start = _prefix(text, cells)
    if len(start) == len(text) and cell_len(text) <= cells:
        return text
    if cells == 1:
        return ellipsis
    if where == "end":
        return split_text(start, cells - 1)[0].rstrip() + ellipsis
    left = (cells - 1) // 2
    right = cells - 1 - left
    end = _prefix(text[::-1], right)[::-1] if len(text) > 512 else text
    surplus = cell_len(end) - right
    return split_text(start, left)[0] + ellipsis + split_text(end, surplus)[1]


def pad(text: str, cells: int, *, align: Literal["left", "right", "center"] = "left") -> str:
    """`text` in exactly `cells` cells: cut with `…` when longer, filled with spaces when shorter."""
    text = cut(text, cells)
    missing = cells - cell_len(text)
    if missing <= 0:
        return set_cell_size(text, cells)
    if align == "right":
        return " " * missing + text
    if align == "center":
        return " " * (missing // 2) + text + " " * (missing - missing // 2)
    return text + " " * missing


@lru_cache(maxsize=64)
def _ascii_lines(width: int) -> re.Pattern[str]:
    # As many characters as fit and end before a space or the end; else a hard cut. Each line is looked at
    # twice at most.
    return re.compile(f".{{0,{width - 1}}}\\S(?=\\s|$)|.{{1,{width}}}", re.DOTALL)


def wrap_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Where the lines of one paragraph (no `\\n` in it) start and end when it is wrapped at `width` cells.

    Breaks at spaces (which then belong to no line) and between ideographs; a longer word is cut hard. At
    least one span, `(0, 0)` for no text. The spans before the last two never change when text is added at
    the end.
    """
    width = max(1, width)
    if not text:
        return [(0, 0)]
    if len(text) <= width and text.isascii():
        return [(0, len(text))]
    if text.isascii():
        return _wrap_ascii(text, width)
    return _wrap_wide(text, max(2, width))


_SPACES = re.compile(r"\s*")


def _wrap_ascii(text: str, width: int) -> list[tuple[int, int]]:
    line = _ascii_lines(width).match
    spaces = _SPACES.match
    spans: list[tuple[int, int]] = []
    position, end = 0, len(text)
    while position < end:
        found = line(text, position)
        stop = found.end() if found else end
        spans.append((position, stop))
        gap = spaces(text, stop)
        position = gap.end() if gap else stop
    return spans


def _wrap_wide(text: str, width: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = inked = column = 0

    def close(end: int, following: int) -> None:
        nonlocal start, inked, column
        spans.append((start, end))
        start = inked = following
        column = 0

    for match in _tokens().finditer(text):
        at, end = match.span()
        token = match.group()
        kind = match.lastgroup
        if kind == "wide" and cell_len(token) == 2 * len(token):
            while at < end:
                fit = (width - column) // 2
                if fit >= end - at:
                    column += 2 * (end - at)
                    inked = end
                    break
                if fit > 1 and text[at + fit] in _CLOSING:
                    fit -= 1
                if fit <= 0 and column == 0:
                    fit = 1
                if fit <= 0:
                    close(inked, at)
                    continue
                close(at + fit, at + fit)
                at += fit
            continue
        size = cell_len(token)
        if column + size <= width:
            column += size
            if kind != "space":
                inked = end
        elif kind == "space":
            if inked > start:
                close(inked, end)
            else:
                column = min(width, column + size)
        elif size <= width and inked > start:
            close(inked, at)
            column = size
            inked = end
        else:
            if inked > start:
                close(inked, at)
            *full, rest = fold(text[start:end], width)
            for piece in full:
                close(start + len(piece), start + len(piece))
            column = cell_len(rest)
            inked = end
    spans.append((start, max(inked, start)))
    return spans


def fold_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Where the pieces of one line start and end when it is cut hard at `width` cells, for code and process
    output.
    """
    if text.isascii():
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    spans: list[tuple[int, int]] = []
    at = 0
    for piece in fold(text, width):
        spans.append((at, at + len(piece)))
        at += len(piece)
    return spans


def fold(text: str, width: int) -> list[str]:
    """One line cut hard at `width` cells; at least one piece."""
    return chop_cells(text, max(2, width)) or [""]


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text`, each of its own lines wrapped at `width` cells (`wrap_spans`)."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line[start:end] for start, end in wrap_spans(line, width)]
    return lines
