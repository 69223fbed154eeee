"""Elements: a step into the element that is shown. Pure; the session sets the revision."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from felan_core.agents.rehearsal.asking import fields_of
from felan_core.agents.rehearsal.steps import (
    Document,
    ElementAction,
    ElementStep,
    Placement,
    Progress,
    Status,
    View,
    ViewColumn,
)
from felan_core.agents.rehearsal.words import fill, one_line, plain_markdown
from felan_core.protocol.base import UNSET, Json, Maybe
from felan_core.protocol.elements import (
    Action,
    Column,
    DocumentElement,
    Element,
    ProgressElement,
    StatusElement,
    ViewElement,
    ViewItem,
    ViewPage,
)

Acted = tuple[str, str]
"""A row, and the action of it that was used."""
UNREVISED = 1
"""What stands for the revision until the session sets it."""


def element_of(
    step: ElementStep, variables: Mapping[str, str], now: int, acted: Sequence[Acted] = ()
) -> Element:
    """The element of a step; a progress at its start. ``now``: milliseconds since the Unix epoch. ``acted``:
    what was done with the rows of a view.
    """
    match step:
        case Status():
            return StatusElement(
                id=step.id,
                revision=UNREVISED,
                title=_label(step.title, variables),
                placement=_placement(step.placement),
                text=one_line(fill(step.text, variables)),
                tone=step.tone,
            )
        case Progress():
            return progress_of(step, variables, 0.0, "running")
        case Document():
            return DocumentElement(
                id=step.id,
                revision=UNREVISED,
                title=_label(step.title, variables),
                placement=_placement(step.placement),
                markdown=fill(step.markdown, variables, plain_markdown),
                actions=_actions(step.actions, variables),
            )
        case View():
            return _view(step, variables, now, acted)


def progress_of(step: Progress, variables: Mapping[str, str], done: float, state: Any) -> ProgressElement:
    """The progress of a step, ``done`` of it being 0 to 1. ``state``: running, done, failed or cancelled."""
    return ProgressElement(
        id=step.id,
        revision=UNREVISED,
        title=_label(step.title, variables),
        placement=_placement(step.placement),
        label=one_line(fill(step.text, variables)),
        state=state,
        value=UNSET if step.total is None else round(step.total * done),
        total=UNSET if step.total is None else step.total,
        unit=_label(step.unit, variables),
    )


def _view(step: View, variables: Mapping[str, str], now: int, acted: Sequence[Acted]) -> ViewElement:
    columns = {column.id: column for column in step.columns}
    items = [
        ViewItem(
            id=row,
            fields={name: _cell(columns[name], cell, variables, now) for name, cell in cells.items()},
        )
        for row, cells in _rows(step, acted).items()
    ]
    return ViewElement(
        id=step.id,
        revision=UNREVISED,
        title=_label(step.title, variables),
        placement=_placement(step.placement),
        layout=step.layout,
        columns=[
            Column(id=one.id, label=one_line(fill(one.label, variables)), type=one.type)
            for one in step.columns
        ],
        items=items,
        page=ViewPage(index=0, size=max(1, len(items)), has_more=False, total=len(items)),
        actions=_actions(step.actions, variables),
    )


def _rows(step: View, acted: Sequence[Acted]) -> dict[str, dict[str, Any]]:
    """The cells of each row after what was done with them, in order."""
    rows = {item.id: dict(item.fields) for item in step.items}
    actions = {action.id: action for action in step.actions}
    for row, name in acted:
        action = actions.get(name)
        if action is None or row not in rows:
            continue  # the scenario is another by now
        if action.remove:
            del rows[row]
        else:
            rows[row] |= action.cells
    return rows


def _cell(column: ViewColumn, cell: Any, variables: Mapping[str, str], now: int) -> Json:
    match column.type, cell:
        case "time", datetime.datetime():
            return int(cell.timestamp() * 1000)
        case "time", _:
            return now
        case "string", _:
            return fill(str(cell), variables)
        case _:
            return cell


def _label(text: str, variables: Mapping[str, str]) -> Maybe[str]:
    return one_line(fill(text, variables)) or UNSET


def _placement(placement: Placement | None) -> Maybe[Placement]:
    return UNSET if placement is None else placement


def _actions(actions: tuple[ElementAction, ...], variables: Mapping[str, str]) -> Maybe[list[Action]]:
    if not actions:
        return UNSET
    return [
        Action(
            id=one.id,
            label=one_line(fill(one.label, variables)),
            scope=one.scope,
            fields=fields_of(one.fields, lambda text: fill(text, variables)) or UNSET,
            style=one.style,
            confirm=one_line(fill(one.confirm, variables)) or UNSET,
        )
        for one in actions
    ]
