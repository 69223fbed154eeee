"""Cuts what an agent sends down to the contract's limits, always with a mark that says so."""

from typing import Any

import msgspec

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.plain import plain

MARK = "…"
BODY_BYTES = 1024 * 1024
"""How much of one text of a tool call (an output, one side of a diff) is kept."""
_STRING_LIMITS = (16 * 1024, 2 * 1024, 256, 64)


def clip(text: str, limit: int) -> str:
    """The start of ``text`` in at most ``limit`` UTF-8 bytes, ending in … where something was cut."""
    if len(text) * 4 <= limit:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    return raw[: limit - len(MARK.encode())].decode("utf-8", "ignore") + MARK


def label(text: str) -> str:
    """A line for a title: as long as the contract takes, with white space made single spaces."""
    return clip(" ".join(text.split()), LIMITS.label_bytes)


def long_text(text: str) -> str:
    """A text of the contract's kind ``Text``."""
    return clip(text, LIMITS.text_bytes)


def body(text: str) -> str:
    """The body of a tool call. What is left out is counted."""
    raw = text.encode("utf-8", "replace") if len(text) * 4 > BODY_BYTES else b""
    if len(raw) <= BODY_BYTES:
        return text
    kept = raw[:BODY_BYTES].decode("utf-8", "ignore")
    return f"{kept}{MARK}\n({len(raw) - len(kept.encode()):,} more bytes are not kept)"


def free_json(value: Json, limit: int = LIMITS.structured_bytes) -> Json:
    """``value`` where it is plain JSON of at most ``limit`` bytes.

    Else with its strings cut; else its text, cut.
    """
    try:
        checked = plain(value)
    except ProtocolError:
        return clip(_dump(value), limit // 2)
    if len(msgspec.json.encode(checked)) <= limit:
        return checked
    for length in _STRING_LIMITS:
        shorter = _shorten(checked, length)
        if len(msgspec.json.encode(shorter)) <= limit:
            return shorter
    return clip(_dump(checked), limit // 2)


def readable_json(value: Json) -> str:
    """``value`` as people read it: a string as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(_dump(value), indent=2)


def _dump(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _shorten(value: Any, length: int) -> Any:
    match value:
        case str():
            return clip(value, length)
        case list():
            return [_shorten(item, length) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case dict():
            return {clip(str(name), length): _shorten(item, length) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case _:
            return value
