"""The difference of two texts, line by line, with what cannot be seen shown by signs. Pure.

The one comparison of the house: the transcript and the card of an approval draw it, so both show the same
lines and the same counts. A line is compared with its end (LF, CRLF, CR, or none at the end of the file),
as git does. In a changed line a tab shows as `→`, a space at its end as `·`, and its end where ends differ;
in every line hidden and control characters show as `visible` shows them. `Diff.notes` names what a reader
could overlook: line ends, byte order mark, white space, characters that look alike.

The work is bounded: equal ends are set aside, a middle that is long is cut at lines that occur once on both
sides (patience diff), and a piece that is still too long for difflib, whose time grows with the square of
repeated lines, is shown as removed and added whole. That is coarse, and never wrong.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rich.cells import cell_len

from felan_tui.text.safe import visible

CONTEXT = 3
"""Equal lines shown before and after a change."""

MAX_COMPARED = 1_000
"""Old and new lines together of one piece that difflib compares."""

LONGEST = 1_000
"""Characters of a line that are shown; of a longer one those around its first change."""

TAB = 4
"""Cells between the tab stops of a diff."""

Kind = Literal["same", "added", "removed", "gap", "note"]
_Opcode = tuple[str, int, int, int, int]
"""As difflib has it: `equal` or `replace`, then the lines before (from, to) and after (from, to)."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff, safe to show. A `gap` stands for equal lines, a `note` is about the lines above it.

    `old_number` and `new_number` count from 1; 0 where the line is on the other side alone. `signs` are the
    spans of `text` (start, end) that stand for white space.
    """

    kind: Kind
    old_number: int
    new_number: int
    text: str
    signs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The result of `compare`. `added` and `removed` count lines; `lines` draws them, from first to last."""

    added: int
    removed: int
    notes: tuple[str, ...]
    _old: Sequence[str]
    _new: Sequence[str]
    _opcodes: Sequence[_Opcode]
    _mark_ends: bool
    _converted: bool

    def lines(
        self, *, context: int = CONTEXT, longest: int = LONGEST, edges: bool = True
    ) -> Iterator[DiffLine]:
        """The changed lines and `context` equal ones around them; lazy, since a diff may be long.

        Of a line with more than `longest` characters that many are shown, around its first change. A gap
        counts the lines that it stands for; `edges=False` leaves out the gaps above the first change and
        below the last one.
        """
        last = len(self._opcodes) - 1
        for index, (tag, a, b, c, d) in enumerate(self._opcodes):
            if tag == "equal":
                before, after = (context if index else 0), (context if index < last else 0)
                gap = edges or (0 < index < last)
                yield from self._equal(range(a, b), c - a, before, after, longest, gap=gap)
                continue
            for at in range(a, b):
                other = self._new[c + at - a] if c + at - a < d else None
                yield from self._changed("removed", at, self._old[at], other, longest)
            for at in range(c, d):
                other = self._old[a + at - c] if a + at - c < b else None
                yield from self._changed("added", at, self._new[at], other, longest)
            if b - a == d - c:
                for one, two in zip(self._old[a:b], self._new[c:d], strict=True):
                    if note := _look_alike(_content(one), _content(two)):
                        yield DiffLine("note", 0, 0, note)

    def _equal(
        self, old: range, shift: int, before: int, after: int, longest: int, *, gap: bool
    ) -> Iterator[DiffLine]:
        hidden = len(old) - before - after
        first, rest = (old[:before], old[len(old) - after :]) if hidden > 0 else (old, old[:0])
        yield from self._same(first, shift, longest)
        if hidden > 0 and gap:
            state = "unchanged but for the end" if self._converted else "unchanged"
            yield DiffLine("gap", 0, 0, f"{hidden:,} line{'' if hidden == 1 else 's'} {state}")
        yield from self._same(rest, shift, longest)

    def _same(self, old: range, shift: int, longest: int) -> Iterator[DiffLine]:
        for at in old:
            content = _content(self._old[at])
            text, _ = _shown(content[:longest], signs=False)
            more = len(content) - longest
            yield DiffLine(
                "same",
                at + 1,
                at + shift + 1,
                f"{text} … {more:,} more characters" if more > 0 else text,
            )

    def _changed(
        self, kind: Literal["added", "removed"], at: int, line: str, other: str | None, longest: int
    ) -> Iterator[DiffLine]:
        content, end = _content(line), _end(line)
        before = after = ""
        if len(content) > longest:
            start = max(
                0, min(_first_difference(content, other or "") - longest // 2, len(content) - longest)
            )
            more = len(content) - start - longest
            before = f"… {start:,} characters … " if start else ""
            after = f" … {more:,} more characters" if more else ""
            content = content[start : start + longest]
        text, spans = _shown(content, signs=True, whole=not after)
        text = before + text + after
        signs = [(first + len(before), last + len(before)) for first, last in spans]
        if self._mark_ends and end:
            sign = end.replace("\r", "␍").replace("\n", "␊")
            signs.append((len(text), len(text) + len(sign)))
            text += sign
        old, new = (at + 1, 0) if kind == "removed" else (0, at + 1)
        yield DiffLine(kind, old, new, text, tuple(signs))
        if not end:
            yield DiffLine("note", 0, 0, "no newline at the end of the file")


@lru_cache(maxsize=64)
def compare(old: str | None, new: str | None) -> Diff:
    """The difference of the texts before (None for a new file) and after (None for a deleted one).

    Takes up to some tenths of a second for texts of megabytes; a result is kept for the next call. Where
    each line has another end than before, all lines count as changed, one note says so, and the lines shown
    are those that differ besides.
    """
    before, after = _split(old or ""), _split(new or "")
    ends_before, ends_after = _ends(before), _ends(after)
    ends = ends_before | ends_after
    changed = bool(ends_before and ends_after) and ends_before != ends_after
    converted = changed and len(ends_before) == len(ends_after) == 1
    shown_before, shown_after = (_to_lf(before), _to_lf(after)) if converted else (before, after)
    codes = _compare(shown_before, shown_after)
    notes: list[str] = []
    if changed:
        every = " in every line" if converted else ""
        notes.append(f"line ends: {_names(ends_before)} → {_names(ends_after)}{every}")
    elif old is None and ends_after - {"\n"}:
        notes.append(f"line ends: {_names(ends_after)}")
    notes += _notes(old, new, shown_before, shown_after, codes)
    if converted:
        same = before[-1] == after[-1]  # a last line without an end
        added, removed = len(after) - same, len(before) - same
    else:
        added = sum(d - c for tag, _, _, c, d in codes if tag != "equal")
        removed = sum(b - a for tag, a, b, _, _ in codes if tag != "equal")
    mark_ends = len(ends) > 1 and not converted
    return Diff(added, removed, tuple(notes), shown_before, shown_after, codes, mark_ends, converted)


# --- lines and their ends ---

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CR_LINE = re.compile(r"[^\r]*\r|[^\r]+")
_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def _split(text: str) -> list[str]:
    """The lines with their ends. A CR alone ends a line where the text has no LF at all."""
    return (_LINE if "\n" in text or "\r" not in text else _CR_LINE).findall(text)


def _content(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _end(line: str) -> str:
    return line[len(_content(line)) :]


def _ends(lines: Sequence[str]) -> frozenset[str]:
    """The kinds of line ends of a text."""
    return frozenset(map(_end, lines)) - {""}


def _names(ends: frozenset[str]) -> str:
    return " and ".join(name for end, name in _NAMES.items() if end in ends)


def _to_lf(lines: Sequence[str]) -> list[str]:
    return [_content(line) + "\n" if _end(line) else line for line in lines]


# --- the comparison ---


def _compare(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    """Opcodes as difflib has them; equal ones and others alternate."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_end, new_end = len(old) - tail, len(new) - tail
    codes: list[_Opcode] = [("equal", 0, head, 0, head)]
    codes += _middle(old, new, head, old_end, head, new_end, cut=True)
    codes.append(("equal", old_end, len(old), new_end, len(new)))
    return _joined(codes)


def _middle(
    old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int, *, cut: bool
) -> Iterator[_Opcode]:
    if a == b or c == d:
        yield "replace", a, b, c, d
        return
    if b - a + d - c <= MAX_COMPARED:
        from difflib import SequenceMatcher

        for tag, i, j, k, m in SequenceMatcher(None, old[a:b], new[c:d]).get_opcodes():
            yield tag, i + a, j + a, k + c, m + c
        return
    if cut:
        for i, k in _anchors(old, new, a, b, c, d):
            yield from _middle(old, new, a, i, c, k, cut=False)
            yield "equal", i, i + 1, k, k + 1
            a, c = i + 1, k + 1
        yield from _middle(old, new, a, b, c, d, cut=False)
        return
    yield "replace", a, b, c, d


def _anchors(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """Lines that occur once on both sides, as many as are in the same order on both (patience sorting)."""
    counts_old, counts_new = Counter(old[a:b]), Counter(new[c:d])
    places = {new[at]: at for at in range(c, d) if counts_new[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(a, b) if counts_old[old[at]] == 1 and old[at] in places]
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(place)
            piles.append(index)
        else:
            tops[pile], piles[pile] = place, index
    chain: list[tuple[int, int]] = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _joined(codes: Sequence[_Opcode]) -> list[_Opcode]:
    """Neighbours of a kind as one, without the empty ones."""
    joined: list[_Opcode] = []
    for tag, a, b, c, d in codes:
        if a == b and c == d:
            continue
        tag = "equal" if tag == "equal" else "replace"
        if joined and joined[-1][0] == tag:
            joined[-1] = (tag, joined[-1][1], b, joined[-1][3], d)
        else:
            joined.append((tag, a, b, c, d))
    return joined


# --- what is shown of a line ---

_PIECE = re.compile(r"\t|[^\t]+")


def _shown(content: str, *, signs: bool, whole: bool = True) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text to show, and the spans of the signs in it that stand for white space.

    `whole` says that the content ends where its line ends, so that spaces there are trailing ones.
    """
    if "\t" not in content and not content.endswith(" "):
        return visible(content), ()
    stop = len(content.rstrip(" \t")) if signs and whole else len(content)
    inner = _PIECE.findall(content[:stop])
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    size = column = 0
    for at, piece in enumerate((*inner, *content[stop:])):
        if piece == "\t":
            shown = ("→" if signs else " ").ljust(TAB - column % TAB)  # house: a sign of one cell
        else:
            shown = visible(piece) if at < len(inner) else "·"
        if signs and (piece == "\t" or at >= len(inner)):
            spans.append((size, size + 1))
        pieces.append(shown)
        size += len(shown)
        column += cell_len(shown)
    return "".join(pieces), tuple(spans)


def _first_difference(one: str, two: str) -> int:
    """Where two lines begin to differ."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# --- notes ---

_SPACE = re.compile(r"\s+")


def _look_alike(old: str, new: str) -> str:
    """For two lines that look the same: the first characters that differ, by code point."""
    if old == new or unicodedata.normalize("NFC", old) != unicodedata.normalize("NFC", new):
        return ""
    at = _first_difference(old, new)

    def points(text: str) -> str:
        return " ".join(f"U+{ord(one):04X}" for one in text[at : at + 2]) or "nothing"

    return f"looks alike and differs: {points(old)} → {points(new)}"


def _notes(
    old: str | None, new: str | None, before: Sequence[str], after: Sequence[str], codes: Sequence[_Opcode]
) -> Iterator[str]:
    if old is None or new is None:
        return
    if old.startswith("\ufeff") != new.startswith("\ufeff"):
        yield "byte order mark removed" if old.startswith("\ufeff") else "byte order mark added"
    changed = [code for code in codes if code[0] != "equal"]
    if not changed:
        return
    gone = [line for _, a, b, _, _ in changed for line in before[a:b]]
    come = [line for _, _, _, c, d in changed for line in after[c:d]]
    if [_SPACE.sub("", line) for line in gone] == [_SPACE.sub("", line) for line in come]:
        tabs = sum(line.count("\t") for line in gone), sum(line.count("\t") for line in come)
        if tabs[0] and not tabs[1] and _spaces(come) > _spaces(gone):
            yield "only white space differs: tabs → spaces"
        elif tabs[1] and not tabs[0] and _spaces(gone) > _spaces(come):
            yield "only white space differs: spaces → tabs"
        elif [_content(line) for line in gone] == [_content(line) for line in come]:
            if before[-1:] and after[-1:] and bool(_end(before[-1])) != bool(_end(after[-1])):
                yield "only the newline at the end differs"
        else:
            yield "only white space differs"


def _spaces(lines: Sequence[str]) -> int:
    return sum(line.count(" ") for line in lines)
