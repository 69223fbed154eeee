"""What the types of a scenario cannot say: targets resolve, variables are bound, cells fit their column."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from felan_core.agents.rehearsal.steps import (
    AnyFormField,
    AnyStep,
    ElementAction,
    EnumFormField,
    FormStep,
    Goto,
    Header,
    If,
    MultiSelectFormField,
    NumberFormField,
    Select,
    SetVariable,
    StringFormField,
    View,
    ViewColumn,
)
from felan_core.agents.rehearsal.words import variables_of

BUILT_IN: Final = frozenset({"prompt", "args", "folder", "commands", "i", "said", "unknown"})
"""Variables of every scenario.

What was typed, its words after the command, the folder's name, what is offered, the count of ``repeat``, the
message that steered, a command that nobody offers.
"""
_VERBATIM: Final = frozenset(
    {"do", "label", "command", "goto", "to", "else", "is", "id", "as", "effect", "type", "scope"}
)


def problems_of(
    header: Header, steps: Sequence[AnyStep], labels: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Each problem as (place, what is wrong)."""
    known = BUILT_IN | {name for step in steps for name in _bound(step)}
    for number, rule in enumerate(header.steer, 1):
        place = f"steer {number}"
        yield from _target(rule.goto, labels, f"{place}: goto")
        yield from _variables({"say": rule.say}, known, place)
    for number, step in enumerate(steps, 1):
        place = f"step {number} ({step.__struct_config__.tag})"
        yield from _variables(msgspec.to_builtins(step), known | _acted(step), place)
        yield from _step(step, known, labels, place)


def _bound(step: AnyStep) -> Iterable[str]:
    if isinstance(step, SetVariable):
        return (step.name,)
    into: str | None = getattr(step, "into", None)
    return () if into is None else (into,)


def _acted(step: AnyStep) -> set[str]:
    """What the notices of a step's actions may name besides: the row, and what was filled in."""
    actions: Sequence[ElementAction] = getattr(step, "actions", ())
    return {"item", *(field.id for action in actions for field in action.fields)} if actions else set()


def _variables(written: Any, known: Iterable[str], place: str, member: str = "") -> Iterator[tuple[str, str]]:
    where = f"{place}: {member}" if member else place
    match written:
        case str():
            try:
                names = variables_of(written)
            except ValueError as error:
                yield where, str(error)
                return
            for name in sorted(names):
                if name.partition(".")[0] not in known:
                    yield where, f"${{{name}}} is bound nowhere"
        case dict():
            for name, value in written.items():  # pyright: ignore[reportUnknownVariableType]  # free JSON
                if name not in _VERBATIM:
                    yield from _variables(value, known, place, f"{member}.{name}" if member else str(name))  # pyright: ignore[reportUnknownArgumentType]  # free JSON
        case list() | tuple():
            for index, value in enumerate(written):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # free JSON
                yield from _variables(value, known, place, f"{member}[{index}]")
        case _:
            pass


def _target(goto: str | None, labels: Mapping[str, int], where: str) -> Iterator[tuple[str, str]]:
    if goto is not None and not goto.startswith("@") and goto not in labels:
        yield where, f"there is no label {goto!r}"


def _step(
    step: AnyStep, known: Iterable[str], labels: Mapping[str, int], place: str
) -> Iterator[tuple[str, str]]:
    match step:
        case If():
            yield from _target(step.goto, labels, f"{place}: goto")
            yield from _target(step.otherwise, labels, f"{place}: else")
            if step.name.partition(".")[0] not in known:
                yield f"{place}: name", f"{step.name!r} is bound nowhere"
        case Goto():
            yield from _target(step.to, labels, f"{place}: to")
        case Select():
            if not step.min <= step.max <= len(step.options):
                yield f"{place}: max", "min, max and the number of options have to go up in that order"
            yield from _twice([option.id for option in step.options], f"{place}: options")
        case FormStep():
            yield from _form(step, place)
        case View():
            yield from _view(step, place)
        case _:
            yield from _twice([option.id for option in getattr(step, "options", ())], f"{place}: options")
    yield from _actions(step, place)


def _actions(step: AnyStep, place: str) -> Iterator[tuple[str, str]]:
    actions: Sequence[ElementAction] = getattr(step, "actions", ())
    yield from _twice([action.id for action in actions], f"{place}: actions")
    for index, action in enumerate(actions):
        where = f"{place}: actions[{index}]"
        if action.scope == "item" and not isinstance(step, View):
            yield f"{where}.scope", "only a view has rows"
        if action.cells and action.scope != "item":
            yield f"{where}.set", "only an action of a row sets its cells"
        if isinstance(step, View):
            yield from _cells(step, action.cells, f"{where}.set")
        yield from _fields(action.fields, where)


def _twice(ids: Sequence[str], where: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            yield where, f"{one!r} is there twice"
        seen.add(one)


def _form(step: FormStep, place: str) -> Iterator[tuple[str, str]]:
    if step.submit.id == step.cancel.id:
        yield f"{place}: cancel", "needs another id than submit"
    yield from _fields(step.fields, place)


def _fields(fields: Sequence[AnyFormField], place: str) -> Iterator[tuple[str, str]]:
    yield from _twice([field.id for field in fields], f"{place}: fields")
    for index, field in enumerate(fields):
        where = f"{place}: fields[{index}]"
        match field:
            case EnumFormField():
                ids = [option.id for option in field.options]
                yield from _twice(ids, f"{where}.options")
                if field.default is not None and field.default not in ids:
                    yield f"{where}.default", "is none of the options"
            case StringFormField(min_length=int() as low, max_length=int() as high) if low > high:
                yield f"{where}.max_length", "is less than min_length"
            case MultiSelectFormField():
                ids = [option.id for option in field.options]
                yield from _twice(ids, f"{where}.options")
                if not set(field.default) <= set(ids):
                    yield f"{where}.default", "is none of the options"
            case NumberFormField(min=int() | float() as low, max=int() | float() as high) if low > high:
                yield f"{where}.max", "is less than min"
            case _:
                pass


def _view(step: View, place: str) -> Iterator[tuple[str, str]]:
    yield from _twice([column.id for column in step.columns], f"{place}: columns")
    yield from _twice([item.id for item in step.items], f"{place}: items")
    for index, item in enumerate(step.items):
        yield from _cells(step, item.fields, f"{place}: items[{index}].fields")


def _cells(step: View, cells: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    columns = {column.id: column for column in step.columns}
    for name, cell in cells.items():
        if name not in columns:
            yield f"{place}.{name}", "is no column"
        elif not _fits(columns[name], cell):
            yield f"{place}.{name}", f"is no {columns[name].type}"


def _fits(column: ViewColumn, cell: Any) -> bool:
    match column.type:
        case "string":
            return isinstance(cell, str)
        case "number":
            return isinstance(cell, int | float) and not isinstance(cell, bool)
        case "boolean":
            return isinstance(cell, bool)
        case "time":
            return cell == "now" or (isinstance(cell, datetime.datetime) and cell.tzinfo is not None)
