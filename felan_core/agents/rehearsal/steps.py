"""The closed vocabulary of a scenario: what each step is made of, as it is written in TOML.

``docs/rehearsal.md`` lists the same members for people, and a test holds the two together. Nothing here runs.
"""

from typing import Annotated, Any, Final, Literal, Union, get_args

import msgspec
from msgspec import Meta

from felan_core.protocol.base import LIMITS, Count, Id, Label, NonEmpty, Text
from felan_core.protocol.elements import ActionScope, ActionStyle, ColumnType, Layout, Placement
from felan_core.protocol.entries import Tone
from felan_core.protocol.interactions import Effect

Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
"""A variable, a label, a scenario: lower case, at most 32 characters."""
Target = Annotated[str, Meta(pattern=r"^(@next|@end|[a-z][a-z0-9_-]{0,31})$")]
"""Where to go on: a label or part, ``@next`` (the next part, or the end) or ``@end``."""
ElementId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^(?!felan\.)")]
"""Ids that start with ``felan.`` are the host's."""
Phrase = Annotated[str, Meta(min_length=1, max_length=60)]
Short = Annotated[str, Meta(min_length=1, max_length=LIMITS.label_bytes)]
Speed = Annotated[float, Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, Meta(ge=0, le=600)]
Cell = Any
"""Text, a number, a bool or an instant; ``check`` holds it to its column."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a scenario: immutable, and a member that is not declared is an error."""


class Step(Shape, tag_field="do", frozen=True, kw_only=True):
    """One step. ``label``: a name that ``goto`` may name."""

    label: Name | None = None


# Saying


class Say(Step, tag="say", frozen=True, kw_only=True):
    """Streams Markdown.

    ``speed``: characters a second at pace 1, 0 at once; ``repeat`` counts in ``${i}``.
    """

    text: NonEmpty
    speed: Speed | None = None
    repeat: Annotated[int, Meta(ge=1, le=2000)] = 1


class Think(Step, tag="think", frozen=True, kw_only=True):
    """Streams thinking."""

    text: NonEmpty
    speed: Speed | None = None


class Notice(Step, tag="notice", frozen=True, kw_only=True):
    """A notice of the host in the transcript."""

    tone: Tone
    title: Short
    text: Text = ""
    details: Text = ""


# Acting


class Read(Step, tag="read", frozen=True, kw_only=True):
    """Reads a file. Binds ``done`` or ``failed``, and ``.lines``, ``.reason``."""

    path: NonEmpty
    into: Name | None = msgspec.field(default=None, name="as")


class Write(Step, tag="write", frozen=True, kw_only=True):
    """Writes a whole file after an approval. ``unique``: under the next free name, never over a file.

    Binds ``done``, ``rejected``, ``changed``, ``withdrawn`` or ``failed``, and ``.path``, ``.note``,
    ``.reason``.
    """

    path: NonEmpty
    text: Text
    unique: bool = False
    into: Name | None = msgspec.field(default=None, name="as")


class Edit(Step, tag="edit", frozen=True, kw_only=True):
    """Replaces the one place that reads ``find`` after an approval. Binds as ``write`` does."""

    path: NonEmpty
    find: NonEmpty
    replace: Text
    into: Name | None = msgspec.field(default=None, name="as")


class Append(Step, tag="append", frozen=True, kw_only=True):
    """Adds ``text`` to the end of a file after an approval. Binds as ``write`` does."""

    path: NonEmpty
    text: NonEmpty
    into: Name | None = msgspec.field(default=None, name="as")


class Delete(Step, tag="delete", frozen=True, kw_only=True):
    """Deletes a file after an approval. Binds as ``write`` does."""

    path: NonEmpty
    into: Name | None = msgspec.field(default=None, name="as")


class Run(Step, tag="run", frozen=True, kw_only=True):
    """Runs a shell command as a process of the session after an approval.

    The command takes no variables, since an answer is never a shell's word; ``${beat}`` alone is filled in,
    with ``beat`` seconds times the pace. Binds ``done``, ``rejected``, ``failed``, ``stopped`` or
    ``withdrawn``, and ``.exit``, ``.last`` (the last line), ``.note``, ``.reason``.
    """

    command: NonEmpty
    title: Short
    beat: Seconds = 0
    into: Name | None = msgspec.field(default=None, name="as")


class Publish(Step, tag="publish", frozen=True, kw_only=True):
    """Publishes the session's task pointer. Binds ``done`` or ``failed``, and ``.reason``."""

    text: NonEmpty
    into: Name | None = msgspec.field(default=None, name="as")


class Compact(Step, tag="compact", frozen=True, kw_only=True):
    """Compacts what the agent knows: values bound by earlier steps are forgotten, and only the host's next
    context is known. ``summary`` is for the person. Binds ``done``, and ``.status``, ``.revision``, ``.mode``
    and ``.text`` of the task pointer in that context.
    """

    trigger: Literal["manual", "auto"] = "auto"
    summary: Text = ""
    into: Name | None = msgspec.field(default=None, name="as")


