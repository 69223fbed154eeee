"""The offers of a start, each with one key; nothing runs before one is pressed.

`StartCard` is the widget, `StartScreen` the screen around it: first without a session, and from a session by
`/agent`. The card tells the app by messages that bubble: `StartCard.Chosen` and `StartCard.Continue`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen

from felan_tui.bars.header import HeaderLine
from felan_tui.bars.hint_rule import HintRule, KeyHint
from felan_tui.preferences import AgentKind
from felan_tui.text.cells import pad
from felan_tui.text.fields import SafeInput
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import ago
from felan_tui.text.widgets import Line, Piece


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


QUESTION = "Which agent should work here?"
OVER = "The agent gets a new session; this one is closed and kept. "
NOTES = (
    "Nothing runs before you press a key. Your choice is remembered once the agent has started; /agent "
    "changes it.\n\n"
    "Felan shows what an agent asks. Some agents act without asking, by their mode; the header then says so."
)
TITLE = 16
"""Cells of the column of titles."""
ONE_ROW = 76
"""Cells of the card from which an offer takes one row."""

Offer = Literal["rehearsal", "acp", "continue"]


@dataclass(frozen=True)
class LastSession:
    """The session that can be continued: its name or first words, and how old it is, in words ("2 h ago")."""

    title: str
    age: str


class OfferLine(Line):
    """One offer. A click is as good as its key."""

    DEFAULT_CSS = """
    OfferLine { width: 1fr; height: auto; }
    OfferLine.-marked { background: $panel; }
    """

    class Clicked(Message):
        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer: Offer = offer

    def __init__(self, offer: Offer, key: str, title: str, about: str) -> None:
        self.offer: Offer = offer
        self._key, self._title = key, title
        self._about = safe_line(about)  # a title of a session may have many lines
        self._marked = False
        super().__init__(*self._pieces(ONE_ROW), id=f"offer-{offer}")

    def mark(self, marked: bool) -> None:
        """Whether Enter would take this one; told by a sign too, not by colour alone."""
        self.set_class(marked, "-marked")
        self._marked = marked
        self._draw()

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked(self.offer))

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self.show(*self._pieces(self.size.width or ONE_ROW), layout=True)

    def _pieces(self, width: int) -> tuple[Piece, ...]:
        one_row = width >= ONE_ROW
        sign: Piece = ("▌ ", "bold $accent") if self._marked else "  "
        key: Piece = (f"{self._key}  ", "bold $text-accent")
        title = pad(self._title, TITLE) if one_row else self._title
        about = f"  {self._about}" if one_row else f"\n     {self._about}"
        return sign, key, (title, "bold"), (about, "$text-muted")


def _continue(last: LastSession) -> OfferLine:
    about = f"{last.title} · {last.age}" if last.age else last.title
    return OfferLine("continue", "c", "Continue", about)


class StartCard(Vertical, can_focus=True):
    """The offers. `last` adds "continue"; `command` is what the command field starts with.

    `problem` is said on the card (a preferences file that cannot be read, an agent that did not start).
    """

    DEFAULT_CSS = """
    StartCard {
        width: 100%; max-width: 104; height: auto; padding: 1 1;
        & .start--question { width: 1fr; margin: 0 2 1 2; text-style: bold; }
        & .start--note { width: 1fr; margin: 1 2 0 2; color: $text-muted; }
        & .start--problem { width: 1fr; margin: 0 2 1 2; color: $text-error; display: none; }
        & .start--problem.-said { display: block; }
        & SafeInput { display: none; margin: 0 0 0 5; height: 1; border: none; background: $panel; }
        & SafeInput.-open { display: block; }
    }
    """
    BINDING_GROUP_TITLE = "Start"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "choose('rehearsal')", "Rehearsal", id="felan.start.rehearsal"),
        Binding("2", "choose('acp')", "Another agent", id="felan.start.agent"),
        Binding("c", "choose('continue')", "Continue", id="felan.start.continue"),
        Binding("enter", "take", "Start", id="felan.start.take"),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
    ]

    class Chosen(Message):
        """An agent was chosen; `command` is set for "acp" alone."""

        def __init__(self, kind: AgentKind, command: str | None) -> None:
            super().__init__()
            self.kind: AgentKind = kind
            self.command = command

    class Continue(Message):
        """The last session is to be continued."""

    def __init__(
        self,
        *,
        last: LastSession | None = None,
        command: str = "",
        problem: str = "",
        over: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._over = over
        self._offers: list[OfferLine] = [
            OfferLine("rehearsal", "1", "Rehearsal", "built in, scripted: no network, no key, real files"),
            OfferLine("acp", "2", "Another agent", "a command that speaks ACP on its standard streams"),
        ]
        if last is not None:
            self._offers.append(_continue(last))
        self._command = command
        self._problem = Line(problem, classes="start--problem")
        self._problem.set_class(bool(problem), "-said")
        self._marked = 0
        self._done = False

    def compose(self) -> ComposeResult:
        self._field = SafeInput(self._command, placeholder="opencode acp", compact=True)
        yield Line(QUESTION, classes="start--question")
        yield self._problem
        for offer in self._offers:
            yield offer
            if offer.offer == "acp":
                yield self._field
        yield Line(OVER + NOTES if self._over else NOTES, classes="start--note", id="start-notes")

    def on_mount(self) -> None:
        self._mark(0)

    async def offer_last(self, last: LastSession) -> None:
        """Offer to continue a session that was found after the card was shown."""
        if any(offer.offer == "continue" for offer in self._offers):
            return
        offer = _continue(last)
        await self.mount(offer, before=self.query_one("#start-notes"))
        self._offers.append(offer)
        offer.mark(False)

    @property
    def writing(self) -> bool:
        """Whether the command field has the focus."""
        return self._field.has_focus

    def show_problem(self, problem: str) -> None:
        """Say what went wrong with the choice, and take another one."""
        self._problem.show(problem, layout=True)
        self._problem.set_class(bool(problem), "-said")
        self._done = False

    def _mark(self, index: int) -> None:
        self._marked = index % len(self._offers)
        for number, offer in enumerate(self._offers):
            offer.mark(number == self._marked)

    def action_move(self, by: int) -> None:
        """Mark the next or the previous offer."""
        self._mark(self._marked + by)

    def action_take(self) -> None:
        """Take the marked offer."""
        self.action_choose(self._offers[self._marked].offer)

    def action_choose(self, offer: Offer) -> None:
        """Take an offer; the agent command asks for its command first."""
        index = next((i for i, line in enumerate(self._offers) if line.offer == offer), None)
        if index is None or self._done:
            return
        self._mark(index)
        if offer == "acp":
            self._field.add_class("-open")
            self._field.focus()
            return
        self._done = True
        self.post_message(self.Continue() if offer == "continue" else self.Chosen("rehearsal", None))

    @on(OfferLine.Clicked)
    def _clicked(self, event: OfferLine.Clicked) -> None:
        event.stop()
        self.action_choose(event.offer)

    @on(SafeInput.Submitted)
    def _submitted(self, event: SafeInput.Submitted) -> None:
        event.stop()
        command = event.value.strip()
        if not command:
            self.show_problem("Type the command that starts the agent, for example: opencode acp")
        elif not self._done:
            self._done = True
            self.post_message(self.Chosen("acp", command))

    async def _on_key(self, event: events.Key) -> None:
        # Esc in the command field leads back to the offers.
        if event.key == "escape" and self._field.has_focus:
            event.stop()
            self._field.remove_class("-open")
            self.focus()


class StartScreen(Screen[None]):
    """The start card below the header; it scrolls where the terminal is small.

    `folder` is named in the header. `over`: a session is behind it, to which Esc returns. `now` is the
    time in milliseconds since the epoch.
    """

    DEFAULT_CSS = """
    StartScreen { layout: vertical; background: $background; }
    StartScreen > VerticalScroll { height: 1fr; width: 100%; scrollbar-size-vertical: 1; }
    """
    AUTO_FOCUS = "StartCard"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self,
        *,
        folder: str = "",
        last: LastSession | None = None,
        command: str = "",
        problem: str = "",
        over: bool = False,
        now: Callable[[], int] = _now_ms,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._over = over
        self._now = now
        self.card = StartCard(last=last, command=command, problem=problem, over=over)

    def compose(self) -> ComposeResult:
        yield HeaderLine(folder=self._folder, words="")
        with VerticalScroll(can_focus=False):
            yield self.card
        yield HintRule(self._keys)

    def _keys(self) -> Sequence[KeyHint]:
        if self.card.writing:
            return KeyHint("Enter", "start", "enter", 1), KeyHint("Esc", "back", "escape", 1)
        keys = [KeyHint("↑↓", "choose"), KeyHint("Enter", "start", "enter", 2)]
        return [
            *keys,
            KeyHint("Esc", "back", "escape", 1) if self._over else KeyHint("Ctrl+D", "quit", "ctrl+d"),
        ]

    def on_hint_rule_pressed(self, event: HintRule.Pressed) -> None:
        self.app.simulate_key(event.key)  # pyright: ignore[reportUnknownMemberType] untyped in Textual

    def on_descendant_focus(self) -> None:
        self.query_one(HintRule).update_line()

    def action_leave(self) -> None:
        """Return to the session behind; without one the card stays."""
        if self._over:
            self.dismiss(None)

    def offer_last(self, title: str, updated_at: int) -> None:
        """Offer to continue a session: its name, and when it last changed (milliseconds since the epoch)."""
        self.call_later(self.card.offer_last, LastSession(title, ago((self._now() - updated_at) / 1000)))


__all__ = ["LastSession", "Offer", "StartCard", "StartScreen"]
