"""The card of a selection: one option, or several by marks; a long list filters as one types."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from textual import events
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.interactions import Interaction, SelectRequest
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser


class SelectCard(InteractionCard):
    """The options one below the other. One is chosen at once; several are marked and sent by Enter."""

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: CardContext | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(interaction, around=around, draft=draft, id=id)
        request = interaction.request
        assert isinstance(request, SelectRequest)
        low, high = request.bounds
        marked: Any = self._given_draft.get("marked", [])
        self.chooser = Chooser(
            [
                Choice(option.id, option.label, or_default(option.description, ""))
                for option in request.options
            ],
            several=(low, high) != (1, 1),
            marked=cast("Sequence[str]", marked) if isinstance(marked, list) else (),
        )
        self._bounds = f"{low}" if low == high else f"{low} to {high}"
        self.choices = Choices(self.chooser, admits_click=self.admits_click, rows=len(self.chooser.choices))

    def body(self) -> Iterable[Widget]:
        return (self.choices,)

    @property
    def draft(self) -> Draft:
        return {"marked": self.chooser.marked} if self.chooser.marked else {}

    @property
    def keys(self) -> Sequence[KeyHint]:
        first = (KeyHint("type", "filter"),) if self.chooser.filters else ()
        if self.chooser.several:
            mark = KeyHint("↑↓ Space" if self.chooser.filters else "1–9 or ↑↓ Space", "mark")
            return (*first, mark, KeyHint("Enter", f"send, {self._bounds} of them", "enter"))
        if self.chooser.filters:
            return (*first, KeyHint("↑↓ Enter", "choose"))
        return (KeyHint("1–9", "answer"), KeyHint("↑↓ Enter", "choose"), KeyHint("o", "whole", "o"))

    def press(self, event: events.Key) -> bool:
        return self.choices.press(event)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.answer({"options": [event.choice.id]})

    def on_choices_submitted(self, event: Choices.Submitted) -> None:
        event.stop()
        self.answer({"options": self.chooser.marked})

    def on_choices_changed(self, event: Choices.Changed) -> None:
        event.stop()
        if self._problem:
            self.complain("")