class Rename(Step, tag="rename", frozen=True, kw_only=True):
    """Names the session, where the person gave it no name."""

    name: Short


class Usage(Step, tag="usage", frozen=True, kw_only=True):
    """Says how much of the context is used, in tokens."""

    used: Count
    size: Count


# Asking: every question binds ``withdrawn`` (and ``.reason``) when it will not be answered.


class Choice(Shape, frozen=True, kw_only=True):
    """One option of a ``select`` or of an ``enum`` field."""

    id: Id
    label: Short
    description: Text = ""


class ApprovalChoice(Shape, frozen=True, kw_only=True):
    """One option of an ``approval``."""

    id: Id
    label: Short
    effect: Effect


Choices = Annotated[tuple[Choice, ...], Meta(min_length=1, max_length=LIMITS.form_options)]


class Approval(Step, tag="approval", frozen=True, kw_only=True):
    """An approval of nothing but itself. Binds the option's id, and ``.note``."""

    title: Short
    category: Short
    options: Annotated[tuple[ApprovalChoice, ...], Meta(min_length=1, max_length=16)]
    name: Label = ""
    command: Text = ""
    text: Text = ""
    into: Name | None = msgspec.field(default=None, name="as")


class Confirm(Step, tag="confirm", frozen=True, kw_only=True):
    """Yes or no. Binds ``yes`` or ``no``."""

    title: Short
    message: Text = ""
    into: Name | None = msgspec.field(default=None, name="as")


class Select(Step, tag="select", frozen=True, kw_only=True):
    """One or several of a list. Binds the ids, and ``.label``, with commas between several."""

    title: Short
    options: Choices
    min: Count = 1
    max: Count = 1
    into: Name | None = msgspec.field(default=None, name="as")


class Input(Step, tag="input", frozen=True, kw_only=True):
    """A line of text, or several. Binds the text."""

    title: Short
    placeholder: Label = ""
    multiline: bool = False
    default: Text = ""
    into: Name | None = msgspec.field(default=None, name="as")


class FormFieldBase(Shape, tag_field="type", frozen=True, kw_only=True):
    id: Name
    label: Short
    description: Text = ""
    required: bool = False


class StringFormField(FormFieldBase, tag="string", frozen=True, kw_only=True):
    """A field for text."""

    default: Text = ""
    multiline: bool = False
    min_length: Count | None = None
    max_length: Count | None = None
    placeholder: Label = ""


class BooleanFormField(FormFieldBase, tag="boolean", frozen=True, kw_only=True):
    """A field for yes or no."""

    default: bool | None = None


class EnumFormField(FormFieldBase, tag="enum", frozen=True, kw_only=True):
    """A field for one of several options."""

    options: Choices
    default: Id | None = None


class NumberFormField(FormFieldBase, tag="number", frozen=True, kw_only=True):
    """A field for a number, or a whole one."""

    integer: bool = False
    min: Union[int, float, None] = None
    max: Union[int, float, None] = None
    default: Union[int, float, None] = None


class MultiSelectFormField(FormFieldBase, tag="multi_select", frozen=True, kw_only=True):
    """A field for several of some options."""

    options: Choices
    min: Count | None = None
    max: Count | None = None
    default: tuple[Id, ...] = ()


AnyFormField = Union[StringFormField, BooleanFormField, EnumFormField, NumberFormField, MultiSelectFormField]


class Button(Shape, frozen=True, kw_only=True):
    """A button."""

    id: Id
    label: Short


class FormStep(Step, tag="form", frozen=True, kw_only=True):
    """A form. Binds the id of the button, and each field as ``.id`` (yes or no for a boolean)."""

    title: Short
    fields: Annotated[tuple[AnyFormField, ...], Meta(max_length=LIMITS.form_fields)]
    description: Text = ""
    submit: Button = Button(id="submit", label="Submit")
    cancel: Button = Button(id="cancel", label="Cancel")
    into: Name | None = msgspec.field(default=None, name="as")


# Showing


class ElementAction(Shape, frozen=True, kw_only=True):
    """An action of an element: it leaves a notice, removes the element, or both. With ``scope`` ``item`` it
    is one of each row, whose id is ``${item}`` in the notice; then ``remove`` takes the row away, and ``set``
    puts other cells into it, by column. What its ``fields`` were filled in with is in the notice by their
    ids.
    """

    id: Id
    label: Short
    scope: ActionScope = "element"
    fields: Annotated[tuple[AnyFormField, ...], Meta(max_length=LIMITS.form_fields)] = ()
    notice: Label = ""
    remove: bool = False
    cells: dict[str, Cell] = msgspec.field(default_factory=dict[str, Cell], name="set")
    confirm: Label = ""
    style: ActionStyle = "default"


