"""The check of form values against their declared fields (session protocol §5)."""

from collections.abc import Sequence
from typing import Any

from felan_core.protocol.base import UNSET, JsonObject, as_list, given
from felan_core.protocol.elements import (
    BooleanField,
    EnumField,
    FormField,
    MultiSelectField,
    NumberField,
    StringField,
)
from felan_core.protocol.errors import invalid


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
    if given(field.required, False) and value == "":
        return "is required"
    if value == "" and not given(field.required, False):
        return None
    if len(value) < given(field.min_length, 0):
        return f"needs at least {field.min_length} characters"
    if field.max_length is not UNSET and len(value) > field.max_length:
        return f"takes at most {field.max_length} characters"
    return None


def _number_problem(field: NumberField, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    if given(field.integer, False) and value != int(value):
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
    if given(field.required, False) and not chosen:
        return "is required"
    if len(chosen) < given(field.min, 0):
        return f"choose at least {field.min}"
    if field.max is not UNSET and len(chosen) > field.max:
        return f"choose at most {field.max}"
    return None


def check_values(fields: Sequence[FormField], values: JsonObject, path: str) -> None:
    """Check the values of a form answer or of an action. Raises ``invalid_request`` that names the field."""
    declared = {field.id: field for field in fields}
    for name in values:
        if name not in declared:
            raise invalid(f"{path}: a field that is not declared")
    for field in fields:
        if field.id not in values:
            if given(field.required, False):
                raise invalid(f"{path}.{field.id}: is required")
            continue
        problem = field_problem(field, values[field.id])
        if problem is not None:
            raise invalid(f"{path}.{field.id}: {problem}")
