"""The words of a card: its header, what it waits for, and how it ended. Pure; instants in milliseconds.

Everything returned is safe to show: text of agents and of other clients has passed `felan_tui.text`.
"""

import re
from dataclasses import dataclass

from felan_core.protocol.base import or_default
from felan_core.protocol.interactions import (
    ApprovalRequest,
    ConfirmRequest,
    FormRequest,
    InputRequest,
    Interaction,
    InteractionRequest,
    SelectRequest,
)
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span

AGENT_GONE = "the agent that asked is gone"
"""The reason of a cancelled interaction that can be asked again (issue of the first light, point 7)."""

NAME_CELLS = 60
AGENT = "The agent"

_VERBS = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "run",
    "think": "think",
    "fetch": "fetch",
    "switch_mode": "change its mode",
}


_TO_RUN = re.compile(r"^run(ning)?:? ")
"""What agents write before a command in a title; the head has that word already."""


@dataclass(frozen=True)
class Ended:
    """How an interaction ended, as glyph, tone (a theme variable) and words."""

    glyph: str
    tone: str
    text: str


def is_open(interaction: Interaction) -> bool:
    """Whether an answer is still taken: waiting, or deferred."""
    return interaction.state in ("waiting", "deferred")


def can_ask_again(interaction: Interaction) -> bool:
    """Whether it was cancelled because its agent went away, which one key puts right."""
    return interaction.state == "cancelled" and AGENT_GONE in or_default(interaction.reason, "")


def title_of(request: InteractionRequest) -> str:
    """The request's title, whichever kind it is."""
    return request.form.title if isinstance(request, FormRequest) else request.title


def capitalized(text: str) -> str:
    """The text with a first letter that begins a sentence."""
    return text[:1].upper() + text[1:]


def header(request: InteractionRequest, agent: str = "") -> str:
    """The first words of a card: `opencode wants to run`, or the question's own title."""
    if isinstance(request, ApprovalRequest):
        return f"{cut(safe_line(agent).strip(), 40) or AGENT} wants to {_deed(request)}"
    return safe_line(title_of(request)).strip() or "A question"


def _deed(request: ApprovalRequest) -> str:
    subject = request.subject
    name = cut(safe_line(or_default(subject.name, "")).strip(), NAME_CELLS)
    known = _VERBS.get(subject.category)
    if known and (known != "run" or or_default(subject.command, "")):
        return known
    return f"use {name}" if name and name != subject.category else known or "do this"


def says_more(request: ApprovalRequest) -> bool:
    """Whether the title of an approval says more than its head, its command and its paths."""
    subject = request.subject
    title = _TO_RUN.sub("", _plain(request.title).rstrip("…"))
    command = _plain(or_default(subject.command, ""))
    if not title or command.startswith(title):
        return False
    paths = [*or_default(subject.paths, []), *(change.path for change in or_default(subject.diff, []))]
    known = {_plain(or_default(subject.name, "")), _plain(subject.category)}
    names = {_plain(name) for path in paths for name in (path, path.rstrip("/").rpartition("/")[2])}
    verbs = {_plain(verb) for verb in (*_VERBS.values(), *known, "write", "create", "run")}
    said = names | verbs | {f"{verb} {name}" for verb in verbs for name in names}
    return title not in said


def _plain(text: str) -> str:
    return " ".join(text.replace("⏎", " ").replace("`", "").split()).casefold()


def one_line(interaction: Interaction) -> str:
    """The card as one line, for when another one is in front of it: `run  git push`."""
    request = interaction.request
    if not isinstance(request, ApprovalRequest):
        return safe_line(title_of(request), mark="⏎").strip() or "a question"
    subject = request.subject
    paths = [*or_default(subject.paths, []), *(change.path for change in or_default(subject.diff, []))]
    about = or_default(subject.command, "") or (paths[0] if paths else request.title)
    text = safe_line(about.replace("\n", "⏎"), mark="⏎").strip()
    return f"{_deed(request)}  {text}" if text else _deed(request)


def waiting(interaction: Interaction, now: int) -> str:
    """How long it has been waiting; `now` in ms since the epoch."""
    return f"waiting {span((now - interaction.created_at) / 1000)}"


def state_words(interaction: Interaction, now: int) -> str:
    """What happens when nobody answers, and who else may not answer; empty where nothing is special."""
    expires = or_default(interaction.expires_at, None)
    left = None if expires is None else (expires - now) / 1000
    parts: list[str] = []
    if left is not None and left <= 0:
        parts.append("expired")
    elif interaction.state == "deferred":
        parts.append("deferred" if left is None else f"deferred, can be answered for {span(left)}")
    elif left is not None:
        parts.append(f"expires in {span(left)}")
    if or_default(interaction.authority, "") == "local-console":
        parts.append("only the host's own console can answer")
    return " · ".join(parts)


def ended(interaction: Interaction, me: str | None) -> Ended:
    """How it ended and by whom. `me` is the id of this client's principal, whose answers are "by you"."""
    reason = cut(safe_line(or_default(interaction.reason, "")).strip(), 200)
    match interaction.state:
        case "resolved":
            result = _result(interaction)
            return Ended(
                result.glyph, result.tone, f"{result.text}{_by(interaction, me)}{_note(interaction)}"
            )
        case "expired":
            return Ended("–", "$text-warning", f"expired: {reason}" if reason else "expired, nobody answered")
        case "cancelled":
            return Ended("✗", "$text-warning", f"cancelled: {reason}" if reason else "cancelled")
        case _:
            return Ended("?", "$text-warning", "waiting")


def _by(interaction: Interaction, me: str | None) -> str:
    responder = or_default(interaction.responder, None)
    if responder is None:
        return ""
    who = "you" if responder.id == me else cut(safe_line(responder.id).strip(), 40)
    client = cut(safe_line(responder.client).strip(), 40)
    return f" by {who} · {client}" if client else f" by {who}"


def _note(interaction: Interaction) -> str:
    note = or_default(interaction.result, {}).get("note", "")
    return f": {cut(safe_line(note, mark='⏎'), 200)}" if isinstance(note, str) and note else ""


_YES = ("✓", "$text-success")
_NO = ("✗", "$text-error")


def _result(interaction: Interaction) -> Ended:
    request, result = interaction.request, or_default(interaction.result, {})
    match request:
        case ApprovalRequest():
            chosen = [option for option in request.options if option.id == result.get("option")]
            words = {
                "allow_once": Ended(*_YES, "allowed"),
                "allow_always": Ended(*_YES, "always allowed"),
                "reject_once": Ended(*_NO, "rejected"),
                "reject_always": Ended(*_NO, "always rejected"),
            }
            return words[chosen[0].effect] if chosen else Ended(*_YES, "answered")
        case ConfirmRequest():
            return Ended(*_YES, "confirmed") if result.get("confirmed") is True else Ended(*_NO, "declined")
        case SelectRequest():
            picked = result.get("options")
            ids: list[object] = list(picked) if isinstance(picked, list) else []  # pyright: ignore[reportUnknownArgumentType]
            labels = [option.label for option in request.options if option.id in ids]
            said = cut(safe_line(", ".join(labels)), NAME_CELLS)
            return Ended(*_YES, f"chosen {said}" if said else "answered")
        case FormRequest():
            if result.get("action") == request.form.cancel.id:
                return Ended(*_NO, "declined")
            return Ended(*_YES, "filled in")
        case InputRequest():
            return Ended(*_YES, "answered")
