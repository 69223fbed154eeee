"""The blocks of a transcript: what a person said, what the agent said and thought, notices, answered
questions.

A block is a frozen value made from plain strings and numbers, which may hold anything: it makes its own text
safe. It draws itself as rows at a width and a look, folded or expanded, and knows nothing of the screen. Tool
cards are in `felan_tui.transcript.tools`, the message that is still coming in `felan_tui.transcript.live`.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from rich.segment import Segment
from rich.style import Style

from felan_tui.text.cells import cell_len, cut, pad
from felan_tui.text.safe import original, safe, safe_line
from felan_tui.text.spans import span
from felan_tui.transcript.look import Look, State
from felan_tui.transcript.markdown import markdown_rows
from felan_tui.transcript.rows import CARD, PROSE, Row, cut_row, indent, wrap_text

HEAVY = 16_000
"""Characters from which a Markdown text is drawn in a thread, behind a draft of plain text."""

_BOLD = Style(bold=True)
_ITALIC = Style(italic=True)


@runtime_checkable
class Block(Protocol):
    """What a transcript shows between two empty rows (`BaseBlock` has the usual answers)."""

    @property
    def key(self) -> str:
        """Names the block in its transcript; a block put with the same key takes its place."""
        ...

    @property
    def folds(self) -> bool:
        """Whether expanding or folding it changes anything."""
        ...

    def compact(self, expanded: bool) -> bool:
        """Whether it is a single line, which stands next to another without an empty row."""
        ...

    def heavy(self, expanded: bool) -> bool:
        """Whether `rows` takes more than a few milliseconds, so that it is called in a thread and `draft`
        shown.
        """
        ...

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        """Draws it; pure, so that it may run in a thread."""
        ...

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        """What to show until heavy rows are there; quick."""
        ...

    def estimate(self, width: int, *, expanded: bool) -> int:
        """About how many rows it has; quick, and right for most."""
        ...

    def plain_text(self) -> str:
        """Its text to copy: as it came, tabs and all, without decoration and control characters
        (`felan_tui.text.safe.original`).
        """
        ...


def text_height(text: str, width: int) -> int:
    """About how many rows a text wraps to."""
    return text.count("\n") + 1 + len(text) // max(8, width)


MAX_DETAILS = 20_000
"""Characters of a notice's or an outcome's text and of its details that are shown."""


def capped(text: str, limit: int = MAX_DETAILS) -> str:
    """A safe text, cut with a word about it when it is too long to show."""
    if len(text) <= limit:
        return safe(text, tab=0).strip("\n")
    return f"{safe(text[:limit], tab=0)}\n… {len(text) - limit:,} more characters"


class BaseBlock:
    """A block that does not fold and is quick to draw."""

    __slots__ = ()

    @property
    def folds(self) -> bool:
        return False

    def compact(self, expanded: bool) -> bool:
        return False

    def heavy(self, expanded: bool) -> bool:
        return False

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        raise TypeError(f"{type(self).__name__} does not draw itself")

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        return self.rows(width, look, expanded=expanded)


BAR = 2
"""Cells of the bar before a person's words."""

MAX_SAID = 24
"""Lines of a person's message that are shown before it folds."""


@dataclass(frozen=True, slots=True)
class UserBlock(BaseBlock):
    """What a person sent, as written, behind a bar. `label` says who, unless it was `you`; `note` how
    (`steering`).
    """

    key: str
    text: str
    label: str = "you"
    note: str = ""

    @property
    def folds(self) -> bool:
        return self.text.count("\n") >= MAX_SAID or len(self.text) > MAX_SAID * 200

    def heavy(self, expanded: bool) -> bool:
        return expanded and len(self.text) > 10 * HEAVY

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        return self.rows(width, look, expanded=False)

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        text = safe(self.text, tab=0).strip("\n")
        left_out = 0
        if self.folds and not expanded:
            lines = text.split("\n")
            shown = "\n".join(lines[: MAX_SAID - 4])[: MAX_SAID * 200]
            left_out = len(text) - len(shown)
            text = shown
        room = max(8, min(width, PROSE) - BAR)
        ellipsis = look.glyphs.ellipsis
        rows = wrap_text(text, look.text, room)
        if self.label != "you":
            rows.insert(0, [Segment(cut(safe_line(self.label), room, ellipsis=ellipsis), look.muted)])
        if self.note:
            rows.append([Segment(cut(safe_line(self.note), room, ellipsis=ellipsis), look.muted)])
        if self.folds:
            sign = look.glyphs.unfolded if expanded else look.glyphs.folded
            rows.append(
                [Segment(f"{sign} {f'{left_out:,} more characters' if left_out else 'all'}", look.muted)]
            )
        bar = [Segment(pad(look.glyphs.cursor, BAR), look.user)]
        return indent(rows, bar, bar)

    def estimate(self, width: int, *, expanded: bool) -> int:
        height = text_height(self.text, width - BAR)
        return height if expanded or not self.folds else min(height, MAX_SAID)

    def plain_text(self) -> str:
        return original(self.text)


@dataclass(frozen=True, slots=True)
class MarkdownBlock(BaseBlock):
    """A finished message of the agent. `incomplete` says that it was cut off before its end."""

    key: str
    text: str
    incomplete: bool = False

    def heavy(self, expanded: bool) -> bool:
        return len(self.text) > HEAVY

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        return self._ended(markdown_rows(self.text, width, look), look)

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        return self._ended(wrap_text(safe(self.text, tab=0).strip("\n"), look.text, min(width, PROSE)), look)

    def _ended(self, rows: list[Row], look: Look) -> list[Row]:
        if self.incomplete:
            glyph, style = look.of("interrupted")
            rows.append([Segment(f"{glyph} not complete", style)])
        return rows

    def estimate(self, width: int, *, expanded: bool) -> int:
        return text_height(self.text, width)

    def plain_text(self) -> str:
        return original(self.text)


