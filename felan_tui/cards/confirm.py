"""The card of a confirmation: yes or no."""

from collections.abc import Iterable

from textual import events
from textual.widget import Widget

from felan_core.protocol.interactions import Interaction
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.excerpt import Excerpt
from felan_tui.cards.squeeze import Gap
from felan_tui.cards.subject import request_lines

YES, NO = "yes", "no"


class ConfirmCard(InteractionCard):
    """A question, its message, and `1 Yes  2 No`; y and n choose too."""

    KEYS = (KeyHint("y", "yes", "y"), KeyHint("n", "no", "n"), KeyHint("o", "whole", "o"))

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: CardContext | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(interaction, around=around, draft=draft, id=id)
        offered = [Choice(YES, "Yes", tone="allow_once"), Choice(NO, "No", tone="reject_once")]
        self.choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
        self.excerpt = Excerpt(request_lines(interaction.request))

    def body(self) -> Iterable[Widget]:
        return (self.excerpt, Gap(), self.choices)

    def shows(self, child: Widget) -> bool:
        return child is not self.excerpt or self.excerpt.has_lines

    def press(self, event: events.Key) -> bool:
        if event.key in ("pageup", "pagedown"):
            page = self.excerpt.page
            return self.excerpt.scroll_rows(page if event.key == "pagedown" else -page)
        if event.key in ("y", "n"):
            self.answer({"confirmed": event.key == "y"})
            return True
        return self.choices.press(event)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.answer({"confirmed": event.choice.id == YES})
