"""The card of a question that is answered by text, of one line or of several."""

from collections.abc import Iterable, Sequence

from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.interactions import InputRequest, Interaction
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.entry import BlockEntry, LineEntry


class InputCard(InteractionCard):
    """The title and a field; Enter sends what is in it."""

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
        assert isinstance(request, InputRequest)
        self._default = or_default(request.default, "")
        text = str(self._given_draft.get("text", self._default))
        make = BlockEntry if or_default(request.multiline, False) else LineEntry
        self.field: BlockEntry | LineEntry = make(
            card=self, text=text, placeholder=or_default(request.placeholder, "")
        )

    def body(self) -> Iterable[Widget]:
        return (self.field,)

    @property
    def draft(self) -> Draft:
        return {"text": self.field.written} if self.field.written != self._default else {}

    @property
    def keys(self) -> Sequence[KeyHint]:
        newline = (KeyHint("Ctrl+J", "new line", "ctrl+j"),) if isinstance(self.field, BlockEntry) else ()
        return (KeyHint("Enter", "send", "enter"), *newline)

    def focus_target(self) -> Widget:
        return self if self.folded else self.field

    def on_line_entry_entered(self, event: LineEntry.Entered) -> None:
        event.stop()
        self.answer({"text": event.text})
