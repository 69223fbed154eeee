"""The background of the terminal: from its answer to OSC 11, or a guess from the environment. Pure."""

import re
from typing import Final

Rgb = tuple[int, int, int]

QUERY: Final = "\x1b]11;?\x1b\\"
_ANSWER = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?")
# The entries of the 16 colours whose text is dark, as rxvt, Konsole and vim count them.
_LIGHT_ENTRIES: Final = frozenset((7, 9, 10, 11, 12, 13, 14, 15))


def parse_color(text: str) -> Rgb | None:
    """`rgb:R/G/B` with 1 to 4 hexadecimal digits a channel, as 0 to 255; None for anything else."""
    found = _ANSWER.fullmatch(text)
    if found is None:
        return None
    red, green, blue = (round(int(part, 16) * 255 / (16 ** len(part) - 1)) for part in found.groups())
    return red, green, blue


def is_dark(color: Rgb) -> bool:
    """Whether light text is the one to read on it (ITU-R BT.601 luma under one half)."""
    red, green, blue = color
    return 0.299 * red + 0.587 * green + 0.114 * blue < 127.5


def guess_dark(colorfgbg: str | None) -> bool | None:
    """Whether `COLORFGBG` (`foreground;background`, or with a field between) means a dark background.

    None where it is not set, or says `default`.
    """
    entry = (colorfgbg or "").rpartition(";")[2]
    if not entry.isdecimal() or int(entry) > 15:
        return None
    return int(entry) not in _LIGHT_ENTRIES
