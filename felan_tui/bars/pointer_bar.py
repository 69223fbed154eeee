"""The pointer bar: the last line of the screen, always there."""

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message

from felan_tui.bars.line import FittedLine
from felan_tui.bars.pointer import Parts, PointerFacts, bar_line, pointer_facts
from felan_tui.text.widgets import Piece

if TYPE_CHECKING:
    from felan_core.protocol.elements import StatusElement, Tone, ViewElement


class PointerBar(FittedLine):
    """Task pointer on the left, status parts on the right. It draws anew only when something changed."""

    DEFAULT_CSS = """
    PointerBar { background: $background; color: $text; }
    """

    class Opened(Message):
        """A click: the person wants to see the pointer whole."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._facts: PointerFacts | None = None
        self._parts = Parts()

    @property
    def facts(self) -> PointerFacts | None:
        """What is shown of the pointer."""
        return self._facts

    def show_pointer(self, element: "ViewElement | None") -> None:
        """The element `felan.pointer` as it is now, or None where there is none."""
        facts = pointer_facts(element)
        if facts != self._facts:
            self._facts = facts
            self.refresh()

    def show_usage(self, element: "StatusElement | None") -> None:
        """The element `felan.usage`."""
        self._show(
            replace(
                self._parts,
                usage=element.text if element else "",
                usage_tone=element.tone if element else "muted",
            )
        )

    def show_counts(self, *, processes: int, waiting: int) -> None:
        """How many processes run and how many interactions wait."""
        self._show(replace(self._parts, processes=processes, waiting=waiting))

    def show_connection(self, words: str, tone: "Tone" = "muted") -> None:
        """The connection in a few words where it is not as it should be; "" otherwise."""
        self._show(replace(self._parts, connection=words, connection_tone=tone))

    def _show(self, parts: Parts) -> None:
        if parts != self._parts:
            self._parts = parts
            self.refresh()

    def pieces(self, cells: int) -> list[Piece]:
        return bar_line(self._facts, self._parts, cells).pieces

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Opened())


__all__ = ["PointerBar"]
