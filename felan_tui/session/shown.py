"""Entries and interactions as blocks of the transcript. Pure: protocol values in, blocks and their places
out.
"""

import json
from typing import Final, NamedTuple

from felan_core.protocol.base import Json, JsonObject, as_list, as_object, or_default
from felan_core.protocol.elements import BooleanField, EnumField, FormField, MultiSelectField
from felan_core.protocol.entries import (
    Entry,
    LocalOrigin,
    MessageEntry,
    NoticeEntry,
    TextPart,
    ThinkingPart,
    ToolDetails,
    ToolDiff,
    ToolEntry,
    ToolProcess,
    ToolText,
)
from felan_core.protocol.interactions import (
    ApprovalRequest,
    ConfirmRequest,
    FormRequest,
    InputRequest,
    Interaction,
    SelectRequest,
)
from felan_tui.text.cells import cut
from felan_tui.text.exits import exit_words
from felan_tui.text.safe import safe_line
from felan_tui.transcript.blocks import (
    Block,
    MarkdownBlock,
    NoticeBlock,
    OutcomeBlock,
    ThinkingBlock,
    UserBlock,
)
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.look import State
from felan_tui.transcript.tools import ToolBlock

Place = tuple[int, int]
"""Where a block stands: the entry's ``seq``, and its place in the entry."""

_VALUE_CELLS: Final = 80
"""Cells of an answer on its line; expanded it is whole."""

LIVE = 2**53
"""The ``seq`` of what is still streaming: after everything that has one."""


class Placed(NamedTuple):
    """A block and where it stands."""

    block: Block
    place: Place


def stream_key(message: str, stream: str) -> str:
    """The key of the block that a stream's text becomes."""
    return f"{message}/{stream}"


def entry_blocks(entry: Entry, *, me: str, now: int) -> list[Placed]:
    """The blocks of one entry. ``me`` is this client's name; ``now`` in milliseconds since the epoch."""
    match entry:
        case MessageEntry():
            return _message_blocks(entry, me)
        case ToolEntry():
            return [Placed(_tool_block(entry, now), (entry.seq, 0))]
        case NoticeEntry():
            tone = "info" if entry.tone == "muted" else entry.tone
            text, details = or_default(entry.text, ""), or_default(entry.details, "")
            notice = NoticeBlock(entry.id, tone, entry.title, text, details)
            return [Placed(notice, (entry.seq, 0))]


def _message_blocks(entry: MessageEntry, me: str) -> list[Placed]:
    if entry.role == "user":
        origin = entry.origin
        local = isinstance(origin, LocalOrigin)
        label = "you" if not local or origin.client == me else origin.client
        return [Placed(UserBlock(entry.id, entry.text, label=label), (entry.seq, 0))]
    placed: list[Placed] = []
    cut_off = entry.outcome != "completed"
    for index, part in enumerate(entry.parts):
        key = stream_key(entry.id, part.id)
        last = index == len(entry.parts) - 1
        match part:
            case ThinkingPart():
                millis = or_default(part.millis, 0)
                block: Block = ThinkingBlock(key, part.text, millis / 1000 if millis else None)
            case TextPart():
                block = MarkdownBlock(key, part.text, incomplete=cut_off and last)
        placed.append(Placed(block, (entry.seq, index)))
    return placed


def _tool_block(tool: ToolEntry, now: int) -> ToolBlock:
    ended = tool.ended_at if isinstance(tool.ended_at, int) else now
    content = or_default(tool.content, [])
    texts = [one.text for one in content if isinstance(one, ToolText)]
    details = tool.details or None
    if details is not None and details.message:
        texts.append(details.message)
    diffs = tuple(
        FileDiff(one.path, or_default(one.old, None), one.new) for one in content if isinstance(one, ToolDiff)
    )
    state, word = tool_state(tool)
    idle = tool.waiting is True or word == _NOT_RUN
    return ToolBlock(
        tool.id,
        tool.title,
        name=tool.name,
        category=tool.category,
        state=state,
        word=word,
        seconds=None if idle else max(0, ended - tool.started_at) / 1000,
        output="\n".join(texts),
        diffs=diffs,
        arguments=_arguments(tool),
    )


_NOT_RUN: Final = "not run"
_REASONS: Final[dict[str, tuple[State, str]]] = {
    "rejected": ("cancelled", "rejected"),
    "cancelled": ("cancelled", "cancelled"),
    "not_run": ("cancelled", _NOT_RUN),
    "stopped": ("cancelled", "stopped"),
    "lost": ("interrupted", "interrupted"),
}


