"""The rules that a JSON decoder cannot check: lengths in bytes, weights of collections, and rules between
members.

They are compiled once a shape, from its annotations, when it is first parsed.
"""

from collections.abc import Callable, Iterable, Sequence
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType

from felan_core.protocol.base import Wire, as_list, as_object
from felan_core.protocol.plain import is_normal
from felan_core.protocol.problems import Problem, short

Source = Literal["walked", "decoded", "ascii"]
"""The checks that precede: the walk of ``plain``; msgspec's decoding alone; or its decoding of ASCII without
escapes, which bounds the bytes of each string.
"""
Check = Callable[[Any, int], None]
"""Takes a value, and the bytes as JSON of the whole that it is part of. Raises ``Problem``."""

_FREE_LEVELS: Final = 16
"""Depth of free JSON that is within ``jsonDepth`` wherever a shape holds it."""
_encode: Final = msgspec.json.Encoder().encode
_compiled: dict[tuple[Any, Source], Check | None] = {}


def compiled(hint: Any, source: Source) -> Check | None:
    """The check of values of type ``hint``, or None where nothing is left to check.

    A union or list is cached by its own equality.
    """
    key = hint, source
    if key not in _compiled:
        _compiled[key] = _compile(hint, source)
    return _compiled[key]


def _compile(hint: Any, source: Source) -> Check | None:
    origin = get_origin(hint)
    if origin is Annotated:
        base, *metas = get_args(hint)
        return _bounded(compiled(base, source), base, metas, source)
    if origin is Union or origin is UnionType:
        return _one_of(get_args(hint), source)
    if origin is list:
        return _items(compiled(get_args(hint)[0], source))
    if origin is dict:
        return _values(compiled(get_args(hint)[1], source))
    if hint in (Any, dict, list):
        return None if source == "walked" else _free
    if hint is int or hint is float:
        return None if source == "walked" else _number
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint, source)
    return None


