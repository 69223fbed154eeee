"""The offers of a first start, each with one key; nothing runs before one is pressed.

`StartCard` is the widget, `StartScreen` a screen with nothing else on it. Both tell the app by messages that
bubble: `StartCard.Chosen` and `StartCard.Continue`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen

from felan_tui.preferences import AgentKind
from felan_tui.text.fields import SafeInput
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span
from felan_tui.text.widgets import Line, Piece


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


ASKS = (
    "Felan shows what an agent asks. Some agents act without asking, by their mode; the header then says so."
)

FIRST = "Which agent shall work here? Nothing runs before you press a key."
OVER = "Which agent shall work here? It gets a new session; this one is closed and kept. Esc returns to it."

Offer = Literal["rehearsal", "acp", "continue"]


@dataclass(frozen=True)
class LastSession:
    """The session that can be continued: its name or first words, and how old it is, in words ("2 h ago")."""

    title: str
    age: str


class OfferLine(Line):
    """One offer. A click is as good as its key."""

    DEFAULT_CSS = """
    OfferLine { width: 1fr; height: auto; padding: 0 1; }
    OfferLine.-marked { background: $panel; }
    """

    class Clicked(Message):
        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer: Offer = offer

    def __init__(self, offer: Offer, key: str, title: str, about: str) -> None:
        self.offer: Offer = offer
        self._head: tuple[Piece, ...] = ((f"{key}  ", "bold $text-accent"), (title, "bold"))
        # A title of a session may have many lines; an offer has two.
        self._about = f"\n   {safe_line(about)}"
        super().__init__(*self._head, self._about, id=f"offer-{offer}")

    def mark(self, marked: bool) -> None:
        """Whether Enter would take this one; told by a sign too, not by colour alone."""
        self.set_class(marked, "-marked")
        self.show(*self._head, *(((" ← Enter", "$text-muted"),) if marked else ()), self._about)

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked(self.offer))


def _continue(last: LastSession) -> OfferLine:
    about = f"{last.title} · {last.age}" if last.age else last.title
    return OfferLine("continue", "c", "Continue the last session", about)


class StartCard(Vertical, can_focus=True):
    """The offers. `last` adds "continue"; `command` is what the command field starts with.

    `problem` is said on the card (a preferences file that cannot be read, an agent that did not start).
    """

    DEFAULT_CSS = """
    StartCard {
        width: 100%; max-width: 72; height: auto; padding: 0 1;
        border: round $border-blurred; border-title-color: $text;
        &:focus, &:focus-within { border: round $accent; }
        & .start--lead { width: 1fr; padding: 0 1; }
        & .start--note { width: 1fr; padding: 0 1; color: $text-muted; }
        & .start--problem { width: 1fr; padding: 0 1; color: $text-error; display: none; }
        & .start--problem.-said { display: block; }
        & SafeInput { display: none; margin: 0 0 0 4; height: 1; border: none; background: $panel; }
        & SafeInput.-open { display: block; }
    }
    """
    BINDING_GROUP_TITLE = "Start"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "choose('rehearsal')", "Rehearsal", id="felan.start.rehearsal"),
        Binding("2", "choose('acp')", "Agent command", id="felan.start.agent"),
        Binding("c", "choose('continue')", "Continue", id="felan.start.continue"),
        Binding("enter", "take", "Take it", id="felan.start.take"),
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
            OfferLine("rehearsal", "1", "Rehearsal", "built in and scripted: no network, no key, real files"),
            OfferLine("acp", "2", "An agent command", "any agent that speaks ACP on its standard streams"),
        ]
        if last is not None:
            self._offers.append(_continue(last))
        self._command = command
        self._problem = Line(problem, classes="start--problem")
        self._problem.set_class(bool(problem), "-said")
        self._marked = 0
        self._done = False
        self.border_title = "felan"

    def compose(self) -> ComposeResult:
        self._field = SafeInput(self._command, placeholder="opencode acp", compact=True)
        yield Line(OVER if self._over else FIRST, classes="start--lead")
        yield Line(ASKS, classes="start--note")
        yield self._problem
        for offer in self._offers:
            yield offer
            if offer.offer == "acp":
                yield self._field
        yield Line(
            'Enter takes the marked one. The choice is remembered; felan --agent "<command>" overrules it. '
            "Finding agents by itself comes later.",
            classes="start--note",
            id="start-remembered",
        )

    def on_mount(self) -> None:
        self._mark(0)

    async def offer_last(self, last: LastSession) -> None:
        """Offer to continue a session that was found after the card was shown."""
        if any(offer.offer == "continue" for offer in self._offers):
            return
        offer = _continue(last)
        await self.mount(offer, before=self.query_one("#start-remembered"))
        self._offers.append(offer)

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
    """The start card alone, in the middle; it scrolls where the terminal is small.

    `now` is the time in milliseconds since the epoch. `over`: a session is behind it, to which Esc returns.
    """

    DEFAULT_CSS = """
    StartScreen { align: center middle; background: $background; }
    StartScreen > VerticalScroll { height: auto; max-height: 100%; width: 100%; align: center middle; }
    """
    AUTO_FOCUS = "StartCard"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self,
        *,
        last: LastSession | None = None,
        command: str = "",
        problem: str = "",
        now: Callable[[], int] = _now_ms,
        over: bool = False,
    ) -> None:
        super().__init__()
        self._now = now
        self.over = over
        self.card = StartCard(last=last, command=command, problem=problem, over=over)

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield self.card

    def action_leave(self) -> None:
        """Return to the session behind; without one the card stays."""
        if self.over:
            self.dismiss(None)

    def offer_last(self, title: str, updated_at: int) -> None:
        """Offer to continue a session: its name, and when it last changed (milliseconds since the epoch)."""
        age = f"{span((self._now() - updated_at) / 1000)} ago"
        self.call_later(self.card.offer_last, LastSession(title, age))


__all__ = ["LastSession", "Offer", "StartCard", "StartScreen"]
