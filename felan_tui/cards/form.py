"""The card of a form."""

from collections.abc import Iterable
from typing import cast

from textual import events
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.interactions import FormRequest, Interaction
from felan_tui.cards.boxed import Boxed
from felan_tui.cards.card import Draft, InteractionCard, Surroundings
from felan_tui.cards.form_body import FormBody
from felan_tui.cards.subject import request_lines
from felan_tui.cards.wording import NAME_CELLS, title_of
from felan_tui.text.cells import cell_len


class FormCard(InteractionCard):
    """The form's description, its fields, and its two buttons as declared."""

    HINT = "Tab next field · Enter go on, or press · Esc leave waiting"

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
        self.box = Boxed(tuple(request_lines(request)), rows=3)

    def body(self) -> Iterable[Widget]:
        return (self.box, self.fields)

    def shows(self, child: Widget) -> bool:
        return child is not self.box or self.box.has_lines

    def make_room(self, rows: int) -> None:
        super().make_room(rows)
        described = 0 if not self.box.has_lines else 1 if rows < 8 else 3
        self.box.make_room(max(1, described))
        # Frame, buttons and hint take fewer rows than what a stack leaves for them in another kind of card.
        self.fields.make_room(max(3, rows + 3 - described))

    def head_lines(self, width: int) -> list[Content]:
        # The frame names the form already, unless its title is too long for that.
        title = title_of(self.interaction.request)
        return super().head_lines(width) if cell_len(title) > NAME_CELLS else []

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
