"""The generic UI vocabulary: elements, their actions, and forms (session protocol §5).

Elements are data. They are never code, never markup, and a renderer's hint can change how one looks but not
what it says or allows.
"""

from typing import Annotated, Final, Literal, Union

from msgspec import Meta
from msgspec.structs import replace

from felan_core.protocol.base import (
    LIMITS,
    MAX_INTEGER,
    UNSET,
    Count,
    Id,
    Json,
    Label,
    Maybe,
    Number,
    Revision,
    Structured,
    Text,
    Wire,
    kind_of,
    or_default,
)
from felan_core.protocol.checks import unique, unique_ids, weight
from felan_core.protocol.documents import check_markdown
from felan_core.protocol.entries import Tone
from felan_core.protocol.forms import (
    BooleanField,
    EnumField,
    Field,
    Form,
    FormButton,
    FormField,
    FormFields,
    MultiSelectField,
    NumberField,
    Option,
    Options,
    StringField,
    check_fields,
)
from felan_core.protocol.plain import is_normal
from felan_core.protocol.problems import Problem, one_of, short

__all__ = [
    "Action",
    "ActionScope",
    "ActionStyle",
    "Actions",
    "BooleanField",
    "Column",
    "ColumnType",
    "DocumentElement",
    "Element",
    "ElementBase",
    "EnumField",
    "Field",
    "Form",
    "FormButton",
    "FormField",
    "FormFields",
    "Hint",
    "Layout",
    "MultiSelectField",
    "NumberField",
    "Option",
    "Options",
    "Placement",
    "ProgressElement",
    "StatusElement",
    "StringField",
    "Tone",
    "ViewElement",
    "ViewItem",
    "ViewPage",
]

ColumnType = Literal["string", "number", "boolean", "time"]
Placement = Literal["transcript", "above", "side"]
Layout = Literal["table", "list"]
ActionScope = Literal["element", "item"]
ActionStyle = Literal["default", "primary", "danger"]


class Action(Wire, frozen=True, kw_only=True):
    """A declared action. ``confirm`` is the client's to ask; ``fields`` are filled in before it is sent."""

    id: Id
    label: Label
    scope: ActionScope
    style: Maybe[ActionStyle] = UNSET
    confirm: Maybe[Label] = UNSET
    fields: Maybe[FormFields] = UNSET

    def verify(self) -> None:
        if self.fields is not UNSET:
            check_fields(self.fields)


Actions = Annotated[list[Action], Meta(max_length=LIMITS.element_actions)]


HintData = Annotated[
    Json, Meta(extra={"encoded": LIMITS.ui_hint_bytes, "entries": LIMITS.structured_entries})
]


class Hint(Wire, frozen=True, kw_only=True):
    """A tip for a renderer that knows this id and version. It changes looks, never meaning."""

    id: Id
    version: Count
    data: Maybe[HintData] = UNSET

    def verify(self) -> None:
        if self.data is None:
            raise Problem(".data", "null is no data; leave it out")


class ElementBase(Wire, tag_field="kind", frozen=True, kw_only=True):
    """``revision`` is the session revision that last replaced the element."""

    id: Id
    revision: Revision
    title: Maybe[Label] = UNSET
    hint: Maybe[Hint] = UNSET
    placement: Maybe[Placement] = UNSET

    def weigh(self, size: int) -> None:
        """All members that have no bound of their own are one piece of structured data."""
        if size > LIMITS.structured_bytes and weight(self._own()) > LIMITS.structured_bytes:
            raise Problem("", f"more than {LIMITS.structured_bytes} bytes beside text, items and hint")

    def _own(self) -> "ElementBase":
        return replace(self, hint=UNSET)


def _check_actions(actions: Maybe[list[Action]]) -> None:
    if actions is not UNSET:
        unique_ids(actions, ".actions", "the action")


class StatusElement(ElementBase, tag="status", frozen=True, kw_only=True):
    """A line of text and its tone."""

    text: Label
    tone: Tone


class ProgressElement(ElementBase, tag="progress", frozen=True, kw_only=True):
    """Without ``total`` it is indeterminate."""

    label: Label
    state: Literal["running", "done", "failed", "cancelled"]
    value: Maybe[Number] = UNSET
    total: Maybe[Number] = UNSET
    unit: Maybe[Label] = UNSET
    actions: Maybe[Actions] = UNSET

    def verify(self) -> None:
        _check_actions(self.actions)


