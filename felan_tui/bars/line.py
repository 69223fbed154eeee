"""A line of two halves: what is on the left is cut to fit, what is on the right drops parts in a declared
order.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line


class Part(NamedTuple):
    """One part of the right half. Parts of a lower ``weight`` are dropped first when there is no room."""

    text: str
    style: str = ""
    weight: int = 0


GAP = 2
LEAST_LEFT = 16
"""Cells that the left half keeps before parts of the right half are dropped."""


def fitted(parts: Sequence[Part], room: int) -> list[Part]:
    """The parts, in their order, that fit into ``room`` cells; the lightest are left out."""
    kept = [part for part in parts if part.text]
    while kept and sum(cell_len(part.text) for part in kept) + GAP * len(kept) > room:
        kept.remove(min(kept, key=lambda part: part.weight))
    return kept


def two_halves(left: Sequence[tuple[str, str]], right: Sequence[Part], width: int) -> Content:
    """One line of exactly ``width`` cells. The pieces of ``left`` are (text, style), cut from the end."""
    if width <= 0:
        return Content("")
    clean = [Part(safe_line(part.text), part.style, part.weight) for part in right]
    shown = fitted(clean, max(0, width - LEAST_LEFT))
    taken = sum(cell_len(part.text) for part in shown) + GAP * len(shown)
    room = max(0, width - taken)
    pieces: list[tuple[str, str]] = []
    for text, style in left:
        piece = cut(safe_line(text), room)
        pieces.append((piece, style))
        room -= cell_len(piece)
        if room <= 0:
            break
    pieces.append((" " * max(0, room), ""))
    for part in shown:
        pieces += [(" " * GAP, ""), (part.text, part.style)]
    return Content.assemble(*pieces)
