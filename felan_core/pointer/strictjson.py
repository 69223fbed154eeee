"""JSON as the pointer reads it: strict, one object, no member twice; and the few shapes that it writes.

The scanner is the one of the standard library, taken from its C module without the `json` package around
it: the package imports `re`, and a hook that every prompt waits for would take half as long again.
"""

from __future__ import annotations

try:
    from _json import encode_basestring, encode_basestring_ascii, make_scanner
except ImportError:  # an interpreter without the C module
    from json.encoder import encode_basestring, encode_basestring_ascii
    from json.scanner import make_scanner

from felan_core.pointer.errors import DUPLICATE_FIELD, INVALID, NOT_JSON, NOT_UTF8, TOO_LARGE, PointerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Scan = Callable[[str, int], tuple[object, int]]

# Nothing that the pointer reads nests at all; a bound of our own makes the answer the same at every stack
# depth.
MAX_DEPTH = 64

_SPACE = " \t\n\r"
_BOM = b"\xef\xbb\xbf"
# Longer runs of digits are no number that we use; converting them costs time that grows with the square.
_MAX_DIGITS = 20


class _Object(dict[str, object]):
    """A JSON object that remembers whether it, or one inside it, named a member twice."""

    __slots__ = ("twice",)

    twice: bool


def _make_object(pairs: list[tuple[str, object]]) -> _Object:
    made = _Object(pairs)
    made.twice = len(made) != len(pairs)
    return made


def _refuse_constant(name: str) -> object:
    raise ValueError(name)  # NaN, Infinity and -Infinity are no JSON


def _integer(digits: str) -> object:
    return (
        int(digits) if len(digits) <= _MAX_DIGITS else float("inf")
    )  # an integer nowhere, and valid nowhere


class _Context:
    """The context of the C scanner; the names are the standard library's."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_make_object)
    parse_float = float
    parse_int = staticmethod(_integer)
    parse_constant = staticmethod(_refuse_constant)
    memo: dict[str, str] = {}


# The stubs ask for a JSONDecoder; the scanner itself reads these seven names and no more.
_scan: Scan = make_scanner(_Context())  # pyright: ignore[reportArgumentType, reportAssignmentType]


def parse_object(data: bytes, kind: str, limit: int) -> dict[str, object]:
    """One JSON object out of `data`, at most `limit` bytes; `kind` (REQUEST, HOOK) begins the codes.

    Raises PointerError `<kind>_TOO_LARGE`, `_NOT_UTF8`, `_NOT_JSON`, `_DUPLICATE_FIELD`, in this order (task
    pointer §2a). Whether the members are right is the caller's to say.
    """
    if len(data) > limit:
        raise PointerError(f"{kind}_{TOO_LARGE}", f"The input is longer than {limit} bytes.")
    if data.startswith(_BOM):
        raise PointerError(f"{kind}_{NOT_UTF8}", "The input begins with a byte order mark.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"The input is not UTF-8: byte {error.start} does not belong there."
        raise PointerError(f"{kind}_{NOT_UTF8}", message) from None
    not_json = f"{kind}_{NOT_JSON}"
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _scan(text, start)
    except RecursionError:
        raise PointerError(not_json, f"The input nests more than {MAX_DEPTH} levels deep.") from None
    except (StopIteration, ValueError, SystemError):
        # SystemError: CPython 3.11's C scanner has no exception to raise where `json.decoder` is not loaded.
        raise PointerError(not_json, _where(text)) from None
    if text[end:].strip(_SPACE):
        raise PointerError(not_json, f"Something follows the JSON value, from character {end} on.")
    if not isinstance(value, _Object):
        raise PointerError(not_json, "The input is not a JSON object.")
    if _survey(value, not_json):
        raise PointerError(f"{kind}_{DUPLICATE_FIELD}", "The input names a member of an object twice.")
    return value


def _survey(value: _Object, not_json: str) -> bool:
    """Whether any object in `value` named a member twice; refuses what nests too deeply."""
    twice = False
    level: list[_Object | list[object]] = [value]
    for _ in range(MAX_DEPTH):
        below: list[_Object | list[object]] = []
        for item in level:
            if isinstance(item, _Object):
                twice = twice or item.twice
            things: list[object] = list(item.values()) if isinstance(item, _Object) else item
            for thing in things:
                if isinstance(thing, (_Object, list)):
                    below.append(thing)  # pyright: ignore[reportUnknownArgumentType]
        if not below:
            return twice
        level = below
    raise PointerError(not_json, f"The input nests more than {MAX_DEPTH} levels deep.")


def _where(text: str) -> str:
    """Says where the JSON breaks off: the refusal is the one place that can afford the `json` package."""
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"The input is not JSON: line {error.lineno}, column {error.colno}."
    except RecursionError:
        return f"The input nests more than {MAX_DEPTH} levels deep."
    except ValueError:
        pass
    return "The input is not JSON: NaN and Infinity are no numbers in it."


def check_fields(value: Mapping[str, object], fields: tuple[str, ...], code: str) -> None:
    """Checks that `value` has exactly these fields. Raises PointerError with `code`."""
    for field in fields:
        if field not in value:
            raise PointerError(code, f"The field {field} is missing.")
    if len(value) != len(fields):
        raise PointerError(code, f"There are other fields than {', '.join(fields)}.")


def invalid(kind: str, message: str) -> PointerError:
    """The refusal of a value."""
    return PointerError(f"{kind}_{INVALID}", message)


def dump_text(value: str) -> str:
    """A string as JSON; characters beyond ASCII are not escaped."""
    return encode_basestring(value)


def dump_value(value: str | int | None) -> str:
    """A string, integer, boolean or null as JSON, in ASCII."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return encode_basestring_ascii(value)


def dump_object(members: dict[str, str | int | None]) -> str:
    """A flat object on one line, in ASCII, its members in their order."""
    return (
        "{"
        + ",".join(f"{encode_basestring_ascii(name)}:{dump_value(value)}" for name, value in members.items())
        + "}"
    )


def dump_readable(members: dict[str, str | int | None]) -> str:
    """A flat object on one line, for a reader of words: printable characters as they are, others escaped."""
    return "{" + ",".join(f"{_readable(name)}:{_readable(value)}" for name, value in members.items()) + "}"


def _readable(value: str | int | None) -> str:
    if not isinstance(value, str):
        return dump_value(value)
    text = encode_basestring(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else encode_basestring_ascii(char)[1:-1] for char in text)


def first_members(data: bytes) -> dict[str, object]:
    """The members of a top-level object that stand whole at the beginning of `data`, which may be cut off.

    For an input that is too long to be read as a whole; empty where a member is named twice.
    """
    text = data.decode("utf-8", "ignore")
    found: dict[str, object] = {}
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return found
    try:
        while True:
            name, at = _scan(text, _skip(text, at + 1))
            at = _skip(text, at)
            if not isinstance(name, str) or text[at : at + 1] != ":":
                return found
            value, at = _scan(text, _skip(text, at + 1))
            at = _skip(text, at)
            if name in found:
                return {}
            if text[at : at + 1] not in (",", "}"):
                return found  # a number may go on where the input was cut
            found[name] = value
            if text[at] == "}":
                return found
    except (StopIteration, ValueError, SystemError, RecursionError):
        return found


def _skip(text: str, at: int) -> int:
    while True:
        piece = text[at : at + 64]
        rest = piece.lstrip(_SPACE)
        at += len(piece) - len(rest)
        if rest or not piece:
            return at
