"""The command of a tool call's raw input, as one would type it in a shell. Pure."""

import shlex
from dataclasses import dataclass
from typing import Any, Final, cast

from felan_core.agents.acp.clip import label
from felan_core.protocol.base import LIMITS, Json

MOST: Final = 8 * LIMITS.label_bytes
"""Characters of a title that are read."""

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


def title_line(title: str) -> str:
    """A title as a line: a line end in it is seen, since what follows may be a command of its own."""
    lines = without_code_marks(title[:MOST]).splitlines()
    return label(" ⏎ ".join(line.strip() for line in lines if line.strip()))


def without_code_marks(text: str) -> str:
    """``text`` without the two backticks by which Markdown marks all of it as code."""
    inner = text.strip()
    return inner[1:-1] if len(inner) > 2 and inner[0] == inner[-1] == "`" and inner.count("`") == 2 else text
