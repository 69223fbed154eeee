"""Fields to write in: what is pasted, preset or shown in them is made safe before it gets there."""

from textual import events
from textual.validation import Validator
from textual.widget import Widget
from textual.widgets import Checkbox, Input, TextArea

from felan_tui.text.safe import safe, safe_line
from felan_tui.text.widgets import content, line_content, toast

MAX_PASTED_LINE = 2000
"""Characters of a pasted line that a field takes; Textual lays a longer one out anew at every key."""


async def act_in_order(field: Widget, event: events.Key) -> None:
    """Run the action that a field has for a key before the next key gets there.

    A binding's action else runs when the key has bubbled up to the app. Where keys come together (a slow
    link, a busy machine), what was typed after a Backspace or a Home is in the text by then, and the wrong
    character goes.
    """
    active = None if event.is_printable else field.screen.active_bindings.get(event.key)
    if active is None or active.node is not field or active.binding.priority:
        return
    action = active.binding.action
    if await field.app.run_action(action, field):  # pyright: ignore[reportUnknownMemberType] untyped in Textual
        event.stop()
        event.prevent_default()


class SafeInput(Input):
    """A field of one line. A paste becomes one line: its line ends become spaces."""

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        password: bool = False,
        max_length: int = 0,
        validators: list[Validator] | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
        compact: bool = False,
    ) -> None:
        super().__init__(
            safe_line(value),
            placeholder=safe_line(placeholder),
            password=password,
            max_length=max_length,
            validators=validators,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
            compact=compact,
        )

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = safe_line(event.text)
        if not text:
            return
        if len(text) > MAX_PASTED_LINE:
            told = f"Pasted the first {MAX_PASTED_LINE:,} of {len(text):,} characters: a line holds no more."
            toast(self.app, told, "warning")  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            text = text[:MAX_PASTED_LINE]
        if self.selection.is_empty:
            self.insert_text_at_cursor(text)
        else:
            self.replace(text, *self.selection)


class SafeTextArea(TextArea):
    """A field of many lines. A paste inserts the result of `paste_text`."""

    def __init__(
        self,
        text: str = "",
        *,
        placeholder: str = "",
        read_only: bool = False,
        soft_wrap: bool = True,
        compact: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(
            safe(text),
            placeholder=content(placeholder),
            read_only=read_only,
            soft_wrap=soft_wrap,
            compact=compact,
            highlight_cursor_line=False,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        # A blinking cursor wakes an idle screen, and its terminal, twice a second.
        self.cursor_blink = False

    def on_resize(self) -> None:
        """Draw the text again: Textual only repaints a new wrapping where the height changed too."""
        self.refresh()

    def show_placeholder(self, text: str) -> None:
        """Another hint for the empty field."""
        self.placeholder = content(text)

    def set_text(self, text: str) -> None:
        """Replaces the field's text by untrusted text."""
        self.text = safe(text)

    def paste_text(self, text: str) -> str:
        """The text that a paste inserts; a subclass may fold a large one. The argument is safe already."""
        return text

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self.read_only:
            return
        if text := self.paste_text(safe(event.text)):
            result = self.replace(text, *self.selection, maintain_selection_offset=False)
            self.move_cursor(result.end_location)


class SafeCheckbox(Checkbox):
    """A box to tick, with untrusted text beside it."""

    def __init__(
        self,
        label: str,
        value: bool = False,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
        compact: bool = False,
    ) -> None:
        super().__init__(
            line_content(label),
            value,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
            compact=compact,
        )


__all__ = ["MAX_PASTED_LINE", "SafeCheckbox", "SafeInput", "SafeTextArea"]
