"""Members of a frame that no shape has: a newer peer's, which readers strip, or a misspelt name."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

from felan_core.protocol.base import as_list, as_object

_CUTOFF = 0.75
_LONGEST = 64


class Unknown(NamedTuple):
    """``place``: its path in the frame. ``meant``: the absent member whose name is near; None for none."""

    place: str
    meant: str | None


def unknown_members(raw: Any, typed: Any, place: str = "") -> Iterator[Unknown]:
    """The members of plain JSON ``raw`` that its ``typed`` value does not have; free JSON has them all."""
    members, items, values = as_object(raw), as_list(raw), as_list(typed)
    if isinstance(typed, msgspec.Struct) and members is not None:
        config = typed.__struct_config__
        known = dict(zip(typed.__struct_encode_fields__, typed.__struct_fields__, strict=True))
        names = {*known, config.tag_field} if config.tag_field else {*known}
        for name, value in members.items():
            where = f"{place}.{name[:_LONGEST]}".removeprefix(".")
            if name in known:
                yield from unknown_members(value, getattr(typed, known[name]), where)
            elif name not in names:
                yield Unknown(where, nearest(name, names - members.keys()))
    elif items is not None and values is not None:
        for index, (value, one) in enumerate(zip(items, values, strict=False)):
            yield from unknown_members(value, one, f"{place}[{index}]")


def nearest(name: str, names: Iterator[str] | set[str]) -> str | None:
    """The one of ``names`` that ``name`` may be a misspelling of: compared without case and underscores."""
    plain = {_plain(one): one for one in names}
    found = get_close_matches(_plain(name), plain, 1, _CUTOFF)
    return plain[found[0]] if found else None


def misspelt_at(raw: Any, place: str) -> str | None:
    """The member of ``raw`` whose name is near to the last one of ``place``, which is required and absent."""
    *way, name = place.replace("[", ".[").split(".")
    here: Any = raw
    for step in way:
        if step.startswith("["):
            items = as_list(here)
            here = items[int(step[1:-1])] if items and step[1:-1].isdigit() else None
        else:
            here = (as_object(here) or {}).get(step)
    return nearest(name, set(as_object(here) or {}))


def _plain(name: str) -> str:
    return name[:_LONGEST].replace("_", "").lower()
