"""The two ways into every shape: ``decode`` takes bytes, ``parse_schema`` plain JSON, and both come to the
same verdict.

What is well-formed and common goes through the decoder alone: one pass in C, and a look at the bytes for what
the decoder cannot see. Everything that is odd, and everything that is refused, goes the slow way: parsed
without a type, walked, converted. The slow way has the last word and the words of every refusal.
"""

from types import NoneType
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from felan_core.protocol.base import LIMITS, Json, JsonObject
from felan_core.protocol.checks import (
    Check,
    Renormalise,
    check_entries,
    compiled,
    has_defaults,
    has_large,
    length,
    weight,
)
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.plain import convert, plain
from felan_core.protocol.problems import Problem, said
from felan_core.protocol.scan import has_long_number, is_plain, nests_deeper, outside_strings

T = TypeVar("T")

_SMALL: Final = 2048
"""Frames up to here cannot hold 1,024 entries; when they are ASCII, a string's characters are its bytes."""
_SHORT: Final = 1024
_LARGE: Final = 64 * 1024
"""Beyond it nothing is encoded as a whole: a large frame is never copied."""
_encode: Final = msgspec.json.Encoder().encode
_untyped: Final = msgspec.json.Decoder[Any]().decode


class Odd(Exception):
    """The quick way does not decide this one."""


def _fraction(digits: str) -> float:
    """A float of free JSON. One that is an integer, or written with an exponent, goes the slow way."""
    value = float(digits)
    if "e" in digits or "E" in digits or value.is_integer():
        raise Odd
    return value


class Shape(Generic[T]):
    """What it takes to read one shape, made at its first use."""

    __slots__ = ("_all", "_decode", "_grows", "_rules", "_unseen_all", "_unseen_rules", "type")

    def __init__(self, shape: Any) -> None:
        self.type = shape
        self._decode = msgspec.json.Decoder(shape, float_hook=_fraction).decode
        self._rules: Check | None = compiled(shape, "rules")
        self._all: Check | None = compiled(shape, "all")
        self._unseen_rules: Check | None = compiled(shape, "unseen rules")
        self._unseen_all: Check | None = compiled(shape, "unseen all")
        self._grows = has_defaults(shape)

    def quick(self, line: bytes, *, full: bool = False) -> T:
        """The value of one line. Raises ``Odd`` where the quick way does not decide, and ``Problem`` for a
        rule that is broken. ``full``: no member that has a default is absent.
        """
        try:
            value = self._decode(line)
        except (ValueError, RecursionError):
            raise Odd from None
        size = len(line)
        large = size > _LARGE
        # As long as before: nothing was left out, so nothing unknown is in it. It says nothing where a member
        # that was absent is written out as its default.
        proven = (full or not self._grows) and (length(value) if large else len(_encode(value))) == size
        if not proven and not (is_utf8(line) and is_plain(line)):
            raise Odd
        small = size <= _SMALL and line.isascii() and b"\\u" not in line
        # A short line is looked at as a whole; in a longer one the free JSON alone.
        seen = size <= _SHORT and line.count(b"[") + line.count(b"{") <= LIMITS.json_depth
        if seen and not has_long_number(line):
            check = self._rules if small else self._all
        else:
            check = self._unseen_rules if small else self._unseen_all
        if check is not None:
            try:
                check(value, size)
            except Renormalise:
                raise Odd from None
        return cast(T, value)

    def quick_plain(self, value: Json, line: bytes) -> T:
        """The value of plain JSON that ``exact`` made ``line`` of; as ``quick``."""
        try:
            typed = msgspec.convert(value, self.type)
        except (ValueError, RecursionError):
            raise Odd from None
        size = len(line)
        small = size <= _SMALL and line.isascii() and b"\\u" not in line
        self._check(self._rules if small else self._all, typed, size)
        return cast(T, typed)

    def quick_part(self, part: msgspec.Raw, size: int) -> T:
        """The value of one member of a line that was looked at as a whole; as ``quick``. ``size``: of the
        line.
        """
        if size <= _LARGE:
            return self.quick(bytes(part))
        try:
            value = self._decode(part)
        except (ValueError, RecursionError):
            raise Odd from None
        if self._grows or length(value) != memoryview(part).nbytes:
            line = bytes(part)
            if not is_utf8(line) or not is_plain(line):
                raise Odd
        self._check(self._unseen_all, value, size)
        return cast(T, value)

    def slow(self, value: Json, where: str) -> T:
        """The value of normalised plain JSON, with the words of every refusal. Raises ``ProtocolError``."""
        typed: T = convert(value, self.type, where)
        try:
            self._check(self._all, typed, len(_encode(value)))
        except Problem as problem:
            raise refusal(problem, where) from None
        return typed

    def _check(self, check: Check | None, value: Any, size: int) -> None:
        if check is not None:
            try:
                check(value, size)
            except Renormalise:
                raise Odd from None


