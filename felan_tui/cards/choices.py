"""Draws a `Chooser` and takes its keys and clicks: options in a flowing row, or one below the other."""

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from felan_tui.cards.chooser import DIGITS, Choice, Chooser
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line

ROWS = 8
"""Rows of a list that does not flow."""

POINTER = "›"
_TONES = {
    "allow_once": "$success",
    "allow_always": "$success",
    "reject_once": "$error",
    "reject_always": "$error",
}


@dataclass(frozen=True)
class Spot:
    """Where a choice was drawn: index in `Chooser.shown`, row, and cells from `start` to `end`."""

    index: int
    row: int
    start: int
    end: int


class Choices(Widget):
    """The options of one question. It has no focus of its own: the card gives it the keys that count."""

    DEFAULT_CSS = """
    Choices { height: auto; width: 1fr; }
    """

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
        """Enter in a list with marks: the marks stand."""

        def __init__(self, choices: "Choices") -> None:
            super().__init__()
            self.choices = choices

    class Changed(Message):
        """A mark was set or taken away."""

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
        """Show at most `rows` options at a time, where they stand one below the other."""
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
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def _label(self, index: int, choice: Choice, cells: int) -> Content:
        chooser = self.chooser
        here = chooser.cursor == index
        tone = _TONES.get(choice.tone, "$accent")
        digit = "" if chooser.filters or index >= DIGITS else f"[{index + 1}] "
        if chooser.several:
            mark = "☑ " if chooser.is_marked(choice) else "☐ "
        elif chooser.is_marked(choice):
            mark = "● "
        else:
            mark = ""
        lead = f"{POINTER if here else ' '}{mark}{digit}"
        label = cut(safe_line(choice.label).strip() or safe_line(choice.id), max(1, cells - cell_len(lead)))
        parts: list[tuple[str, str]] = [(lead, f"bold {tone}"), (label, "bold reverse" if here else "")]
        room = cells - cell_len(lead) - cell_len(label) - 2
        if choice.detail and room >= 8:
            parts.append((f"  {cut(safe_line(choice.detail).strip(), room)}", "$text-muted"))
        return Content.assemble(*(part if part[1] else part[0] for part in parts))

    def _lines(self, width: int) -> list[Content]:
        width = max(8, width)
        return self._flow_lines(width) if self._flow else self._row_lines(width)

    def _flow_lines(self, width: int) -> list[Content]:
        lines: list[list[Content]] = [[]]
        self._spots = []
        column = 0
        for index, choice in enumerate(self.chooser.shown):
            label = self._label(index, choice, width)
            if column and column + 1 + label.cell_length > width:
                lines.append([])
                column = 0
            start = column + 1 if column else 0
            column = start + label.cell_length
            self._spots.append(Spot(index, len(lines) - 1, start, column))
            lines[-1].append(label)
        return [Content(" ").join(line) for line in lines]

    def _row_lines(self, width: int) -> list[Content]:
        chooser = self.chooser
        lines: list[Content] = []
        if chooser.filters:
            query = Content.assemble(
                ("filter: ", "$text-muted"), cut(chooser.query, max(1, width - 30)), ("▏", "$accent")
            )
            shown = f"  {len(chooser.shown)} of {len(chooser.choices)}"
            lines.append(query + Content.assemble((shown, "$text-muted")))
        window = chooser.window(self._rows)
        self._spots = []
        for index in window:
            self._spots.append(Spot(index, len(lines), 0, width))
            lines.append(self._label(index, chooser.shown[index], width))
        if not chooser.shown:
            lines.append(Content.assemble(("nothing matches: Backspace widens the filter", "$text-muted")))
        elif len(window) < len(chooser.shown):
            above, below = window.start, len(chooser.shown) - window.stop
            lines.append(Content.assemble((f"↑ {above} above  ↓ {below} below", "$text-muted")))
        return lines
