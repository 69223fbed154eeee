"""One field of a form: label, help, the editor of its kind, and what is wrong with what is in it."""

from typing import Any, Protocol

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import given
from felan_core.protocol.elements import (
    BooleanField,
    EnumField,
    FormField,
    MultiSelectField,
    NumberField,
    StringField,
)
from felan_core.protocol.forms import field_problem
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.entry import BlockEntry, Keeper, LineEntry
from felan_tui.cards.lines import Lines
from felan_tui.cards.options import OptionField
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe, safe_line

NOT_YET = "this kind of field cannot be filled in here yet"
HELP_MOST = 600
"""Characters of a field's help that are shown."""


class Editor(Protocol):
    """What a field's row needs of its editor. An absent value is None."""

    @property
    def widget(self) -> Widget | None: ...

    def value(self) -> Any: ...

    def draft(self) -> Any: ...


class _TextEditor:
    def __init__(self, field: StringField, card: Keeper, draft: Any) -> None:
        self._default = given(field.default, None)
        text = draft if isinstance(draft, str) else self._default or ""
        make = BlockEntry if given(field.multiline, False) else LineEntry
        self._entry = make(card=card, text=text, placeholder=given(field.placeholder, ""))

    @property
    def widget(self) -> Widget:
        return self._entry

    def value(self) -> Any:
        # An empty optional field is absent, unless its default was taken out on purpose.
        text = self._entry.written
        return text if text or self._default else None

    def draft(self) -> Any:
        text = self._entry.written
        return text if text != (self._default or "") else None


class _ChoiceEditor:
    def __init__(
        self, chooser: Chooser, card: Keeper, *, clears: bool, flow: bool, default: str | None
    ) -> None:
        self._options = OptionField(chooser, card=card, clears=clears, flow=flow)
        self._flow = flow
        self._default = default

    @property
    def widget(self) -> Widget:
        return self._options

    def value(self) -> Any:
        chosen = self._options.chosen
        return chosen == "yes" if self._flow and chosen is not None else chosen

    def draft(self) -> Any:
        chosen = self._options.chosen
        return chosen if chosen != self._default else None


class _NoEditor:
    def __init__(self, field: NumberField | MultiSelectField) -> None:
        self._default: Any = given(field.default, None)

    @property
    def widget(self) -> None:
        return None

    def value(self) -> Any:
        return self._default

    def draft(self) -> Any:
        return None


def _editor(field: FormField, card: Keeper, draft: Any) -> Editor:
    clears = not given(field.required, False)
    match field:
        case StringField():
            return _TextEditor(field, card, draft)
        case BooleanField():
            given_default = given(field.default, None)
            default = None if given_default is None else "yes" if given_default else "no"
            marked = draft if isinstance(draft, str) else default
            chooser = Chooser([Choice("yes", "yes"), Choice("no", "no")], marked=[marked] if marked else [])
            return _ChoiceEditor(chooser, card, clears=clears, flow=True, default=default)
        case EnumField():
            default = given(field.default, None)
            marked = draft if isinstance(draft, str) else default
            options = [Choice(one.id, one.label, given(one.description, "")) for one in field.options]
            chooser = Chooser(options, marked=[marked] if marked else [])
            return _ChoiceEditor(chooser, card, clears=clears, flow=False, default=default)
        case NumberField() | MultiSelectField():
            return _NoEditor(field)


class FieldRow(Widget):
    """One field with everything that belongs to it."""

    DEFAULT_CSS = """
    FieldRow { height: auto; width: 1fr; layout: vertical; }
    """

    def __init__(self, field: FormField, *, card: Keeper, draft: Any = None) -> None:
        super().__init__()
        self.field = field
        self.editor = _editor(field, card, draft)
        self._problem = Lines()

    @property
    def label(self) -> str:
        """The field's label, safe to show."""
        return safe_line(self.field.label).strip() or safe_line(self.field.id)

    @property
    def required(self) -> bool:
        return given(self.field.required, False)

    @property
    def blocks(self) -> bool:
        """It is required and cannot be filled in here: the form cannot be submitted."""
        return self.editor.widget is None and self.required and self.editor.value() is None

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
        if description := safe(given(self.field.description, "")).strip():
            parts.append((f"  {cut(description, HELP_MOST)}", "$text-muted"))
        yield Lines([Content.assemble(*parts)])
        if self.editor.widget is not None:
            yield self.editor.widget
        else:
            yield Lines([Content.assemble((self._not_yet(), "$warning"))])
        yield self._problem

    def _not_yet(self) -> str:
        default = self.editor.value()
        if default is None:
            return f"! {NOT_YET}"
        said = ", ".join(map(str, default)) if isinstance(default, list) else str(default)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return f"! {NOT_YET}; its default is sent: {cut(safe_line(said), 60)}"
