"""What an agent hands over, made fit for the wire: one odd value must not cost a session its clients.

A number that a browser could not hold, a lone surrogate or a nesting beyond the contract's depth would be
refused by every client that is told of it, and stand in every later snapshot. Free JSON is mended here;
typed shapes are checked, and refused.
"""

from math import isfinite
from typing import Any, Final, TypeVar, cast

import msgspec

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.errors import invalid
from felan_core.protocol.plain import plain
from felan_core.protocol.validate import shape_of

T = TypeVar("T")
FREE_DEPTH: Final = LIMITS.json_depth - 6
"""Levels that free JSON may have: a snapshot's frame holds six around a tool's arguments."""
_MAX_INTEGER: Final = 2**53 - 1
_CUT: Final = 200


def mended(value: Any, levels: int = FREE_DEPTH) -> Json:
    """``value`` as JSON that every reader takes: what is too large, too deep or no JSON becomes text."""
    if isinstance(value, str):
        return scalars(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_INTEGER <= value <= _MAX_INTEGER else str(value)
    if isinstance(value, float):
        return value if isfinite(value) and abs(value) <= _MAX_INTEGER else str(value)
    if isinstance(value, dict | list | tuple):
        if levels <= 0:
            return _text(cast(object, value))
        if isinstance(value, dict):
            items: Any = value.items()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] any JSON
            return {scalars(str(name)): mended(item, levels - 1) for name, item in items}
        return [mended(item, levels - 1) for item in value]  # pyright: ignore[reportUnknownVariableType] any JSON
    return _text(value)


def _text(value: object) -> str:
    try:
        return scalars(repr(value)[:_CUT])
    except Exception:  # nested past Python's own bound, or a repr that fails
        return "…"


def scalars(text: str) -> str:
    """``text`` with each lone surrogate as U+FFFD: it cannot travel."""
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def label(text: str, limit: int = LIMITS.label_bytes) -> str:
    """``text`` as a label of at most ``limit`` UTF-8 bytes: cut where it is too long, as titles are."""
    return scalars(text[:limit]).encode()[:limit].decode("utf-8", "ignore")


def checked(value: T, shape: Any, what: str) -> T:
    """``value`` when a reader of ``shape`` would take it. Raises ``invalid_request``.

    Structs that code makes are not checked by msgspec, and a client that is told of a bad one is lost.
    """
    try:
        builtin = msgspec.to_builtins(value, str_keys=True)
        # The levels that a snapshot's frame holds around it.
        plain(builtin, depth=LIMITS.json_depth - FREE_DEPTH - 1)
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid(f"{what}: {error}") from error
    return shape_of(shape).convert(builtin, what)
