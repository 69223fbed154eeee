"""The card of a form."""

from collections.abc import Iterable
from typing import cast

from textual import events
from textual.widget import Widget

from felan_core.protocol.interactions import FormRequest, Interaction
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.excerpt import Excerpt
from felan_tui.cards.form_body import FormBody
from felan_tui.cards.squeeze import Gap
from felan_tui.cards.subject import request_lines


class FormCard(InteractionCard):
    """The form's description, its fields, and its two buttons as declared."""

    KEYS = (KeyHint("Tab", "next field", "tab"), KeyHint("Enter", "go on", "enter"))

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
        assert isinstance(request, FormRequest)
        self.form = request.form
        fields = self._given_draft.get("fields")
        self.fields = FormBody(
            self.form.fields,
            submit=self.form.submit.label,
            cancel=self.form.cancel.label,
            card=self,
            draft=cast("dict[str, object]", fields) if isinstance(fields, dict) else None,
        )
        self.excerpt = Excerpt(request_lines(request))

    def body(self) -> Iterable[Widget]:
        return (self.excerpt, Gap(), self.fields)

    def shows(self, child: Widget) -> bool:
        return child is not self.excerpt or self.excerpt.has_lines

    @property
    def draft(self) -> Draft:
        fields = self.fields.draft
        return {"fields": fields} if fields else {}

    def focus_target(self) -> Widget:
        return self if self.folded else self.fields.first_field or self

    def press(self, event: events.Key) -> bool:
        if event.key in ("tab", "shift+tab"):
            self.fields.on_key(event)
            return True
        return False

    def on_form_body_submitted(self, event: FormBody.Submitted) -> None:
        event.stop()
        self.answer({"action": self.form.submit.id, "values": event.values})

    def on_form_body_cancelled(self, event: FormBody.Cancelled) -> None:
        event.stop()
        self.answer({"action": self.form.cancel.id})
