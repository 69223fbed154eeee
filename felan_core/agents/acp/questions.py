"""An agent's permission request and elicitation as interactions, and the answer in the agent's terms."""

from dataclasses import dataclass, field
from typing import Any, Final, get_args

import msgspec

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import MARK, label, long_text
from felan_core.agents.acp.commands import title_line
from felan_core.agents.acp.subjects import subject_of
from felan_core.agents.acp.tools import ToolCall
from felan_core.protocol.base import LIMITS, UNSET, Json, JsonObject, Maybe, or_default
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
from felan_core.protocol.forms import field_problem
from felan_core.protocol.interactions import (
    ApprovalOption,
    ApprovalRequest,
    Effect,
    FormAnswer,
    FormRequest,
)

EFFECTS: Final[tuple[Effect, ...]] = get_args(Effect)
MAX_OPTIONS: Final = 16
SUBMIT: Final = "submit"
DECLINE: Final = "decline"


class NotAskable(Exception):
    """The question has no shape that a person could answer. The text says why."""


class _Ids:
    """Ids for what an agent names: its own name where that is a valid id, a made one otherwise."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def give(self, name: Any) -> str:
        fits = isinstance(name, str) and 0 < len(name.encode("utf-8", "replace")) <= LIMITS.id_bytes
        given_id: str = name if fits else f"choice-{len(self._named) + 1}"
        while given_id in self._named:
            given_id = f"{given_id[:100]}-{len(self._named) + 1}"
        self._named[given_id] = name
        return given_id

    def name(self, given_id: str) -> Any:
        return self._named[given_id]


@dataclass(frozen=True)
class Permission:
    """A permission request, ready to be asked. ``_ids`` leads back to the agent's option ids."""

    request: ApprovalRequest
    _ids: _Ids

    def option_id(self, chosen: str) -> str:
        """The agent's own id of the option."""
        return self._ids.name(chosen)

    def option(self, chosen: str) -> ApprovalOption:
        return next(option for option in self.request.options if option.id == chosen)


