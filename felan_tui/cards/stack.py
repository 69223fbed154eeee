"""Holds the cards of all open interactions: one is shown whole, the others are counted and named."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.interactions import Interaction
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.lines import Lines
from felan_tui.cards.make import card_for
from felan_tui.cards.messages import AskAgain, Dismissed, Left
from felan_tui.cards.squeeze import Gap, Squeeze
from felan_tui.cards.wording import can_ask_again, is_open, one_line
from felan_tui.text.cells import cut

LINGER = 6.0
"""Seconds for which a card that ended stays as one line."""

ASK_AGAIN = KeyHint("r", "ask again", "r")
NEXT = KeyHint("Ctrl+N", "next card", "ctrl+n")

NAMED = 3
"""Other cards that are named where there is room; more are only counted."""


class Names(Lines):
    """The cards that wait behind the one that is shown: the first thing to go where there is little room."""

    squeeze_steps = ((8, 0),)


class CardStack(Widget, can_focus=False):
    """The cards of one session, in the order in which the interactions came.

    It never takes the focus: `focus_current` is for the key that goes to the cards. When the card that has
    the focus ends, the next one that waits gets it, with its time of grace; after the last one `Left` is
    posted.

    It takes as many rows as its cards want. In fewer, what a card is about scrolls, and the options stay.
    """

    DEFAULT_CSS = """
    CardStack { height: auto; max-height: 100%; width: 1fr; overflow: hidden; padding: 0 1; }
    CardStack > .stack--others { padding: 0 2; }
    """
    squeeze_rank = 2
    BINDING_GROUP_TITLE = "Cards"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "show_next(1)", "Next card", id="felan.cards.next"),
        Binding("ctrl+r", "show_next(-1)", "Previous card", id="felan.cards.previous"),
    ]

    def __init__(
        self,
        *,
        around: CardContext | None = None,
        drafts: dict[str, Draft] | None = None,
        again: Callable[[Interaction], bool] = can_ask_again,
        leave_to: Callable[[], Widget | None] = lambda: None,
        id: str | None = None,
    ) -> None:
        """`drafts` may be kept by the caller: what is half answered then survives the cards themselves.

        `again` says which ended interactions still get a card, since they can be asked again. `leave_to` says
        what has the focus in the very moment in which the card that had it ends, so that no key is lost.
        """
        super().__init__(id=id)
        self.styles.set_rule("layout", Squeeze())
        self.around = around or CardContext()
        self.drafts: dict[str, Draft] = drafts if drafts is not None else {}
        self._again = again
        self._leave_to = leave_to
        self._cards: dict[str, InteractionCard] = {}
        self._current: str | None = None
        self._dismissed: set[str] = set()
        self._others = Lines(classes="stack--others")
        self._names = Names(classes="stack--others")
        self.display = False

    def compose(self) -> ComposeResult:
        yield Gap()
        yield self._others
        yield self._names

    # --- what the screen says ---

    def show(self, interactions: Iterable[Interaction]) -> None:
        """All interactions of the session as they are now; those that are gone lose their cards."""
        interactions = list(interactions)
        known = {interaction.id for interaction in interactions}
        for gone in [one for one in self._cards if one not in known]:
            self._drop(gone)
        for interaction in interactions:
            self._take(interaction)
        self._arrange()

    def settle(self, interaction: Interaction) -> None:
        """Fold the card of an interaction that has ended, and give the focus on; other changes can wait."""
        card = self._cards.get(interaction.id)
        if card is not None and not card.folded and not is_open(interaction):
            self.update_interaction(interaction)

    def update_interaction(self, interaction: Interaction) -> None:
        """One interaction as it is now: a new card, a change, or an end."""
        self._take(interaction)
        self._arrange()

    def reject(self, interaction_id: str, error_text: str) -> None:
        """The host refused the answer to this one."""
        if card := self._cards.get(interaction_id):
            card.reject(error_text)

    def focus_current(self) -> bool:
        """Go to the current card. False when there is none."""
        card = self.current
        if card is None:
            return False
        card.focus_inside()
        return True

    def keep_drafts(self) -> None:
        """Write what is half answered into `drafts`, before the cards are taken away or the program ends."""
        for one, card in self._cards.items():
            if not card.folded and card.draft:
                self.drafts[one] = card.draft
            else:
                self.drafts.pop(one, None)

    @property
    def current(self) -> InteractionCard | None:
        """The card that is shown whole, or the ended one that can be asked again."""
        return self._cards.get(self._current) if self._current is not None else None

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys that do something while the focus is in the cards, beside Esc."""
        card = self.current
        if card is None:
            return ()
        own = (ASK_AGAIN,) if card.folded else card.keys
        return (*own, NEXT) if len(self._focusable) > 1 else own

    @property
    def waiting(self) -> int:
        """How many interactions still take an answer."""
        return sum(1 for card in self._cards.values() if not card.folded)

    def card(self, interaction_id: str) -> InteractionCard | None:
        """The card of this interaction, if it has one."""
        return self._cards.get(interaction_id)

    def allow_focus_children(self) -> bool:
        """Nothing in here is ever focused because it is next in line; only from inside does Tab go on."""
        return self.is_attached and self._has_focus_inside()

    # --- cards come and go ---

    def _take(self, interaction: Interaction) -> None:
        card = self._cards.get(interaction.id)
        if card is not None:
            was_open = not card.folded
            if was_open and not is_open(interaction):
                self.drafts.pop(interaction.id, None)
                self._leave_if_inside(card)
            card.update_interaction(interaction)
            if was_open and card.folded and not self._again(interaction):
                self.set_timer(LINGER, lambda: self._end(interaction.id))
            return
        wanted = is_open(interaction) or (self._again(interaction) and interaction.id not in self._dismissed)
        if not wanted:
            return
        card = card_for(interaction, around=self.around, draft=self.drafts.get(interaction.id))
        card.display = False
        card.leave = partial(self._leave_if_inside, card)
        self._cards[interaction.id] = card
        if self.is_attached:
            self.mount(card)

    def _end(self, interaction_id: str) -> None:
        card = self._cards.get(interaction_id)
        if card is not None and card.folded:
            self._drop(interaction_id)
            self._arrange()

    def _drop(self, interaction_id: str) -> None:
        card = self._cards[interaction_id]
        if not card.folded and card.draft:
            self.drafts[interaction_id] = card.draft
        if self._current == interaction_id:
            self._current = None
        self._leave_if_inside(card)
        del self._cards[interaction_id]
        card.remove()

    def _leave_if_inside(self, card: InteractionCard) -> None:
        focused = self.screen.focused if self.is_attached else None
        if focused is None or card not in focused.ancestors_with_self:
            return
        # Before the card is hidden: else the focus would fall to whatever is next by itself.
        if (following := self._after(card)) is not None:
            self._current = following.interaction.id
            following.display = True
            self.screen.set_focus(following.focus_target())
        else:
            self.screen.set_focus(self._leave_to())
            self.post_message(Left(card.interaction.id))

    def _after(self, card: InteractionCard) -> InteractionCard | None:
        """The card that waits and comes after this one, or the first that waits."""
        cards = [one for one in self._cards.values() if one is card or (not one.folded and one.is_mounted)]
        if card not in cards:
            return cards[0] if cards else None
        at = cards.index(card)
        others = [*cards[at + 1 :], *cards[:at]]
        return others[0] if others else None

    def on_mount(self) -> None:
        for card in self._cards.values():
            self.mount(card)
        self._arrange()

    def on_dismissed(self, event: Dismissed) -> None:
        """Esc on a card that ended takes it away."""
        event.stop()
        self._dismissed.add(event.interaction_id)
        self._end(event.interaction_id)

    def on_ask_again(self, event: AskAgain) -> None:
        """What was asked again needs its card no more, unless that is refused in the meantime."""
        asked = event.interaction.id
        self.set_timer(LINGER, lambda: self._asked(asked))

    def _asked(self, interaction_id: str) -> None:
        card = self._cards.get(interaction_id)
        if card is not None and card.folded and card.sending:
            self._dismissed.add(interaction_id)
            self._end(interaction_id)

    # --- which one is shown ---

    def action_show_next(self, step: int) -> None:
        """Show the next card (or the one before), and go there when the focus was in the cards."""
        order = self._focusable
        if len(order) < 2:
            return
        at = order.index(self._current) if self._current in order else 0
        inside = self._has_focus_inside()
        self._current = order[(at + step) % len(order)]
        if inside:
            self.screen.set_focus(None)
        self._arrange()
        if inside:
            self.focus_current()

    @property
    def _focusable(self) -> list[str]:
        return [one for one, card in self._cards.items() if card.can_focus]

    def _has_focus_inside(self) -> bool:
        focused = self.screen.focused
        return focused is not None and self in focused.ancestors_with_self

    def _arrange(self) -> None:
        open_cards = [one for one, card in self._cards.items() if not card.folded]
        usable = [
            one for one, card in self._cards.items() if not card.folded or self._again(card.interaction)
        ]
        if self._current not in usable or (self._current not in open_cards and open_cards):
            self._current = (open_cards or usable or [None])[0]
        for one, card in self._cards.items():
            card.display = card.folded or one == self._current
        self.display = bool(self._cards)
        self._name_others([one for one in open_cards if one != self._current])

    def _name_others(self, others: list[str]) -> None:
        lines: list[Content] = []
        names: list[Content] = []
        if others:
            lines.append(Content.assemble((f"+{len(others)} more waiting", "bold $text-warning")))
            width = max(10, self.size.width - 8)
            named = [cut(one_line(self._cards[one].interaction), width) for one in others[:NAMED]]
            names = [Content.assemble((f"  {text}", "$text-muted")) for text in named]
        self._others.show(lines)
        self._names.show(names)

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()
