"""The fields and buttons of a form, for a card and for the actions of elements that have fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widget import Widget

from felan_core.protocol.elements import FormField
from felan_tui.cards.entry import Keeper, LineEntry
from felan_tui.cards.fields import FieldRow
from felan_tui.cards.options import OptionField
from felan_tui.cards.press import Press
from felan_tui.cards.squeeze import Gap, Squeeze


class Fields(VerticalScroll):
    """The fields, which scroll where they do not fit; each label together with its field."""

    DEFAULT_CSS = """
    Fields { height: auto; width: 1fr; scrollbar-size-vertical: 1; }
    """
    squeeze_steps = ((4, 3),)

    def on_resize(self) -> None:
        for row in self.query(FieldRow):
            row.make_room(self.size.height)


class FormBody(Widget):
    """The form's inside: fields, then the buttons, the declared cancel first.

    Tab and Shift+Tab go round in it. Enter goes on to the next field, and from the last one to the submit
    button: twice Enter never discards what was filled in.
    """

    DEFAULT_CSS = """
    FormBody { height: auto; width: 1fr; }
    FormBody > .form--buttons { height: 1; width: 1fr; padding: 0 0 0 2; }
    """
    squeeze_rank = 3

    class Submitted(Message):
        """The form was submitted, and each field is right by its own rule."""

        def __init__(self, body: "FormBody", values: dict[str, Any]) -> None:
            super().__init__()
            self.body = body
            self.values = values

    class Cancelled(Message):
        """The form's own cancel was pressed."""

        def __init__(self, body: "FormBody") -> None:
            super().__init__()
            self.body = body

    def __init__(
        self,
        fields: Sequence[FormField],
        *,
        submit: str,
        cancel: str,
        card: Keeper,
        draft: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> None:
        """`submit` and `cancel` are the buttons' labels as declared. `draft` is what `draft` once gave."""
        super().__init__(id=id)
        kept = draft or {}
        self.rows = [FieldRow(field, card=card, draft=kept.get(field.id)) for field in fields]
        self._submit = Press(submit, card=card, id="submit")
        self._cancel = Press(cancel, card=card, id="cancel")
        self._scroll = Fields(can_focus=False)
        self.styles.set_rule("layout", Squeeze())

    def compose(self) -> ComposeResult:
        with self._scroll:
            yield from self.rows
        yield Gap()
        with Horizontal(classes="form--buttons"):
            yield self._cancel
            yield self._submit

    @property
    def stops(self) -> list[Widget]:
        """What Tab goes through, in order."""
        return [*(row.editor.widget for row in self.rows), self._cancel, self._submit]

    @property
    def first_field(self) -> Widget | None:
        """The first field, if there is one."""
        return self.rows[0].editor.widget if self.rows else None

    @property
    def draft(self) -> dict[str, Any]:
        """What was filled in and differs from the defaults, by field."""
        drafts = {row.field.id: row.editor.draft() for row in self.rows}
        return {name: draft for name, draft in drafts.items() if draft is not None}

    def values(self) -> dict[str, Any]:
        """The values as they would be sent; absent ones left out."""
        values = {row.field.id: row.editor.value() for row in self.rows}
        return {name: value for name, value in values.items() if value is not None}

    def submit(self) -> None:
        """Check each field; show what is wrong and go there, or tell the values."""
        wrong = [row for row in self.rows if self._check(row)]
        if wrong:
            wrong[0].editor.widget.focus()
        else:
            self.post_message(self.Submitted(self, self.values()))

    @staticmethod
    def _check(row: FieldRow) -> bool:
        problem = row.problem()
        row.show_problem(problem)
        return problem is not None

    def _step(self, step: int) -> None:
        stops = self.stops
        focused = self.screen.focused
        at = stops.index(focused) if focused in stops else -1 if step > 0 else 0
        # At once: `focus()` would move later, and a second Tab that is there already would be lost.
        self.screen.set_focus(stops[(at + step) % len(stops)])

    def _go_on(self) -> None:
        """Enter: the next field, or the submit button behind the last one."""
        if self.rows and self.screen.focused is self.rows[-1].editor.widget:
            self.screen.set_focus(self._submit)
        else:
            self._step(1)

    def _leave(self, editor: Widget) -> None:
        # A problem that is shown goes when it is corrected, not only at the next submit.
        for row in self.rows:
            if row.editor.widget is editor:
                self._check(row)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            self._step(1 if event.key == "tab" else -1)

    def on_line_entry_entered(self, event: LineEntry.Entered) -> None:
        event.stop()
        self._leave(event.entry)
        self._go_on()

    def on_option_field_entered(self, event: OptionField.Entered) -> None:
        event.stop()
        self._leave(event.field)
        self._go_on()

    def on_press_pressed(self, event: Press.Pressed) -> None:
        event.stop()
        if event.press is self._cancel:
            self.post_message(self.Cancelled(self))
        else:
            self.submit()
