"""One field of a form: label and help (or what is wrong), above the editor of its kind."""

from typing import Any

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import FormField
from felan_core.protocol.forms import field_problem
from felan_tui.cards.editors import bounds_of, make_editor
from felan_tui.cards.entry import BlockEntry, Keeper
from felan_tui.cards.lines import Lines
from felan_tui.cards.options import OptionField
from felan_tui.cards.wording import capitalized
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe, safe_line

HELP_MOST = 600
"""Characters of a field's help that are shown."""

ROOMY = 8
"""Rows of the fields from which a label with its help may take more than one."""


class FieldRow(Widget):
    """One field with everything that belongs to it."""

    DEFAULT_CSS = """
    FieldRow {
        height: auto; width: 1fr; layout: vertical; padding: 0 0 0 1; border-left: blank;
        &:focus-within { border-left: outer $accent; }
    }
    """

    def __init__(self, field: FormField, *, card: Keeper, draft: Any = None) -> None:
        super().__init__()
        self.field = field
        self.editor = make_editor(field, card, draft)
        self._label = Lines(classes="field--label")
        self._problem = ""
        self._room = 0

    @property
    def label(self) -> str:
        """The field's label, safe to show."""
        return safe_line(self.field.label).strip() or safe_line(self.field.id)

    @property
    def required(self) -> bool:
        return or_default(self.field.required, False)

    def problem(self) -> str | None:
        """Return the fault of the field's value, worded as advice; None where the value is valid."""
        value = self.editor.value()
        if value is None:
            return "required" if self.required else None
        return field_problem(self.field, value)

    def show_problem(self, problem: str | None) -> None:
        """Show what is wrong in place of the help, or the help again."""
        self._problem = capitalized(safe_line(problem)) if problem else ""
        self._show_label()

    def make_room(self, rows: int) -> None:
        """Label and field together take at most `rows` rows."""
        if rows != self._room:
            self._room = rows
            self._show_label()
            widget = self.editor.widget
            if isinstance(widget, OptionField):
                widget.make_room(max(1, rows - 1))
            elif isinstance(widget, BlockEntry):
                widget.styles.max_height = max(1, min(8, rows - 1))

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.editor.widget

    def on_mount(self) -> None:
        self._show_label()

    def _show_label(self) -> None:
        parts: list[tuple[str, str]] = [(self.label, "bold")]
        if self._problem:
            parts.append((f"  ✗ {self._problem}", "$text-error"))
        else:
            if self.required:
                parts.append(("  required", "$text-warning"))
            if bounds := bounds_of(self.field):
                parts.append((f"  {bounds}", "$text-muted"))
            if description := safe(or_default(self.field.description, "")).strip():
                parts.append((f"  {cut(description, HELP_MOST)}", "$text-muted"))
        # Where there is little room, the field is worth more than a second row of help.
        self._label.show_in([Content.assemble(*parts)], one_row=0 < self._room < ROOMY)

    def on_descendant_focus(self) -> None:
        self._reveal()

    def on_resize(self) -> None:
        if self.has_focus_within:
            self._reveal()

    def _reveal(self) -> None:
        """Scroll so that the label is in sight with its field."""
        self.call_after_refresh(self.scroll_visible, animate=False)
