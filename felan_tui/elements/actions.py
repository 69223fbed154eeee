"""The actions of an element and of a view's rows: chosen by digit, arrows or mouse, confirmed and filled in
where that is declared.
"""

import time
from collections.abc import Mapping
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import Action, DocumentElement, ProgressElement, ViewElement, ViewItem
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.form_body import FormBody
from felan_tui.cards.guard import Clock, Guard
from felan_tui.cards.lines import Lines
from felan_tui.cards.terminal import watch_terminal_focus
from felan_tui.elements.messages import ActionChosen
from felan_tui.elements.table import cell
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line

ActiveElement = ProgressElement | DocumentElement | ViewElement
ROW_MOST = 40
"""Cells of the row's name in front of its actions."""

_TONES = {"danger": "reject_once", "primary": "allow_once", "default": ""}


def element_actions(element: ActiveElement) -> list[Action]:
    """The actions on the element itself."""
    return [action for action in or_default(element.actions, []) if action.scope == "element"]


def row_actions(element: ActiveElement, item: ViewItem | None = None) -> list[Action]:
    """The actions that the element declares for its rows; those of one row, where `item` is not None."""
    declared = [action for action in or_default(element.actions, []) if action.scope == "item"]
    own = or_default(item.actions, None) if item is not None else None
    return declared if own is None else [action for action in declared if action.id in own]


