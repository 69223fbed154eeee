"""A JSON file that belongs to somebody else: read strictly, and changed without a change of its form.

Every part that is not changed is written as the characters that it was: numbers, escapes, white space, inline
arrays. What is new takes the form of what is beside it. What cannot be kept is refused: a member that is in
an object twice.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from json.decoder import (
    scanstring,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
)
from typing import Any, cast

from felan_core.pointer.install.errors import InstallError

Json = dict[str, "Json"] | list["Json"] | str | bool | None

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_scan_string = cast(Callable[[str, int], tuple[str, int]], scanstring)


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


@dataclass(frozen=True)
class Item:
    """A member or an element as it was written: white space before it, the name with its colon, the value,
    white space after it.
    """

    value: Json
    raw: str
    before: str
    after: str
    name: str = ""


class Object(dict[str, Json]):
    """An object that remembers how it was written; `items_read` by name."""

    def __init__(self, items: dict[str, Item], empty: str) -> None:
        super().__init__({name: item.value for name, item in items.items()})
        self.items_read = items
        self.empty = empty


class Array(list[Json]):
    """An array that remembers how it was written."""

    def __init__(self, items: list[Item], empty: str) -> None:
        super().__init__(item.value for item in items)
        self.items_read = items
        self.empty = empty


@dataclass(frozen=True)
class Layout:
    """How a file is laid out; `first` and `last` are what is before and after its object."""

    indent: str = "  "
    line_end: str = "\n"
    first: str = ""
    last: str = "\n"
    inline: bool = False


def parse(data: bytes, path: str) -> tuple[dict[str, Json], Layout]:
    """The object of a file and its layout; a file of white space alone is an empty object.

    Raises InstallError with the line, or with the member that is there twice.
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
        checked: Any = json.loads(text, parse_constant=_constant)
        if not isinstance(checked, dict):
            raise InstallError("The file is not a JSON object.", path, "line 1")
        start = _skip(text, 0)
        value, end, _ = _read(text, start, "", path)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InstallError(f"This is not JSON: {error.msg}.", path, place) from None
    except RecursionError:
        raise InstallError("This nests too deeply.", path) from None
    except ValueError as error:
        raise InstallError(f"This is not JSON: {error}.", path) from None
    return cast(dict[str, Json], value), _layout(text, start, end)


def _constant(name: str) -> object:
    raise ValueError(f"{name} is no number in JSON")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _read(text: str, at: int, place: str, path: str) -> tuple[Json, int, str]:
    """(value, where it ends, its characters) of text that is JSON for certain."""
    first = text[at]
    if first == '"':
        value, end = _scan_string(text, at + 1)
        return value, end, text[at:end]
    if first not in "{[":
        found = _SCALAR.match(text, at)
        raw = found.group() if found else ""
        return {"true": True, "false": False, "null": None}.get(raw, Number(raw)), at + len(raw), raw
    items: list[Item] = []
    members: dict[str, Item] = {}
    begin = at + 1
    now = _skip(text, begin)
    empty = text[begin:now]
    while text[now] not in "}]":
        before = text[begin:now]
        name, head, inner = "", now, f"{place}[{len(items)}]"
        if first == "{":
            name, now = _scan_string(text, now + 1)
            now = _skip(text, _skip(text, now) + 1)
            inner = member(place, name)
            if name in members:
                raise InstallError("The member is there twice.", path, inner)
        head = text[head:now]
        value, end, raw = _read(text, now, inner, path)
        now = _skip(text, end)
        item = Item(value, raw, before, text[end:now], head)
        members[name] = item
        items.append(item)
        if text[now] == ",":
            begin = now + 1
            now = _skip(text, begin)
    made: Json = Object(members, empty) if first == "{" else Array(items, empty)
    return made, now + 1, text[at : now + 1]


def member(place: str, name: str) -> str:
    """The place of a member, as `hooks.SessionStart[0]` is written."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name)
    if plain is None:
        return f"{place}[{json.dumps(name)}]"
    return f"{place}.{name}" if place else name


def _layout(text: str, start: int, end: int) -> Layout:
    line_end = "\r\n" if "\r\n" in text else "\n"
    first = re.search(r"\n([ \t]+)\S", text)
    inline = "\n" not in text[start:end] and text[start:end].strip("{} \t") != ""
    return Layout(first.group(1) if first else "  ", line_end, text[:start], text[end:], inline)


def dump(value: dict[str, Json], layout: Layout) -> bytes:
    """The bytes of a file: what was read from it, with what was changed since."""
    return (layout.first + _dump(value, layout, layout.line_end) + layout.last).encode("utf-8")


def _dump(value: Json, layout: Layout, line: str | None) -> str:
    """`line` is a line break with the indentation of the container; None where all is on one line."""
    if isinstance(value, dict):
        read = value.items_read if isinstance(value, Object) else {}
        rows: list[tuple[Item | None, str, Json]] = [
            (read.get(name), _string(name), below) for name, below in value.items()
        ]
        return "{" + _rows(value, rows, layout, line) + "}"
    if isinstance(value, list):
        left = list(value.items_read) if isinstance(value, Array) else []
        found: list[tuple[Item | None, str, Json]] = []
        for below in value:
            at = next((n for n, item in enumerate(left) if item.value is below), None)
            found.append((None if at is None else left[at], "", below))
            if at is not None:
                del left[: at + 1]
        return "[" + _rows(value, found, layout, line) + "]"
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    return json.dumps(value)


def _rows(
    container: dict[str, Json] | list[Json],
    rows: list[tuple[Item | None, str, Json]],
    layout: Layout,
    line: str | None,
) -> str:
    """What is between the brackets, with the white space that was at either end and between two."""
    was: list[Item] = []
    if isinstance(container, Object):
        was = list(container.items_read.values())
    elif isinstance(container, Array):
        was = container.items_read
    if not rows:
        return container.empty if isinstance(container, Object | Array) and not was else ""
    if was:
        first, last = was[0].before, was[-1].after
        between = was[1].before if len(was) > 1 else first if _line_of(first) else " "
    elif line is None or layout.inline:
        first, between, last = "", " ", ""
    else:
        first = between = line + layout.indent
        last = line
    parts: list[str] = []
    for number, (item, name, below) in enumerate(rows):
        before = between if item is None or item is was[0] else item.before
        after = "" if item is None or item is was[-1] else item.after
        before = before if number else first
        after = after if number < len(rows) - 1 else last
        head = item.name if item is not None else f"{name}: " if name else ""
        if item is not None and item.value is below and not isinstance(below, dict | list):
            text = item.raw
        else:
            text = _dump(below, layout, _line_of(before))
        parts.append(f"{before}{head}{text}{after}")
    return ",".join(parts)


def _line_of(space: str) -> str | None:
    """The last line break of white space with what follows it; None where there is none."""
    at = space.rfind("\n")
    if at < 0:
        return None
    return space[at - 1 if at and space[at - 1] == "\r" else at :]


def _string(value: str) -> str:
    # A lone surrogate can only be written as an escape.
    lone = any("\ud800" <= char <= "\udfff" for char in value)
    return json.dumps(value, ensure_ascii=lone)
