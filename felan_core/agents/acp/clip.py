"""Cuts what an agent sends down to the contract's limits, always with a mark that says so."""

from math import isfinite
from typing import Any, Final

import msgspec

from felan_core.protocol.base import LIMITS, MAX_INTEGER, Json

MARK = "…"
MAX_LEVELS: Final = LIMITS.json_depth - 6
"""Levels of free JSON: a snapshot's frame has six around a tool's arguments."""
TOO_DEEP: Final = f"{MARK} (nested deeper than {MAX_LEVELS} levels)"
BODY_BYTES = 1024 * 1024
"""How much of one text of a tool call (an output, one side of a diff) is kept."""
_STRING_LIMITS = (LIMITS.text_bytes, 16 * 1024, 2 * 1024, 256, 64)


def clip(text: str, limit: int) -> str:
    """The start of ``text`` in at most ``limit`` UTF-8 bytes, ending in … where something was cut."""
    if len(text) * 4 <= limit:
        return text
    raw = text[: limit + 1].encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    return raw[: limit - len(MARK.encode())].decode("utf-8", "ignore") + MARK


def label(text: str) -> str:
    """A line for a title: as long as the contract takes, with white space made single spaces."""
    start = text[: 8 * LIMITS.label_bytes]
    words = " ".join(start.split())
    return clip(words if len(start) == len(text) else f"{words}{MARK}", LIMITS.label_bytes)


def long_text(text: str) -> str:
    """A text of the contract's kind ``Text``."""
    return clip(text, LIMITS.text_bytes)


def body(text: str) -> str:
    """The body of a tool call. What is left out is counted."""
    return _counted(text, BODY_BYTES)


def _counted(text: str, limit: int) -> str:
    """The start of ``text`` in ``limit`` bytes, and after it how much was cut."""
    raw = text.encode("utf-8", "replace") if len(text) * 4 > limit else b""
    if len(raw) <= limit:
        return text
    kept = raw[:limit].decode("utf-8", "ignore")
    return f"{kept}{MARK}\n({len(raw) - len(kept.encode()):,} more bytes are not kept)"


def bounded(value: Json, limit: int) -> Json:
    """``value`` as JSON that the contract takes, in at most ``limit`` bytes.

    What is nested too deep and a number beyond 2^53 - 1 become text. Where it is still too large its strings
    are cut; else its text is.
    """
    checked = _plain(value, MAX_LEVELS)
    raw = msgspec.json.encode(checked)
    if len(raw) <= limit:
        return checked
    for length in _STRING_LIMITS:
        if length < limit:
            shorter = _shorten(checked, length)
            if len(msgspec.json.encode(shorter)) <= limit:
                return shorter
    return clip(raw[:limit].decode("utf-8", "ignore"), limit // 2)


def _plain(value: Any, levels: int) -> Json:
    match value:
        case None | bool():
            return value
        case str():
            return value
        case int():
            return value if abs(value) <= MAX_INTEGER else str(value)
        case float():
            return value if isfinite(value) and abs(value) <= MAX_INTEGER else str(value)
        case list() | dict() if levels <= 0:
            return TOO_DEEP
        case list():
            return [_plain(item, levels - 1) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case dict():
            return {_plain(str(name), 0): _plain(item, levels - 1) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case _:
            return str(value)


def readable_json(value: Json) -> str:
    """``value`` as people read it: a string as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(_plain(value, MAX_LEVELS)), indent=2).decode()


def _shorten(value: Any, length: int) -> Any:
    match value:
        case str():
            return _counted(value, length)
        case list():
            return [_shorten(item, length) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case dict():
            return {clip(str(name), length): _shorten(item, length) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case _:
            return value
