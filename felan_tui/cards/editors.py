"""The editors of form fields, one a type: the widget, the value to send, and what is kept as a draft."""

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import (
    BooleanField,
    EnumField,
    FormField,
    MultiSelectField,
    NumberField,
    StringField,
)
from felan_tui.cards.chooser import Choice, Chooser
from felan_tui.cards.entry import BlockEntry, Keeper, LineEntry
from felan_tui.cards.options import OptionField

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LARGEST: Final = 2**53 - 1


class Editor(Protocol):
    """What a field's row needs of its editor. An absent value is None."""

    @property
    def widget(self) -> Widget: ...

    def value(self) -> Any: ...

    def draft(self) -> Any: ...


class _TextEditor:
    def __init__(self, field: StringField, card: Keeper, draft: Any) -> None:
        self._default = or_default(field.default, None)
        text = draft if isinstance(draft, str) else self._default or ""
        make = BlockEntry if or_default(field.multiline, False) else LineEntry
        self._entry = make(card=card, text=text, placeholder=or_default(field.placeholder, ""))

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


def read_number(text: str) -> int | float | str | None:
    """The number that `text` says; None for nothing, the text itself where it is no number of the wire."""
    text = text.strip()
    if not text:
        return None
    if _NUMBER.fullmatch(text) is None:
        return text
    number = float(text) if re.search(r"[.eE]", text) else int(text)
    if not -_LARGEST <= number <= _LARGEST:
        return text
    return int(number) if number == int(number) else number


class _NumberEditor:
    def __init__(self, field: NumberField, card: Keeper, draft: Any) -> None:
        default = or_default(field.default, None)
        self._default = "" if default is None else f"{default}"
        text = draft if isinstance(draft, str) else self._default
        self._entry = LineEntry(card=card, text=text, placeholder="number")

    @property
    def widget(self) -> Widget:
        return self._entry

    def value(self) -> Any:
        return read_number(self._entry.written)

    def draft(self) -> Any:
        text = self._entry.written
        return text if text != self._default else None


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


class _MarksEditor:
    def __init__(self, chooser: Chooser, card: Keeper, default: Sequence[str]) -> None:
        self._options = OptionField(chooser, card=card, clears=True)
        self._default = [choice.id for choice in chooser.choices if choice.id in default]

    @property
    def widget(self) -> Widget:
        return self._options

    def value(self) -> Any:
        # No mark is an absent value, unless the default's marks were taken away on purpose.
        marked = self._options.chooser.marked
        return marked if marked or self._default else None

    def draft(self) -> Any:
        marked = self._options.chooser.marked
        return marked if marked != self._default else None


def make_editor(field: FormField, card: Keeper, draft: Any) -> Editor:
    """The editor of a field. `draft` is what an editor of the same field once gave, or None."""
    clears = not or_default(field.required, False)
    match field:
        case StringField():
            return _TextEditor(field, card, draft)
        case NumberField():
            return _NumberEditor(field, card, draft)
        case BooleanField():
            given_default = or_default(field.default, None)
            default = None if given_default is None else "yes" if given_default else "no"
            marked = draft if isinstance(draft, str) else default
            chooser = Chooser([Choice("yes", "Yes"), Choice("no", "No")], marked=[marked] if marked else [])
            return _ChoiceEditor(chooser, card, clears=clears, flow=True, default=default)
        case EnumField():
            default = or_default(field.default, None)
            marked = draft if isinstance(draft, str) else default
            chooser = Chooser(_choices(field), marked=[marked] if marked else [])
            return _ChoiceEditor(chooser, card, clears=clears, flow=False, default=default)
        case MultiSelectField():
            defaults = or_default(field.default, [])
            marks = cast("list[str]", draft) if isinstance(draft, list) else defaults
            return _MarksEditor(Chooser(_choices(field), several=True, marked=marks), card, defaults)


def _choices(field: EnumField | MultiSelectField) -> list[Choice]:
    return [Choice(one.id, one.label, or_default(one.description, "")) for one in field.options]


def bounds_of(field: FormField) -> str:
    """What a number or a number of marks is bounded by, in words; empty where nothing is."""
    match field:
        case NumberField():
            words = ["whole number,"] if or_default(field.integer, False) else []
        case MultiSelectField():
            words = ["choose"] if or_default(field.min, 0) or or_default(field.max, None) is not None else []
        case _:
            return ""
    low, high = or_default(field.min, None), or_default(field.max, None)
    if low is not None and high is not None:
        words.append(f"{low}" if low == high else f"{low} to {high}")
    elif low is not None:
        words.append(f"at least {low}")
    elif high is not None:
        words.append(f"at most {high}")
    return " ".join(words).removesuffix(",")
