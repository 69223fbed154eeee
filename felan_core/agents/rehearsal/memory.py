"""What the rehearsal keeps of a session between hosts: where it stands, and what it left up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from felan_core.protocol.base import Json, JsonObject

_ROOM: Final = 40_000
"""Characters that all variables may take together: what is kept beside a question is small."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a play stands. ``step`` counts from 0; ``allowed``: the categories that need no more approval."""

    scenario: str
    step: int
    variables: Mapping[str, str]
    allowed: frozenset[str] = frozenset()

    def to_json(self) -> JsonObject:
        """Plain JSON, the longest variables cut where all are too long."""
        kept = dict(self.variables)
        if sum(len(msgspec.json.encode(value)) for value in kept.values()) > _ROOM:
            share = max(20, _ROOM // (6 * len(kept)))  # six: what the longest escape of a character takes
            kept = {name: value[:share] for name, value in kept.items()}
        return {
            "scenario": self.scenario,
            "step": self.step,
            "variables": kept,
            "allowed": sorted(self.allowed),
        }

    @classmethod
    def from_json(cls, plain: JsonObject) -> "Place | None":
        """None where ``plain`` is not what ``to_json`` writes."""
        scenario, step = plain.get("scenario"), plain.get("step")
        if not isinstance(scenario, str) or type(step) is not int or step < 0:
            return None
        allowed = frozenset(_texts(plain.get("allowed")).values())
        return cls(scenario, step, _texts(plain.get("variables")), allowed)


@dataclass(slots=True)
class Memory:
    """``opened``: whether a prompt was answered yet; ``up``: elements that are up, by id, with their kind;
    ``acted``: what was done with their rows, by the element's id, as row and action.
    """

    opened: bool = False
    up: dict[str, str] = field(default_factory=dict[str, str])
    acted: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])
    place: Place | None = None

    def act(self, element: str, row: str, action: str) -> None:
        """Keep that an action of a row was used: once, as the newest."""
        done = [one for one in self.acted.get(element, []) if one != (row, action)]
        self.acted[element] = [*done, (row, action)]

    def down(self, element: str) -> None:
        """Forget an element."""
        self.up.pop(element, None)
        self.acted.pop(element, None)

    def to_json(self) -> JsonObject:
        plain: JsonObject = {"opened": self.opened, "up": dict(self.up)}
        if self.acted:
            plain["acted"] = {name: [list(one) for one in done] for name, done in self.acted.items()}
        if self.place is not None:
            plain.update(self.place.to_json())
        return plain

    @classmethod
    def from_json(cls, plain: JsonObject | None) -> "Memory":
        """What is not understood is left out: memory of another version is no reason not to start."""
        plain = plain or {}
        up = _texts(plain.get("up"))
        acted = _acted(plain.get("acted"))
        return cls(plain.get("opened") is True, up, acted, Place.from_json(plain))


def _acted(value: Json) -> dict[str, list[tuple[str, str]]]:
    """What was done with the rows of each element; what is none is left out."""
    table = cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
    pairs = {name: [list(_texts(one).values()) for one in _listed(done)] for name, done in table.items()}
    return {
        str(name): [(pair[0], pair[1]) for pair in done if len(pair) == 2] for name, done in pairs.items()
    }


def _listed(value: Json) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _texts(value: Json) -> dict[str, str]:
    """The texts of a JSON object, or of an array by position; what is none is left out."""
    if isinstance(value, list):
        value = dict(enumerate(cast("list[Any]", value)))
    table = cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
    return {str(name): text for name, text in table.items() if isinstance(text, str)}