class ActionBar(Widget, can_focus=True):
    """The actions of one element, or of the one row of it that `choose_row` named. What an action does is the
    host's; this asks, and tells `ActionChosen`.
    """

    DEFAULT_CSS = """
    ActionBar { height: auto; width: 1fr; padding: 0 1; layout: vertical; }
    ActionBar:focus, ActionBar:focus-within { background: $panel; }
    """

    class RowLeft(Message):
        """The row's actions were left, or one was chosen: the rows have the focus again."""

        def __init__(self, bar: "ActionBar") -> None:
            super().__init__()
            self.bar = bar

    def __init__(
        self, element: ActiveElement, *, clock: Clock = time.monotonic, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.element = element
        self._guard = Guard(clock)
        self._row: ViewItem | None = None
        self._actions: list[Action] = []
        self._confirming: Action | None = None
        self._filling: Action | None = None
        self._form: FormBody | None = None
        self._values: dict[str, Any] | None = None
        self._choices: Choices | None = None
        self._said = Lines()

    def compose(self) -> ComposeResult:
        yield self._said

    async def on_mount(self) -> None:
        watch_terminal_focus(self, self._guard)
        await self._rebuild()

    # --- what the screen says ---

    async def show(self, element: ActiveElement) -> None:
        """The element as it is now. A half-filled form stays as long as its action is declared the same."""
        row = self._row
        rows = element.items if isinstance(element, ViewElement) else []
        self._row = next((one for one in rows if row is not None and one.id == row.id), None)
        gone = row is not None and self._row is None
        actions = self._offered(element)
        changed = gone or actions != self._actions or row_actions(element) != row_actions(self.element)
        self.element = element
        if changed:
            # Another scope's action may have the same words: it is not the one that was asked about.
            if gone or self._confirming not in actions:
                self._confirming = None
            if gone or self._filling not in actions:
                await self._close_form()
            await self._rebuild()
        elif self._row != row:
            self._say()
        if gone:
            self.post_message(self.RowLeft(self))

    @property
    def row(self) -> ViewItem | None:
        """The row whose actions are shown."""
        return self._row

    async def choose_row(self, row: ViewItem) -> bool:
        """Offer the actions of a row of the element. False, and nothing happens, when it has none."""
        if not row_actions(self.element, row):
            return False
        await self._close_form()
        self._row, self._confirming = row, None
        await self._rebuild()
        # The key that named the row may still be held: it chooses nothing.
        self._guard.focused()
        self.focus()
        return True

    async def _leave_row(self) -> None:
        self._row = self._confirming = None
        await self._rebuild()
        self.post_message(self.RowLeft(self))

    def _offered(self, element: ActiveElement) -> list[Action]:
        return element_actions(element) if self._row is None else row_actions(element, self._row)

    async def _rebuild(self) -> None:
        self._actions = self._offered(self.element)
        if self._choices is not None:
            await self._choices.remove()
            self._choices = None
        self.can_focus = bool(self._actions)
        self.display = bool(self._actions) or bool(row_actions(self.element))
        if self._actions:
            offered = [
                Choice(action.id, action.label, tone=_TONES[or_default(action.style, "default")])
                for action in self._actions
            ]
            self._choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
            self._choices.display = self._form is None
            await self.mount(self._choices, before=self._said)
        self._say()

    def _say(self) -> None:
        lines: list[Content] = []
        if self._confirming is not None:
            question = safe_line(or_default(self._confirming.confirm, "")).strip()
            lines.append(
                Content.assemble(
                    (f"! press again to confirm: {question}", "bold $warning"), (" · Esc no", "$text-muted")
                )
            )
        if self._row is not None and isinstance(self.element, ViewElement):
            name = cut(cell(self.element.columns[0], self._row), ROW_MOST)
            lines.append(Content.assemble((f"› {name}", "bold"), (" · Esc back to the rows", "$text-muted")))
        elif actions := row_actions(self.element):
            labels = ", ".join(safe_line(action.label).strip() or safe_line(action.id) for action in actions)
            lines.append(Content.assemble((f"Enter on a row: {labels}", "$text-muted")))
        self._said.show(lines)

    # --- what may act (a Keeper for the fields of a form) ---

    def admits(self, event: events.Key) -> bool:
        return event.key in ("escape", "tab", "shift+tab") or self._guard.key()

    def admits_click(self) -> bool:
        return self._guard.click()

    def admits_paste(self) -> bool:
        self._guard.pasted()
        return True

    async def _on_key(self, event: events.Key) -> None:
        asking = self._confirming is not None or self._form is not None
        if event.key == "escape" and (asking or self._row is not None):
            event.stop()
            event.prevent_default()
            if not asking:
                await self._leave_row()
                return
            self._confirming = None
            await self._close_form()
            self._say()
            return
        if not self.has_focus or self._choices is None:
            return
        if not self.admits(event) or self._choices.press(event):
            event.stop()
            event.prevent_default()

    def _on_paste(self, event: events.Paste) -> None:
        self._guard.pasted()
        event.stop()

    # --- choosing ---

    async def on_choices_chosen(self, event: Choices.Chosen) -> None:
        if event.choices is not self._choices:
            return
        event.stop()
        action = next(one for one in self._actions if one.id == event.choice.id)
        if or_default(action.fields, []) and self._confirming != action:
            await self._open_form(action)
        else:
            await self._confirm(action, None)

    async def _confirm(self, action: Action, values: dict[str, Any] | None) -> None:
        if or_default(action.confirm, "") and self._confirming != action:
            self._confirming = action
            self._values = values
            # A held key repeats: it may not confirm what it has just chosen.
            self._guard.focused()
            self._say()
            return
        confirmed = self._confirming == action
        values = self._values if confirmed else values
        self._confirming = self._values = None
        self._say()
        item = None if self._row is None else self._row.id
        self.post_message(ActionChosen(self.element.id, self.element.revision, action.id, item, values))
        if item is not None:
            await self._leave_row()

    # --- fields ---

    async def _open_form(self, action: Action) -> None:
        await self._close_form()
        self._confirming = None
        self._filling = action
        fields = or_default(action.fields, [])
        self._form = FormBody(fields, submit=action.label, cancel="Cancel", card=self)
        if self._choices is not None:
            self._choices.display = False
        await self.mount(self._form, before=self._said)
        (self._form.first_field or self._form.stops[-1]).focus()
        self._say()

    async def _close_form(self) -> None:
        form, self._form, self._filling = self._form, None, None
        if form is None:
            return
        inside = self.screen.focused is not None and form in self.screen.focused.ancestors_with_self
        if inside:
            self.focus()
        await form.remove()
        if self._choices is not None:
            self._choices.display = True

    @property
    def draft(self) -> Mapping[str, Any]:
        """The filled-in values that are not sent."""
        return self._form.draft if self._form is not None else {}

    async def on_form_body_submitted(self, event: FormBody.Submitted) -> None:
        event.stop()
        action = self._filling
        if action is not None:
            await self._close_form()
            await self._confirm(action, event.values)

    async def on_form_body_cancelled(self, event: FormBody.Cancelled) -> None:
        event.stop()
        await self._close_form()
        self._say()
