"""Draws a `Chooser` and takes its keys and clicks: options in a flowing row, or one below the other.

A label of a flowing option is never cut: it wraps, and options that do not fit into the rows scroll.
"""

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from felan_tui.cards.chooser import DIGITS, Choice, Chooser
from felan_tui.text.cells import cell_len, cut, wrap
from felan_tui.text.safe import safe_line

ROWS = 8
"""Rows of a list that does not flow."""

POINTER = "›"
BETWEEN = 2
"""Cells between two options in a row."""

_TONES = {
    "allow_once": "$text-success",
    "allow_always": "$text-success",
    "reject_once": "$text-error",
    "reject_always": "$text-error",
}


@dataclass(frozen=True)
class Spot:
    """Where a choice was drawn, or a row of it: index in `Chooser.shown`, row, and cells from `start` to
    `end`.
    """

    index: int
    row: int
    start: int
    end: int


class Choices(Widget):
    """The options of one question. It has no focus of its own: the card gives it the keys that count."""

    DEFAULT_CSS = """
    Choices { height: auto; width: 1fr; }
    """
    squeeze_steps = ((2, 3),)

    class Chosen(Message):
        """One choice was made (a list without marks)."""

        def __init__(self, choices: "Choices", choice: Choice) -> None:
            super().__init__()
            self.choices = choices
            self.choice = choice

        @property
        def control(self) -> "Choices":
            return self.choices

    class Submitted(Message):
        """Enter in a list with marks: the marks are the answer."""

        def __init__(self, choices: "Choices") -> None:
            super().__init__()
            self.choices = choices

    class Changed(Message):
        """A mark was set or removed."""

        def __init__(self, choices: "Choices") -> None:
            super().__init__()
            self.choices = choices

    def __init__(
        self,
        chooser: Chooser,
        *,
        admits_click: Callable[[], bool],
        flow: bool = False,
        rows: int = ROWS,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.chooser = chooser
        self._admits_click = admits_click
        self._flow = flow
        self._rows = rows
        self._spots: list[Spot] = []

    def make_room(self, rows: int) -> None:
        """Show at most `rows` options at a time, where they are one below the other."""
        if rows != self._rows:
            self._rows = rows
            self.refresh(layout=True)

    # --- keys and clicks ---

    def press(self, event: events.Key) -> bool:
        """Act on a key that the guard let through. False: it is none of the list's keys."""
        chooser, key = self.chooser, event.key
        match key:
            case "up" | "left" if key == "up" or self._flow:
                chooser.move(-1)
            case "down" | "right" if key == "down" or self._flow:
                chooser.move(1)
            case "pageup" | "pagedown":
                chooser.move(self._rows if key == "pagedown" else -self._rows)
            case "home":
                chooser.move_to(0)
            case "end":
                chooser.move_to(-1)
            case "enter":
                self._enter()
            case "backspace":
                if not chooser.erase():
                    return False
                self._grew()
            case "space" if chooser.several:
                if chooser.current is not None:
                    self._mark(chooser.current)
            case _:
                return self._typed(event)
        self.refresh()
        return True

    def _typed(self, event: events.Key) -> bool:
        character = event.character
        if character is None or not event.is_printable:
            return False
        if character.isdecimal() and character.isascii() and (chosen := self.chooser.digit(int(character))):
            if self.chooser.several:
                self._mark(chosen)
            else:
                self.post_message(self.Chosen(self, chosen))
            self.refresh()
            return True
        if self.chooser.type(safe_line(character)):
            self._grew()
            return True
        return False

    def _enter(self) -> None:
        if self.chooser.several:
            self.post_message(self.Submitted(self))
        elif self.chooser.current is not None:
            self.post_message(self.Chosen(self, self.chooser.current))

    def _mark(self, choice: Choice) -> None:
        self.chooser.mark(choice)
        self.refresh()
        self.post_message(self.Changed(self))

    def _grew(self) -> None:
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not self._admits_click():
            return
        for spot in self._spots:
            if spot.row == offset.y and spot.start <= offset.x < spot.end:
                event.stop()
                choice = self.chooser.shown[spot.index]
                if self.chooser.several:
                    self._mark(choice)
                else:
                    self.post_message(self.Chosen(self, choice))
                return

    # --- drawing ---

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if self._flow:
            return len(self._flow_rows(max(8, width))[0])
        return min(len(self.chooser.shown), self._rows) + self._around

    def render(self) -> Content:
        width, height = self.content_size
        width = max(8, width)
        rows = self._flow_window(width, height) if self._flow else self._list_rows(width, height)
        return Content("\n").join(rows)

    def _lead(self, index: int, choice: Choice) -> str:
        chooser = self.chooser
        digit = "" if chooser.filters or index >= DIGITS else f"{index + 1} "
        if chooser.several:
            mark = "☑ " if chooser.is_marked(choice) else "☐ "
        elif chooser.is_marked(choice):
            mark = "● "
        else:
            mark = ""
        return f"{POINTER if chooser.cursor == index else ' '}{mark}{digit}"

    @staticmethod
    def _words(choice: Choice) -> str:
        return safe_line(choice.label).strip() or safe_line(choice.id)

    def _styles(self, index: int, choice: Choice) -> tuple[str, str]:
        """Of the lead and of the label."""
        tone = _TONES.get(choice.tone, "$text-accent")
        return f"bold {tone}", "bold reverse" if self.chooser.cursor == index else ""

    def _flow_rows(self, width: int) -> tuple[list[Content], list[Spot]]:
        """The options in a row as long as they fit beside each other; a longer one has rows of its own."""
        rows: list[list[tuple[str, str]]] = [[]]
        spots: list[Spot] = []
        column = 0
        wrapped = False
        for index, choice in enumerate(self.chooser.shown):
            lead, words = self._lead(index, choice), self._words(choice)
            tone, style = self._styles(index, choice)
            size = cell_len(lead) + cell_len(words)
            if column and (column + BETWEEN + size > width or wrapped):
                rows.append([])
                column = 0
            if column:
                rows[-1].append((" " * BETWEEN, ""))
                column += BETWEEN
            pieces = wrap(words, max(4, width - cell_len(lead)))
            wrapped = len(pieces) > 1
            for number, piece in enumerate(pieces):
                if number:
                    rows.append([])
                    column = 0
                rows[-1] += [(lead if not number else " " * cell_len(lead), tone), (piece, style)]
                end = column + cell_len(lead) + cell_len(piece)
                spots.append(Spot(index, len(rows) - 1, column, end))
                column = end
        return [_assembled(row) for row in rows], spots

    def _flow_window(self, width: int, height: int) -> list[Content]:
        rows, spots = self._flow_rows(width)
        if len(rows) <= height or height < 2:
            self._spots = spots
            return rows[:height]
        # The last row counts what is out of sight; the option with the cursor is in sight, whole if it fits.
        seen = height - 1
        own = [spot.row for spot in spots if spot.index == (self.chooser.cursor or 0)]
        top = max(0, min(own[-1] - seen + 1, own[0], len(rows) - seen))
        self._spots = [
            Spot(one.index, one.row - top, one.start, one.end) for one in spots if 0 <= one.row - top < seen
        ]
        above = len({spot.index for spot in spots if spot.row < top})
        below = len({spot.index for spot in spots if spot.row >= top + seen})
        return [*rows[top : top + seen], _out_of_sight(above, below)]

    @property
    def _around(self) -> int:
        """Rows of a list beside its options: the filter above, what is out of sight below."""
        chooser = self.chooser
        more = len(chooser.shown) > self._rows or not chooser.shown
        return (1 if chooser.filters else 0) + (1 if more else 0)

    def _list_rows(self, width: int, height: int) -> list[Content]:
        chooser = self.chooser
        lines: list[Content] = []
        if chooser.filters:
            query = Content.assemble(
                ("filter: ", "$text-muted"), cut(chooser.query, max(1, width - 30)), ("▏", "$text-accent")
            )
            shown = f"  {len(chooser.shown)} of {len(chooser.choices)}"
            lines.append(query + Content.assemble((shown, "$text-muted")))
        room = max(1, height - len(lines))
        whole = len(chooser.shown) <= room
        window = chooser.window(room if whole else max(1, room - 1))
        self._spots = []
        for index in window:
            self._spots.append(Spot(index, len(lines), 0, width))
            lines.append(self._option(index, chooser.shown[index], width))
        if not chooser.shown:
            lines.append(Content.assemble(("nothing matches: Backspace widens the filter", "$text-muted")))
        elif not whole and room > 1:
            lines.append(_out_of_sight(window.start, len(chooser.shown) - window.stop))
        return lines

    def _option(self, index: int, choice: Choice, cells: int) -> Content:
        """An option of a list, in one row; its detail where there is room for it."""
        lead = self._lead(index, choice)
        tone, style = self._styles(index, choice)
        label = cut(self._words(choice), max(1, cells - cell_len(lead)))
        parts = [(lead, tone), (label, style)]
        room = cells - cell_len(lead) - cell_len(label) - 2
        if choice.detail and room >= 8:
            parts.append((f"  {cut(safe_line(choice.detail).strip(), room)}", "$text-muted"))
        return _assembled(parts)


def _assembled(parts: list[tuple[str, str]]) -> Content:
    return Content.assemble(*(part if part[1] else part[0] for part in parts))


def _out_of_sight(above: int, below: int) -> Content:
    words = [f"↑ {above} above"] * bool(above) + [f"↓ {below} below"] * bool(below)
    return Content.assemble(("  ".join(words), "$text-muted"))
