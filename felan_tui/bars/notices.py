"""Notices: what the app says once, for how long it is shown, and the list in which it can be read again.

A policy without a clock of its own: each call says when it is. What is over is still in the list.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from felan_tui.text.cells import cell_len, wrap
from felan_tui.text.safe import safe_line

Severity = Literal["information", "warning", "error"]

SECONDS: Final = 4.0
"""How long a notice is shown, and for how long at least an error is that a key would take away."""

KEPT: Final = 200
"""Notices that can be read again."""

MOST_ROWS: Final = 4
"""Rows that a notice may take on the screen; the list has the rest."""

STYLES: Final[dict[Severity, tuple[str, str]]] = {
    "information": ("", "$text"),
    "warning": ("! ", "bold $text"),
    "error": ("✗ ", "$text-error"),
}
"""The sign and the style of each. None is amber: that is the colour of what waits for an answer."""


@dataclass(frozen=True)
class Notice:
    """``at``: milliseconds since the epoch. ``shown_at``: seconds of a monotonic clock."""

    text: str
    severity: Severity
    at: int
    shown_at: float
    title: str = ""

    @property
    def words(self) -> str:
        """The notice as one safe line, behind its sign."""
        head = f"{safe_line(self.title).strip()}: " if self.title else ""
        return STYLES[self.severity][0] + head + safe_line(self.text).strip()

    @property
    def style(self) -> str:
        """Its style."""
        return STYLES[self.severity][1]


class Notices:
    """The notices of one run of the app. An error is shown until a key is pressed; the others go by
    themselves.
    """

    def __init__(self) -> None:
        self._kept: deque[Notice] = deque(maxlen=KEPT)
        self._errors: list[Notice] = []
        self._passing: Notice | None = None

    def add(self, text: str, severity: Severity, *, at: int, now: float, title: str = "") -> Notice:
        """A new one."""
        notice = Notice(text, severity, at, now, title)
        self._kept.append(notice)
        if severity == "error":
            self._errors.append(notice)
            del self._errors[:-KEPT]
        else:
            self._passing = notice
        return notice

    def shown(self, now: float) -> Notice | None:
        """The one to show: an error that nobody had the time to read goes before what came since."""
        if self._errors:
            return self._errors[-1]
        if self._passing is not None and now - self._passing.shown_at < SECONDS:
            return self._passing
        return None

    def key_pressed(self, now: float) -> bool:
        """A key takes an error away that was there long enough to be read. True when it did."""
        if not self._errors or now - self._errors[-1].shown_at < SECONDS:
            return False
        self._errors.pop()
        return True

    @property
    def more(self) -> str:
        """How many errors nobody has read are behind the one that is shown, in words."""
        behind = len(self._errors) - 1
        return f" · {behind} more in /notices" if behind > 0 else ""

    @property
    def kept(self) -> Sequence[Notice]:
        """All that can be read again, oldest first."""
        return tuple(self._kept)


def notice_rows(words: str, cells: int, room: int) -> list[str]:
    """The rows that a notice takes above the rule: none where it fits in the ``room`` that the rule has."""
    if cell_len(words) <= room:
        return []
    rows = list(wrap(words, max(8, cells)))
    if len(rows) > MOST_ROWS:
        rows = [*rows[: MOST_ROWS - 1], "… whole in /notices"]
    return rows


__all__ = ["KEPT", "SECONDS", "Notice", "Notices", "Severity", "notice_rows"]