_shapes: dict[Any, Shape[Any]] = {}


def shape_of(shape: type[T]) -> Shape[T]:
    """The reader of ``shape`` (a struct, or any type that msgspec takes), made once."""
    known = _shapes.get(shape)
    if known is None:
        known = _shapes[shape] = Shape(shape)
    return known


def decode(shape: type[T], line: bytes, where: str = "") -> T:
    """The typed value of one JSON text in bytes: UTF-8, no byte order mark.

    ``where`` starts the path in a refusal. Raises ``ProtocolError('invalid_request')``.
    """
    reader = shape_of(shape)
    try:
        return reader.quick(line)
    except Odd:
        check_utf8(line)
        return reader.slow(plain(untyped(line), path=where), where)
    except Problem as problem:
        raise refusal(problem, where) from None


def parse_schema(shape: type[T], value: Json, where: str = "value") -> T:
    """The typed value of plain JSON: exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None``, string keys, no cycles (session protocol §3).

    The input is not changed; free JSON in it may be shared with the result. ``where`` starts the path in a
    refusal. Raises ``ProtocolError('invalid_request')``.
    """
    reader = shape_of(shape)
    line = exact(value)
    if line is not None:
        try:
            return reader.quick_plain(value, line)
        except Odd:
            pass
        except Problem as problem:
            raise refusal(problem, where) from None
    return reader.slow(plain(value, path=where), where)


def parse_json_value(
    value: Json,
    *,
    limit: int = LIMITS.structured_bytes,
    entries: int = LIMITS.structured_entries,
    where: str = "value",
) -> Json:
    """Free JSON, normalised and bounded as structured data (session protocol §1): ``limit`` bytes encoded,
    ``entries`` in any one collection, depth 32.

    Returns a copy. Raises ``ProtocolError('invalid_request')``.
    """
    copy = plain(value, path=where)
    try:
        if weight(copy) > limit:
            raise Problem("", f"more than {limit} bytes")
        check_entries(copy, entries)
    except Problem as problem:
        raise refusal(problem, where) from None
    return copy


_PLAIN: Final = frozenset((str, int, bool, NoneType, dict, list))
_TREES: Final = frozenset((dict, list))


def exact(value: Json) -> bytes | None:
    """``value`` as bytes where it surely is plain JSON in its normal form; None where only the walk can tell.

    Level by level: exact types, no float, no large integer, names that are strings, no lone surrogate.
    """
    level: list[Any] = [value]
    names: list[Any] = []
    for _ in range(LIMITS.json_depth + 1):
        kinds = set(map(type, level))
        if not kinds <= _PLAIN:
            return None
        if int in kinds and has_large(level):
            return None
        if kinds.isdisjoint(_TREES):
            break
        below: list[Any] = []
        for node in level:
            if type(node) is dict:
                names += node
                below += cast(JsonObject, node).values()
            elif type(node) is list:
                below += cast(list[Any], node)
        level = below
    else:
        return None
    if names and set(map(type, names)) != {str}:
        return None
    try:
        return _encode(value)
    except (ValueError, TypeError):
        return None


def untyped(line: bytes) -> Json:
    """The JSON of ``line`` (valid UTF-8) without a type. Raises ``ProtocolError`` in our own words."""
    if nests_deeper(outside_strings(line)):
        raise invalid(f"frame: nested deeper than {LIMITS.json_depth}, or brackets without their partners")
    try:
        return _untyped(line)
    except (ValueError, RecursionError):
        raise invalid(f"frame: {_why(line)}") from None


def _why(line: bytes) -> str:
    """Why ``line`` is no JSON over this wire. Only asked of what is refused, so it may take its time."""
    import json

    def refuse(name: str) -> None:
        raise json.JSONDecodeError("a constant", name, 0)

    try:
        value = json.loads(line, parse_constant=refuse, parse_int=float)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a lone surrogate"
    except (ValueError, RecursionError):
        return "not JSON"
    return "a number out of range"


def check_utf8(line: bytes) -> None:
    """Refuse a byte order mark and what is not UTF-8. Raises ``ProtocolError('invalid_request')``."""
    if line.isascii():
        return
    if line.startswith(b"\xef\xbb\xbf"):
        raise invalid("frame: a byte order mark")
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(f"frame: not UTF-8 at byte {error.start}") from None


def is_utf8(line: bytes) -> bool:
    """Whether ``line`` is UTF-8 without a byte order mark."""
    try:
        check_utf8(line)
    except ProtocolError:
        return False
    return True


def refusal(problem: Problem, where: str) -> ProtocolError:
    """The error of the wire for a broken rule, with the whole path."""
    return invalid(said(where + problem.where, problem.rule))
