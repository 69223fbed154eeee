"""The choices of an enumeration, for its refusal: found by the path of the member in the shape.

Only refusals load this module.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.inspect import (
    DictType,
    Field,
    ListType,
    LiteralType,
    StructType,
    Type,
    UnionType,
    type_info,
)

from felan_core.protocol.base import Json, as_list, as_object

_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")


def choices_at(shape: Any, value: Json, path: str) -> list[str]:
    """The choices of the member at ``path`` (msgspec's: ``$.items[0].kind``); tags in the order of the union.

    ``value``: the plain JSON that was refused; its tags select the alternatives of a union. Empty where the
    member is no enumeration.
    """
    types, here = list(_alternatives(type_info(shape))), value
    tag_of: list[str] = []
    for step in _STEP.finditer(path):
        name, index = step.groups()
        tag_of = []
        if name is not None:
            members = as_object(here) or {}
            structs = [one for one in types if isinstance(one, StructType)]
            tag_of = [str(one.tag) for one in structs if one.tag_field == name]
            found = [_member(one, name) for one in structs if _has_tag_of(one, members)]
            inner: Iterable[Type] = [one.type for one in found if one is not None]
            here = members.get(name)
        elif index is not None:
            inner = [one.item_type for one in types if isinstance(one, ListType)]
            items = as_list(here) or []
            here = items[int(index)] if int(index) < len(items) else None
        else:
            inner, here = [one.value_type for one in types if isinstance(one, DictType)], None
        types = [one for outer in inner for one in _alternatives(outer)]
    literals = [choice for one in types if isinstance(one, LiteralType) for choice in one.values]
    return tag_of or [str(choice) for choice in literals]


def _alternatives(of: Type) -> Iterator[Type]:
    """The types of ``of``: itself, or the alternatives of a union."""
    base: Any = of
    while hasattr(base, "type") and not isinstance(base, StructType):  # Metadata around a type
        base = base.type
    if isinstance(base, UnionType):
        for one in base.types:
            yield from _alternatives(one)
    else:
        yield base


def _has_tag_of(struct: StructType, members: dict[str, Any]) -> bool:
    return struct.tag_field is None or members.get(struct.tag_field) in (None, struct.tag)


def _member(struct: StructType, name: str) -> Field | None:
    return next((one for one in struct.fields if one.encode_name == name), None)
