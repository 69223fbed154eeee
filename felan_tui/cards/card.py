"""The base of the interaction cards: head, guard, timers, sending, folding. What is asked is a subclass's.

A card never takes the focus by itself and never talks to the host. Keys pass `admits` before anything acts on
them, here and in every field inside of the card (see `felan_tui.cards.guard`).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.interactions import Interaction, validate_interaction_answer
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.guard import Clock, Guard
from felan_tui.cards.head import Head
from felan_tui.cards.lines import Lines
from felan_tui.cards.messages import Answered, AskAgain, Dismissed, Left, OpenSubject
from felan_tui.cards.squeeze import Squeeze
from felan_tui.cards.subject import request_lines
from felan_tui.cards.terminal import watch_terminal_focus
from felan_tui.cards.wording import (
    can_ask_again,
    ended,
    header,
    is_open,
    one_line,
    state_words,
    waiting,
)
from felan_tui.compat import forwarded_key
from felan_tui.text.safe import safe_line

Draft = dict[str, Any]
"""What is typed or marked and not answered yet, as plain JSON; each kind of card has its own members."""

TOO_SOON = "too soon: press again"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class CardContext:
    """What a card needs from outside. `me` is the id of this client's principal, for "by you"."""

    me: str | None = None
    clock: Clock = field(default=time.monotonic)
    """Monotonic seconds, for the guard."""
    now: Callable[[], int] = field(default=_now_ms)
    """Milliseconds since the epoch, for how long it waits and when it expires."""
    agent: Callable[[], str] = lambda: ""
    """The name of the agent that asks; empty while none is known."""


