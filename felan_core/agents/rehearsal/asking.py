"""Questions: a step into the request that is asked, and an answer into variables. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from felan_core.agents.rehearsal.steps import (
    AnyFormField,
    Approval,
    BooleanFormField,
    Choice,
    Confirm,
    EnumFormField,
    FormStep,
    Input,
    MultiSelectFormField,
    NumberFormField,
    QuestionStep,
    Select,
    StringFormField,
)
from felan_core.agents.rehearsal.words import one_line
from felan_core.protocol.base import UNSET, JsonObject, Maybe, or_default
from felan_core.protocol.elements import (
    BooleanField,
    EnumField,
    Form,
    FormButton,
    FormField,
    MultiSelectField,
    NumberField,
    Option,
    StringField,
)
from felan_core.protocol.interactions import (
    Answer,
    ApprovalAnswer,
    ApprovalOption,
    ApprovalRequest,
    ApprovalSubject,
    ConfirmAnswer,
    ConfirmRequest,
    DiffSubject,
    FormAnswer,
    FormRequest,
    InputAnswer,
    InputRequest,
    InteractionRequest,
    SelectAnswer,
    SelectRequest,
)

Fill = Callable[[str], str]
ALLOW: Final = "allow"
ALWAYS: Final = "always"
REJECT: Final = "reject"
_ANSWERS: Final[Mapping[type[Any], type[Any]]] = {
    ApprovalRequest: ApprovalAnswer,
    ConfirmRequest: ConfirmAnswer,
    SelectRequest: SelectAnswer,
    InputRequest: InputAnswer,
    FormRequest: FormAnswer,
}
_OPTIONS: Final = (
    ApprovalOption(id=ALLOW, label="Allow once", effect="allow_once"),
    ApprovalOption(id=ALWAYS, label="Allow all of this kind in this scenario", effect="allow_always"),
    ApprovalOption(id=REJECT, label="Reject", effect="reject_once"),
)


def may_do(
    title: str,
    *,
    category: str,
    name: str,
    cwd: str,
    command: str = "",
    path: str = "",
    diff: DiffSubject | None = None,
) -> ApprovalRequest:
    """The approval that stands before everything that the rehearsal does to the machine."""
    subject = ApprovalSubject(
        category=category,
        name=name,
        cwd=cwd,
        command=command or UNSET,
        paths=[path] if path else UNSET,
        diff=UNSET if diff is None else [diff],
    )
    return ApprovalRequest(title=one_line(title), subject=subject, options=list(_OPTIONS))


def request_of(step: QuestionStep, fill: Fill) -> InteractionRequest:
    """What a question step asks, its variables filled in."""
    match step:
        case Approval():
            subject = ApprovalSubject(
                category=one_line(fill(step.category)),
                name=_label(step.name, fill),
                command=step.command or UNSET,
                text=fill(step.text) or UNSET,
            )
            options = [
                ApprovalOption(id=one.id, label=one_line(fill(one.label)), effect=one.effect)
                for one in step.options
            ]
            return ApprovalRequest(title=one_line(fill(step.title)), subject=subject, options=options)
        case Confirm():
            return ConfirmRequest(title=one_line(fill(step.title)), message=fill(step.message) or UNSET)
        case Select():
            return SelectRequest(
                title=one_line(fill(step.title)),
                options=[_option(one, fill) for one in step.options],
                min=step.min,
                max=step.max,
            )
        case Input():
            return InputRequest(
                title=one_line(fill(step.title)),
                placeholder=_label(step.placeholder, fill),
                multiline=step.multiline or UNSET,
                default=fill(step.default) or UNSET,
            )
        case FormStep():
            return FormRequest(form=_form(step, fill))


def bound_by(step: QuestionStep, answer: Answer) -> dict[str, str]:
    """The variables of an answer, without the name before them: ``""`` is the step's own variable."""
    match answer:
        case ApprovalAnswer():
            return {"": answer.option, "note": or_default(answer.note, "")}
        case ConfirmAnswer():
            return {"": _yes(answer.confirmed)}
        case SelectAnswer():
            options = step.options if isinstance(step, Select) else ()
            labels = [one.label for one in options if one.id in answer.options]
            return {"": ", ".join(answer.options), "label": ", ".join(labels)}
        case InputAnswer():
            return {"": answer.text}
        case FormAnswer():
            values: JsonObject = or_default(answer.values, {})
            fields = step.fields if isinstance(step, FormStep) else ()
            return {"": answer.action, **words_of(fields, values)}