def tool_state(tool: ToolEntry) -> tuple[State, str]:
    """A tool's state as it is drawn, and the word for it."""
    if tool.state == "running":
        return ("waiting", "waiting") if tool.waiting is True else ("running", "running")
    details = or_default(tool.details, ToolDetails())
    code = or_default(details.exit_code, 0)
    if tool.state == "completed":
        return "completed", exit_words(code) if code else ""
    reason = or_default(details.reason, "")
    if not reason:
        return tool.state, exit_words(code) if code else tool.state
    return _REASONS.get(reason, (tool.state, reason))


def _arguments(tool: ToolEntry) -> str:
    """The arguments as text; those that the title says already are left out."""
    arguments = tool.arguments or None
    members = as_object(arguments)
    if arguments is None or (members is not None and len(members) == 1 and tool.title in members.values()):
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2)


def tool_process(tool: ToolEntry) -> str | None:
    """The process whose output a tool call is, if it is one."""
    for one in or_default(tool.content, []):
        if isinstance(one, ToolProcess):
            return one.process
    return None


def interaction_block(interaction: Interaction, *, me: str) -> OutcomeBlock | None:
    """The line that stays of an interaction that is over; None while it is open."""
    title = title_of(interaction)
    match interaction.state:
        case "waiting" | "deferred":
            return None
        case "resolved":
            who = or_default(interaction.responder, None)
            by = "you" if who is None or who.client == me else who.client
            verb, value, good = _verdict(interaction)
            line = f"{verb} by {by}: {title}"
            return OutcomeBlock(
                interaction.id,
                "completed" if good else "interrupted",
                f"{line} · {cut(safe_line(value, mark='⏎'), _VALUE_CELLS)}" if value else line,
                "",
                _answer_text(interaction),
            )
        case "cancelled":
            return OutcomeBlock(
                interaction.id, "cancelled", f"{or_default(interaction.reason, 'cancelled')}: {title}"
            )
        case "expired":
            return OutcomeBlock(interaction.id, "cancelled", f"expired, nobody answered: {title}")


def title_of(interaction: Interaction) -> str:
    """What an interaction asks, in a line."""
    request = interaction.request
    if isinstance(request, FormRequest):
        return request.form.title
    if isinstance(request, ApprovalRequest):
        return or_default(request.subject.command, "") or request.title
    return request.title


_APPROVALS: Final[dict[str, tuple[str, bool]]] = {
    "allow_once": ("approved once", True),
    "allow_always": ("approved always", True),
    "reject_once": ("rejected", False),
    "reject_always": ("rejected always", False),
}


def _verdict(interaction: Interaction) -> tuple[str, str, bool]:
    """What the answer was, as a verb; its value, where the verb does not say it; whether it is a yes."""
    result = or_default(interaction.result, {})
    match interaction.request:
        case ApprovalRequest() as request:
            effect = next((one.effect for one in request.options if one.id == result.get("option")), "")
            verb, good = _APPROVALS.get(effect, ("answered", True))
            return verb, "", good
        case ConfirmRequest():
            return ("confirmed", "", True) if result.get("confirmed") else ("declined", "", False)
        case SelectRequest() as request:
            chosen = as_list(result.get("options")) or []
            return "answered", ", ".join(one.label for one in request.options if one.id in chosen), True
        case InputRequest():
            return "answered", str(result.get("text", "")), True
        case FormRequest() as request:
            if result.get("action") != request.form.submit.id:
                return "declined", "", False
            return "answered", ", ".join(_form_lines(request, result)), True


def _answer_text(interaction: Interaction) -> str:
    """The whole answer, for a line that is expanded."""
    result = or_default(interaction.result, {})
    match interaction.request:
        case ApprovalRequest() as request:
            label = next((one.label for one in request.options if one.id == result.get("option")), "")
            return "\n".join(part for part in (label, str(result.get("note", ""))) if part)
        case FormRequest() as request:
            return "\n".join(_form_lines(request, result))
        case _:
            return _verdict(interaction)[1]


def _form_lines(request: FormRequest, result: JsonObject) -> list[str]:
    """`Size: Large` for each field that was filled in."""
    values = as_object(result.get("values")) or {}
    return [
        f"{one.label}: {_field_value(one, values[one.id])}" for one in request.form.fields if one.id in values
    ]


def _field_value(field: FormField, value: Json) -> str:
    match field:
        case BooleanField():
            return "yes" if value is True else "no"
        case EnumField() | MultiSelectField():
            chosen = as_list(value) or [value]
            return ", ".join(one.label for one in field.options if one.id in chosen)
        case _:
            return str(value)
