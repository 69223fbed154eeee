"""Forms: their fields, and the check of values against them (session protocol §5).

Lengths count Unicode scalars. There is no secret field: an answer is stored and fanned out.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Union

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Id,
    JsonObject,
    Label,
    Maybe,
    Number,
    Text,
    Wire,
    as_list,
    or_default,
)
from felan_core.protocol.checks import unique
from felan_core.protocol.errors import invalid
from felan_core.protocol.problems import Problem, one_of, refusal_text, short


class Option(Wire, frozen=True, kw_only=True):
    """One choice of an ``enum`` or ``multi_select`` field, or of a ``select`` interaction."""

    id: Id
    label: Label
    description: Maybe[Text] = UNSET


Options = Annotated[list[Option], Meta(min_length=1, max_length=LIMITS.form_options)]


class Field(Wire, tag_field="type", frozen=True, kw_only=True):
    """What every form field declares. Lengths count Unicode scalars."""

    id: Id
    label: Label
    description: Maybe[Text] = UNSET
    required: Maybe[bool] = UNSET


class StringField(Field, tag="string", frozen=True, kw_only=True):
    """A text of ``minLength`` to ``maxLength`` Unicode scalars; none at all where it is not required."""

    default: Maybe[Text] = UNSET
    multiline: Maybe[bool] = UNSET
    min_length: Maybe[Count] = UNSET
    max_length: Maybe[Count] = UNSET
    placeholder: Maybe[Label] = UNSET

    def verify(self) -> None:
        _in_order(self.min_length, self.max_length, ".maxLength", ".minLength")
        _default(self, self.default)


class BooleanField(Field, tag="boolean", frozen=True, kw_only=True):
    """Yes or no."""

    default: Maybe[bool] = UNSET


class NumberField(Field, tag="number", frozen=True, kw_only=True):
    """A number from ``min`` to ``max``; with ``integer`` a whole one."""

    default: Maybe[Number] = UNSET
    integer: Maybe[bool] = UNSET
    min: Maybe[Number] = UNSET
    max: Maybe[Number] = UNSET

    def verify(self) -> None:
        _in_order(self.min, self.max, ".max", ".min")
        _default(self, self.default)


class EnumField(Field, tag="enum", frozen=True, kw_only=True):
    """One of the options, by its id."""

    options: Options
    default: Maybe[Id] = UNSET

    def verify(self) -> None:
        check_options(self.options)
        _default(self, self.default)


class MultiSelectField(Field, tag="multi_select", frozen=True, kw_only=True):
    """``min`` to ``max`` of the options, by their ids; none at all where it is not required."""

    options: Options
    default: Maybe[list[Id]] = UNSET
    min: Maybe[Count] = UNSET
    max: Maybe[Count] = UNSET

    def verify(self) -> None:
        check_options(self.options, self.min, self.max)
        _default(self, self.default)


FormField = Union[StringField, BooleanField, NumberField, EnumField, MultiSelectField]
FormFields = Annotated[list[FormField], Meta(max_length=LIMITS.form_fields)]


class FormButton(Wire, frozen=True, kw_only=True):
    """What submits or cancels a form."""

    id: Id
    label: Label


class Form(Wire, frozen=True, kw_only=True):
    """``{title, description?, fields, submit, cancel}``. There is no secret field (decision of §5)."""

    title: Label
    fields: FormFields
    submit: FormButton
    cancel: FormButton
    description: Maybe[Text] = UNSET

    def verify(self) -> None:
        check_fields(self.fields)
        if self.submit.id == self.cancel.id:
            raise Problem(".cancel.id", "the same as the submit's")


def check_options(options: list[Option], low: Maybe[int] = UNSET, high: Maybe[int] = UNSET) -> None:
    """Check that options have ids of their own and that ``low`` to ``high`` of them can be chosen. Raises
    ``Problem``.
    """
    unique((option.id for option in options), lambda index: f".options[{index}].id", "the option")
    _in_order(low, high, ".max", ".min")
    if low is not UNSET and low > len(options):
        raise Problem(".min", f"more than the {len(options)} options")


def check_fields(fields: list[FormField]) -> None:
    """Check that no two fields have one id. Raises ``Problem``."""
    unique((field.id for field in fields), lambda index: f".fields[{index}].id", "the field")


def _in_order(low: Maybe[Number], high: Maybe[Number], where: str, least: str) -> None:
    if low is not UNSET and high is not UNSET and low > high:
        raise Problem(where, f"less than {least.removeprefix('.')}")


def _default(field: "FormField", value: Any) -> None:
    if value is not UNSET:
        problem = field_problem(field, value)
        if problem is not None:
            raise Problem(".default", f"is no valid answer: {problem}")


def field_problem(field: FormField, value: Any) -> str | None:
    """What is wrong with ``value`` for ``field``, in words that say what to do; None when nothing is."""
    match field:
        case StringField():
            return _string_problem(field, value)
        case BooleanField():
            return None if isinstance(value, bool) else "must be yes or no"
        case NumberField():
            return _number_problem(field, value)
        case EnumField():
            ids = {option.id for option in field.options}
            return None if isinstance(value, str) and value in ids else "choose one of the options"
        case MultiSelectField():
            return _multi_problem(field, value)


def _string_problem(field: StringField, value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    if or_default(field.required, False) and value == "":
        return "is required"
    if value == "" and not or_default(field.required, False):
        return None
    if len(value) < or_default(field.min_length, 0):
        return f"needs at least {field.min_length} characters"
    if field.max_length is not UNSET and len(value) > field.max_length:
        return f"takes at most {field.max_length} characters"
    return None


def _number_problem(field: NumberField, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    if or_default(field.integer, False) and value != int(value):
        return "must be a whole number"
    if field.min is not UNSET and value < field.min:
        return f"must be at least {field.min}"
    if field.max is not UNSET and value > field.max:
        return f"must be at most {field.max}"
    return None


def _multi_problem(field: MultiSelectField, value: Any) -> str | None:
    ids = {option.id for option in field.options}
    chosen = as_list(value)
    if chosen is None or not all(isinstance(one, str) and one in ids for one in chosen):
        return "choose from the options"
    if len(set(chosen)) != len(chosen):
        return "the same option twice"
    if not chosen:
        # As with an empty text: nothing was chosen, which only a required field minds.
        return "is required" if or_default(field.required, False) else None
    if len(chosen) < or_default(field.min, 0):
        return f"choose at least {field.min}"
    if field.max is not UNSET and len(chosen) > field.max:
        return f"choose at most {field.max}"
    return None


def check_values(fields: Sequence[FormField], values: JsonObject, path: str) -> None:
    """Check the values of a form answer or of an action. Raises ``invalid_request`` that names the field."""
    declared = {field.id: field for field in fields}
    for name in values:
        if name not in declared:
            raise invalid(
                refusal_text(f"{path}.{short(name)}", f"no field has this id: it {one_of(declared)}")
            )
    for field in fields:
        if field.id not in values:
            if or_default(field.required, False):
                raise invalid(refusal_text(f"{path}.{short(field.id)}", "is required"))
            continue
        problem = field_problem(field, values[field.id])
        if problem is not None:
            if isinstance(field, EnumField | MultiSelectField):
                problem = f"{problem}: each {one_of(option.id for option in field.options)}"
            raise invalid(refusal_text(f"{path}.{short(field.id)}", problem))
