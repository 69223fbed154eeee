"""The two ways into every shape: ``decode`` takes bytes, ``parse_schema`` plain JSON, and both come to the
same verdict.

What is well-formed and common goes through the decoder alone: one pass in C, and a look at the bytes for what
the decoder cannot see. Everything that is odd, and everything that is refused, goes the slow way: parsed
without a type, walked, converted. The slow way has the last word and the words of every refusal.
"""

import marshal
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.checks import Check, Renormalise, check_entries, compiled, has_defaults, weight
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.plain import convert, plain
from felan_core.protocol.problems import Problem
from felan_core.protocol.scan import has_long_number, is_plain, nests_deeper, outside_strings

T = TypeVar("T")

_SMALL: Final = 2048
"""Frames up to here cannot hold 1,024 entries; when they are ASCII, a string's characters are its bytes."""
_LARGE: Final = 64 * 1024
"""Beyond it a second encoding costs more than a look at the bytes."""
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

    __slots__ = ("_all", "_decode", "_grows", "_rules", "type")

    def __init__(self, shape: Any) -> None:
        self.type = shape
        self._decode = msgspec.json.Decoder(shape, float_hook=_fraction).decode
        self._rules: Check | None = compiled(shape, False)
        self._all: Check | None = compiled(shape, True)
        self._grows = has_defaults(shape)

    def quick(self, line: bytes) -> T:
        """The value of a line of valid UTF-8. Raises ``Odd`` where the quick way does not decide, and
        ``Problem`` for a rule that is broken.
        """
        size = len(line)
        if size > _LARGE and not is_plain(line):
            raise Odd
        try:
            value = self._decode(line)
        except (ValueError, RecursionError):
            raise Odd from None
        if size <= _LARGE:
            # As long as before: nothing was left out, so nothing unknown is in it. It says nothing where a
            # member that was absent is written out as its default.
            if self._grows or len(_encode(value)) != size:
                if not is_plain(line):
                    raise Odd
            else:
                if line.count(b"[") + line.count(b"{") > LIMITS.json_depth and nests_deeper(
                    outside_strings(line)
                ):
                    raise Odd
                if has_long_number(line) and not is_plain(line):
                    raise Odd
        self.check(value, size, small=size <= _SMALL and line.isascii() and b"\\u" not in line)
        return cast(T, value)

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
        self.check(value, size)
        return cast(T, value)

    def slow(self, value: Json, where: str) -> T:
        """The value of normalised plain JSON, with the words of every refusal. Raises ``ProtocolError``."""
        typed: T = convert(value, self.type, where)
        try:
            self.check(typed, len(_encode(value)))
        except Problem as problem:
            raise refusal(problem, where) from None
        return typed

    def check(self, value: Any, size: int, *, small: bool = False) -> None:
        """Check what the decoder could not. Raises ``Problem``, or ``Odd``."""
        check = self._rules if small else self._all
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
    check_utf8(line)
    reader = shape_of(shape)
    try:
        return reader.quick(line)
    except Odd:
        return reader.slow(plain(untyped(line), path=where), where)
    except Problem as problem:
        raise refusal(problem, where) from None


def parse_schema(shape: type[T], value: Json, where: str = "value") -> T:
    """The typed value of plain JSON: exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None``, string keys, no cycles (session protocol §3).

    The input is not changed, and nothing of it is shared with the result. ``where`` starts the path in a
    refusal. Raises ``ProtocolError('invalid_request')``.
    """
    reader = shape_of(shape)
    line = exact(value)
    if line is not None:
        try:
            return reader.quick(line)
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


def exact(value: Json) -> bytes | None:
    """``value`` as bytes where it surely is plain JSON, None where only the walk can tell.

    marshal takes exact built-in types alone, and what comes back equal from JSON has none that JSON has not.
    """
    try:
        marshal.dumps(value, 2)
        line = _encode(value)
        return line if _untyped(line) == value else None
    except (ValueError, TypeError, RecursionError, OverflowError):
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

    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate"
    except json.JSONDecodeError as error:
        return f"not JSON at character {error.pos}"
    except (ValueError, RecursionError):
        return "not JSON"
    return "a number out of range" if has_long_number(line) or b"e" in line.lower() else "not JSON"


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


def refusal(problem: Problem, where: str) -> ProtocolError:
    """The error of the wire for a broken rule, with the whole path."""
    return invalid(f"{(where + problem.where).removeprefix('.') or 'value'}: {problem.rule}")
