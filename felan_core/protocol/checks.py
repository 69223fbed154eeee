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
    NamedTuple,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType

from felan_core.protocol.base import MAX_INTEGER, Wire, as_list, as_object
from felan_core.protocol.plain import is_normal
from felan_core.protocol.problems import Problem, short


class Known(NamedTuple):
    """The rules that hold before the check pass, so that it leaves them out."""

    normal: bool
    """Numbers and free JSON are in their normal form: ``plain`` or ``is_normal`` saw them."""
    ascii: bool
    """Every string is ASCII, so that msgspec's bound of its characters bounds its bytes."""


Check = Callable[[Any, int], None]
"""Checks a value; the second argument is the size of the whole JSON text in bytes. Raises ``Problem``."""

_FREE_LEVELS: Final = 16
"""Depth of free JSON that is within ``jsonDepth`` wherever a shape holds it."""
_encode: Final = msgspec.json.Encoder().encode
_compiled: dict[tuple[Any, Known], Check | None] = {}


def compiled(hint: Any, known: Known) -> Check | None:
    """The check of values of type ``hint``, or None where nothing is left to check.

    A union or list is cached by its own equality.
    """
    key = hint, known
    if key not in _compiled:
        _compiled[key] = _compile(hint, known)
    return _compiled[key]


def _compile(hint: Any, known: Known) -> Check | None:
    origin = get_origin(hint)
    if origin is Annotated:
        base, *metas = get_args(hint)
        return _bounded(compiled(base, known), base, metas, known)
    if origin is Union or origin is UnionType:
        return _one_of(get_args(hint), known)
    if origin is list:
        return _items(compiled(get_args(hint)[0], known))
    if origin is dict:
        return _values(compiled(get_args(hint)[1], known))
    if hint in (Any, dict, list):
        return None if known.normal else _free
    if hint is int or hint is float:
        return None if known.normal else _number
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint, known)
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


def _one_of(branches: Iterable[Any], known: Known) -> Check | None:
    table: dict[type[Any], Check] = {}
    for branch in branches:
        kind = _kind(branch)
        if kind is Any:
            return _unless_absent(compiled(branch, known))
        found = compiled(branch, known) if kind not in (None, NoneType, UnsetType) else None
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
    if not is_normal(value, _FREE_LEVELS, decoded=True):
        raise Problem("", "not in the normal form of plain JSON")


def _number(value: Any, size: int) -> None:
    if not is_normal(value, 0):
        raise Problem("", "not a finite number, or an integer beyond 2^53 - 1")


def _struct(shape: type[msgspec.Struct], known: Known) -> Check | None:
    hints = get_type_hints(shape, include_extras=True)
    wire_names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    members: list[tuple[str, Check]] = []
    strings: list[tuple[str, int]] = []
    for name in shape.__struct_fields__:
        hint = _present(hints[name])
        limit = None if known.ascii else _string_limit(hint)
        if limit is not None:
            strings.append((name, limit))
        elif (inner := compiled(hint, known)) is not None:
            members.append((name, inner))
    verify = weigh = None
    if issubclass(shape, Wire):
        verify = shape.verify if shape.verify is not Wire.verify else None
        weigh = shape.weigh if shape.weigh is not Wire.weigh else None
    if not members and not strings and verify is None and weigh is None:
        return None

    def check(value: Any, size: int) -> None:
        name = ""
        try:
            # Most members are strings: they are checked without a call of their own.
            for name, limit in strings:
                text = getattr(value, name)
                if text is not UNSET and _exceeds(text, limit):
                    raise Problem("", f"more than {limit} bytes")
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


def _present(hint: Any) -> Any:
    """The type of a member that is present: ``hint`` without ``UNSET``."""
    branches = get_args(hint)
    if get_origin(hint) in (Union, UnionType) and UnsetType in branches:
        return Union[tuple(branch for branch in branches if branch is not UnsetType)]
    return hint


def _string_limit(hint: Any) -> int | None:
    """The most UTF-8 bytes of a string of type ``hint``; None where it is no bounded string."""
    if get_origin(hint) is Annotated:
        base, *metas = get_args(hint)
        if base is str:
            return min((meta.max_length for meta in metas if meta.max_length is not None), default=None)
    return None


def _bounded(found: Check | None, base: Any, metas: list[Any], known: Known) -> Check | None:
    limit = None if known.ascii else _string_limit(Annotated[base, *metas])
    if limit is not None:
        found = _in_bytes(limit)
    for meta in metas:
        if isinstance(meta, Meta):
            if base is int and meta.ge is not None and meta.le is not None and meta.le <= MAX_INTEGER:
                found = None  # msgspec has checked it
            if meta.extra and "encoded" in meta.extra:
                found = _weighed(found, int(meta.extra["encoded"]), meta.extra.get("entries"))
    return found


def _exceeds(text: str, limit: int) -> bool:
    """Whether ``text`` has more than ``limit`` UTF-8 bytes; a character has four at most."""
    return len(text) * 4 > limit and not text.isascii() and len(text.encode()) > limit


def _in_bytes(limit: int) -> Check:
    def check(value: Any, size: int) -> None:
        if type(value) is str and _exceeds(value, limit):
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


def spells(value: Any, line: bytes, start: int = 0) -> int:
    """The end of ``value`` in ``line`` where it is at ``start`` exactly as our encoder writes it; else -1.

    Large values are written member by member and item by item, so that no second copy of the line is made.
    """
    if isinstance(value, msgspec.Raw):
        return start + memoryview(value).nbytes
    if isinstance(value, list) and value:
        mark, end = b"[", start
        for item in cast(list[Any], value):
            if not line.startswith(mark, end):
                return -1
            end = spells(item, line, end + 1)
            if end < 0:
                return -1
            mark = b","
        return end + 1 if line.startswith(b"]", end) else -1
    if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
        mark, end = b"{", start
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            member = getattr(value, name)
            if member is not UNSET:
                lead = mark + _encode(wire) + b":"
                if not line.startswith(lead, end):
                    return -1
                end = spells(member, line, end + len(lead))
                if end < 0:
                    return -1
                mark = b","
        if mark == b",":
            return end + 1 if line.startswith(b"}", end) else -1
    piece = _encode(value)
    return start + len(piece) if line.startswith(piece, start) else -1


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
    """Check that the ids are distinct. Raises ``Problem`` at the first repetition."""
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
