"""The card of an approval: what would be done, the options in their order, and a reason for a rejection."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import given
from felan_core.protocol.interactions import ApprovalOption, ApprovalRequest, Interaction
from felan_tui.cards.boxed import MOST, Boxed
from felan_tui.cards.card import Draft, InteractionCard, Surroundings
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.entry import LineEntry
from felan_tui.cards.subject import subject_lines

SAY_WHY = "\x00say-why"
"""Our own choice beside those of the request; no host gives an id with a control character."""

AGENTS_RULE = "the agent's rule"


def option_label(option: ApprovalOption) -> str:
    """The label; an "always" says that it is the agent who will remember it, not this program."""
    if option.effect in ("allow_always", "reject_always") and AGENTS_RULE not in option.label:
        return f"{option.label} ({AGENTS_RULE})"
    return option.label


class ApprovalCard(InteractionCard):
    """`approve · bash`, the command or diff in a box, and the options by digit, arrows or mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "say_why", "Reject, say why", id="felan.card.say_why"),
    ]

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
        assert isinstance(request, ApprovalRequest)
        self.request = request
        self._reject = next((option for option in request.options if option.effect == "reject_once"), None)
        offered = [Choice(option.id, option_label(option), tone=option.effect) for option in request.options]
        if self._reject is not None:
            offered.append(Choice(SAY_WHY, f"{self._reject.label}, say why", tone="reject_once"))
        self.choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
        self.box = Boxed(tuple(islice(subject_lines(request.subject), MOST)), rows=self._rows)
        self.note = LineEntry(
            text=str(self._given_draft.get("note", "")),
            placeholder="why not? Enter rejects and says it",
            card=self,
        )
        self._noting = bool(self._given_draft.get("noting"))

    def body(self) -> Iterable[Widget]:
        return (self.box, self.choices, self.note)

    def shows(self, child: Widget) -> bool:
        if child is self.box:
            return self.box.has_lines
        return self._noting if child is self.note else not self._noting

    def head_lines(self, width: int) -> list[Content]:
        subject = self.request.subject
        if self.request.title in (given(subject.command, ""), given(subject.name, "")):
            return []
        return super().head_lines(width)

    def make_room(self, rows: int) -> None:
        super().make_room(rows)
        self.box.make_room(max(1, rows))

    @property
    def draft(self) -> Draft:
        kept: dict[str, Any] = {"note": self.note.written, "noting": self._noting}
        return kept if self.note.written else {}

    @property
    def hint(self) -> str:
        if self._noting:
            return "Enter rejects and says why · Esc back to the options"
        why = " · w say why" if self._reject is not None else ""
        return f"digit or arrows+Enter{why} · o open whole · Esc leave waiting"

    def focus_target(self) -> Widget:
        return self.note if self._noting else self

    def press(self, event: events.Key) -> bool:
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
