"""What a paste is to the composer: when an Enter belongs to it, what is cleaned off, what folds. Pure.

The driver makes one paste of whatever was pasted, bracketed or not (`felan_tui/terminal/bursts.py`).
"""

from felan_tui.text.safe import safe

ENTER_SECONDS = 0.120
"""For so long after a paste an Enter is a new line and sends nothing."""

FOLD_CHARACTERS = 8 * 1024
FOLD_LINES = 40
FOLD_LINE = 2 * 1024


class PasteGuard:
    """Watches pastes go by, each with its time in seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._until = float("-inf")

    def pasted(self, at: float) -> None:
        """A paste came."""
        self._until = max(self._until, at + ENTER_SECONDS)

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
