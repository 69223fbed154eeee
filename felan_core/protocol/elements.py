"""The generic UI vocabulary: elements, their actions, and forms (session protocol §5).

Elements are data. They are never code, never markup, and a renderer's hint can change how one looks but not
what it says or allows.
"""

from typing import Annotated, Literal, Union

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Id,
    Json,
    JsonObject,
    Label,
    Maybe,
    Revision,
    Text,
    Wire,
)

Tone = Literal["info", "success", "warning", "error", "muted"]
Placement = Literal["transcript", "above", "side"]


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
    default: Maybe[Text] = UNSET
    multiline: Maybe[bool] = UNSET
    min_length: Maybe[Count] = UNSET
    max_length: Maybe[Count] = UNSET
    placeholder: Maybe[Label] = UNSET


class BooleanField(Field, tag="boolean", frozen=True, kw_only=True):
    default: Maybe[bool] = UNSET


class NumberField(Field, tag="number", frozen=True, kw_only=True):
    default: Maybe[Union[int, float]] = UNSET
    integer: Maybe[bool] = UNSET
    min: Maybe[Union[int, float]] = UNSET
    max: Maybe[Union[int, float]] = UNSET


class EnumField(Field, tag="enum", frozen=True, kw_only=True):
    options: Options
    default: Maybe[Id] = UNSET


class MultiSelectField(Field, tag="multi_select", frozen=True, kw_only=True):
    options: Options
    default: Maybe[list[Id]] = UNSET
    min: Maybe[Count] = UNSET
    max: Maybe[Count] = UNSET


FormField = Union[StringField, BooleanField, NumberField, EnumField, MultiSelectField]
FormFields = Annotated[list[FormField], Meta(max_length=LIMITS.form_fields)]


class FormButton(Wire, frozen=True, kw_only=True):
    id: Id
    label: Label


class Form(Wire, frozen=True, kw_only=True):
    """``{title, description?, fields, submit, cancel}``. There is no secret field (decision of §5)."""

    title: Label
    fields: FormFields
    submit: FormButton
    cancel: FormButton
    description: Maybe[Text] = UNSET


class Action(Wire, frozen=True, kw_only=True):
    """A declared action. ``confirm`` is the client's to ask; ``fields`` are filled in before it is sent."""

    id: Id
    label: Label
    scope: Literal["element", "item"]
    style: Maybe[Literal["default", "primary", "danger"]] = UNSET
    confirm: Maybe[Label] = UNSET
    fields: Maybe[FormFields] = UNSET


Actions = Annotated[list[Action], Meta(max_length=LIMITS.element_actions)]


class Hint(Wire, frozen=True, kw_only=True):
    """A tip for a renderer that knows this id and version. It changes looks, never meaning."""

    id: Id
    version: Count
    data: Maybe[Json] = UNSET


class ElementBase(Wire, tag_field="kind", frozen=True, kw_only=True):
    """``revision`` is the session revision that last replaced the element."""

    id: Id
    revision: Revision
    title: Maybe[Label] = UNSET
    hint: Maybe[Hint] = UNSET
    placement: Maybe[Placement] = UNSET


class StatusElement(ElementBase, tag="status", frozen=True, kw_only=True):
    text: Label
    tone: Tone


class ProgressElement(ElementBase, tag="progress", frozen=True, kw_only=True):
    """Without ``total`` it is indeterminate."""

    label: Label
    state: Literal["running", "done", "failed", "cancelled"]
    value: Maybe[Union[int, float]] = UNSET
    total: Maybe[Union[int, float]] = UNSET
    unit: Maybe[Label] = UNSET
    actions: Maybe[Actions] = UNSET


class DocumentElement(ElementBase, tag="document", frozen=True, kw_only=True):
    """CommonMark without raw HTML and without links that are not absolute http(s)."""

    markdown: Text
    actions: Maybe[Actions] = UNSET


class Column(Wire, frozen=True, kw_only=True):
    id: Id
    label: Label
    type: Literal["string", "number", "boolean", "time"]


class ViewItem(Wire, frozen=True, kw_only=True):
    """``fields``: declared columns of the declared type. ``actions`` absent means all item actions."""

    id: Id
    fields: JsonObject
    actions: Maybe[list[Id]] = UNSET


class ViewPage(Wire, frozen=True, kw_only=True):
    index: Count
    size: Count
    has_more: bool
    total: Maybe[Count] = UNSET


class ViewElement(ElementBase, tag="view", frozen=True, kw_only=True):
    layout: Literal["table", "list"]
    columns: Annotated[list[Column], Meta(min_length=1, max_length=LIMITS.form_fields)]
    items: Annotated[list[ViewItem], Meta(max_length=LIMITS.page_entries)]
    page: ViewPage
    actions: Maybe[Actions] = UNSET


Element = Union[StatusElement, ProgressElement, DocumentElement, ViewElement]
