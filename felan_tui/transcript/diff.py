"""The change of a file as numbered, coloured rows (the comparison is `felan_tui.text.diff`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import cut
from felan_tui.text.diff import Diff, DiffLine, compare
from felan_tui.text.safe import safe_line
from felan_tui.transcript.look import UNICODE, Look
from felan_tui.transcript.rows import Row, fold_runs

MAX_SHOWN = 600
"""Lines of a diff that are drawn."""


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

    @property
    def diff(self) -> Diff:
        """The comparison; slow for large texts (see there)."""
        return compare(self.old, self.new)


def counts(diffs: Sequence[FileDiff], look: Look) -> str:
    """`+3 −1`, for the line of a folded card."""
    files = f"{len(diffs)} files " if len(diffs) > 1 else ""
    return files + added_removed(diffs, look)


def added_removed(diffs: Sequence[FileDiff], look: Look) -> str:
    """`+3 −1` of all files together."""
    found = [one.diff for one in diffs]
    return f"+{sum(one.added for one in found)} {look.glyphs.minus}{sum(one.removed for one in found)}"


def diff_text(file: FileDiff) -> str:
    """The diff as plain text, for a copy."""
    signs = {"added": "+", "removed": "-", "same": " ", "gap": "@@ ", "note": "\\ "}
    lines = [f"--- {safe_line(file.path)}", *(f"\\ {note}" for note in file.diff.notes)]
    return "\n".join([*lines, *(signs[line.kind] + line.text for line in file.diff.lines(edges=False))])


def diff_rows(file: FileDiff, width: int, look: Look) -> list[Row]:
    """The diff under the name of its file."""
    found = file.diff
    made = "new file" if file.old is None else "deleted" if file.new is None else ""
    title: Row = [
        Segment(
            cut(safe_line(file.path), max(8, width - 24), where="middle", ellipsis=look.glyphs.ellipsis),
            look.accent,
        ),
        Segment(f"  +{found.added}", look.added),
        Segment(f" {look.glyphs.minus}{found.removed}", look.removed),
    ]
    if made:
        title.append(Segment(f"  {made}", look.muted))
    rows = [title]
    for note in found.notes:
        rows += fold_runs([Segment(_drawn(note, look), look.warn)], width)
    lines = list(islice(found.lines(edges=False), MAX_SHOWN + 1))
    digits = len(str(max((max(line.old_number, line.new_number) for line in lines), default=1)))
    for line in lines[:MAX_SHOWN]:
        rows += _line_rows(line, digits, width, look)
    if len(lines) > MAX_SHOWN:
        rows.append([Segment(f"{look.glyphs.ellipsis} more lines of this diff are not shown", look.muted)])
    elif not lines and not found.notes:
        rows.append([Segment("nothing differs", look.muted)])
    return rows


def _drawn(words: str, look: Look) -> str:
    """Our own words and signs in the glyphs of the look."""
    return words if look.glyphs is UNICODE else words.translate(_ASCII_SIGNS)


_ASCII_SIGNS = str.maketrans({"→": ">", "·": ".", "␍": "r", "␊": "n", "…": "~"})


def _line_rows(line: DiffLine, digits: int, width: int, look: Look) -> list[Row]:
    if line.kind == "gap":
        return [[Segment(f"{look.glyphs.ellipsis} {line.text}", look.muted)]]
    numbers = " ".join(str(n or "").rjust(digits) for n in (line.old_number, line.new_number))
    if line.kind == "note":
        return fold_runs([Segment(f"{numbers} \\ {_drawn(line.text, look)}", look.muted)], width)
    style, sign = {"same": (look.text, " "), "added": (look.added, "+"), "removed": (look.removed, "-")}[
        line.kind
    ]
    rows: list[Row] = []
    for index, piece in enumerate(fold_runs(_runs(line, style, look), max(8, width - 2 * digits - 4))):
        first = Segment(f"{numbers} " if not index else " " * (2 * digits + 2), look.bar)
        rows.append([first, Segment(f"{sign if not index else ' '} ", style), *piece])
    return rows


def _runs(line: DiffLine, style: Style, look: Look) -> list[Segment]:
    """The text of a line, with the signs of white space in the look's quiet style."""
    runs: list[Segment] = []
    at = 0
    for start, end in line.signs:
        runs += [Segment(line.text[at:start], style), Segment(_drawn(line.text[start:end], look), look.muted)]
        at = end
    return [run for run in (*runs, Segment(line.text[at:], style)) if run.text] or [Segment("", style)]
