"""A unified diff of two texts as numbered, coloured rows.

The comparison is difflib's, bounded: what both texts begin and end with is set aside first, and when what
is left is too much for difflib (its time grows with the square of repeated lines) it is shown as taken away
and put in whole. Both bounds are said in the diff. `changes` is cached, so a card that is drawn again costs
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rich.segment import Segment

from felan_tui.text.cells import cut
from felan_tui.text.safe import safe, safe_line
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, fold_runs

CONTEXT = 3
"""Lines shown before and after a change."""

MAX_COMPARED = 3_000
"""Lines, of both texts together, that difflib compares; more are shown as replaced."""

MAX_SHOWN = 600
"""Lines of a diff that are drawn."""

MAX_LINE = 1_000
"""Characters of a line that are drawn."""

TAB = 4


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A change of one file: its text before (None for a new file) and after (None for a deleted one)."""

    path: str
    old: str | None
    new: str | None

    @property
    def size(self) -> int:
        """Characters on both sides."""
        return len(self.old or "") + len(self.new or "")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff. A gap stands for lines that are the same; a note says what the diff leaves out."""

    kind: Literal["same", "added", "removed", "gap", "note"]
    old_number: int
    new_number: int
    text: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What a diff shows, and how many lines were put in and taken away."""

    lines: tuple[DiffLine, ...]
    added: int
    removed: int


def _split(text: str | None) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines both begin and end with."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    head, tail = _common(old, new)
    old_end, new_end = len(old) - tail, len(new) - tail
    middle_old, middle_new = old[head:old_end], new[head:new_end]
    codes: list[tuple[str, int, int, int, int]] = []
    if head:
        codes.append(("equal", 0, head, 0, head))
    if middle_old and middle_new and len(middle_old) + len(middle_new) <= MAX_COMPARED:
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(None, middle_old, middle_new)
        codes += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in matcher.get_opcodes()]
    elif middle_old or middle_new:
        codes.append(("replace", head, old_end, head, new_end))
    if tail:
        codes.append(("equal", old_end, len(old), new_end, len(new)))
    return codes


@lru_cache(maxsize=64)
def changes(diff: FileDiff) -> Changes:
    """The lines of the diff. Slow for large texts (up to some tenths of a second): call it off the frame."""
    old, new = _split(safe(diff.old or "", tab=TAB)), _split(safe(diff.new or "", tab=TAB))
    lines: list[DiffLine] = []
    added = removed = 0
    codes = _opcodes(old, new)
    for index, (tag, a, b, c, d) in enumerate(codes):
        if tag == "equal":
            size = b - a
            before = CONTEXT if index else 0
            after = CONTEXT if index < len(codes) - 1 else 0
            if size <= before + after:
                lines += [DiffLine("same", a + at + 1, c + at + 1, old[a + at]) for at in range(size)]
                continue
            lines += [DiffLine("same", a + at + 1, c + at + 1, old[a + at]) for at in range(before)]
            if index or after:
                lines.append(DiffLine("gap", 0, 0, ""))
            lines += [
                DiffLine("same", a + at + 1, c + at + 1, old[a + at]) for at in range(size - after, size)
            ]
            continue
        removed += b - a
        added += d - c
        lines += [DiffLine("removed", at + 1, 0, old[at]) for at in range(a, b)]
        lines += [DiffLine("added", 0, at + 1, new[at]) for at in range(c, d)]
    if len(lines) > MAX_SHOWN:
        left_out = len(lines) - MAX_SHOWN
        lines = lines[:MAX_SHOWN]
        lines.append(DiffLine("note", 0, 0, f"{left_out:,} more lines of this diff are not shown"))
    while lines and lines[0].kind == "gap":
        lines.pop(0)
    while lines and lines[-1].kind == "gap":
        lines.pop()
    return Changes(tuple(lines), added, removed)


def counts(diffs: Sequence[FileDiff], look: Look) -> str:
    """`+3 −1`, for the line of a folded card."""
    found = [changes(diff) for diff in diffs]
    files = f"{len(found)} files " if len(found) > 1 else ""
    return f"{files}+{sum(one.added for one in found)} {look.glyphs.minus}{sum(one.removed for one in found)}"


def diff_rows(diff: FileDiff, width: int, look: Look) -> list[Row]:
    """The diff under the name of its file."""
    found = changes(diff)
    made = "new file" if diff.old is None else "deleted" if diff.new is None else ""
    title: Row = [
        Segment(
            cut(safe_line(diff.path), max(8, width - 24), where="middle", ellipsis=look.glyphs.ellipsis),
            look.accent,
        ),
        Segment(f"  +{found.added}", look.added),
        Segment(f" {look.glyphs.minus}{found.removed}", look.removed),
    ]
    if made:
        title.append(Segment(f"  {made}", look.muted))
    rows = [title]
    digits = len(str(max((max(line.old_number, line.new_number) for line in found.lines), default=1)))
    styles = {"same": look.text, "added": look.added, "removed": look.removed}
    signs = {"same": " ", "added": "+", "removed": "-"}
    room = max(8, width - 2 * digits - 4)
    for line in found.lines:
        if line.kind == "gap":
            rows.append([Segment(f"{look.glyphs.rule * 2 * digits} {look.glyphs.ellipsis}", look.bar)])
            continue
        if line.kind == "note":
            rows.append([Segment(f"{look.glyphs.ellipsis} {line.text}", look.muted)])
            continue
        style = styles[line.kind]
        text = line.text if len(line.text) <= MAX_LINE else line.text[:MAX_LINE] + look.glyphs.ellipsis
        numbers = " ".join(str(n or "").rjust(digits) for n in (line.old_number, line.new_number))
        for index, piece in enumerate(fold_runs([Segment(text, style)], room)):
            first = Segment(f"{numbers} " if not index else " " * (2 * digits + 2), look.bar)
            sign = Segment(f"{signs[line.kind] if not index else ' '} ", style)
            rows.append([first, sign, *piece])
    if not found.lines:
        rows.append([Segment("no line differs", look.muted)])
    return rows
