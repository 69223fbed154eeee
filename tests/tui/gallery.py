"""Shows each card and element alone, with sample data: `python -m tests.tui.gallery NAME`, or `--list`.

For the builder of a widget, and for tests: `Gallery(name)` is the app, `SAMPLES` are the samples by name.
"""

import sys
from typing import Any

from textual.app import App, ComposeResult
from textual.content import Content
from textual.message import Message

from felan_core.protocol.elements import Element
from felan_core.protocol.interactions import Interaction
from felan_tui.cards.card import CardContext
from felan_tui.cards.lines import Lines
from felan_tui.cards.messages import Answered, AskAgain, Left, OpenSubject
from felan_tui.cards.stack import CardStack
from felan_tui.cards.whole import WholeSubject
from felan_tui.elements.area import ElementArea
from felan_tui.elements.messages import ActionChosen
from felan_tui.text.output import print_out
from felan_tui.text.safe import safe_line
from tests.tui.gallery_samples import ELEMENTS, INTERACTIONS

SAMPLES = [*INTERACTIONS, *ELEMENTS]


class Gallery(App[None]):
    """One sample on an otherwise empty screen; what it tells stands on the last row."""

    CSS = """
    Screen { layout: vertical; }
    #told { dock: bottom; height: 1; color: $text-muted; }
    """
    AUTO_FOCUS = None
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("f2", "go", "Go to the card"), ("ctrl+c", "quit", "Quit")]

    def __init__(self, name: str, *, around: CardContext | None = None) -> None:
        super().__init__()
        if name not in SAMPLES:
            raise ValueError(name)
        self.sample = name
        self.told: list[Message] = []
        self.stack = CardStack(around=around or CardContext(me="me", agent=lambda: "opencode"))
        self.above = ElementArea("above", "transcript", clock=self.stack.around.clock)
        self.side = ElementArea("side", clock=self.stack.around.clock)
        self._said = Lines(id="told", one_row=True)

    @property
    def interactions(self) -> list[Interaction]:
        """The interactions of the sample."""
        return INTERACTIONS.get(self.sample, [])

    @property
    def elements(self) -> list[Element]:
        """The elements of the sample."""
        return ELEMENTS.get(self.sample, [])

    def compose(self) -> ComposeResult:
        yield self.side
        yield self.above
        yield self.stack
        yield self._said

    async def on_mount(self) -> None:
        await self.show_sample()

    async def show_sample(self) -> None:
        """Show what `sample` names."""
        self.stack.show(self.interactions)
        await self.above.show(self.elements)
        await self.side.show(self.elements)

    def action_go(self) -> None:
        self.stack.focus_current()

    def tell(self, message: Message, said: str) -> None:
        """Keep what a widget told, and show it."""
        self.told.append(message)
        self._said.show([Content(safe_line(said))])

    def on_answered(self, event: Answered) -> None:
        self.tell(event, f"answered {event.interaction_id}: {event.answer}")

    def on_left(self, event: Left) -> None:
        self.screen.set_focus(None)
        self.tell(event, f"left {event.interaction_id}")

    def on_ask_again(self, event: AskAgain) -> None:
        self.tell(event, f"ask again {event.interaction.id}")

    def on_open_subject(self, event: OpenSubject) -> None:
        self.tell(event, f"open {event.interaction.id}")
        self.push_screen(WholeSubject(event.interaction, agent=event.agent))

    def on_action_chosen(self, event: ActionChosen) -> None:
        said: dict[str, Any] = event.values or {}
        self.tell(event, f"action {event.action_id} of {event.element_id} at {event.revision}: {said}")


def main(arguments: list[str]) -> int:
    """Run the gallery. 0 after it was looked at, 2 when the name is none of its."""
    if arguments == ["--list"]:
        print_out("\n".join(SAMPLES))
        return 0
    if len(arguments) != 1 or arguments[0] not in SAMPLES:
        print("usage: python -m tests.tui.gallery NAME | --list", file=sys.stderr)
        return 2
    Gallery(arguments[0]).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
