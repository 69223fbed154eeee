"""One field of a form: label, help, the editor of its kind, and what is wrong with what is in it."""

from typing import Any

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import given
from felan_core.protocol.elements import FormField
from felan_core.protocol.forms import field_problem
from felan_tui.cards.editors import bounds_of, make_editor
from felan_tui.cards.entry import Keeper
from felan_tui.cards.lines import Lines
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe, safe_line

HELP_MOST = 600
"""Characters of a field's help that are shown."""


class FieldRow(Widget):
    """One field with everything that belongs to it."""

    DEFAULT_CSS = """
    FieldRow { height: auto; width: 1fr; layout: vertical; }
    """

    def __init__(self, field: FormField, *, card: Keeper, draft: Any = None) -> None:
        super().__init__()
        self.field = field
        self.editor = make_editor(field, card, draft)
        self._problem = Lines()

    @property
    def label(self) -> str:
        """The field's label, safe to show."""
        return safe_line(self.field.label).strip() or safe_line(self.field.id)

    @property
    def required(self) -> bool:
        return given(self.field.required, False)

    def problem(self) -> str | None:
        """What is wrong with what is in the field, in words that say what to do."""
        value = self.editor.value()
        if value is None:
            return "is required" if self.required else None
        return field_problem(self.field, value)

    def show_problem(self, problem: str | None) -> None:
        """Show or take away what is wrong, below the field."""
        lines = [Content.assemble((f"✗ {self.label}: {safe_line(problem)}", "$error"))] if problem else []
        self._problem.show(lines)

    def compose(self) -> ComposeResult:
        parts: list[tuple[str, str]] = [(self.label, "bold")]
        if self.required:
            parts.append((" * required", "$warning"))
        if bounds := bounds_of(self.field):
            parts.append((f"  {bounds}", "$text-muted"))
        if description := safe(given(self.field.description, "")).strip():
            parts.append((f"  {cut(description, HELP_MOST)}", "$text-muted"))
        yield Lines([Content.assemble(*parts)])
        yield self.editor.widget
        yield self._problem
