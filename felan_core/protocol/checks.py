"""The rules that a JSON decoder cannot check: lengths in bytes, weights of collections, and what one member
says about another.

They are compiled once a shape, from its annotations, when it is first parsed; and once more for bytes that
were decoded unseen, whose free JSON is then walked too. Small frames seldom come here: ``sure`` has a quicker
question for them, without words.
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

from felan_core.protocol.base import MAX_INTEGER, Wire, as_list, as_object, kind_of
from felan_core.protocol.problems import Problem, short
from felan_core.protocol.sure import is_normal

Plan = Literal["all", "unseen"]


class Frame(NamedTuple):
    """What a value is part of: at most so many bytes of JSON, and what the lists in it weigh, by identity."""

    size: int
    weights: dict[int, int]


Check = Callable[[Any, Frame], None]
"""Raises ``Problem``."""

_encode: Final = msgspec.json.Encoder().encode
_compiled: dict[tuple[Any, Plan], Check | None] = {}


def compiled(hint: Any, plan: Plan) -> Check | None:
    """The check of values of type ``hint``, or None where nothing is left to check.

    A union or list is cached by its own equality.
    """
    key = (hint, plan)
    if key not in _compiled:
        _compiled[key] = _compile(hint, plan)
    return _compiled[key]


def _compile(hint: Any, plan: Plan) -> Check | None:
    origin = get_origin(hint)
    if origin is Annotated:
        base, *metas = get_args(hint)
        return _bounded(compiled(base, plan), base, metas)
    if origin is Union or origin is UnionType:
        return _one_of(get_args(hint), plan)
    if origin is list:
        return _items(compiled(get_args(hint)[0], plan))
    if origin is dict:
        if get_args(hint)[1] is Any:
            return compiled(Any, plan)
        return _values(compiled(get_args(hint)[1], plan))
    if plan == "unseen" and hint in (int, float):
        return _number
    if hint is Any:
        return _free if plan == "unseen" else None
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint, plan)
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


def _one_of(branches: Iterable[Any], plan: Plan) -> Check | None:
    table: dict[type[Any], Check] = {}
    for branch in branches:
        if _kind(branch) is Any:
            return _unless_absent(compiled(branch, plan))
        kind = _kind(branch)
        found = compiled(branch, plan) if kind not in (None, NoneType, UnsetType) else None
        if kind is not None and found is not None:
            table[kind] = found
    if not table:
        return None
    find = table.get

    def check(value: Any, frame: Frame) -> None:
        inner = find(cast(type[Any], type(value)))
        if inner is not None:
            inner(value, frame)

    return check


def _unless_absent(check: Check | None) -> Check | None:
    """The check of an optional member of free JSON."""
    if check is None:
        return None
    return lambda value, frame: None if value is UNSET else check(value, frame)


def _items(item: Check | None) -> Check | None:
    if item is None:
        return None

    def check(value: Any, frame: Frame) -> None:
        index = 0
        try:
            for one in value:
                item(one, frame)
                index += 1
        except Problem as problem:
            raise problem.under(f"[{index}]") from None

    return check


def _values(item: Check | None) -> Check | None:
    if item is None:
        return None

    def check(value: dict[str, Any], frame: Frame) -> None:
        for name, one in value.items():
            try:
                item(one, frame)
            except Problem as problem:
                raise problem.under("." + short(name)) from None

    return check


_NORMAL: Final = "a number, or a depth, that only the slow way judges"


def _number(value: Any, frame: Frame) -> None:
    if not is_normal(value, 0):
        raise Problem("", _NORMAL)


_FREE_DEPTH: Final = 16
_LEAVES: Final = frozenset((str, bool, NoneType, float, int))


def _free(value: Any, frame: Frame) -> None:
    """Leave free JSON that is deep, or holds a large integer, to the slow way: level by level, since there
    may be much of it.
    """
    level: list[Any] = [value]
    for _ in range(_FREE_DEPTH):
        kinds = set(map(type, level))
        if int in kinds:
            whole = [item for item in level if type(item) is int]
            if max(whole) > MAX_INTEGER or min(whole) < -MAX_INTEGER:
                break
        if kinds <= _LEAVES:
            return
        below: list[Any] = []
        for item in level:
            kind = kind_of(item)
            if kind is dict:
                below += item.values()
            elif kind is list:
                below += item
        level = below
    raise Problem("", _NORMAL)


def _struct(shape: type[msgspec.Struct], plan: Plan) -> Check | None:
    hints = get_type_hints(shape, include_extras=True)
    wire_names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    members: list[tuple[str, Check]] = []
    for name in shape.__struct_fields__:
        inner = compiled(hints[name], plan)
        if inner is not None:
            members.append((name, inner))
    verify = weigh = None
    if issubclass(shape, Wire):
        verify = shape.verify if shape.verify is not Wire.verify else None
        weigh = shape.weigh if shape.weigh is not Wire.weigh else None
    if not members and verify is None and weigh is None:
        return None

    def check(value: Any, frame: Frame) -> None:
        name = ""
        try:
            for name, inner in members:
                member = getattr(value, name)
                if member is not UNSET:
                    inner(member, frame)
        except Problem as problem:
            raise problem.under("." + wire_names[name]) from None
        if verify is not None:
            verify(value)
        if weigh is not None:
            weigh(value, frame.size)

    return check


def _bounded(found: Check | None, base: Any, metas: list[Any]) -> Check | None:
    for meta in metas:
        if isinstance(meta, Meta):
            if base is str and meta.max_length is not None:
                found = _in_bytes(meta.max_length)
            if meta.extra and "encoded" in meta.extra:
                found = _weighed(found, int(meta.extra["encoded"]), meta.extra.get("entries"))
    return found


def _in_bytes(limit: int) -> Check:
    def check(value: Any, frame: Frame) -> None:
        if (
            type(value) is str
            and frame.size > limit
            and len(value) * 4 > limit
            and not value.isascii()
            and len(value.encode()) > limit
        ):
            raise Problem("", f"more than {limit} bytes")

    return check


def _weighed(inner: Check | None, limit: int, entries: int | None) -> Check:
    def check(value: Any, frame: Frame) -> None:
        if frame.size > limit:
            # What is in it cannot weigh more, and is not put on the scales again.
            frame = Frame(frame.weights.get(id(value)) or weight(value), frame.weights)
        if inner is not None:
            inner(value, frame)
        if frame.size > limit:
            raise Problem("", f"more than {limit} bytes")
        # Two bytes an entry at the least.
        if entries is not None and frame.size > 2 * entries:
            check_entries(value, entries)

    return check


def weight(value: Any) -> int:
    """The bytes of ``value`` as JSON. A list is weighed item by item, so that no large copy is made."""
    if isinstance(value, list):
        items = cast(list[Any], value)
        return sum(len(_encode(item)) for item in items) + max(len(items) + 1, 2)
    return len(_encode(value))


def end_of(value: Any, line: bytes, start: int, weights: dict[int, int]) -> int:
    """Where a shape's value ends in ``line``, if it stands at ``start`` as it would be written; else -1.

    It is never written all at once: lists are, item by item, and their weights are kept in ``weights``.
    """
    if isinstance(value, msgspec.Raw):
        return start + memoryview(value).nbytes
    end = start
    if isinstance(value, list) and value:
        mark = b"["
        for item in cast(list[Any], value):
            if line[end : end + 1] != mark:
                return -1
            end = end_of(item, line, end + 1, weights)
            mark = b","
        if line[end : end + 1] != b"]":
            return -1
        weights[id(cast(list[Any], value))] = end + 1 - start
        return end + 1
    if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
        mark = b"{"
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            member = getattr(value, name)
            if member is not UNSET:
                lead = mark + _encode(wire) + b":"
                if end < 0 or not line.startswith(lead, end):
                    return -1
                end = end_of(member, line, end + len(lead), weights)
                mark = b","
        if mark == b",":
            return end + 1 if line[end : end + 1] == b"}" else -1
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