ElementActions = Annotated[tuple[ElementAction, ...], Meta(max_length=LIMITS.element_actions)]


class Status(Step, tag="status", frozen=True, kw_only=True):
    """Puts up or replaces a status line."""

    id: ElementId
    text: Short
    tone: Tone = "info"
    title: Label = ""
    placement: Placement | None = None


class Progress(Step, tag="progress", frozen=True, kw_only=True):
    """A progress bar that moves from 0 to ``total`` in ``seconds``; without ``total`` it is indeterminate."""

    id: ElementId
    text: Short
    seconds: Seconds
    total: Annotated[int, Meta(ge=1, le=2**53 - 1)] | None = None
    unit: Label = ""
    title: Label = ""
    placement: Placement | None = None


class Document(Step, tag="document", frozen=True, kw_only=True):
    """Puts up a document. Markdown without raw HTML; what variables hold is shown as it was typed."""

    id: ElementId
    markdown: NonEmpty
    title: Label = ""
    placement: Placement | None = None
    actions: ElementActions = ()


class ViewColumn(Shape, frozen=True, kw_only=True):
    """A column and the type of its cells."""

    id: Name
    label: Short
    type: ColumnType


class ViewRow(Shape, frozen=True, kw_only=True):
    """One item: ``fields`` by column. A time is a TOML instant with its offset, or ``"now"``."""

    id: Id
    fields: dict[str, Cell]


class View(Step, tag="view", frozen=True, kw_only=True):
    """Puts up a table or a list."""

    id: ElementId
    columns: Annotated[tuple[ViewColumn, ...], Meta(min_length=1, max_length=LIMITS.form_fields)]
    items: Annotated[tuple[ViewRow, ...], Meta(max_length=LIMITS.page_entries)]
    layout: Layout = "table"
    title: Label = ""
    placement: Placement | None = None
    actions: ElementActions = ()


class Remove(Step, tag="remove", frozen=True, kw_only=True):
    """Takes an element away; nothing happens where it is not up."""

    id: ElementId


# Going


class Part(Step, tag="part", frozen=True, kw_only=True):
    """Where a part begins: a label too, and what ``@next`` leads to."""

    name: Name


class Wait(Step, tag="wait", frozen=True, kw_only=True):
    """Waits ``seconds`` times the pace."""

    seconds: Seconds


class SetVariable(Step, tag="set", frozen=True, kw_only=True):
    """Binds a variable."""

    name: Name
    value: Text


class If(Step, tag="if", frozen=True, kw_only=True):
    """Goes on at ``goto`` when the variable is one of the texts of ``is``, else at ``else`` or below."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}(\.[a-z][a-z0-9_-]{0,31})?$")]
    equals: str | tuple[str, ...] = msgspec.field(name="is")
    goto: Target
    otherwise: Target | None = msgspec.field(default=None, name="else")


class Goto(Step, tag="goto", frozen=True, kw_only=True):
    """Goes on at ``to``."""

    to: Target


class End(Step, tag="end", frozen=True, kw_only=True):
    """Ends the turn as completed."""


class Fail(Step, tag="fail", frozen=True, kw_only=True):
    """Ends the turn as failed: the agent refuses and lives on."""

    message: Short
    details: Text = ""


class Crash(Step, tag="crash", frozen=True, kw_only=True):
    """The agent is gone. The next turn starts it anew."""

    message: Short
    details: Text = ""


AnyStep = Union[
    Say, Think, Notice, Read, Write, Edit, Append, Delete, Run, Publish, Compact, Rename, Usage,
    Approval, Confirm, Select, Input, FormStep, Status, Progress, Document, View, Remove,
    Part, Wait, SetVariable, If, Goto, End, Fail, Crash,
]  # fmt: skip
STEPS: Final[tuple[type[Step], ...]] = get_args(AnyStep)
ChangeStep = Write | Edit | Append | Delete
QuestionStep = Approval | Confirm | Select | Input | FormStep
ElementStep = Status | Progress | Document | View


class SteerRule(Shape, frozen=True, kw_only=True):
    """The effect of a message into a running turn: ``say`` answers it, ``pace`` is a factor on the remaining
    time.
    """

    on: Annotated[tuple[Phrase, ...], Meta(min_length=1, max_length=32)]
    say: Text = ""
    goto: Target | None = None
    pace: Annotated[float, Meta(gt=0, le=10)] | None = None


class Header(Shape, frozen=True, kw_only=True):
    """What stands above the steps.

    ``on``: words that start the scenario; ``offered``: whether it is a command.
    """

    title: Short
    summary: Short
    hint: Label = ""
    on: Annotated[tuple[Phrase, ...], Meta(max_length=64)] = ()
    offered: bool = True
    speed: Speed = 300
    steer: Annotated[tuple[SteerRule, ...], Meta(max_length=32)] = ()
