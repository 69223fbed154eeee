"""A JSON file that belongs to somebody else: read strictly, and written so that all else means what it did.

Numbers stay the characters that they were, members keep their order, and the indentation, the line ends and
the last line break are those of the file. What cannot be kept is refused: a member that stands twice.
"""

import json
import re
from dataclasses import dataclass
from typing import cast

from felan_core.pointer.install.errors import InstallError

Json = dict[str, "Json"] | list["Json"] | str | bool | None


class Number(str):
    """A number as it is written; never equal to a string of the same characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    @property
    def is_count(self) -> bool:
        """Whether it is an integer from 0 on, as a strict reader takes it."""
        return self.isdigit() and self.isascii()


class _Object(dict[str, Json]):
    """An object that remembers which member it had twice."""

    twice: str | None = None


def _object(pairs: list[tuple[str, Json]]) -> _Object:
    made = _Object(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        made.twice = next(name for name in names if names.count(name) > 1)
    return made


def _constant(name: str) -> Json:
    raise ValueError(f"{name} is no number in JSON")


@dataclass(frozen=True)
class Layout:
    """How a file is laid out."""

    indent: str = "  "
    line_end: str = "\n"
    last: str = "\n"


def parse(data: bytes, path: str) -> tuple[dict[str, Json], Layout]:
    """The object of a file and its layout; a file of white space alone is an empty object.

    Raises InstallError with the line, or with the member that stands twice.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InstallError("This is not UTF-8.", path, f"line {line}") from None
    if text.startswith("\ufeff"):
        raise InstallError("The file begins with a byte order mark.", path, "line 1")
    if not text.strip(" \t\r\n"):
        return {}, Layout()
    try:
        value = cast(
            Json,
            json.loads(
                text,
                object_pairs_hook=_object,
                parse_int=Number,
                parse_float=Number,
                parse_constant=_constant,
            ),
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InstallError(f"This is not JSON: {error.msg}.", path, place) from None
    except RecursionError:
        raise InstallError("This nests too deeply.", path) from None
    except ValueError as error:
        raise InstallError(f"This is not JSON: {error}.", path) from None
    if not isinstance(value, dict):
        raise InstallError("The file is not a JSON object.", path, "line 1")
    _refuse_twice(value, "", path)
    return value, _layout(text)


def _refuse_twice(value: Json, place: str, path: str) -> None:
    if isinstance(value, dict):
        twice = value.twice if isinstance(value, _Object) else None
        if twice is not None:
            raise InstallError("The member stands there twice.", path, member(place, twice))
        for name, below in value.items():
            _refuse_twice(below, member(place, name), path)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            _refuse_twice(below, f"{place}[{index}]", path)


def member(place: str, name: str) -> str:
    """The place of a member, as `hooks.SessionStart[0]` is written."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name)
    if plain is None:
        return f"{place}[{json.dumps(name)}]"
    return f"{place}.{name}" if place else name


def _layout(text: str) -> Layout:
    line_end = "\r\n" if "\r\n" in text else "\n"
    first = re.search(r"\n([ \t]+)\S", text)
    last = text[len(text.rstrip(" \t\r\n")) :]
    return Layout(first.group(1) if first else "  ", line_end, last)


def dump(value: dict[str, Json], layout: Layout) -> bytes:
    """The bytes of a file."""
    return (_dump(value, layout, layout.line_end) + layout.last).encode("utf-8")


def _dump(value: Json, layout: Layout, line: str) -> str:
    inner = line + layout.indent
    if isinstance(value, dict):
        if not value:
            return "{}"
        rows = [f"{inner}{_string(name)}: {_dump(below, layout, inner)}" for name, below in value.items()]
        return "{" + ",".join(rows) + line + "}"
    if isinstance(value, list):
        if not value:
            return "[]"
        return "[" + ",".join(inner + _dump(below, layout, inner) for below in value) + line + "]"
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    return json.dumps(value)


def _string(value: str) -> str:
    # A lone surrogate can only be written as an escape.
    lone = any("\ud800" <= char <= "\udfff" for char in value)
    return json.dumps(value, ensure_ascii=lone)
