"""Scenarios from TOML: read at first use, checked whole, with errors that name file, step and member."""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from felan_core.agents.rehearsal.check import problems_of
from felan_core.agents.rehearsal.steps import AnyStep, Header, Name, Part

SHIPPED: Final = Path(__file__).parent / "scenarios"
MAX_BYTES: Final = 1024 * 1024
MAX_STEPS: Final = 1000
_FIELD: Final = re.compile(r"`([^`]+)`$")


class ScenarioError(ValueError):
    """A scenario that cannot be played.

    Its text is for whoever writes the file: ``tour.toml: step 4 (say): …``.
    """


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that was checked.

    ``labels``: where each label and part stands; ``parts``: indices of parts.
    """

    name: str
    header: Header
    steps: tuple[AnyStep, ...]
    labels: Mapping[str, int]
    parts: tuple[int, ...]

    def target(self, goto: str, here: int) -> int:
        """The index of the step that ``goto`` leads to from step ``here``; past the last one is the end."""
        if goto == "@next":
            return next((part for part in self.parts if part > here), len(self.steps))
        return len(self.steps) if goto == "@end" else self.labels[goto]


@functools.cache
def shipped() -> Mapping[str, Scenario]:
    """The scenarios that come with Felan, by name. Blocks on the disk the first time."""
    paths = sorted(SHIPPED.glob("*.toml"))
    return {path.stem: read_scenario(path) for path in paths}


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file; its name is the file's. Raises ``ScenarioError``."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{path.name}: cannot be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        raise ScenarioError(f"{path.name}: larger than {MAX_BYTES // 1024} KiB")
    return parse_scenario(raw, path.name)


def parse_scenario(raw: bytes, file: str) -> Scenario:
    """The scenario in ``raw`` (UTF-8 TOML) of a file with the name ``file``. Raises ``ScenarioError``."""
    try:
        table: dict[str, Any] = tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: not UTF-8, at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"{file}: not TOML: {error}") from None
    try:
        name = msgspec.convert(file.removesuffix(".toml"), Name)
    except msgspec.ValidationError:
        raise ScenarioError(
            f"{file}: the file's name names the scenario: a-z, 0-9, - and _, and .toml"
        ) from None
    written: Any = table.pop("steps", None)
    if not isinstance(written, list) or not written:
        raise ScenarioError(f"{file}: steps: there are none; each begins with [[steps]]")
    steps_written: list[Any] = written  # pyright: ignore[reportUnknownVariableType]  # what TOML holds is anything
    if len(steps_written) > MAX_STEPS:
        raise ScenarioError(f"{file}: steps: more than {MAX_STEPS}")
    header = _convert(table, Header, file)
    steps = tuple(_step(one, number, file) for number, one in enumerate(steps_written, 1))
    scenario = Scenario(name, header, steps, _labels(steps, file), tuple(_parts(steps)))
    for place, problem in problems_of(header, steps, scenario.labels):
        raise ScenarioError(f"{file}: {place}: {problem}")
    return scenario


def _step(written: Any, number: int, file: str) -> AnyStep:
    do = written.get("do") if isinstance(written, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # what TOML holds is anything
    return _convert(written, AnyStep, f"{file}: step {number} ({do if isinstance(do, str) else '?'})")


def _convert(written: Any, shape: Any, where: str) -> Any:
    try:
        return msgspec.convert(written, shape)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{where}: {_reworded(str(error))}") from None


def _reworded(message: str) -> str:
    """msgspec's verdict with the member first: ``options[0].id: Expected str, got int``."""
    what, _, path = message.partition(" - at `")
    member = path.rstrip("`").removeprefix("$").removeprefix(".")
    field = _FIELD.search(what)
    if field and what.startswith("Object"):
        member = f"{member}.{field[1]}" if member else field[1]
        what = "is missing" if "missing" in what else "is no member here"
    return f"{member}: {what}".replace("`", "") if member else what.replace("`", "")


def _labels(steps: Iterable[AnyStep], file: str) -> dict[str, int]:
    labels: dict[str, int] = {}
    for index, step in enumerate(steps):
        for member, name in (("label", step.label), ("name", step.name if isinstance(step, Part) else None)):
            if name is None:
                continue
            if name in labels:
                taken = labels[name] + 1
                raise ScenarioError(
                    f"{file}: step {index + 1} ({_tag(step)}): {member}: {name!r} is step {taken}'s"
                )
            labels[name] = index
    return labels


def _parts(steps: Iterable[AnyStep]) -> Iterable[int]:
    return (index for index, step in enumerate(steps) if isinstance(step, Part))


def _tag(step: AnyStep) -> str:
    return str(step.__struct_config__.tag)
