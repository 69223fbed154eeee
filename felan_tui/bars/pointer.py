"""The text of the pointer bar, as pure functions from the element `felan.pointer` and a width in cells.

State is told by a sign and by a colour. Where it gets narrow the parts on the right go in the order of
`DROP_ORDER`, and then the text of the pointer is cut; state and revision always stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece

if TYPE_CHECKING:  # the bars are painted before anything of the contract is loaded
    from felan_core.protocol.elements import Tone, ViewElement

SIGNS: dict[str, tuple[str, str]] = {
    "DIRTY": ("◆", "$text-accent"),
    "CLEAN": ("●", "$text-success"),
    "CLEARED": ("○", "$text-muted"),
    "ABSENT": ("·", "$text-muted"),
}

TONES: "dict[Tone, str]" = {
    "info": "$text",
    "success": "$text-success",
    "warning": "$text-warning",
    "error": "$text-error",
    "muted": "$text-muted",
}

PartName = Literal["usage", "processes", "waiting", "connection"]
DROP_ORDER: tuple[PartName, ...] = ("usage", "processes", "connection", "waiting")
"""Which part goes first where it gets narrow. What is a warning or an error goes last."""

_TEXT_LEAST = 24
_TEXT_MOST = 4096


@dataclass(frozen=True)
class PointerFacts:
    """The fields of the element's item. `code`: why it cannot be read, or what was stale."""

    status: str
    revision: int = 0
    text: str = ""
    code: str = ""

    @property
    def unreadable(self) -> bool:
        return self.status not in SIGNS or (self.status == "ABSENT" and bool(self.code))


@dataclass(frozen=True)
class Part:
    """A piece on the right: its safe text and its tone."""

    name: PartName
    text: str
    tone: "Tone" = "muted"


@dataclass(frozen=True)
class Parts:
    """All that is on the right. `connection`: the app's words where it is not as it should be ("host is
    gone").
    """

    usage: str = ""
    usage_tone: "Tone" = "muted"
    processes: int = 0
    waiting: int = 0
    connection: str = ""
    connection_tone: "Tone" = "muted"

    def listed(self) -> list[Part]:
        """Those that have something to say, left to right."""
        parts: list[Part] = []
        if usage := safe_line(self.usage).strip():
            parts.append(Part("usage", cut(usage, 16), self.usage_tone))
        if self.processes:
            parts.append(Part("processes", f"{self.processes} running", "muted"))
        if self.waiting:
            parts.append(Part("waiting", f"◷ {self.waiting}", "warning"))
        if connection := safe_line(self.connection).strip():
            parts.append(Part("connection", f"● {cut(connection, 28)}", self.connection_tone))
        return parts


@dataclass(frozen=True)
class BarLine:
    """The pieces of a line of exactly `width` cells, and which parts there was no room for."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    dropped: tuple[PartName, ...] = ()


def pointer_facts(element: "ViewElement | None") -> PointerFacts | None:
    """What the element says; None where there is no such element (yet), or no item in it."""
    if element is None or not element.items:
        return None
    fields = element.items[0].fields
    revision = fields.get("revision")
    return PointerFacts(
        status=str(fields.get("status", "")),
        revision=revision if isinstance(revision, int) else 0,
        text=str(fields.get("text") or "")[:_TEXT_MOST],
        code=str(fields.get("code") or "")[:256],
    )


def pointer_text(text: str) -> str:
    """The lines of a pointer as one: `goal → next step`."""
    return " → ".join(line for raw in text.splitlines() if (line := safe_line(raw).strip()))


def pointer_pieces(facts: PointerFacts | None, cells: int) -> list[Piece]:
    """State, revision and text in at most `cells` cells."""
    if facts is None:
        return [(cut("· no task pointer yet", cells), "$text-muted")]
    if facts.unreadable:
        words = f"! task pointer unreadable: {safe_line(facts.code) or safe_line(facts.status) or 'no state'}"
        return [(cut(words, cells), "bold $text-error")]
    sign, style = SIGNS[facts.status]
    head = f"{sign} {facts.status}"
    if facts.revision:
        head += f" r{facts.revision}"
    head = cut(head, cells)
    pieces: list[Piece] = [(head, f"bold {style}")]
    left = cells - cell_len(head)
    if facts.code and left > 4:
        note = cut(f" ({safe_line(facts.code)})", min(left, 24))
        pieces.append((note, "$text-warning"))
        left -= cell_len(note)
    if (text := pointer_text(facts.text)) and left > 4:
        pieces.append((" " + cut(text, left - 1), "$text"))
    return pieces


def _size(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(piece if isinstance(piece, str) else piece[0]) for piece in pieces)


def _least(facts: PointerFacts | None) -> int:
    """Cells that the left side wants before anything stands on the right."""
    if facts is None or facts.unreadable:
        return _TEXT_LEAST
    head = _size(pointer_pieces(PointerFacts(facts.status, facts.revision), 1000))
    return head + 1 + _TEXT_LEAST if facts.text.strip() else head


def bar_line(facts: PointerFacts | None, parts: Parts, width: int) -> BarLine:
    """The whole line in `width` cells: the pointer on the left, and as many parts as fit on the right."""
    shown = parts.listed()
    by_loss = sorted(shown, key=lambda part: (part.tone in ("warning", "error"), DROP_ORDER.index(part.name)))
    least = _least(facts)
    dropped: list[PartName] = []
    while shown and least + _right(shown) > width:
        lost = by_loss.pop(0)
        shown.remove(lost)
        dropped.append(lost.name)
    right = _right(shown)
    left = pointer_pieces(facts, max(0, width - right))
    pieces: list[Piece] = [*left, " " * max(0, width - _size(left) - right)]
    for number, part in enumerate(shown):
        pieces += [(" · ", "$text-muted") if number else "  ", (part.text, TONES[part.tone])]
    return BarLine(pieces, tuple(dropped))


def _right(parts: Sequence[Part]) -> int:
    return sum(cell_len(part.text) for part in parts) + 3 * len(parts) - 1 if parts else 0


__all__ = [
    "DROP_ORDER",
    "SIGNS",
    "BarLine",
    "Part",
    "PartName",
    "Parts",
    "PointerFacts",
    "bar_line",
    "pointer_facts",
    "pointer_pieces",
    "pointer_text",
]