@dataclass(frozen=True, slots=True)
class ThinkingBlock(BaseBlock):
    """What the agent thought, folded to a line: `▸ thought 4 s`. Nothing of it is drawn while it is
    folded.
    """

    key: str
    text: str
    seconds: float | None = None
    running: bool = False

    @property
    def folds(self) -> bool:
        return bool(self.text.strip())

    def compact(self, expanded: bool) -> bool:
        return not expanded or not self.folds

    def heavy(self, expanded: bool) -> bool:
        return expanded and len(self.text) > 10 * HEAVY

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        open_ = expanded and self.folds
        head = thinking_row(self.seconds, self.running, open_, look, width)
        if not open_:
            return [head]
        bar = [Segment(look.glyphs.bar + " ", look.bar)]
        body = wrap_text(
            safe(self.text, tab=0).strip("\n"), look.muted + _ITALIC, max(8, min(width, PROSE) - 2)
        )
        return [head, *indent(body, bar, bar)]

    def draft(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        return [thinking_row(self.seconds, self.running, True, look, width)]

    def estimate(self, width: int, *, expanded: bool) -> int:
        return 1 + text_height(self.text, width - 2) if expanded else 1

    def plain_text(self) -> str:
        return original(self.text)


def thinking_row(seconds: float | None, running: bool, expanded: bool, look: Look, width: int) -> Row:
    """The line of folded thinking."""
    sign = look.glyphs.unfolded if expanded else look.glyphs.folded
    word = "thinking" if running else "thought"
    time = f" {span(seconds)}" if seconds is not None and seconds >= 1 else ""
    return cut_row(
        [Segment(f"{sign} {word}{time}", look.running if running else look.muted)],
        width,
        look.glyphs.ellipsis,
    )


Tone = Literal["info", "success", "warning", "error"]
_TONES: dict[str, State] = {
    "info": "info",
    "success": "completed",
    "warning": "interrupted",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class NoticeBlock(BaseBlock):
    """A card that says what happened and what to do; an error card with tone `error`. `details` are
    folded.
    """

    key: str
    tone: Tone
    title: str
    text: str = ""
    details: str = ""

    @property
    def folds(self) -> bool:
        return bool(self.details.strip())

    def compact(self, expanded: bool) -> bool:
        return not self.text and not self.details

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        glyph, style = look.of(_TONES[self.tone])
        width = min(width, CARD)
        room = max(8, min(width, PROSE) - 2)
        title = f"{glyph} {safe_line(self.title[:MAX_DETAILS])}"
        if self.compact(expanded):
            return [cut_row([Segment(title, style)], width, look.glyphs.ellipsis)]
        rows = wrap_text(title, style + _BOLD, room)
        if self.text:
            rows += wrap_text(capped(self.text), look.text, room)
        if self.folds:
            sign = look.glyphs.unfolded if expanded else look.glyphs.folded
            rows.append([Segment(f"{sign} details", look.muted)])
            if expanded:
                rows += wrap_text(capped(self.details), look.muted, room)
        edge = [Segment(look.glyphs.bar, style), Segment(" ", look.bar)]
        return indent(rows, edge, edge)

    def estimate(self, width: int, *, expanded: bool) -> int:
        height = 1 + (text_height(self.text, width - 2) if self.text else 0) + self.folds
        return height + (text_height(self.details, width - 2) if expanded and self.folds else 0)

    def plain_text(self) -> str:
        return original("\n".join(part for part in (self.title, self.text, self.details) if part))


@dataclass(frozen=True, slots=True)
class OutcomeBlock(BaseBlock):
    """A line about something that is over: an answered question, a cancelled one, a follow-up that was
    dropped.

    `OutcomeBlock(key, "completed", "approved by you: git push")` draws `✓ approved by you: git push`;
    `hint` says what a key does about it (`r asks again`); `details` (the whole command, the answers) show
    when it is expanded.
    """

    key: str
    state: State
    text: str
    hint: str = ""
    details: str = ""

    @property
    def folds(self) -> bool:
        return bool(self.details.strip())

    def compact(self, expanded: bool) -> bool:
        return not (expanded and self.folds)

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        glyph, style = look.of(self.state)
        width = min(width, CARD)
        head: Row = [Segment(f"{glyph} ", style), Segment(safe_line(self.text[:MAX_DETAILS]), look.text)]
        if self.hint:
            hint = f" {look.glyphs.dash} {safe_line(self.hint)}"
            room = width - cell_len(hint)
            if room >= 16:
                head = [*cut_row(head, room, look.glyphs.ellipsis), Segment(hint, look.muted)]
        head = cut_row(head, width, look.glyphs.ellipsis)
        if not (expanded and self.folds):
            return [head]
        bar = [Segment(look.glyphs.bar + " ", look.bar)]
        return [
            head,
            *indent(wrap_text(capped(self.details), look.muted, max(8, width - 2)), bar, bar),
        ]

    def estimate(self, width: int, *, expanded: bool) -> int:
        return 1 + text_height(self.details, width - 2) if expanded and self.folds else 1

    def plain_text(self) -> str:
        return original("\n".join(part for part in (self.text, self.details) if part))
