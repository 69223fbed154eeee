"""The command of a tool call's raw input, as one would type it in a shell. Pure."""

import shlex
from dataclasses import dataclass
from typing import Any, Final, cast

from felan_core.protocol.base import Json

_PROGRAM: Final = ("command", "cmd")
_ARGUMENTS: Final = ("args", "arguments", "argv")


@dataclass(frozen=True)
class Command:
    """``line`` is what would run; ``members`` are those of the raw input that are in it, whole."""

    line: str
    members: frozenset[str]


def command_of(raw_input: Json) -> Command | None:
    """The command of ``{command}``, ``{command, args}`` or ``{cmd}``, where there is one.

    A text alone is a line for a shell and stays as it is. A program with arguments is quoted word by word, so
    that each argument is seen as one.
    """
    if not isinstance(raw_input, dict):
        return None
    given = cast("dict[str, Any]", raw_input)
    for program in _PROGRAM:
        named = given.get(program)
        words = _words([named] if isinstance(named, str) and named else named)
        if not words:
            continue
        for member in _ARGUMENTS:
            if more := _words(given.get(member)):
                return Command(shlex.join([*words, *more]), frozenset({program, member}))
        return Command(named if isinstance(named, str) else shlex.join(words), frozenset({program}))
    return None


def _words(value: Json) -> list[str]:
    """The words of a list of texts and numbers; none where it has anything else in it."""
    if not isinstance(value, list):
        return []
    items = cast("list[Any]", value)
    if not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in items):
        return []
    return [str(item) for item in items]


def without_code_marks(text: str) -> str:
    """``text`` without the two backticks by which Markdown marks all of it as code."""
    inner = text.strip()
    return inner[1:-1] if len(inner) > 2 and inner[0] == inner[-1] == "`" and inner.count("`") == 2 else text
