"""The card of an approval: all that would run, the options in their order, and a reason for a rejection."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from felan_core.protocol.interactions import ApprovalOption, ApprovalRequest, Interaction
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.cards.card import CardContext, Draft, InteractionCard
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.entry import LineEntry
from felan_tui.cards.excerpt import Excerpt
from felan_tui.cards.squeeze import Gap
from felan_tui.cards.subject import request_lines
from felan_tui.cards.wording import capitalized

SAY_WHY = "\x00say-why"
"""Our own choice beside those of the request; no host gives an id with a control character."""

AGENTS_RULE = "the agent's rule"
_CODE = re.compile("`([^`]+)`")
"""What Markdown marks as code; a label is no Markdown."""


def option_label(option: ApprovalOption) -> str:
    """The label, whole; of an "always" that it is the agent who keeps the rule, and not this program."""
    label = capitalized(_CODE.sub(r"“\1”", option.label.strip()))
    return f"{label} ({AGENTS_RULE})" if option.effect.endswith("_always") else label


class ApprovalCard(InteractionCard):
    """`opencode wants to run`, the command or diff, and the options by digit, arrows or mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "say_why", "Reject, say why", id="felan.card.say_why"),
    ]

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
        assert isinstance(request, ApprovalRequest)
        self.request = request
        self._reject = next((option for option in request.options if option.effect == "reject_once"), None)
        offered = [Choice(option.id, option_label(option), tone=option.effect) for option in request.options]
        if self._reject is not None:
            offered.append(Choice(SAY_WHY, "Reject, say why", tone="reject_once"))
        self.choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
        self.excerpt = Excerpt(request_lines(request, context=0))
        self.note = LineEntry(
            text=str(self._given_draft.get("note", "")),
            placeholder="the reason · Enter rejects",
            card=self,
        )
        self._noting = bool(self._given_draft.get("noting"))

    def body(self) -> Iterable[Widget]:
        return (self.excerpt, Gap(), self.choices, self.note)

    def shows(self, child: Widget) -> bool:
        if child is self.excerpt:
            return self.excerpt.has_lines
        if child is self.note:
            return self._noting
        return child is not self.choices or not self._noting

    @property
    def draft(self) -> Draft:
        kept: dict[str, Any] = {"note": self.note.written, "noting": self._noting}
        return kept if self.note.written else {}

    @property
    def keys(self) -> Sequence[KeyHint]:
        if self._noting:
            return (KeyHint("Enter", "reject with this reason", "enter"),)
        digits = KeyHint(f"1–{min(9, len(self.choices.chooser.choices))}", "answer")
        why = (KeyHint("w", "say why", "w"),) if self._reject is not None else ()
        return (digits, KeyHint("o", "whole", "o"), *why, KeyHint("↑↓ Enter", "choose"))

    def focus_target(self) -> Widget:
        return self.note if self._noting else self

    def press(self, event: events.Key) -> bool:
        if event.key in ("pageup", "pagedown"):
            page = self.excerpt.page
            if self.excerpt.scroll_rows(page if event.key == "pagedown" else -page):
                return True
        return self.choices.press(event)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        if event.choice.id == SAY_WHY:
            self.action_say_why()
        else:
            self.answer({"option": event.choice.id})

    def on_line_entry_entered(self, event: LineEntry.Entered) -> None:
        event.stop()
        if self._reject is None:
            return
        answer = {"option": self._reject.id}
        if event.text.strip():
            answer["note"] = event.text
        self.answer(answer)

    def action_say_why(self) -> None:
        """Ask for the reason before the rejection is sent."""
        if self._reject is None or self._noting or self.sending or self.folded:
            return
        self._noting = True
        self._draw()
        self.note.focus()

    def action_leave(self) -> None:
        """Esc: from the reason back to the options (its text stays), from there to the composer."""
        if self._noting and not self.folded:
            self._noting = False
            # Before the field is hidden: else the focus would fall to something else by itself.
            self.focus()
            self._draw()
        else:
            super().action_leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "say_why":
            return self._reject is not None and not self.folded
        return super().check_action(action, parameters)
