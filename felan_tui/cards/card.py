"""The base of the interaction cards: frame, guard, timers, sending, folding. What is asked is a subclass's.

A card never takes the focus by itself and never talks to the host. Keys pass `admits` before anything acts on
them, here and in every field inside of the card (see `felan_tui.cards.guard`).
"""

import time
from collections.abc import Callable, Iterable
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
from felan_tui.cards.guard import Clock, Guard
from felan_tui.cards.lines import Lines
from felan_tui.cards.messages import Answered, AskAgain, Dismissed, Left, OpenSubject
from felan_tui.cards.subject import request_lines
from felan_tui.cards.terminal import watch_terminal_focus
from felan_tui.cards.wording import can_ask_again, ended, footer, header, is_open, one_line, title_of
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line

Draft = dict[str, Any]
"""What is typed or marked and not answered yet, as plain JSON; each kind of card has its own members."""

TOO_SOON = "! not taken: too soon after this got the focus; press again"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Surroundings:
    """What a card needs from outside. `me` is the id of this client's principal, for "by you"."""

    me: str | None = None
    clock: Clock = field(default=time.monotonic)
    """Monotonic seconds, for the guard."""
    now: Callable[[], int] = field(default=_now_ms)
    """Milliseconds since the epoch, for how long it waits and when it expires."""
    key: str = ""
    """The name of the key that goes to the cards, such as `F2`; it is shown on a card that has no focus."""


class InteractionCard(Widget, can_focus=True):
    """One interaction as a card. `body` makes its inside; `press` takes the keys of the card itself."""

    DEFAULT_CSS = """
    InteractionCard {
        layout: vertical; height: auto; width: 1fr; padding: 0 1;
        border: round $warning; border-subtitle-align: right;
        border-title-color: $text; border-subtitle-color: $text;
        &:focus, &:focus-within { border: heavy $accent; }
        &.-folded { border: none; padding: 0 1; }
        &.-folded:focus { background: $panel; border: none; }
    }
    """
    BINDING_GROUP_TITLE = "Card"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave it waiting", id="felan.card.leave"),
        Binding("o", "open_subject", "Open it whole", id="felan.card.open"),
        Binding("r", "ask_again", "Ask again", id="felan.card.ask_again"),
    ]

    HINT: ClassVar[str] = ""
    """The keys of this kind of card, in a few words."""

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: Surroundings | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.interaction = interaction
        self.around = around or Surroundings()
        self.guard = Guard(self.around.clock)
        self._given_draft: Draft = draft or {}
        self._inside = False
        self._seen = False
        self._sending = False
        self._problem = ""
        self._too_soon = False
        self._timer: Timer | None = None
        self._head = Lines(classes="card--head")
        self._foot = Lines(classes="card--foot")
        self._fold = Lines(one_row=True, classes="card--fold")
        self._rows = 6

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

    def head_lines(self, width: int) -> list[Content]:
        """What stands above the body: the title. `width` in cells."""
        title = safe_line(title_of(self.interaction.request)).strip()
        return [Content.assemble((title, "bold"))] if title else []

    @property
    def hint(self) -> str:
        """The keys that do something now."""
        return self.HINT

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
        self._problem = safe_line(error_text).strip() or "the answer was not taken; answer again"
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

    def make_room(self, rows: int) -> None:
        """How many rows the subject or the text above the options may take."""
        if rows != self._rows:
            self._rows = max(1, rows)
            self._draw()

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
        if not self.admits(event):
            event.stop()
            event.prevent_default()
            return
        if self.folded or not self.has_focus:
            return
        if self.press(event):
            event.stop()
            event.prevent_default()

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
            # The frame's own row: no layout.
            self.border_subtitle = Content(footer(self.interaction, self.around.now(), sending=self._sending))

    # --- drawing ---

    def compose(self) -> ComposeResult:
        yield self._fold
        yield self._head
        yield from self.body()
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
            if isinstance(child, Lines):
                continue
            child.display = not folded and self.shows(child)
        if folded:
            self.border_title = self.border_subtitle = None
            self._head.show([])
            self._foot.show([])
            self._fold.show([self._ended_line()])
            return
        self._fold.show([])
        self.border_title = Content(header(self.interaction.request))
        self._head.show(self.head_lines(self._text_width()))
        self._foot.show(self._foot_lines())
        self._tick()

    def shows(self, child: Widget) -> bool:
        """Whether this part of the body is shown while the card is open."""
        return True

    def _text_width(self) -> int:
        return self.content_size.width or max(10, self.screen.size.width - 4)

    def _ended_line(self) -> Content:
        how = ended(self.interaction, self.around.me)
        parts: list[str | tuple[str, str]] = [
            (f"{how.glyph} {how.text}", f"${how.tone}"),
            (f"  {one_line(self.interaction)}", "$text-muted"),
        ]
        if self._problem:
            parts.insert(1, (f"  ✗ {self._problem}", "$error"))
        if self._sending:
            parts.insert(1, ("  asked again", "$text-muted"))
        elif can_ask_again(self.interaction):
            parts.insert(1, ("  r asks again", "bold $accent"))
        return Content.assemble(*parts)

    def _foot_lines(self) -> list[Content]:
        lines: list[Content] = []
        if self._problem:
            lines.append(Content.assemble((f"✗ {self._problem}", "$error")))
        if self._sending:
            lines.append(Content.assemble(("… sending", "$text-muted")))
        elif self._too_soon:
            lines.append(
                Content.assemble(("! not taken: too soon after this got the focus; press again", "$warning"))
            )
        elif self._inside:
            lines.append(Content.assemble((cut(self.hint, self._text_width()), "$text-muted")))
        elif self.around.key:
            lines.append(Content.assemble((f"{self.around.key} goes here to answer", "$text-muted")))
        return lines

    # --- actions ---

    def action_leave(self) -> None:
        message = Dismissed if self.folded else Left
        self.post_message(message(self.interaction.id))

    def action_open_subject(self) -> None:
        if next(iter(request_lines(self.interaction.request)), None) is not None:
            self.post_message(OpenSubject(self.interaction))

    def action_ask_again(self) -> None:
        if can_ask_again(self.interaction) and not self._sending:
            self._sending = True
            self._problem = ""
            self._draw()
            self.post_message(AskAgain(self.interaction))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "ask_again":
            return can_ask_again(self.interaction)
        if action == "open_subject":
            return not self.folded
        return True
