"""Plain JSON into typed shapes: the walk that every parser starts with, and the conversion (session protocol
§1, §3).

The walk makes an integral float the integer that it is (a browser cannot tell ``1.0`` from ``1``) and refuses
what JSON over this wire may not hold: numbers beyond 2^53 − 1, NaN, lone surrogates, more than 32 levels. It
never changes its input.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Any, TypeVar

import msgspec

from felan_core.protocol.base import LIMITS, Json, kind_of
from felan_core.protocol.errors import invalid
from felan_core.protocol.problems import one_of, refusal_text

T = TypeVar("T")
_MAX_INTEGER = 2**53 - 1


def plain(value: Any, depth: int = 0, path: str = "") -> Json:
    """``value`` as normalised plain JSON (a copy where anything changed). Raises ``invalid_request``."""
    if value is None or value is True or value is False:
        return value
    kind = kind_of(value)
    if kind is str:
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise invalid(refusal_text(path, "a lone surrogate")) from None
        return value
    if kind is int:
        if not -_MAX_INTEGER <= value <= _MAX_INTEGER:
            raise invalid(refusal_text(path, "an integer beyond 2^53 - 1"))
        return value
    if kind is float:
        return _number(value, path)
    if depth >= LIMITS.json_depth:
        raise invalid(refusal_text(path, f"nested deeper than {LIMITS.json_depth}"))
    if kind is list:
        return [plain(item, depth + 1, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is dict:
        copy: dict[str, Any] = {}
        for name, item in value.items():
            if type(name) is not str:
                raise invalid(refusal_text(path, "a member name that is no string"))
            plain(name, depth + 1, path)
            copy[name] = plain(item, depth + 1, f"{path}.{name[:40]}" if path else name[:40])
        return copy
    raise invalid(refusal_text(path, "not plain JSON"))


def is_normal(value: Any, levels: int, *, decoded: bool = False) -> bool:
    """Whether ``value`` is plain JSON exactly as ``plain`` returns it, at most ``levels`` deep.

    Exact types, small integers, no float that is an integer. The encoder refuses lone surrogates.
    ``decoded``: msgspec decoded it, so that every name is a string.
    """
    kind = kind_of(value)
    items: Iterable[Any]
    if kind is dict:
        if not decoded:
            for name in value:
                if type(name) is not str:
                    return False
        items = value.values()
    elif kind is list:
        items = value
    elif kind is int:
        return -_MAX_INTEGER <= value <= _MAX_INTEGER
    elif kind is float:
        return isfinite(value) and not value.is_integer()
    else:
        return kind is str or kind is bool or value is None
    if levels == 0:
        return False
    for item in items:
        # The common scalars cost no call.
        kind = kind_of(item)
        if kind is str or kind is bool:
            continue
        if kind is int:
            if item > _MAX_INTEGER or item < -_MAX_INTEGER:
                return False
        elif not is_normal(item, levels - 1, decoded=decoded):
            return False
    return True


def _number(value: float, path: str) -> int | float:
    if value != value or value in (float("inf"), float("-inf")):
        raise invalid(refusal_text(path, "not a finite number"))
    if value.is_integer():
        if abs(value) > _MAX_INTEGER:
            raise invalid(refusal_text(path, "an integer beyond 2^53 - 1"))
        return int(value)
    return value


def convert(value: Json, shape: type[T], where: str) -> T:
    """``value`` (already walked by ``plain``) as ``shape``. ``where`` starts the path in the refusal."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise invalid(reword(str(error), where, shape, value)) from None


_NAMES = {
    "str": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
}


def _name(kinds: str) -> str:
    return " or ".join(_NAMES.get(kind, kind) for kind in kinds.split(" | "))


def reword(message: str, where: str, shape: Any = Any, value: Json = None) -> str:
    """msgspec's verdict in the contract's words: ``params.fields[3].options: more than 256 entries``.

    ``shape`` and ``value``: what was converted; the refusal of an enumeration names its choices.
    """
    import re  # only what is refused pays for it

    from felan_core.protocol.choices import choices_at

    what, _, path = message.partition(" - at `")
    choices = choices_at(shape, value, path.rstrip("`")) if what.startswith("Invalid") else []
    path = where + path.rstrip("`").removeprefix("$").replace("[...]", "[*]")

    def of(pattern: str) -> "re.Match[str] | None":
        return re.fullmatch(pattern, what, re.DOTALL)

    rule = one_of(choices) if choices else "not a value that is known here"
    if found := of(r"Object missing required field `(.*)`"):
        path, rule = f"{path}.{found[1]}", "is required"
    elif found := of(r"Object contains unknown field `(.*)`"):
        path, rule = f"{path}.{found[1][:40]}", "no member of this name is taken"
    elif found := of(r"Expected `([^`]*)` of length >= (\d+)"):
        least = int(found[2])
        empty = "may not be empty" if least == 1 else f"fewer than {least}"
        rule = empty if least == 1 else f"{empty} {'characters' if found[1] == 'str' else 'entries'}"
    elif found := of(r"Expected `([^`]*)` of length <= (\d+)"):
        rule = f"more than {found[2]} {'bytes' if found[1] == 'str' else 'entries'}"
    elif found := of(r"Expected `(?:int|float)` (>=|<=|>|<) (-?[\d.]+)"):
        words = {">=": "less than", ">": "not more than", "<=": "more than", "<": "not less than"}
        rule = f"{words[found[1]]} {found[2]}"
    elif found := of(r"Expected `str` matching regex .*"):
        rule = "not of the form that this member has"
    elif found := of(r"Expected `([^`]*)`, got `([^`]*)`"):
        rule = f"must be {_name(found[1])}, not {_name(found[2])}"
    return refusal_text(path, rule)