def _kind(hint: Any) -> Any:
    """The class of the values of one branch of a union; ``Any`` for free JSON."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if hint is Any:
        return hint
    origin = get_origin(hint)
    if origin is Literal:
        return None
    return origin or (hint if isinstance(hint, type) else None)


def _one_of(branches: Iterable[Any], source: Source) -> Check | None:
    table: dict[type[Any], Check] = {}
    for branch in branches:
        kind = _kind(branch)
        if kind is Any:
            return _unless_absent(compiled(branch, source))
        found = compiled(branch, source) if kind not in (None, NoneType, UnsetType) else None
        if kind is not None and found is not None:
            table[kind] = found
    if not table:
        return None
    find = table.get

    def check(value: Any, size: int) -> None:
        inner = find(cast(type[Any], type(value)))
        if inner is not None:
            inner(value, size)

    return check


def _unless_absent(check: Check | None) -> Check | None:
    """The check of an optional member of free JSON."""
    if check is None:
        return None
    return lambda value, size: None if value is UNSET else check(value, size)


def _items(item: Check | None) -> Check | None:
    if item is None:
        return None

    def check(value: Any, size: int) -> None:
        index = 0
        try:
            for one in value:
                item(one, size)
                index += 1
        except Problem as problem:
            raise problem.under(f"[{index}]") from None

    return check


def _values(item: Check | None) -> Check | None:
    if item is None:
        return None

    def check(value: dict[str, Any], size: int) -> None:
        for name, one in value.items():
            try:
                item(one, size)
            except Problem as problem:
                raise problem.under("." + short(name)) from None

    return check


def _free(value: Any, size: int) -> None:
    if not is_normal(value, _FREE_LEVELS):
        raise Problem("", "not in the normal form of plain JSON")


def _number(value: Any, size: int) -> None:
    if not is_normal(value, 0):
        raise Problem("", "not a finite number, or an integer beyond 2^53 - 1")


def _struct(shape: type[msgspec.Struct], source: Source) -> Check | None:
    hints = get_type_hints(shape, include_extras=True)
    wire_names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    members: list[tuple[str, Check]] = []
    for name in shape.__struct_fields__:
        inner = compiled(hints[name], source)
        if inner is not None:
            members.append((name, inner))
    verify = weigh = None
    if issubclass(shape, Wire):
        verify = shape.verify if shape.verify is not Wire.verify else None
        weigh = shape.weigh if shape.weigh is not Wire.weigh else None
    if not members and verify is None and weigh is None:
        return None

    def check(value: Any, size: int) -> None:
        name = ""
        try:
            for name, inner in members:
                member = getattr(value, name)
                if member is not UNSET:
                    inner(member, size)
        except Problem as problem:
            raise problem.under("." + wire_names[name]) from None
        if verify is not None:
            verify(value)
        if weigh is not None:
            weigh(value, size)

    return check


def _bounded(found: Check | None, base: Any, metas: list[Any], source: Source) -> Check | None:
    for meta in metas:
        if isinstance(meta, Meta):
            if base is str and meta.max_length is not None and source != "ascii":
                found = _in_bytes(meta.max_length)
            if meta.extra and "encoded" in meta.extra:
                found = _weighed(found, int(meta.extra["encoded"]), meta.extra.get("entries"))
    return found


def _in_bytes(limit: int) -> Check:
    def check(value: Any, size: int) -> None:
        if (
            type(value) is str
            and size > limit
            and len(value) * 4 > limit
            and not value.isascii()
            and len(value.encode()) > limit
        ):
            raise Problem("", f"more than {limit} bytes")

    return check


def _weighed(inner: Check | None, limit: int, entries: int | None) -> Check:
    def check(value: Any, size: int) -> None:
        if size > limit:
            # A part never weighs more than the whole: the parts of a small value are not weighed again.
            size = weight(value)
        if inner is not None:
            inner(value, size)
        if size > limit:
            raise Problem("", f"more than {limit} bytes")
        # An entry takes two bytes at least.
        if entries is not None and size > 2 * entries:
            check_entries(value, entries)

    return check


def weight(value: Any) -> int:
    """The bytes of ``value`` as JSON. A list is weighed item by item, so that no large copy is made."""
    if isinstance(value, list):
        items = cast(list[Any], value)
        return sum(len(_encode(item)) for item in items) + max(len(items) + 1, 2)
    return len(_encode(value))


def spells(value: Any, line: memoryview | bytes, start: int = 0) -> int:
    """The end of ``value`` in ``line`` where it is at ``start`` exactly as our encoder writes it; else -1.

    Large values are written member by member and item by item, so that no second copy of the line is made.
    """
    if isinstance(value, msgspec.Raw):
        return start + memoryview(value).nbytes
    if isinstance(value, list) and value:
        mark, end = b"[", start
        for item in cast(list[Any], value):
            if line[end : end + 1] != mark:
                return -1
            end = spells(item, line, end + 1)
            if end < 0:
                return -1
            mark = b","
        return end + 1 if line[end : end + 1] == b"]" else -1
    if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
        mark, end = b"{", start
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            member = getattr(value, name)
            if member is not UNSET:
                lead = mark + _encode(wire) + b":"
                if line[end : end + len(lead)] != lead:
                    return -1
                end = spells(member, line, end + len(lead))
                if end < 0:
                    return -1
                mark = b","
        if mark == b",":
            return end + 1 if line[end : end + 1] == b"}" else -1
    piece = _encode(value)
    return start + len(piece) if line[start : start + len(piece)] == piece else -1


def check_entries(value: Any, limit: int) -> None:
    """Check every array and object in free JSON for its number of entries. Raises ``Problem``."""
    held = as_object(value)
    items: Iterable[tuple[Any, Any]] = ()
    if held is not None:
        items = held.items()
    elif (listed := as_list(value)) is not None:
        held = listed
        items = enumerate(listed)
    if held is None:
        return
    if len(held) > limit:
        raise Problem("", f"more than {limit} entries")
    for name, item in items:
        if isinstance(item, dict | list):
            try:
                check_entries(item, limit)
            except Problem as problem:
                raise problem.under(f"[{name}]" if isinstance(name, int) else "." + short(name)) from None


def unique(values: Iterable[str], where: Callable[[int], str], what: str) -> None:
    """Check that no id stands twice. Raises ``Problem`` at the second one."""
    ids = list(values)
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for index, one in enumerate(ids):
        if one in seen:
            raise Problem(where(index), f"{what} {short(one)!r} stands twice")
        seen.add(one)


class _Row(Protocol):
    @property
    def id(self) -> str: ...


def unique_ids(rows: Sequence[_Row], where: str, what: str) -> None:
    """Check that no two of the ``rows`` at ``where`` have one id. Raises ``Problem`` at the second one."""
    if len({row.id for row in rows}) != len(rows):
        unique((row.id for row in rows), lambda index: f"{where}[{index}].id", what)


def exactly_one(names: tuple[str, ...], value: Any) -> None:
    """Check that one of the alternatives' members is present, and no other. Raises ``Problem``."""
    present = [name for name in names if getattr(value, name) is not UNSET]
    if len(present) != 1:
        wire = dict(zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True))
        raise Problem("", f"exactly one of {', '.join(wire[name] for name in names)} is required")
