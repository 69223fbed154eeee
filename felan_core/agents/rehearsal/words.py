"""Words and variables: filling ``${name}`` in, matching what a person typed, and cutting text into chunks.

Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

_VARIABLE: Final = re.compile(r"\$(\$\{)|\$\{([a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)?)\}")
_OPEN: Final = re.compile(r"(?<!\$)\$\{")
_WORDS: Final = re.compile(r"\w+")
_PIECES: Final = re.compile(r"\S+\s*|\s+")
_MARKS: Final = re.compile(r"([!-/:-@\[-`{-~])")
_CONTROL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def fill(text: str, variables: Mapping[str, str], clean: Callable[[str], str] | None = None) -> str:
    """``text`` with each ``${name}`` replaced by its variable; ``$${`` is a plain ``${``.

    Substitution and nothing else: what is put in is never looked at again. ``clean`` is applied to each
    value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        found = variables.get(match[2], "")
        return found if clean is None else clean(found)

    return _VARIABLE.sub(value, text)


def variables_of(text: str) -> set[str]:
    """The names that ``fill`` would look up. Raises ``ValueError`` for a ``${`` that is no variable."""
    matches = list(_VARIABLE.finditer(text))
    starts = {match.start() for match in matches}
    for opened in _OPEN.finditer(text):
        if opened.start() not in starts:
            raise ValueError(
                f"{text[opened.start() : opened.start() + 24]!r} is no variable (write $${{ for a plain ${{)"
            )
    return {match[2] for match in matches if match[2]}


def plain_markdown(value: str) -> str:
    """``value`` so that CommonMark shows it as it was typed: every mark escaped, line breaks made spaces."""
    return _MARKS.sub(r"\\\1", " ".join(value.split()))


def one_line(value: str, limit: int = 200) -> str:
    """``value`` as one line of at most ``limit`` characters, fit for a label."""
    joined = " ".join(value.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


def last_line(output: str) -> str:
    """The last line of a process's output that says anything, without its escape sequences and controls."""
    lines = (one_line(_CONTROL.sub("", line)) for line in reversed(output.splitlines()))
    return next((line for line in lines if line), "")


def found_at(text: str, phrases: Sequence[str]) -> tuple[int, int] | None:
    """Where the first of ``phrases`` stands in ``text`` as whole words: (word index, -length), or None."""
    words = _WORDS.findall(text.casefold())
    best: tuple[int, int] | None = None
    for phrase in phrases:
        wanted = _WORDS.findall(phrase.casefold())
        for start in range(len(words) - len(wanted) + 1):
            if wanted and words[start : start + len(wanted)] == wanted:
                here = (start, -len(wanted))
                best = here if best is None or here < best else best
                break
    return best


def pointer_told(context: str) -> dict[str, str]:
    """What a context says of the task pointer: ``status``, ``revision``, ``mode`` and ``text``, each empty
    where it is not said.
    """
    told = {"status": "", "revision": "", "mode": "", "text": ""}
    names = {"status": "status", "revision": "revision", "recovery_mode": "mode"}
    text: list[str] = []
    for line in context.split("\n"):
        name, colon, value = line.partition(": ")
        if line.startswith("| "):
            text.append(line[2:])
        elif colon and name in names:
            told[names[name]] = value
    return {**told, "text": "\n".join(text)}


def chunks(text: str, size: int) -> Iterator[str]:
    """``text`` in pieces of about ``size`` characters that end at words where there are any.

    They join to ``text``.
    """
    held = ""
    for piece in _PIECES.findall(text):
        held += piece
        while len(held) > size * 4:
            yield held[:size]
            held = held[size:]
        if len(held) >= size:
            yield held
            held = ""
    if held:
        yield held
