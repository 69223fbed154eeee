"""The two ways into every shape: ``decode`` takes bytes, ``parse_schema`` plain JSON, and both come to the
same verdict.

What is well-formed and common goes through the decoder alone: one pass in C, and a look at the bytes for what
the decoder cannot see. Everything that is odd, and everything that is refused, goes the slow way: parsed
without a type, walked, converted. The slow way has the last word and the words of every refusal.
"""

from typing import Any, Final, Generic, TypeVar

import msgspec

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.checks import (
    Frame,
    Plan,
    check_entries,
    compiled,
    end_of,
    weight,
)
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.plain import convert, plain
from felan_core.protocol.problems import Problem, said
from felan_core.protocol.scan import is_plain, nests_deeper, outside_strings
from felan_core.protocol.sure import SURE, SURE_BYTES, SURE_DECODED, SURE_PLAIN, is_normal

T = TypeVar("T")

_encode: Final = msgspec.json.Encoder().encode
_pack: Final = msgspec.msgpack.Encoder().encode
_untyped: Final = msgspec.json.Decoder[Any]().decode


class Odd(Exception):
    """The quick way does not decide this one."""


def _fraction(digits: str) -> float:
    """A float of free JSON. One that is an integer goes the slow way, which makes it one."""
    value = float(digits)
    if value.is_integer():
        raise Odd
    return value


class Shape(Generic[T]):
    """What it takes to read one shape, made at its first use."""

    __slots__ = ("_decode", "type")

    def __init__(self, shape: Any) -> None:
        self.type = shape
        self._decode = msgspec.json.Decoder(shape, float_hook=_fraction).decode

    def quick(self, line: bytes) -> T:
        """The value of one line. Raises ``Odd`` where the quick way does not decide."""
        try:
            value = self._decode(line)
            if len(line) > SURE_BYTES:
                return self._large(value, line)
            # Written again it is the same bytes: nothing was left out, and nothing in it is spelt oddly.
            if _encode(value) == line:
                if SURE_DECODED[self.type](value):
                    return value
            elif is_utf8(line) and is_plain(line) and SURE[self.type](value):
                return value
        except (ValueError, RecursionError, Problem):
            pass
        raise Odd

    def _large(self, value: T, line: bytes) -> T:
        size, weights = len(line), dict[int, int]()
        if end_of(value, line, 0, weights) != size:
            if not (is_utf8(line) and is_plain(line)):
                raise Odd
            weights = {}
        self._check("unseen", value, Frame(size, weights))
        return value

    def quick_plain(self, value: Json) -> T:
        """The value of plain JSON; as ``quick``."""
        try:
            typed: T = msgspec.convert(value, self.type)
            # Either encoder refuses lone surrogates; this one is the quicker.
            if len(_pack(value)) <= SURE_BYTES:
                if SURE_PLAIN[self.type](typed, value):
                    return typed
            elif is_normal(value, LIMITS.json_depth):
                self._check("all", typed, Frame(len(_encode(value)), {}))
                return typed
        except (ValueError, TypeError, OverflowError, RecursionError, Problem):
            pass
        raise Odd

    def slow(self, value: Json, where: str) -> T:
        """The value of normalised plain JSON, with the words of every refusal. Raises ``ProtocolError``."""
        typed: T = convert(value, self.type, where)
        try:
            self._check("all", typed, Frame(len(_encode(value)), {}))
        except Problem as problem:
            raise refusal(problem, where) from None
        return typed

    def _check(self, plan: Plan, value: T, frame: Frame) -> None:
        check = compiled(self.type, plan)
        if check is not None:
            check(value, frame)


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


def parse_schema(shape: type[T], value: Json, where: str = "value") -> T:
    """The typed value of plain JSON: exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None``, string keys, no cycles (session protocol §3).

    The input is not changed; free JSON in it may be shared with the result. ``where`` starts the path in a
    refusal. Raises ``ProtocolError('invalid_request')``.
    """
    reader = shape_of(shape)
    try:
        return reader.quick_plain(value)
    except Odd:
        pass
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
    """``value`` as bytes where it surely is plain JSON in its normal form; None where the walk must tell."""
    try:
        # The encoder refuses lone surrogates.
        return _encode(value) if is_normal(value, LIMITS.json_depth) else None
    except ValueError:
        return None


def untyped(line: bytes) -> Json:
    """The JSON of ``line`` (valid UTF-8) without a type. Raises ``ProtocolError`` in our own words.

    Its depth is the walk's to check, which knows the place: only what nests beyond Python's own bound is
    refused here.
    """
    try:
        return _untyped(line)
    except (ValueError, RecursionError):
        if nests_deeper(outside_strings(line)):
            rule = f"nested deeper than {LIMITS.json_depth}, or brackets without their partners"
            raise invalid(f"frame: {rule}") from None
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
