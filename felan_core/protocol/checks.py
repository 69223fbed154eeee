"""The rules that a JSON decoder cannot check: lengths in bytes, weights of collections, and what one member
says about another.

They are compiled once a shape, from its annotations, when it is first parsed. Two plans come out: the
``rules``, for a frame so small and plain that no bound in bytes can be passed, and ``all``, for every other;
and both once more for bytes that were decoded unseen, whose free JSON is then walked too.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, UnsetType

from felan_core.protocol.base import JsonObject, Wire, as_list, as_object
from felan_core.protocol.problems import Problem, short

Plan = Literal["rules", "all", "unseen rules", "unseen all"]
Check = Callable[[Any, int], None]
"""Raises ``Problem``. The second argument is the size of the whole frame, in bytes."""

_encode: Final = msgspec.json.Encoder().encode
_compiled: dict[tuple[Any, Plan], Check | None] = {}


class Renormalise(Exception):
    """Something in the value is only put right, or refused in words, by the slow way."""


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
        return _both(compiled(base, plan), _bounds(base, metas) if plan.endswith("all") else None)
    if origin is Union or origin is UnionType:
        return _one_of(get_args(hint), plan)
    if origin is list:
        return _items(compiled(get_args(hint)[0], plan))
    if origin is dict:
        if get_args(hint)[1] is Any:
            return compiled(Any, plan)
        return _values(compiled(get_args(hint)[1], plan))
    if hint is float:
        return _integral
    if hint is Any:
        return _free if plan.startswith("unseen") else None
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint, plan)
    return None


def has_defaults(hint: Any) -> bool:
    """Whether a member anywhere in ``hint`` has a default that is written out where it was absent."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        if any(
            value is not msgspec.UNSET for value in hint.__struct_defaults__ if value is not msgspec.NODEFAULT
        ):
            return True
        return any(has_defaults(member) for member in get_type_hints(hint, include_extras=True).values())
    return any(has_defaults(part) for part in get_args(hint) if get_origin(hint) is not Literal)


def _both(first: Check | None, second: Check | None) -> Check | None:
    if first is None or second is None:
        return first or second

    def check(value: Any, size: int) -> None:
        first(value, size)
        second(value, size)

    return check


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

    def check(value: Any, size: int) -> None:
        inner = find(cast(type[Any], type(value)))
        if inner is not None:
            inner(value, size)

    return check


def _unless_absent(check: Check | None) -> Check | None:
    """The check of an optional member of free JSON."""
    if check is None:
        return None
    return lambda value, size: None if value is msgspec.UNSET else check(value, size)


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


def _integral(value: Any, size: int) -> None:
    if type(value) is float and value.is_integer():
        raise Renormalise


_FREE_DEPTH: Final = 16
_MAX_INTEGER: Final = 2**53 - 1
_LEAVES: Final = frozenset((str, bool, NoneType, float, int))


def has_large(items: list[Any]) -> bool:
    """Whether an integer among ``items`` lies beyond 2^53 - 1."""
    whole = [item for item in items if type(item) is int]
    return max(whole) > _MAX_INTEGER or min(whole) < -_MAX_INTEGER


def _free(value: Any, size: int) -> None:
    """Leave free JSON that is deep, or holds a large integer, to the slow way: level by level, in few steps
    of Python.
    """
    level: list[Any] = list(cast(JsonObject, value).values()) if type(value) is dict else [value]
    for _ in range(_FREE_DEPTH):
        kinds = set(map(type, level))
        if int in kinds and has_large(level):
            raise Renormalise
        if kinds <= _LEAVES:
            return
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below += cast(JsonObject, item).values()
            elif type(item) is list:
                below += cast(list[Any], item)
        level = below
    raise Renormalise


