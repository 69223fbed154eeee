"""The card of a confirmation: yes or no."""

from collections.abc import Iterable

from textual import events
from textual.widget import Widget

from felan_core.protocol.interactions import Interaction
from felan_tui.cards.boxed import Boxed
from felan_tui.cards.card import Draft, InteractionCard, Surroundings
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.subject import request_lines

YES, NO = "yes", "no"


class ConfirmCard(InteractionCard):
    """A question, its message, and `[1] yes  [2] no`; y and n choose too."""

    HINT = "y or 1 yes · n or 2 no · o open whole · Esc leave waiting"

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: Surroundings | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(interaction, around=around, draft=draft, id=id)
        offered = [Choice(YES, YES, tone="allow_once"), Choice(NO, NO, tone="reject_once")]
        self.choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
        self.box = Boxed(tuple(request_lines(interaction.request)), rows=self._rows)

    def body(self) -> Iterable[Widget]:
        return (self.box, self.choices)

    def shows(self, child: Widget) -> bool:
        return child is not self.box or self.box.has_lines

    def make_room(self, rows: int) -> None:
        super().make_room(rows)
        self.box.make_room(max(1, rows))

    def press(self, event: events.Key) -> bool:
        if event.key in ("y", "n"):
            self.answer({"confirmed": event.key == "y"})
            return True
        return self.choices.press(event)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.answer({"confirmed": event.choice.id == YES})
