"""The card of a question that is answered by text, of one line or of several."""

from collections.abc import Iterable

from textual.widget import Widget

from felan_core.protocol.base import given
from felan_core.protocol.interactions import InputRequest, Interaction
from felan_tui.cards.card import Draft, InteractionCard, Surroundings
from felan_tui.cards.entry import BlockEntry, LineEntry


class InputCard(InteractionCard):
    """The title and a field; Enter sends what is in it."""

    def __init__(
        self,
        interaction: Interaction,
        *,
        around: Surroundings | None = None,
        draft: Draft | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(interaction, around=around, draft=draft, id=id)
        request = interaction.request
        assert isinstance(request, InputRequest)
        self._default = given(request.default, "")
        text = str(self._given_draft.get("text", self._default))
        make = BlockEntry if given(request.multiline, False) else LineEntry
        self.field: BlockEntry | LineEntry = make(
            card=self, text=text, placeholder=given(request.placeholder, "")
        )

    def make_room(self, rows: int) -> None:
        super().make_room(rows)
        if isinstance(self.field, BlockEntry):
            self.field.styles.max_height = max(2, rows + 2)

    def body(self) -> Iterable[Widget]:
        return (self.field,)

    @property
    def draft(self) -> Draft:
        return {"text": self.field.written} if self.field.written != self._default else {}

    @property
    def hint(self) -> str:
        newline = " · Ctrl+J new line" if isinstance(self.field, BlockEntry) else ""
        return f"Enter send{newline} · Esc leave waiting"

    def focus_target(self) -> Widget:
        return self if self.folded else self.field

    def on_line_entry_entered(self, event: LineEntry.Entered) -> None:
        event.stop()
        self.answer({"text": event.text})
