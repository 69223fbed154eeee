"""Entries and interactions as blocks of the transcript. Pure: protocol values in, blocks and their places
out.
"""

import json
from typing import NamedTuple

from felan_core.protocol.base import as_object, given
from felan_core.protocol.entries import (
    Entry,
    LocalOrigin,
    MessageEntry,
    NoticeEntry,
    TextPart,
    ThinkingPart,
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
from felan_tui.transcript.blocks import (
    Block,
    MarkdownBlock,
    NoticeBlock,
    OutcomeBlock,
    ThinkingBlock,
    UserBlock,
)
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.tools import ToolBlock

Place = tuple[int, int]
"""Where a block stands: the entry's ``seq``, and its place in the entry."""

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
            notice = NoticeBlock(entry.id, tone, entry.title, given(entry.text, ""), given(entry.details, ""))
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
                millis = given(part.millis, 0)
                block: Block = ThinkingBlock(key, part.text, millis / 1000 if millis else None)
            case TextPart():
                block = MarkdownBlock(key, part.text, incomplete=cut_off and last)
        placed.append(Placed(block, (entry.seq, index)))
    return placed


def _tool_block(tool: ToolEntry, now: int) -> ToolBlock:
    ended = tool.ended_at if isinstance(tool.ended_at, int) else now
    content = given(tool.content, [])
    texts = [one.text for one in content if isinstance(one, ToolText)]
    details = tool.details or None
    if details is not None and details.message:
        texts.append(details.message)
    diffs = tuple(
        FileDiff(one.path, given(one.old, None), one.new) for one in content if isinstance(one, ToolDiff)
    )
    title = tool.title
    if details is not None and details.reason:
        title = f"{title} ({details.reason})" if tool.state != "completed" else title
    if details is not None and isinstance(details.exit_code, int) and details.exit_code != 0:
        title = f"{title} (exit {details.exit_code})"
    return ToolBlock(
        tool.id,
        title,
        name=tool.name,
        category=tool.category,
        state=tool.state,
        seconds=max(0, ended - tool.started_at) / 1000,
        output="\n".join(texts),
        diffs=diffs,
        arguments=_arguments(tool),
        opens=bool(diffs) and tool.state == "completed",  # before that the card shows the same
    )


def _arguments(tool: ToolEntry) -> str:
    """The arguments as text; those that the title says already are left out."""
    arguments = tool.arguments or None
    members = as_object(arguments)
    if arguments is None or (members is not None and len(members) == 1 and tool.title in members.values()):
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2)


def tool_process(tool: ToolEntry) -> str | None:
    """The process whose output a tool call is, if it is one."""
    for one in given(tool.content, []):
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
            who = given(interaction.responder, None)
            by = "you" if who is None or who.client == me else who.client
            verb, good = _verdict(interaction)
            details = _answer_text(interaction)
            return OutcomeBlock(
                interaction.id,
                "completed" if good else "interrupted",
                f"{verb} by {by}: {title}",
                "",
                details,
            )
        case "cancelled":
            return OutcomeBlock(
                interaction.id, "cancelled", f"{given(interaction.reason, 'cancelled')}: {title}"
            )
        case "expired":
            return OutcomeBlock(interaction.id, "cancelled", f"expired, nobody answered: {title}")


def title_of(interaction: Interaction) -> str:
    """What an interaction asks, in a line."""
    request = interaction.request
    if isinstance(request, FormRequest):
        return request.form.title
    if isinstance(request, ApprovalRequest):
        return given(request.subject.command, "") or request.title
    return request.title


def _verdict(interaction: Interaction) -> tuple[str, bool]:
    result = given(interaction.result, {})
    match interaction.request:
        case ApprovalRequest() as request:
            effect = next((one.effect for one in request.options if one.id == result.get("option")), "")
            return ("rejected", False) if effect.startswith("reject") else ("approved", True)
        case ConfirmRequest():
            return ("confirmed", True) if result.get("confirmed") else ("declined", False)
        case FormRequest() as request:
            sent = result.get("action") == request.form.submit.id
            return ("sent", True) if sent else ("cancelled", False)
        case _:
            return "answered", True


def _answer_text(interaction: Interaction) -> str:
    result = given(interaction.result, {})
    match interaction.request:
        case ApprovalRequest():
            return str(result.get("note", ""))
        case SelectRequest() as request:
            chosen = result.get("options", [])
            return ", ".join(one.label for one in request.options if one.id in chosen)
        case InputRequest():
            return str(result.get("text", ""))
        case FormRequest() as request:
            values = result.get("values", {})
            return "\n".join(
                f"{one.label}: {values[one.id]}" for one in request.form.fields if one.id in values
            )
        case _:
            return ""
