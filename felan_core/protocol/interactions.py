"""Interactions: what a session asks a person, and the check of an answer (session protocol §6)."""

from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import Meta, UnsetType

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Id,
    Instant,
    Json,
    JsonObject,
    Label,
    Maybe,
    Structured,
    Text,
    Wire,
    or_default,
)
from felan_core.protocol.checks import unique, weight
from felan_core.protocol.errors import invalid
from felan_core.protocol.forms import Form, Options, check_options, check_values
from felan_core.protocol.problems import Problem, one_of
from felan_core.protocol.validate import parse_schema

InteractionState = Literal["waiting", "deferred", "resolved", "cancelled", "expired"]
Effect = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
Authority = Literal["owner", "local-console"]


class ApprovalOption(Wire, frozen=True, kw_only=True):
    """One way to answer, and what it does."""

    id: Id
    label: Label
    effect: Effect


class Request(Wire, tag_field="kind", frozen=True, kw_only=True):
    """What is asked, told apart by ``kind``."""

    title: Label


class DiffSubject(Wire, frozen=True, kw_only=True):
    """One file's change: the whole old and new text. ``old`` absent: the file is new."""

    path: Text
    new: str
    old: Maybe[str] = UNSET


class ApprovalSubject(Wire, frozen=True, kw_only=True):
    """What would be done: the tool's category and name, and the command, paths or diff that it is about.

    ``command`` and ``text`` are bounded by the interaction alone, as a diff is: nobody approves a part.
    """

    category: Label
    name: Maybe[Label] = UNSET
    command: Maybe[str] = UNSET
    cwd: Maybe[Text] = UNSET
    paths: Maybe[list[Text]] = UNSET
    diff: Maybe[list[DiffSubject]] = UNSET
    text: Maybe[str] = UNSET


class ApprovalRequest(Request, tag="approval", frozen=True, kw_only=True):
    """Whether a tool call may run. Answered with ``{option, note?}``."""

    subject: ApprovalSubject
    options: Annotated[list[ApprovalOption], Meta(min_length=1, max_length=LIMITS.element_actions)]

    def verify(self) -> None:
        unique((option.id for option in self.options), lambda index: f".options[{index}].id", "the option")


class ConfirmRequest(Request, tag="confirm", frozen=True, kw_only=True):
    """Yes or no. Answered with ``{confirmed}``."""

    message: Maybe[Text] = UNSET


class SelectRequest(Request, tag="select", frozen=True, kw_only=True):
    """``min`` to ``max`` of the options, one when nothing is said. Answered with ``{options: [id]}``."""

    options: Options
    min: Maybe[Count] = UNSET
    max: Maybe[Count] = UNSET

    def verify(self) -> None:
        check_options(self.options, self.min, self.max)
        low, high = self.bounds
        if low > high:
            raise Problem(".max", f"less than min, which is {low} here")

    @property
    def bounds(self) -> tuple[int, int]:
        """How many options an answer has at least and at most: one, where nothing is said."""
        return or_default(self.min, 1), or_default(self.max, 1)


class InputRequest(Request, tag="input", frozen=True, kw_only=True):
    """A text. Answered with ``{text}``."""

    placeholder: Maybe[Label] = UNSET
    multiline: Maybe[bool] = UNSET
    default: Maybe[Text] = UNSET


class FormRequest(Wire, tag_field="kind", tag="form", frozen=True, kw_only=True):
    """A form. Answered with ``{action, values?}``."""

    form: Form


InteractionRequest = Union[ApprovalRequest, ConfirmRequest, SelectRequest, InputRequest, FormRequest]
INTERACTION_KINDS = ("approval", "confirm", "select", "input", "form")


class InteractionScope(Wire, frozen=True, kw_only=True):
    """The session that asks, its root, and the run and tool call that it is about."""

    session: Id
    root: Id
    run: Maybe[Id] = UNSET
    tool: Maybe[Id] = UNSET


class Responder(Wire, frozen=True, kw_only=True):
    """Who answered: the host's principal and the client that it came from."""

    id: Id
    client: Label


