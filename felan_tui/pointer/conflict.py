"""A publish that came too late: both texts, and the choice between them. Nothing happens by itself."""

import time
from collections.abc import Callable
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.message import Message

from felan_tui.cards.guard import Guard
from felan_tui.pointer.controller import Draft
from felan_tui.pointer.facts import Pointer, age
from felan_tui.text.widgets import Line, SafeButton, set_titles

Choice = Literal["mine", "theirs", "merge"]


class PointerConflict(Vertical):
    """Yours and theirs, beside each other where there is room. A key of the first half second does nothing,
    since it may have been meant for the editor.
    """

    DEFAULT_CSS = """
    PointerConflict { height: 1fr; }
    PointerConflict #both { height: 1fr; layout: vertical; }
    PointerConflict VerticalScroll {
        height: 1fr; width: 1fr; min-height: 2; padding: 0 1; scrollbar-size-vertical: 1;
        border-top: solid $panel; border-title-color: $text-accent;
    }
    PointerConflict VerticalScroll:focus { border-top: solid $accent; }
    PointerConflict VerticalScroll Line { width: 1fr; }
    PointerConflict #means { width: 1fr; padding: 0 1; color: $text-muted; }
    PointerConflict Horizontal { height: 1; }
    PointerConflict SafeButton { margin-right: 1; min-width: 1; }
    """

    class Chosen(Message):
        """The choice."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice: Choice = choice

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._guard = Guard(clock)
        self.theirs: Pointer | None = None

    def compose(self) -> ComposeResult:
        with Container(id="both"):
            with VerticalScroll(id="mine-pane"):
                yield Line(id="mine-text")
            with VerticalScroll(id="theirs-pane"):
                yield Line(id="theirs-text")
        yield Line(id="means")
        with Horizontal():
            yield SafeButton("1 Keep mine", "warning", compact=True, id="mine")
            yield SafeButton("2 Take theirs", compact=True, id="theirs")
            yield SafeButton("3 Merge", "primary", compact=True, id="merge")

    def show(self, draft: Draft, theirs: Pointer, now: int) -> None:
        """Both texts. Another one of theirs closes the choice again for half a second."""
        self.theirs = theirs
        self._guard.appeared()
        sign, _ = theirs.sign
        mine_pane, theirs_pane = self.query_one("#mine-pane"), self.query_one("#theirs-pane")
        set_titles(mine_pane, f"Yours, begun from {draft.base.name}")
        set_titles(theirs_pane, f"Theirs: {sign} {theirs.name} · {age(theirs.updated_at, now)}".rstrip(" ·"))
        self.query_one("#mine-text", Line).show(draft.text, layout=True)
        said = self.query_one("#theirs-text", Line)
        if theirs.text:
            said.show(theirs.text, layout=True)
        else:
            said.show(
                ("There is no text: the pointer was cleared or is not there.", "$text-muted"), layout=True
            )
        same = theirs.text == draft.base.text and bool(theirs.text)
        self.query_one("#means", Line).show(
            ("Their text is the one that you began from. " if same else ""),
            f"1 publishes yours as r{theirs.revision + 1}, over theirs; 2 sets yours aside; ",
            "3 puts both into the editor. Either stays readable in the history.",
            layout=True,
        )
        self.query_one("#merge", SafeButton).disabled = not theirs.text

    def choose(self, choice: Choice) -> None:
        """A key or a button; one that comes too early does nothing."""
        if not self._guard.key() or (choice == "merge" and not (self.theirs and self.theirs.text)):
            return
        self.post_message(self.Chosen(choice))

    def on_button_pressed(self, event: SafeButton.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "mine" | "theirs" | "merge":
                self.choose(event.button.id)
            case _:
                pass
