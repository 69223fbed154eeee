"""The line of the turn, with the keys that lead on: what runs on the left, what to press on the right.

It is the run line, always there, so that the keys cost no line of their own.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from felan_tui.bars.run import RunLine
from felan_tui.text.cells import cell_len
from felan_tui.text.widgets import Piece

GAP = 2


class KeyHint(NamedTuple):
    """A key and what it does, in a word; ``urgent`` ones come first where not all fit."""

    key: str
    does: str
    urgent: bool = False


def fitting(hints: Sequence[KeyHint], cells: int) -> list[KeyHint]:
    """As many of the hints as fit in ``cells`` cells, in their order; urgent ones are kept longest."""
    kept = list(hints)
    while kept and _size(kept) > cells:
        kept.remove(next((one for one in reversed(kept) if not one.urgent), kept[-1]))
    return kept


def _size(hints: Sequence[KeyHint]) -> int:
    return sum(cell_len(one.key) + 1 + cell_len(one.does) for one in hints) + 3 * max(0, len(hints) - 1)


class KeyLine(RunLine):
    """``● running 12 s · Esc cancels        F1 help · F3 processes``. ``hints`` says what can be pressed
    now.
    """

    DEFAULT_CSS = """
    KeyLine { display: block; }
    """

    def __init__(self, hints: Callable[[], Sequence[KeyHint]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints = hints

    def pieces(self, cells: int) -> list[Piece]:
        left = super().pieces(cells)
        taken = sum(cell_len(one if isinstance(one, str) else one[0]) for one in left)
        room = cells - taken - (GAP if taken else 0)
        hints = fitting(self._hints(), room)
        if not hints:
            return left
        left.append(" " * (cells - taken - _size(hints)) if taken else "")
        for number, hint in enumerate(hints):
            if number:
                left.append((" · ", "$text-muted"))
            left.append((hint.key, "bold $text-warning" if hint.urgent else "$text"))
            left.append((f" {hint.does}", "$text-muted"))
        return left


__all__ = ["KeyHint", "KeyLine", "fitting"]
