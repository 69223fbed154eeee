"""What is a paste and what is typing, and when an Enter belongs to a paste. Pure: time comes in as seconds.

Most pastes come bracketed and are one event. Where a terminal does not bracket them, or a paste holds the
sequence that ends one, its text arrives as keys, far faster than anybody types.
"""

import re

from felan_tui.text.safe import safe

ENTER_SECONDS = 0.120
"""For so long after a paste an Enter is a new line and sends nothing."""

BURST_SECONDS = 0.010
"""Keys that follow each other faster than this were not typed: a held key repeats every 30 ms, and a paste is
held up for some milliseconds whenever the machine has other work.
"""

BURST_KEYS = 8
"""So many fast keys may be typed ones that a slow link delivered together; one more is a paste."""

FOLD_CHARACTERS = 8 * 1024
FOLD_LINES = 40
FOLD_LINE = 2 * 1024


class PasteGuard:
    """Watches keys and pastes go by, each with its time in seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._run = 0
        self._until = float("-inf")

    def pasted(self, at: float) -> None:
        """A bracketed paste came."""
        self._until = max(self._until, at + ENTER_SECONDS)

    def key(self, at: float) -> bool:
        """A key that writes something (Enter too) came; True when it is part of a burst."""
        self._run = self._run + 1 if 0 <= at - self._last <= BURST_SECONDS else 1
        self._last = at
        if self._run <= BURST_KEYS:
            return False
        self.pasted(at)
        return True

    def enter_is_newline(self, at: float) -> bool:
        """Whether an Enter at this time belongs to a paste."""
        return at <= self._until


def clean_paste(text: str) -> str:
    """Pasted text without escape sequences, control and invisible characters; tabs stay what they are."""
    if "\t" not in text:
        return safe(text)
    # A character that `safe` keeps and that is not in the text stands for the tabs.
    stand_in = next(chr(point) for point in range(0xE000, 0xF900) if chr(point) not in text)
    return safe(text.replace("\t", stand_in)).replace(stand_in, "\t")


def is_large(text: str) -> bool:
    """Whether the text is folded in the composer: more than 8 KB, 40 lines, or a line of more than 2 KB."""
    if len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES:
        return True
    return len(text) > FOLD_LINE and any(len(line) > FOLD_LINE for line in text.split("\n"))


# VS Code reports a pointer outside of its cells as NaN, which no parser takes for a mouse report.
_MOUSE = re.compile(r"[\^\x1b]?\[<[\d;]*NaN[\d;Na]*[Mm]")


def without_mouse_reports(text: str) -> str:
    """`text` without mouse reports that arrived as keys (`^[<32;NaN;NaNM`)."""
    return _MOUSE.sub("", text) if "NaN" in text else text
