"""The text of a progress element: bar, share, amounts, rate and time left, in some cells. Pure."""

from dataclasses import dataclass

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ProgressElement
from felan_tui.elements.figures import amount, is_bytes
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span

FULL, HALF, EMPTY = "━", "╸", "─"
PULSE = 4
"""Cells of the piece that runs through the bar of an indeterminate progress."""

LABEL_MOST = 40
BAR_LEAST, BAR_MOST = 6, 40

GLYPHS = {
    "running": ("●", "accent"),
    "done": ("✓", "success"),
    "failed": ("✗", "error"),
    "cancelled": ("–", "warning"),
}
"""State to glyph and theme variable: both show it."""


@dataclass(frozen=True)
class BarText:
    """The parts of one line, left to right. `filled` and `rest` are the bar; both empty when it has none."""

    glyph: str
    tone: str
    label: str
    before: str
    filled: str
    rest: str
    figures: str


def is_indeterminate(element: ProgressElement) -> bool:
    """Running, and without a total to measure against."""
    return element.state == "running" and not or_default(element.total, 0)


def bar_text(
    element: ProgressElement,
    width: int,
    *,
    rate: float | None = None,
    left: float | None = None,
    beat: int = 0,
) -> BarText:
    """The line in `width` cells. `rate` in units a second, `left` in seconds; `beat` moves the pulse."""
    glyph, tone = GLYPHS[element.state]
    figures = _figures(element, rate, left)
    label = safe_line(element.label).strip() or safe_line(or_default(element.title, "")).strip()
    bar = BAR_LEAST if element.state == "running" else 0
    # Glyph and gaps: `● label  ━━━──  figures`.
    fixed = 2 + (2 + bar if bar else 0) + (2 if figures else 0)
    figures = cut(figures, max(0, width - fixed - min(12, cell_len(label))))
    room = width - fixed - cell_len(figures)
    label = cut(label, max(1, min(LABEL_MOST if bar else room, room)))
    if not bar:
        return BarText(glyph, tone, label, "", "", "", figures)
    bar = min(BAR_MOST, max(BAR_LEAST, bar + room - cell_len(label)))
    return BarText(glyph, tone, label, *_bar(element, bar, beat), figures)


def _bar(element: ProgressElement, cells: int, beat: int) -> tuple[str, str, str]:
    total = or_default(element.total, 0)
    if not total:
        start = beat % (cells + PULSE) - PULSE
        before, after = max(0, start), min(cells, start + PULSE)
        return EMPTY * before, FULL * (after - before), EMPTY * (cells - after)
    share = _share(or_default(element.value, 0), total)
    halves = int(share * cells * 2)
    full = FULL * (halves // 2) + (HALF if halves % 2 else "")
    return "", full, EMPTY * (cells - (halves + 1) // 2)


def _share(value: float, total: float, whole: float = 1.0) -> float:
    """How much of the total is done, 0 to `whole`. Clamped as a float: a tiny total makes it infinite."""
    return min(whole, max(0.0, value / total))


def _figures(element: ProgressElement, rate: float | None, left: float | None) -> str:
    unit = cut(safe_line(or_default(element.unit, "")).strip(), 16)
    value, total = or_default(element.value, None), or_default(element.total, 0)
    parts: list[str] = []
    if total and value is not None:
        parts.append(f"{int(_share(100 * value, total, 100.0))}%")
        parts.append(f"{amount(value, unit if is_bytes(unit) else '')} of {amount(total, unit)}")
    elif value is not None:
        parts.append(amount(value, unit))
    if element.state == "running":
        if rate is not None:
            parts.append(f"{amount(rate if rate >= 10 else round(rate, 1), unit)}/s")
        if left is not None and total:
            parts.append(f"{span(left)} left")
    else:
        parts.append(element.state)
    return " · ".join(parts)