def permission(call: ToolCall, options: list[JsonObject]) -> Permission:
    """Raises ``NotAskable`` where the agent offers nothing that a person could choose."""
    ids = _Ids()
    offered: list[ApprovalOption] = []
    long_names: list[str] = []
    for option in options:
        kind, name = option.get("kind"), schema.a_string(option.get("name"))
        if kind not in EFFECTS or not isinstance(option.get("optionId"), str):
            continue
        name = name if name.strip() else kind.replace("_", " ").capitalize()
        short = label(name)
        if short.endswith(MARK) and short != name:
            # The scope of a rule may stand at its end.
            long_names.append(f"The option {short[:40]!r} in full:\n{name}")
        offered.append(ApprovalOption(id=ids.give(option["optionId"]), label=short, effect=kind))
    if not offered:
        raise NotAskable("it offers no answer that can be given")
    offered.sort(key=lambda option: EFFECTS.index(option.effect))
    if len(offered) > MAX_OPTIONS:
        # Whatever is left out, both allowing and rejecting stay possible.
        rejecting = [option for option in offered if option.effect.startswith("reject")][: MAX_OPTIONS // 2]
        allowing = [option for option in offered if option not in rejecting]
        offered = [*allowing[: MAX_OPTIONS - len(rejecting)], *rejecting]
    title = title_line(call.title or call.command() or call.name or call.kind)
    subject = subject_of(call, long_names)
    return Permission(ApprovalRequest(title=title, subject=subject, options=offered), ids)


@dataclass
class Elicitation:
    """A form elicitation, ready to be asked."""

    request: FormRequest
    _names: _Ids
    _fields: dict[str, FormField]
    _choices: dict[str, _Ids] = field(default_factory=dict[str, _Ids])

    def content(self, answer: FormAnswer) -> JsonObject | None:
        """The agent's content of an answer, or None where the person declined."""
        if answer.action != SUBMIT:
            return None
        content: JsonObject = {}
        for name, value in or_default(answer.values, {}).items():
            asked = self._fields[name]
            if value in ("", []) and not or_default(asked.required, False):
                continue  # not filled in
            content[self._names.name(name)] = self._value(name, asked, value)
        return content

    def _value(self, name: str, asked: FormField, value: Json) -> Json:
        match asked:
            case EnumField():
                return self._choices[name].name(value)
            case MultiSelectField():
                return [self._choices[name].name(chosen) for chosen in value]
            case NumberField():
                return int(value) if or_default(asked.integer, False) else value
            case _:
                return value


def elicitation(params: JsonObject, agent: str) -> Elicitation:
    """Raises ``NotAskable`` for what is no form, or asks for what a form cannot hold."""
    if params.get("mode") != "form":
        raise NotAskable("it is no form")
    asked = schema.an_object(params.get("requestedSchema"))
    properties = schema.an_object(asked.get("properties"))
    required = asked.get("required")
    needed: list[Any] = required if isinstance(required, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    names, fields, choices = _Ids(), dict[str, FormField](), dict[str, _Ids]()
    for name, told in properties.items():
        ids = _Ids()
        try:
            made = _field(name, schema.an_object(told), names, ids, name in needed)
        except NotAskable:
            if name in needed:
                raise
            continue
        fields[made.id] = made
        choices[made.id] = ids
    if len(fields) > LIMITS.form_fields:
        raise NotAskable(f"it has more than {LIMITS.form_fields} fields")
    message = schema.a_string(params.get("message"))
    notes = [schema.a_string(asked.get("title")), schema.a_string(asked.get("description"))]
    short = "\n" not in message and 0 < len(message) <= 120
    title = label(message if short else f"{agent} asks")
    description = "\n\n".join(text for text in [*notes, "" if short else message] if text and text != title)
    form = Form(
        title=title,
        description=long_text(description) if description else UNSET,
        fields=list(fields.values()),
        submit=FormButton(id=SUBMIT, label="Answer"),
        cancel=FormButton(id=DECLINE, label="Decline"),
    )
    return Elicitation(FormRequest(form=form), names, fields, choices)


def _field(name: str, told: JsonObject, names: _Ids, choices: _Ids, required: bool) -> FormField:
    kind = told.get("type")
    default: Json = told.get("default")
    base: dict[str, Any] = {
        "id": names.give(name),
        "label": label(schema.a_string(told.get("title")) or name),
        "description": _description(told),
        "required": True if required else UNSET,
    }
    made: FormField
    match kind:
        case "string" if "enum" in told or "oneOf" in told:
            options = _options(told, "oneOf", choices)
            made = EnumField(**base, options=options)
            default = _chosen(options, choices, [default])
            default = default[0] if default else None
        case "string":
            made = StringField(
                **base, min_length=_count(told.get("minLength")), max_length=_count(told.get("maxLength"))
            )
        case "boolean":
            made = BooleanField(**base)
        case "number" | "integer":
            low, high = _number(told.get("minimum")), _number(told.get("maximum"))
            made = NumberField(**base, integer=kind == "integer" or UNSET, min=low, max=high)
        case "array":
            options = _options(schema.an_object(told.get("items")), "anyOf", choices)
            low, high = _count(told.get("minItems")), _count(told.get("maxItems"))
            made = MultiSelectField(**base, options=options, min=low, max=high)
            default = _chosen(options, choices, default) if isinstance(default, list) else None  # pyright: ignore[reportUnknownArgumentType] - JSON
        case _:
            raise NotAskable(f"its field {name!r} is of an unknown kind")
    return _with_default(made, default)


def _with_default(made: FormField, default: Json) -> FormField:
    """A default must itself be a valid answer; one that is not is left out."""
    if default is None or field_problem(made, default) is not None:
        return made
    if isinstance(default, str) and len(default) > LIMITS.text_bytes // 4:
        return made
    return msgspec.structs.replace(made, default=default)


def _options(told: JsonObject, titled: str, choices: _Ids) -> list[Option]:
    if isinstance(told.get(titled), list):
        found = [
            (one.get("const"), schema.a_string(one.get("title")), schema.a_string(one.get("description")))
            for one in schema.objects(told[titled])
        ]
    else:
        plain: Any = told.get("enum")
        names: list[Json] = plain if isinstance(plain, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
        found = [(one, "", "") for one in names]
    options = [
        Option(
            id=choices.give(const),
            label=label(title or const),
            description=long_text(description) if description else UNSET,
        )
        for const, title, description in found
        if isinstance(const, str)
    ]
    if not 0 < len(options) <= LIMITS.form_options:
        raise NotAskable("a choice has no options, or too many")
    return options


def _chosen(options: list[Option], choices: _Ids, names: list[Any]) -> list[str]:
    return [option.id for option in options if choices.name(option.id) in names]


def _description(told: JsonObject) -> Maybe[str]:
    """With what our own check of an answer does not know: the agent checks that itself."""
    parts = [schema.a_string(told.get("description"))]
    if form := schema.a_string(told.get("format")):
        parts.append(f"(format: {form})")
    if pattern := schema.a_string(told.get("pattern")):
        parts.append(f"(pattern: {pattern})")
    text = " ".join(part for part in parts if part)
    return long_text(text) if text else UNSET


def _count(value: Json) -> Maybe[int]:
    count = schema.a_count(value)
    return UNSET if count is None else count


def _number(value: Json) -> Maybe[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNSET
    return value