class DocumentElement(ElementBase, tag="document", frozen=True, kw_only=True):
    """CommonMark without raw HTML and without links that are not absolute http(s)."""

    markdown: Text
    actions: Maybe[Actions] = UNSET

    def verify(self) -> None:
        _check_actions(self.actions)
        check_markdown(self.markdown, ".markdown")

    def _own(self) -> ElementBase:
        return replace(self, hint=UNSET, markdown="")


class Column(Wire, frozen=True, kw_only=True):
    """One declared column of a view; ``time`` is an instant in milliseconds since the Unix epoch."""

    id: Id
    label: Label
    type: ColumnType


class ViewItem(Wire, frozen=True, kw_only=True):
    """``fields``: declared columns of the declared type. ``actions`` absent means all item actions."""

    id: Id
    fields: Structured
    actions: Maybe[list[Id]] = UNSET


class ViewPage(Wire, frozen=True, kw_only=True):
    """Which page the items are: ``index`` counts pages of ``size`` rows from zero, ``total`` all rows."""

    index: Count
    size: Annotated[int, Meta(ge=0, le=LIMITS.page_entries)]
    has_more: bool
    total: Maybe[Count] = UNSET


Rows = Meta(max_length=LIMITS.page_entries, extra={"encoded": LIMITS.page_bytes, "verified": "fields"})
"""A page of items, whose ``fields`` are looked at one by one in ``ViewElement.verify``."""


class ViewElement(ElementBase, tag="view", frozen=True, kw_only=True):
    """Rows under declared columns, as a table or a list: one page of them."""

    layout: Layout
    columns: Annotated[list[Column], Meta(min_length=1, max_length=LIMITS.form_fields)]
    items: Annotated[list[ViewItem], Rows]
    page: ViewPage
    actions: Maybe[Actions] = UNSET

    def verify(self) -> None:
        _check_actions(self.actions)
        unique_ids(self.columns, ".columns", "the column")
        unique_ids(self.items, ".items", "the item")
        self._check_page()
        types = {column.id: _TYPES[column.type] for column in self.columns}
        for index, item in enumerate(self.items):
            for name, value in item.fields.items():
                kind = kind_of(value)
                if kind is not types.get(name) or (kind is int and not 0 <= value <= MAX_INTEGER):
                    self._check_cell(name, value, f".items[{index}].fields.{short(name)}")
            if item.actions is not UNSET:
                self._check_item_actions(item.actions, f".items[{index}].actions")

    def _check_cell(self, name: str, value: Json, where: str) -> None:
        declared: ColumnType | None = next((one.type for one in self.columns if one.id == name), None)
        if declared is None:
            raise Problem(where, f"no column has this id: it {one_of(one.id for one in self.columns)}")
        kind = kind_of(value)
        fits = kind is _TYPES[declared] or (kind is float and declared == "number")
        if not (fits and is_normal(value, 0)) or (declared == "time" and value < 0):
            raise Problem(where, f"is no {declared}, which its column declares")

    def _check_item_actions(self, used: list[str], where: str) -> None:
        declared = [one.id for one in or_default(self.actions, []) if one.scope == "item"]
        for index, action in enumerate(used):
            if action not in declared:
                raise Problem(f"{where}[{index}]", f"no item action has this id: it {one_of(declared)}")
        unique(used, lambda index: f"{where}[{index}]", "the action")

    def _check_page(self) -> None:
        page, count = self.page, len(self.items)
        if count > page.size:
            raise Problem(".page.size", f"less than the {count} items")
        if page.total is not UNSET and page.index and page.index * page.size >= page.total:
            raise Problem(".page.index", "past the last page")
        if page.total is not UNSET and page.index * page.size + count > page.total:
            raise Problem(".page.total", "less than the rows up to the end of this page")

    def _own(self) -> ElementBase:
        return replace(self, hint=UNSET, items=[])


_TYPES: Final[dict[ColumnType, type]] = {"string": str, "number": int, "boolean": bool, "time": int}
"""The type of a column's cells; a number may be a float as well."""


Element = Union[StatusElement, ProgressElement, DocumentElement, ViewElement]
