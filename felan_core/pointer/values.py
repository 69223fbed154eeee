"""The rules of each single field (task pointer §1): plain tests of a value, without regular expressions.

They are written by hand because a hook waits for this module at every prompt, and importing `re` costs more
than all of it. The JSON Schemas in `schemas/` say the same; a property test holds the two together.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # `typing` costs more to import than this room; checkers know the name
if TYPE_CHECKING:
    from typing import TypeGuard

CLEAN = "CLEAN"
DIRTY = "DIRTY"
CLEARED = "CLEARED"
STATUSES = (CLEAN, DIRTY, CLEARED)

ABSENT = "ABSENT"
LEGACY_V2 = "LEGACY_V2"

MAX_TEXT_BYTES = 8192
# What every JSON reader can hold as an integer (RFC 8259 §6); at one write a second it lasts 285 million
# years.
MAX_REVISION = 2**53 - 1
MAX_SESSION_ID = 128

# Unicode White_Space. `str.isspace` also accepts U+001C to U+001F, which are not in it.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_HEX = "0123456789abcdef"
_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_session_id(value: object) -> TypeGuard[str]:
    """`[A-Za-z0-9][A-Za-z0-9._-]{0,127}`, the whole string; so it is always a safe name of a folder."""
    return (
        type(value) is str
        and 1 <= len(value) <= MAX_SESSION_ID
        and value[0] in _ALNUM
        and not value.strip(_ALNUM + "._-")  # nothing is left at either end only if nothing else is in it
    )


def is_generation(value: object) -> TypeGuard[str]:
    """`g-` and 32 lower-case hex digits."""
    return type(value) is str and len(value) == 34 and value.startswith("g-") and not value[2:].strip(_HEX)


def is_uuid4(value: object) -> TypeGuard[str]:
    """A UUID of version 4, in lower case, with its hyphens."""
    if type(value) is not str or len(value) != 36:
        return False
    parts = value.split("-")
    return (
        [len(part) for part in parts] == [8, 4, 4, 4, 12]
        and not "".join(parts).strip(_HEX)
        and value[14] == "4"
        and value[19] in "89ab"
    )


def is_revision(value: object) -> TypeGuard[int]:
    """An integer from 1 on; `True` and 1.0 are none."""
    return type(value) is int and 1 <= value <= MAX_REVISION


def is_instant(value: object) -> TypeGuard[str]:
    """`yyyy-MM-ddTHH:mm:ssZ`, and a day and time that exist (no leap second, no year 0)."""
    if type(value) is not str or len(value) != 20 or not value.isascii():
        return False
    digits = value[0:4] + value[5:7] + value[8:10] + value[11:13] + value[14:16] + value[17:19]
    marks = value[4] + value[7] + value[10] + value[13] + value[16] + value[19]
    if marks != "--T::Z" or not digits.isdigit():
        return False
    year, month, day = int(digits[0:4]), int(digits[4:6]), int(digits[6:8])
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1]):
        return False
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return False
    return digits[8:10] < "24" and digits[10:12] < "60" and digits[12:14] < "60"


def normalise(text: str) -> str:
    """CRLF and CR become LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_fault(text: str) -> str | None:
    """The fault of a normalised pointer text, as the end of a sentence; None for a valid one."""
    if "\0" in text:
        return "holds a NUL"
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if size > MAX_TEXT_BYTES:
        return f"is {size} UTF-8 bytes long, more than {MAX_TEXT_BYTES}"
    if not text.strip(WHITE_SPACE):
        return "holds nothing but white space"
    return None


def instant(seconds: float) -> str:
    """Seconds since the epoch as `yyyy-MM-ddTHH:mm:ssZ`."""
    year, month, day, hour, minute, second = time.gmtime(seconds)[:6]
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"


def new_task_id() -> str:
    """A random UUID of version 4, in lower case (the `uuid` module costs too much to import)."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_generation() -> str:
    """A generation from a random UUID of version 4."""
    return "g-" + new_task_id().replace("-", "")