def _struct(shape: type[msgspec.Struct], plan: Plan) -> Check | None:
    hints = get_type_hints(shape, include_extras=True)
    wire_names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    members: list[tuple[str, Check]] = []
    strings: list[str] = []
    limits: list[int] = []
    for name in shape.__struct_fields__:
        limit = _string_limit(hints[name]) if plan.endswith("all") else None
        inner = compiled(hints[name], plan)
        if limit is not None:
            strings.append(name)
            limits.append(limit)
        elif inner is not None:
            members.append((name, inner))
    # One call in C for all of them; with two names at the least, so that it gives a tuple.
    bounded = attrgetter(*strings, strings[0]) if strings else None
    verify = weigh = None
    if issubclass(shape, Wire):
        verify = shape.verify if shape.verify is not Wire.verify else None
        weigh = shape.weigh if plan.endswith("all") and shape.weigh is not Wire.weigh else None
    if not members and not strings and verify is None and weigh is None:
        return None

    def check(value: Any, size: int) -> None:
        name = ""
        try:
            if bounded is not None:
                for text in bounded(value):
                    if text is not msgspec.UNSET and text is not None and not text.isascii():
                        _strings_in_bytes(value, strings, limits, size)
                        break
            for name, inner in members:
                member = getattr(value, name)
                if member is not msgspec.UNSET:
                    inner(member, size)
        except Problem as problem:
            raise problem.under("." + wire_names[problem.member or name]) from None
        if verify is not None:
            verify(value)
        if weigh is not None:
            weigh(value, size)

    return check


def _string_limit(hint: Any) -> int | None:
    """The bound in bytes of a member that is a string and nothing else; None for every other."""
    parts = [part for part in get_args(hint) if part not in (UnsetType, NoneType)]
    if get_origin(hint) is Union and len(parts) == 1:
        hint = parts[0]
    if get_origin(hint) is Annotated:
        base, *metas = get_args(hint)
        limits = [meta.max_length for meta in metas if isinstance(meta, Meta) and meta.max_length is not None]
        if base is str and len(limits) == 1 and not any(isinstance(m, Meta) and m.extra for m in metas):
            return limits[0]
    return None


def _strings_in_bytes(value: Any, names: list[str], limits: list[int], size: int) -> None:
    for name, limit in zip(names, limits, strict=True):
        try:
            _in_bytes(limit)(getattr(value, name), size)
        except Problem as problem:
            problem.member = name
            raise


def _bounds(base: Any, metas: list[Any]) -> Check | None:
    found: Check | None = None
    for meta in metas:
        if not isinstance(meta, Meta):
            continue
        if base is str and meta.max_length is not None:
            found = _both(found, _in_bytes(meta.max_length))
        extra = meta.extra or {}
        if "encoded" in extra:
            found = _both(found, _weighed(int(extra["encoded"]), extra.get("entries")))
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


def _weighed(limit: int, entries: int | None) -> Check:
    def check(value: Any, size: int) -> None:
        if size > limit and weight(value) > limit:
            raise Problem("", f"more than {limit} bytes")
        # Two bytes an entry at the least.
        if entries is not None and size > 2 * entries:
            check_entries(value, entries)

    return check


def weight(value: Any) -> int:
    """The bytes of ``value`` as JSON. A list is weighed item by item, so that no large copy is made."""
    if isinstance(value, list):
        items = cast(list[Any], value)
        return sum(len(_encode(item)) for item in items) + max(len(items) + 1, 2)
    return len(_encode(value))


def length(value: Any) -> int:
    """The bytes of a shape's value as JSON, without making them all at once: lists item by item."""
    if isinstance(value, msgspec.Raw):
        return memoryview(value).nbytes
    if isinstance(value, list):
        return weight(value)
    if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
        total = 1
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            member = getattr(value, name)
            if member is not msgspec.UNSET:
                # Its name in quotes, the colon, and a comma or the closing brace.
                total += len(wire) + 4 + length(member)
        return max(total, 2)
    return len(_encode(value))


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


def exactly_one(names: tuple[str, ...], value: Any) -> None:
    """Check that one of the alternatives' members is present, and no other. Raises ``Problem``."""
    present = [name for name in names if getattr(value, name) is not msgspec.UNSET]
    if len(present) != 1:
        wire = dict(zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True))
        raise Problem("", f"exactly one of {', '.join(wire[name] for name in names)} is required")
