"""The pointer bar: the session's task pointer at the left, always there; the status at the right."""

from typing import Any

from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import Element, StatusElement, ViewElement
from felan_core.protocol.reducer import SessionState
from felan_tui.bars.line import Part, two_halves

STATES: dict[str, tuple[str, str]] = {
    "DIRTY": ("◆", "bold $text-warning"),
    "CLEAN": ("●", "bold $text-success"),
    "CLEARED": ("○", "$text-muted"),
    "ABSENT": ("·", "$text-muted"),
}
UNREADABLE = ("!", "bold $text-error")


def pointer_pieces(element: Element | None) -> list[tuple[str, str]]:
    """The pointer in one line: state by shape and colour, revision, goal and next step."""
    fields: JsonObject = {}
    if isinstance(element, ViewElement) and element.items:
        fields = element.items[0].fields
    status = _text(fields.get("status")) or "ABSENT"
    code = _text(fields.get("code"))
    glyph, style = STATES.get(status, UNREADABLE)
    if code and status == "ABSENT":
        return [(f"{UNREADABLE[0]} pointer {code}", UNREADABLE[1])]
    revision = fields.get("revision")
    pieces = [(f"{glyph} {status}", style)]
    if isinstance(revision, int) and revision > 0:
        pieces.append((f" r{revision}", "$text-muted"))
    if code:
        pieces.append((f" ! {code}", UNREADABLE[1]))
    lines = [line.strip() for line in _text(fields.get("text")).splitlines() if line.strip()]
    if lines:
        pieces.append(("  " + " → ".join(lines), ""))
    return pieces


def status_parts(state: SessionState, connection: str) -> list[Part]:
    """Context in use, running processes, waiting questions, and how the host is reached."""
    usage = state.presentation.get("felan.usage")
    running = sum(row.state == "running" for row in state.processes.values())
    waiting = sum(one.state in ("waiting", "deferred") for one in state.interactions.values())
    parts: list[Part] = []
    if isinstance(usage, StatusElement):
        parts.append(Part(usage.text, "$text-warning" if usage.tone == "warning" else "$text-muted", 1))
    if running:
        parts.append(Part(f"⚙ {running}", "$text-accent", 2))
    if waiting:
        parts.append(Part(f"⏳ {waiting}", "bold $text-warning", 4))
    lost = connection.startswith("!")
    parts.append(Part(connection, "bold $text-error" if lost else "$text-muted", 5 if lost else 0))
    return parts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class PointerBar(Widget):
    """The lowest line of the screen."""

    DEFAULT_CSS = """
    PointerBar { height: 1; width: 1fr; padding: 0 1; background: $panel; color: $text; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state: SessionState | None = None
        self._connection = "○ starting"

    def show(self, state: SessionState | None, connection: str) -> None:
        """The session as it is now, and how its host is reached (``● embedded``, ``! host is gone``)."""
        self._state = state
        self._connection = connection
        self.refresh()

    def render(self) -> Content:
        state = self._state
        if state is None:
            return two_halves(pointer_pieces(None), [Part(self._connection, "$text-muted")], self.size.width)
        pieces = pointer_pieces(state.presentation.get("felan.pointer"))
        return two_halves(pieces, status_parts(state, self._connection), self.size.width)
