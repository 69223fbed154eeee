"""The two ways into every shape: ``decode`` reads bytes, ``parse_schema`` plain JSON, with one verdict.

Bytes are decoded into the shape by msgspec, with its constraints; a scan of the bytes and one check pass add
the rules that a decoder cannot see. The full check runs where this fast path accepts nothing, and for plain
JSON that is not in its normal form: a walk, the conversion, the same check pass. It words every refusal.
"""

from itertools import product
from typing import Any, Final, Generic, TypeVar

import msgspec

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.checks import Known, check_entries, compiled, spells, weight
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.plain import convert, is_normal, plain
from felan_core.protocol.problems import Problem, refusal_text
from felan_core.protocol.scan import is_plain, nests_deeper, outside_strings

T = TypeVar("T")

_encode: Final = msgspec.json.Encoder().encode
_LARGE: Final = 64 * 1024
"""Bytes past which a value is not written again in one piece."""
_untyped: Final = msgspec.json.Decoder[Any]().decode


class Undecided(Exception):
    """The fast path has no verdict: the full check decides."""


class Shape(Generic[T]):
    """The reader of one shape, made at its first use."""

    __slots__ = ("_checks", "_decode", "type")

    def __init__(self, shape: Any) -> None:
        self.type = shape
        self._decode = msgspec.json.Decoder(shape).decode
        flags = product((False, True), repeat=2)
        self._checks = {(normal, ascii): compiled(shape, Known(normal, ascii)) for normal, ascii in flags}

    def read(self, line: bytes) -> T:
        """The value of a JSON text that hides nothing from a typed decoder: our own encoder would write it
        so, or the scan passes it. Raises ``Undecided`` for every other text, and for a broken rule.
        """
        try:
            value = self._decode(line)
            size = len(line)
            if size > _LARGE:
                sure, ascii = spells(value, line) == size, False
            else:
                text = _encode(value)
                sure, ascii = text == line, text.isascii()
            if not sure and not is_plain(line):
                raise Undecided
            check = self._checks[False, ascii]
            if check is not None:
                check(value, size)
        except (ValueError, RecursionError, Problem):
            raise Undecided from None
        return value

    def convert(self, value: Json, where: str) -> T:
        """The value of normalised plain JSON. Raises ``ProtocolError`` with the place and the rule."""
        try:
            text = _encode(value)
        except ValueError:
            plain(value, path=where)  # names the place of the lone surrogate
            raise
        typed: T = convert(value, self.type, where)
        check = self._checks[True, text.isascii()]
        if check is not None:
            try:
                check(typed, len(text))
            except Problem as problem:
                raise refusal(problem, where) from None
        return typed


_shapes: dict[Any, Shape[Any]] = {}


def shape_of(shape: type[T]) -> Shape[T]:
    """The reader of ``shape`` (a struct, or any other type of msgspec), made once."""
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
        return reader.read(line)
    except Undecided:
        pass
    check_utf8(line)
    return reader.convert(plain(untyped(line), path=where), where)


def parse_schema(shape: type[T], value: Json, where: str = "value") -> T:
    """The typed value of plain JSON: exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None``, string keys, no cycles (session protocol §3).

    The input is not changed; free JSON in it may be shared with the result. ``where`` starts the path in a
    refusal. Raises ``ProtocolError('invalid_request')``.
    """
    return shape_of(shape).convert(normalised(value, where), where)


def normalised(value: Json, where: str = "") -> Json:
    """Plain JSON in its normal form; ``value`` itself where it has it, lone surrogates aside, which
    ``Shape.convert`` refuses. Raises ``ProtocolError('invalid_request')``.
    """
    return value if is_normal(value, LIMITS.json_depth) else plain(value, path=where)


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
    """The reason why ``line`` is not valid JSON on this wire. Only refusals call it, so it may be slow."""
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
    """Refuse a byte order mark and invalid UTF-8. Raises ``ProtocolError('invalid_request')``."""
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
    return invalid(refusal_text(where + problem.where, problem.rule))
