"""The actions of an element: chosen by digit, arrows or mouse, confirmed and filled in where declared."""

import time
from collections.abc import Mapping
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import given
from felan_core.protocol.elements import Action, DocumentElement, ProgressElement, ViewElement
from felan_tui.cards.choices import Choices
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.form_body import FormBody
from felan_tui.cards.guard import Clock, Guard
from felan_tui.cards.lines import Lines
from felan_tui.cards.terminal import watch_terminal_focus
from felan_tui.elements.messages import ActionChosen
from felan_tui.text.safe import safe_line

ActiveElement = ProgressElement | DocumentElement | ViewElement
ITEM_NOT_YET = "actions on a row are not there yet"

_TONES = {"danger": "reject_once", "primary": "allow_once", "default": ""}


def element_actions(element: ActiveElement) -> list[Action]:
    """The actions on the element itself."""
    return [action for action in given(element.actions, []) if action.scope == "element"]


def has_item_actions(element: ActiveElement) -> bool:
    """Whether it declares actions on its rows."""
    return any(action.scope == "item" for action in given(element.actions, []))


class ActionBar(Widget, can_focus=True):
    """The actions of one element. What an action does is the host's; this asks, and tells `ActionChosen`."""

    DEFAULT_CSS = """
    ActionBar { height: auto; width: 1fr; padding: 0 1; layout: vertical; }
    ActionBar:focus, ActionBar:focus-within { background: $panel; }
    """

    def __init__(
        self, element: ActiveElement, *, clock: Clock = time.monotonic, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.element = element
        self._guard = Guard(clock)
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
        actions = element_actions(element)
        changed = actions != self._actions or has_item_actions(element) != has_item_actions(self.element)
        self.element = element
        if changed:
            if self._confirming not in actions:
                self._confirming = None
            if self._filling not in actions:
                await self._close_form()
            await self._rebuild()

    async def _rebuild(self) -> None:
        self._actions = element_actions(self.element)
        if self._choices is not None:
            await self._choices.remove()
            self._choices = None
        self.can_focus = bool(self._actions)
        self.display = bool(self._actions) or has_item_actions(self.element)
        if self._actions:
            offered = [
                Choice(action.id, action.label, tone=_TONES[given(action.style, "default")])
                for action in self._actions
            ]
            self._choices = Choices(Chooser(offered), admits_click=self.admits_click, flow=True)
            self._choices.display = self._form is None
            await self.mount(self._choices, before=self._said)
        self._say()

    def _say(self) -> None:
        lines: list[Content] = []
        if self._confirming is not None:
            question = safe_line(given(self._confirming.confirm, "")).strip()
            lines.append(
                Content.assemble(
                    (f"! press again to confirm: {question}", "bold $warning"), (" · Esc no", "$text-muted")
                )
            )
        if has_item_actions(self.element):
            lines.append(Content.assemble((ITEM_NOT_YET, "$text-muted")))
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
        if event.key == "escape" and (self._confirming is not None or self._form is not None):
            event.stop()
            event.prevent_default()
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
        if given(action.fields, []) and self._confirming != action:
            await self._open_form(action)
        else:
            await self._confirm(action, None)

    async def _confirm(self, action: Action, values: dict[str, Any] | None) -> None:
        if given(action.confirm, "") and self._confirming != action:
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
        self.post_message(ActionChosen(self.element.id, self.element.revision, action.id, None, values))

    # --- fields ---

    async def _open_form(self, action: Action) -> None:
        await self._close_form()
        self._confirming = None
        self._filling = action
        fields = given(action.fields, [])
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
        """What is filled in and not sent."""
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
