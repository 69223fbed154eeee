"""The words of a card: its header, what it waits for, and how it ended. Pure; instants in milliseconds.

Everything returned is safe to show: text of agents and of other clients has passed `felan_tui.text`.
"""

from dataclasses import dataclass

from felan_core.protocol.base import given
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

_AUTHORITY = {
    "owner": "the owner may answer",
    "local-console": "only the host's own console may answer",
}
NAME_CELLS = 60


@dataclass(frozen=True)
class Ended:
    """How an interaction ended, as glyph, tone (a theme variable's name) and words."""

    glyph: str
    tone: str
    text: str


def is_open(interaction: Interaction) -> bool:
    """Whether an answer is still taken: waiting, or deferred."""
    return interaction.state in ("waiting", "deferred")


def can_ask_again(interaction: Interaction) -> bool:
    """Whether it was cancelled because its agent went away, which one key puts right."""
    return interaction.state == "cancelled" and AGENT_GONE in given(interaction.reason, "")


def title_of(request: InteractionRequest) -> str:
    """The request's title, whichever kind it is."""
    return request.form.title if isinstance(request, FormRequest) else request.title


def header(request: InteractionRequest) -> str:
    """What the card's frame says: the verb, and what it is about, as `approve · bash`."""
    match request:
        case ApprovalRequest(subject=subject):
            verb, about = "approve", given(subject.name, "") or subject.category
        case ConfirmRequest():
            verb, about = "confirm", ""
        case SelectRequest():
            verb, about = "choose", ""
        case InputRequest():
            verb, about = "answer", ""
        case FormRequest():
            verb, about = "fill in", request.form.title
    about = cut(safe_line(about).strip(), NAME_CELLS)
    return f"{verb} · {about}" if about else verb


def one_line(interaction: Interaction) -> str:
    """The card as one line, for when another one is in front of it."""
    request = interaction.request
    about = title_of(request)
    if isinstance(request, ApprovalRequest):
        about = given(request.subject.command, "") or about
    head = header(request)
    text = safe_line(about, mark="⏎").strip()
    return head if not text or head.endswith(text) else f"{head}  {text}"


def footer(interaction: Interaction, now: int, *, sending: bool = False) -> str:
    """How long it waits, what happens when nobody answers, and who may. `now` in ms since the epoch.

    What is cut on a narrow screen is the end.
    """
    expires = given(interaction.expires_at, None)
    left = None if expires is None else (expires - now) / 1000
    waited = f"waiting {span((now - interaction.created_at) / 1000)}"
    if sending:
        parts = ["sending…"]
    elif interaction.state == "deferred":
        still = "deferred, still answerable"
        parts = [f"{still} for {span(left)}" if left is not None and left > 0 else still, waited]
    else:
        parts = [waited]
    if left is not None and left <= 0:
        parts.append("has expired")
    elif left is not None and interaction.state != "deferred":
        parts.append(f"expires unanswered in {span(left)}")
    if authority := _AUTHORITY.get(given(interaction.authority, "")):
        parts.append(authority)
    return " · ".join(parts)


def ended(interaction: Interaction, me: str | None) -> Ended:
    """How it ended and by whom. `me` is the id of this client's principal, whose answers are "by you"."""
    reason = cut(safe_line(given(interaction.reason, "")).strip(), 200)
    match interaction.state:
        case "resolved":
            result = _result(interaction)
            return Ended(
                result.glyph, result.tone, f"{result.text}{_by(interaction, me)}{_note(interaction)}"
            )
        case "expired":
            return Ended("–", "warning", f"expired: {reason}" if reason else "expired, nobody answered")
        case "cancelled":
            return Ended("✗", "warning", f"cancelled: {reason}" if reason else "cancelled")
        case _:
            return Ended("?", "warning", "waiting")


def _by(interaction: Interaction, me: str | None) -> str:
    responder = given(interaction.responder, None)
    if responder is None:
        return ""
    who = "you" if responder.id == me else cut(safe_line(responder.id).strip(), 40)
    client = cut(safe_line(responder.client).strip(), 40)
    return f" by {who} · {client}" if client else f" by {who}"


def _note(interaction: Interaction) -> str:
    note = given(interaction.result, {}).get("note", "")
    return f": {cut(safe_line(note, mark='⏎'), 200)}" if isinstance(note, str) and note else ""


_YES = ("✓", "success")
_NO = ("✗", "error")


def _result(interaction: Interaction) -> Ended:
    request, result = interaction.request, given(interaction.result, {})
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