def words_of(fields: Sequence[AnyFormField], values: JsonObject) -> dict[str, str]:
    """What fields were filled in with, as variables by their ids."""
    return {field.id: _value(field, values) for field in fields}


def fields_of(fields: Sequence[AnyFormField], fill: Fill) -> list[FormField]:
    """The fields as the wire has them."""
    return [_field(one, fill) for one in fields]


def fits(request: InteractionRequest, answer: Answer) -> bool:
    """Whether the answer is of the request's kind."""
    return type(answer) is _ANSWERS[type(request)]


def _value(field: AnyFormField, values: JsonObject) -> str:
    value = values.get(field.id)
    match field, value:
        case _, None:
            return ""
        case BooleanFormField(), _:
            return _yes(bool(value))
        case EnumFormField(), _:
            return next((one.label for one in field.options if one.id == value), str(value))
        case MultiSelectFormField(), list():
            return ", ".join(one.label for one in field.options if one.id in value)
        case _:
            return str(value)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _label(text: str, fill: Fill) -> Maybe[str]:
    return one_line(fill(text)) or UNSET


def _option(choice: Choice, fill: Fill) -> Option:
    return Option(
        id=choice.id, label=one_line(fill(choice.label)), description=fill(choice.description) or UNSET
    )


def _form(step: FormStep, fill: Fill) -> Form:
    return Form(
        title=one_line(fill(step.title)),
        description=fill(step.description) or UNSET,
        fields=fields_of(step.fields, fill),
        submit=FormButton(id=step.submit.id, label=one_line(fill(step.submit.label))),
        cancel=FormButton(id=step.cancel.id, label=one_line(fill(step.cancel.label))),
    )


def _field(field: AnyFormField, fill: Fill) -> FormField:
    label, description = one_line(fill(field.label)), fill(field.description) or UNSET
    required = field.required or UNSET
    match field:
        case StringFormField():
            return StringField(
                id=field.id,
                label=label,
                description=description,
                required=required,
                default=fill(field.default) or UNSET,
                multiline=field.multiline or UNSET,
                min_length=UNSET if field.min_length is None else field.min_length,
                max_length=UNSET if field.max_length is None else field.max_length,
                placeholder=_label(field.placeholder, fill),
            )
        case BooleanFormField():
            default = UNSET if field.default is None else field.default
            return BooleanField(
                id=field.id, label=label, description=description, required=required, default=default
            )
        case EnumFormField():
            return EnumField(
                id=field.id,
                label=label,
                description=description,
                required=required,
                options=[_option(one, fill) for one in field.options],
                default=UNSET if field.default is None else field.default,
            )
        case NumberFormField():
            return NumberField(
                id=field.id,
                label=label,
                description=description,
                required=required,
                integer=field.integer or UNSET,
                min=UNSET if field.min is None else field.min,
                max=UNSET if field.max is None else field.max,
                default=UNSET if field.default is None else field.default,
            )
        case MultiSelectFormField():
            return MultiSelectField(
                id=field.id,
                label=label,
                description=description,
                required=required,
                options=[_option(one, fill) for one in field.options],
                min=UNSET if field.min is None else field.min,
                max=UNSET if field.max is None else field.max,
                default=list(field.default) or UNSET,
            )
