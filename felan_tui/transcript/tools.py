"""Tool cards: one line while folded, with arguments, diffs and output when expanded."""

from dataclasses import dataclass

from rich.segment import Segment

from felan_tui.text.ansi import ansi_lines, plain_text
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import original, safe, safe_line
from felan_tui.text.spans import span
from felan_tui.transcript.blocks import BaseBlock, text_height
from felan_tui.transcript.diff import FileDiff, counts, diff_rows, diff_text
from felan_tui.transcript.look import Look, State
from felan_tui.transcript.rows import CARD, Row, cut_row, fold_runs, indent, row_cells, wrap_text

HEAD_LINES = 100
TAIL_LINES = 400
"""Lines of an output that a card shows: the first and, since errors come last, more of the last."""

MAX_OUTPUT_LINE = 4_000
"""Characters of an output's line that a card shows."""

MAX_ARGUMENTS = 8_000
"""Characters of arguments that a card shows."""

QUICK_DIFF = 16_000
"""Characters of a diff that may be compared while a frame is drawn."""


@dataclass(frozen=True, slots=True)
class ToolBlock(BaseBlock):
    """A tool call, one quiet row until it is expanded: `✓ edit  tests/x.py            +3 −1`.

    `word` names the state on the line ("rejected", "not run"), in place of the state's own name.
    `title` says what it does (a path, a command), `name` which tool it is, `category` which kind (`read`,
    `edit`, `execute`, …; shown when there is no name). `seconds` is how long it ran or has been running.
    `arguments` are text as it is to be shown (JSON laid out, say), `output` may hold colours, `diffs` are
    compared when shown.
    """

    key: str
    title: str
    name: str = ""
    category: str = ""
    state: State = "running"
    seconds: float | None = None
    output: str = ""
    diffs: tuple[FileDiff, ...] = ()
    arguments: str = ""
    word: str = ""

    @property
    def folds(self) -> bool:
        return bool(self.output or self.diffs or self.arguments)

    def compact(self, expanded: bool) -> bool:
        return not (expanded and self.folds)

    def heavy(self, expanded: bool) -> bool:
        return expanded and sum(diff.size for diff in self.diffs) > QUICK_DIFF

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        head = self._head(width, look)
        if not (expanded and self.folds):
            return [head]
        return [head, *self._framed(self._body(max(8, width - 2), look), look)]

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        waiting: list[Row] = [[Segment("comparing …", look.muted)]]
        return [self._head(width, look), *self._framed(waiting, look)]

    @staticmethod
    def _framed(rows: list[Row], look: Look) -> list[Row]:
        bar = [Segment(look.glyphs.bar + " ", look.bar)]
        return indent(rows, bar, bar)

    def _head(self, width: int, look: Look) -> Row:
        glyph, style = look.of(self.state)
        ellipsis = look.glyphs.ellipsis
        width = min(width, CARD)
        name = safe_line(self.name or self.category or "tool")
        row: Row = [
            Segment(f"{glyph} ", style),
            Segment(cut(name, max(4, width // 3), ellipsis=ellipsis), look.text),
        ]
        right = self._right(look)
        room = width - sum(cell_len(segment.text) for segment in (*row, *right)) - (5 if right else 2)
        title = safe_line(self.title[:MAX_ARGUMENTS])
        if title and room >= 4:
            is_path = "/" in title and " " not in title
            row.append(
                Segment(
                    "  " + cut(title, room, where="middle" if is_path else "end", ellipsis=ellipsis),
                    look.muted,
                )
            )
        if right:
            row += [Segment(" " * max(3, width - row_cells(row) - row_cells(right)), look.bar), *right]
        return cut_row(row, width, ellipsis)

    def _right(self, look: Look) -> Row:
        """What stands at the right edge: the state in a word, the time, how many lines changed."""
        _, style = look.of(self.state)
        words: list[str] = []
        if self.word or self.state != "completed":
            words.append(safe_line(self.word) or self.state)
        if self.seconds is not None and self.seconds >= 1:
            words.append(span(self.seconds))
        row: Row = []
        if self.diffs and sum(diff.size for diff in self.diffs) <= QUICK_DIFF:
            row.append(Segment(counts(self.diffs, look), look.muted))
        if words:
            row.append(
                Segment(
                    ("  " if row else "") + " ".join(words),
                    style if self.state != "completed" else look.muted,
                )
            )
        return row

    def _body(self, width: int, look: Look) -> list[Row]:
        rows: list[Row] = []
        if cell_len(safe_line(self.title[:1000])) > width // 2:
            rows += wrap_text(safe(self.title[:MAX_ARGUMENTS], tab=0), look.text, width)
        if self.arguments:
            shown = safe(self.arguments[:MAX_ARGUMENTS], tab=0)
            rows.append([Segment("arguments", look.muted)])
            rows += wrap_text(shown.strip("\n"), look.text, width)
            if len(self.arguments) > MAX_ARGUMENTS:
                rows.append(_left_out(f"{len(self.arguments) - MAX_ARGUMENTS:,} more characters", look))
        for diff in self.diffs:
            rows += diff_rows(diff, width, look)
        if self.output:
            if rows:
                rows.append([Segment("output", look.muted)])
            rows += output_rows(self.output, width, look)
        return rows

    def estimate(self, width: int, *, expanded: bool) -> int:
        if not (expanded and self.folds):
            return 1
        height = 1 + min(text_height(self.output, width), HEAD_LINES + TAIL_LINES)
        height += text_height(self.arguments[:MAX_ARGUMENTS], width) if self.arguments else 0
        return height + sum(20 for _ in self.diffs)

    def plain_text(self) -> str:
        parts = [safe_line(f"{self.name or self.category} {self.title}")]
        parts += [original(self.arguments)] if self.arguments else []
        parts += [diff_text(diff) for diff in self.diffs]
        parts += [output_text(self.output)] if self.output else []
        return "\n".join(parts)


def _left_out(text: str, look: Look) -> Row:
    return [Segment(f"{look.glyphs.ellipsis} {text}", look.muted)]


def output_text(output: str) -> str:
    """An output to copy: as it came, or, where it moves back in its line, as it is drawn."""
    if "\b" in output or "\r" in output.replace("\r\n", "\n"):
        return plain_text(ansi_lines(output))
    return original(output)


def output_rows(output: str, width: int, look: Look) -> list[Row]:
    """An output with its colours, cut hard at the width; of a long one its first and last lines."""
    lines = output.rstrip("\n").split("\n")
    left_out = len(lines) - HEAD_LINES - TAIL_LINES
    parts = [lines] if left_out <= 0 else [lines[:HEAD_LINES], lines[-TAIL_LINES:]]
    rows: list[Row] = []
    for index, part in enumerate(parts):
        if index:
            rows.append(_left_out(f"{left_out:,} lines are not shown here", look))
        text = "\n".join(
            line if len(line) <= MAX_OUTPUT_LINE else line[:MAX_OUTPUT_LINE] + look.glyphs.ellipsis
            for line in part
        )
        for line in ansi_lines(text):
            styled = [Segment(piece, look.text + style if style else look.text) for piece, style, _ in line]
            rows += fold_runs(styled, width) if styled else [[]]
    return rows