class Interaction(Wire, frozen=True, kw_only=True):
    """One question. ``reason`` says in words why it was cancelled or expired. The whole of one is at most
    12 MiB of JSON: more would fit into no snapshot.
    """

    id: Id
    scope: InteractionScope
    request: InteractionRequest
    created_at: Instant
    deferrable: bool
    state: InteractionState
    authority: Maybe[Authority] = UNSET
    expires_at: Maybe[Instant] = UNSET
    responder: Maybe[Responder] = UNSET
    result: Maybe[JsonObject] = UNSET
    resolved_at: Maybe[Instant] = UNSET
    reason: Maybe[Label] = UNSET

    def weigh(self, size: int) -> None:
        if size > LIMITS.page_bytes and weight(self) > LIMITS.page_bytes:
            raise Problem("", f"more than {LIMITS.page_bytes} bytes")


class ApprovalAnswer(Wire, frozen=True, kw_only=True):
    """One of the offered options, and a note for the agent."""

    option: Id
    note: Maybe[Text] = UNSET


class ConfirmAnswer(Wire, frozen=True, kw_only=True):
    """Yes or no."""

    confirmed: bool


class SelectAnswer(Wire, frozen=True, kw_only=True):
    """The ids of the chosen options."""

    options: Annotated[list[Id], Meta(max_length=LIMITS.form_options)]


class InputAnswer(Wire, frozen=True, kw_only=True):
    """The text."""

    text: Text


class FormAnswer(Wire, frozen=True, kw_only=True):
    """The declared submit or cancel, by its id; with submit the values of the fields, by theirs."""

    action: Id
    values: Maybe[Structured] = UNSET


Answer = Union[ApprovalAnswer, ConfirmAnswer, SelectAnswer, InputAnswer, FormAnswer]

_ANSWERS: dict[type[Any], type[Any]] = {
    ApprovalRequest: ApprovalAnswer,
    ConfirmRequest: ConfirmAnswer,
    SelectRequest: SelectAnswer,
    InputRequest: InputAnswer,
    FormRequest: FormAnswer,
}


def deferred_until(interaction: Interaction, now: int) -> int:
    """The ``expiresAt`` of an interaction that is deferred at ``now``: its own, or ``deferredMs`` later
    (session protocol §6). Instants are milliseconds since the Unix epoch.
    """
    return or_default(interaction.expires_at, now + LIMITS.deferred_ms)


def is_overdue(interaction: Interaction, now: int) -> bool:
    """Whether an answer at ``now`` is too late: ``now`` ≥ ``expiresAt`` (session protocol §6)."""
    return not isinstance(interaction.expires_at, UnsetType) and now >= interaction.expires_at


def validate_interaction_answer(request: InteractionRequest, answer: Json) -> Answer:
    """Check ``answer`` (plain JSON) against ``request``: kind, offered ids, declared fields, choices and
    actions (session protocol §6). Who may answer, and when, is the host's to check.

    Returns the typed answer. Raises ``ProtocolError('invalid_request')``; the interaction then keeps waiting.
    """
    typed: Answer = parse_schema(_ANSWERS[type(request)], answer, "answer")
    match request, typed:
        case ApprovalRequest(), ApprovalAnswer():
            offered = [option.id for option in request.options]
            if typed.option not in offered:
                raise invalid(f"answer.option: {one_of(offered)}")
        case SelectRequest(), SelectAnswer():
            _check_selection(request, typed)
        case FormRequest(), FormAnswer():
            _check_form(request.form, typed)
        case _:
            pass
    return typed


def _check_selection(request: SelectRequest, answer: SelectAnswer) -> None:
    offered = [option.id for option in request.options]
    if len(set(answer.options)) != len(answer.options):
        raise invalid("answer.options: the same option twice")
    if not set(offered).issuperset(answer.options):
        raise invalid(f"answer.options: each {one_of(offered)}")
    low, high = request.bounds
    if not low <= len(answer.options) <= high:
        raise invalid(
            f"answer.options: choose {low} to {high}" if low != high else f"answer.options: choose {low}"
        )


def _check_form(form: Form, answer: FormAnswer) -> None:
    if answer.action == form.cancel.id:
        if answer.values is not UNSET:
            raise invalid("answer.values: cancel takes no values")
        return
    if answer.action != form.submit.id:
        raise invalid(f"answer.action: {one_of((form.submit.id, form.cancel.id))}")
    check_values(form.fields, or_default(answer.values, {}), "answer.values")


def resolved_result(answer: Answer) -> JsonObject:
    """The answer as the plain JSON that is kept in ``Interaction.result``."""
    plain: JsonObject = msgspec.to_builtins(answer)
    return plain