class InteractionCard(Widget, can_focus=True):
    """One interaction as a card. `body` makes its inside; `press` takes the keys of the card itself."""

    DEFAULT_CSS = """
    InteractionCard {
        height: auto; width: 1fr; max-width: 120; padding: 0 1; border-left: heavy $warning;
        &:focus, &:focus-within { border-left: thick $accent; }
        &.-folded { border-left: none; padding: 0; }
        & > Choices { padding: 0 0 0 1; }
        & > LineEntry, & > BlockEntry { padding: 0 2 !important; }
        &.-folded:focus { background: $panel; border-left: none; }
    }
    """
    BINDING_GROUP_TITLE = "Card"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave the card waiting", id="felan.card.leave"),
        Binding("o", "open_subject", "Open the whole text", id="felan.card.open"),
        Binding("r", "ask_again", "Ask again", id="felan.card.ask_again"),
    ]

    KEYS: ClassVar[Sequence[KeyHint]] = ()
    """The keys of this kind of card, those that answer first."""
    squeeze_rank = 4
    """When the card gives rows, in a stack: what is around it gives after that."""

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: CardContext | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.styles.set_rule("layout", Squeeze())
        self.interaction = interaction
        self.around = around or CardContext()
        self.guard = Guard(self.around.clock)
        self.leave: Callable[[], None] = lambda: None
        """Gives the focus on at once, when it is in the card; set by the stack."""
        self._given_draft: Draft = draft or {}
        self._inside = False
        self._seen = False
        self._sending = False
        self._problem = ""
        self._too_soon = False
        self._timer: Timer | None = None
        self._head = Head()
        self._state = Lines(classes="card--state", one_row=True)
        self._foot = Lines(classes="card--foot")
        self._fold = Lines(one_row=True, classes="card--fold")

    # --- what a subclass says ---

    def body(self) -> Iterable[Widget]:
        """The widgets between the title and the hint."""
        return ()

    def press(self, event: events.Key) -> bool:
        """Act on a key that was let through while the card itself has the focus; False to pass it on."""
        return False

    @property
    def draft(self) -> Draft:
        """What would be lost if the card went away now; empty for nothing."""
        return {}

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys that do something now, beside Esc; the hint rule shows them."""
        return self.KEYS

    # --- what the screen says to the card ---

    def update_interaction(self, interaction: Interaction) -> None:
        """The interaction as it is now. Answered or ended anywhere: the card says how, and folds."""
        if interaction == self.interaction:
            return
        was_open = is_open(self.interaction)
        self.interaction = interaction
        if not is_open(interaction):
            self._sending = False
            self._problem = ""
        elif not was_open:
            self.guard.appeared()
        self._draw()

    def reject(self, error_text: str) -> None:
        """The host refused the answer (or to ask again), and says why. Nothing typed is lost."""
        self._sending = False
        self._problem = safe_line(error_text).strip() or "the answer was not accepted; answer again"
        self._draw()

    def focus_inside(self) -> None:
        """Put the focus where an answer is given: for the one key that goes to the cards."""
        self._entered()
        if self.is_mounted:
            self.focus_target().focus()
        else:
            self.call_after_refresh(lambda: self.focus_target().focus())

    def focus_target(self) -> Widget:
        """What gets the focus: the card, unless something is typed."""
        return self

    @property
    def sending(self) -> bool:
        """An answer is on its way."""
        return self._sending

    @property
    def folded(self) -> bool:
        """It ended, and is one line."""
        return not is_open(self.interaction)

    # --- answering ---

    def answer(self, answer: dict[str, Any]) -> None:
        """Check the answer here, and send it or say what is wrong with it."""
        if self._sending or self.folded:
            return
        try:
            validate_interaction_answer(self.interaction.request, answer)
        except ProtocolError as error:
            path, _, rule = error.message.partition(": ")
            self.complain(rule if rule and path.startswith("answer") else error.message)
            return
        self._problem = ""
        self._sending = True
        self._draw()
        self.post_message(Answered(self.interaction.id, answer))

    def complain(self, problem: str) -> None:
        """Show inside of the card what is wrong, in words that say what to do."""
        self._problem = safe_line(problem)
        self._draw()

    # --- what counts ---

    def admits(self, event: events.Key) -> bool:
        """Whether this key may act on the card or a field of it. A key that may not is the caller's to stop.

        Escape always may, since it answers nothing, and so may what is no key of a card: function keys, and
        Ctrl with a letter that does not stand for Enter or a new line.
        """
        if not self._inside:
            self._entered()
        key = event.key
        if key == "escape" or (key.startswith("ctrl+") and key not in ("ctrl+j", "ctrl+m")):
            return True
        if key.startswith("f") and key[1:].isdecimal():
            return True
        if self._sending:
            return False
        admitted = self.guard.key()
        if admitted == self._too_soon:
            self._too_soon = not admitted
            self._draw()
        return admitted

    def admits_click(self) -> bool:
        """Whether a click may choose something."""
        if not self._inside:
            # The click that brings the focus here may be told to us before the focus itself.
            self._entered()
        return not self._sending and self.guard.click()

    def admits_paste(self) -> bool:
        """Whether a paste may go into a text field. Neither it nor keys right behind it ever answer."""
        admitted = not self._sending and self.guard.open
        self.guard.pasted()
        return admitted

    async def _on_key(self, event: events.Key) -> None:
        if self.folded and self._sending:
            self._pass_on(event)
            return
        if not self.admits(event):
            event.stop()
            event.prevent_default()
            return
        if not self.has_focus:
            return
        if self.folded:
            bound = self.screen.active_bindings.get(event.key)
            if bound is not None and bound.node is self and bound.binding.action == "ask_again":
                # Here and not by its binding, which runs when the keys behind it have been here already.
                event.stop()
                event.prevent_default()
                self.action_ask_again()
            return
        if self.press(event):
            event.stop()
            event.prevent_default()

    def _pass_on(self, event: events.Key) -> None:
        """A key behind the one that asked again: it was on its way here before the focus had moved on."""
        focused = self.screen.focused
        if focused is not None and self not in focused.ancestors_with_self:
            event.stop()
            event.prevent_default()
            focused.post_message(forwarded_key(event))

    def _on_paste(self, event: events.Paste) -> None:
        self.guard.pasted()
        event.stop()

    # --- focus and time ---

    def _entered(self) -> None:
        self._inside = True
        self.guard.focused()

    def _on_focus(self, event: events.Focus) -> None:
        self._focus_moved()

    def _on_blur(self, event: events.Blur) -> None:
        self._focus_moved()

    def on_descendant_focus(self) -> None:
        self._focus_moved()

    def on_descendant_blur(self) -> None:
        self._focus_moved()

    def _focus_moved(self) -> None:
        focused = self.screen.focused
        inside = focused is not None and self in focused.ancestors_with_self
        if inside and not self._inside:
            self._entered()
        self._inside = inside
        if not inside:
            self._too_soon = False
        self._draw()

    def on_show(self) -> None:
        if not self._seen:
            self._seen = True
            self.guard.appeared()
        if self._timer is not None:
            self._timer.resume()
        self._tick()

    def on_hide(self) -> None:
        if self._timer is not None:
            self._timer.pause()

    def on_mount(self) -> None:
        self._timer = self.set_interval(1.0, self._tick, pause=not self.display)
        watch_terminal_focus(self, self.guard)
        self._draw()

    def _tick(self) -> None:
        if self.display and self.screen.is_active and not self.folded:
            self._show_head()
            if words := state_words(self.interaction, self.around.now()):
                self._state.show([Content.assemble((words, "$text-muted"))], layout=False)

    def _show_head(self) -> None:
        if self._sending:
            right = ("sending…", "$text-muted")
        elif self._too_soon:
            right = (TOO_SOON, "bold $text-warning")
        else:
            right = (waiting(self.interaction, self.around.now()), "$text-muted")
        self._head.show(header(self.interaction.request, self.around.agent()), right)

    # --- drawing ---

    def compose(self) -> ComposeResult:
        # Before the first frame: what is not shown now is never seen.
        self._show_head()
        body = tuple(self.body())
        for child in body:
            child.display = not self.folded and self.shows(child)
        yield self._fold
        yield self._head
        yield from body
        yield self._state
        yield self._foot

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        folded = self.folded
        self.set_class(folded, "-folded")
        self.can_focus = not folded or can_ask_again(self.interaction)
        for child in self.children:
            if child in (self._fold, self._foot, self._state):
                continue
            child.display = not folded and self.shows(child)
        if folded:
            self._state.show([])
            self._foot.show([])
            self._fold.show([self._ended_line()])
            return
        self._fold.show([])
        words = state_words(self.interaction, self.around.now())
        self._state.show([Content.assemble((words, "$text-muted"))] if words else [])
        problem = f"✗ {self._problem}" if self._problem else ""
        self._foot.show([Content.assemble((problem, "$text-error"))])
        self._show_head()

    def shows(self, child: Widget) -> bool:
        """Whether this part of the body is shown while the card is open."""
        return True

    def _ended_line(self) -> Content:
        how = ended(self.interaction, self.around.me)
        parts: list[str | tuple[str, str]] = [
            (f"{how.glyph} {how.text}", how.tone),
            (f"  {one_line(self.interaction)}", "$text-muted"),
        ]
        if self._problem:
            parts.insert(1, (f"  ✗ {self._problem}", "$text-error"))
        if self._sending:
            parts.insert(1, ("  asked again", "$text-muted"))
        elif can_ask_again(self.interaction):
            parts.insert(1, ("  r ask again", "bold $text-accent"))
        return Content.assemble(*parts)

    # --- actions ---

    def action_leave(self) -> None:
        message = Dismissed if self.folded else Left
        self.post_message(message(self.interaction.id))

    def action_open_subject(self) -> None:
        if next(iter(request_lines(self.interaction.request)), None) is not None:
            self.post_message(OpenSubject(self.interaction, self.around.agent()))

    def action_ask_again(self) -> None:
        if can_ask_again(self.interaction) and not self._sending:
            self._sending = True
            self._problem = ""
            self._draw()
            self.leave()
            self.post_message(AskAgain(self.interaction))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "ask_again":
            return can_ask_again(self.interaction)
        if action == "open_subject":
            return not self.folded
        return True
