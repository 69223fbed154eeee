"""The lines of a change for the preview of an approval: what goes, what comes, a little around it. Pure.

A preview must be there at once, whatever an agent sends: what is equal at both ends is taken away first, and
a middle that is too large to compare well is shown as a whole taken out and a whole put in.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

Mark = Literal["+", "-", " ", "…"]

COMPARABLE = 250_000
"""Old lines times new lines of the middle up to which they are compared line by line."""


def _ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the start and, of the rest, at the end."""
    most = min(len(old), len(new))
    start = 0
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def _all(mark: Mark, lines: list[str]) -> Iterator[tuple[Mark, str]]:
    return ((mark, line) for line in lines)


def _left_out(count: int) -> tuple[Mark, str]:
    return "…", f"{count} line{'' if count == 1 else 's'} unchanged"


def diff_lines(old: str, new: str, *, context: int) -> Iterator[tuple[Mark, str]]:
    """The change as (mark, line): `-` goes, `+` comes, a space stays, `…` stands for lines left out.

    `context` equal lines are kept around a change; with 0 nothing is said of what is equal at both ends.
    """
    before, after = old.split("\n"), new.split("\n")
    if before and before[-1] == "":
        before.pop()
    if after and after[-1] == "":
        after.pop()
    if before == after:
        if old != new:
            yield "…", "only the end of the last line changes"
        return
    start, end = _ends(before, after)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    if context and start > context:
        yield _left_out(start - context)
    yield from _all(" ", before[max(0, start - context) : start])
    if len(gone) * len(come) > COMPARABLE:
        yield from _all("-", gone)
        yield from _all("+", come)
    else:
        yield from _middle(gone, come, context)
    tail = before[len(before) - end :]
    yield from _all(" ", tail[:context])
    if context and end > context:
        yield _left_out(end - context)


def _middle(gone: list[str], come: list[str], context: int) -> Iterator[tuple[Mark, str]]:
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, gone, come, autojunk=True).get_opcodes():
        if kind == "equal":
            same = gone[i1:i2]
            if len(same) > 2 * context + 1:
                yield from _all(" ", same[:context])
                yield _left_out(len(same) - 2 * context)
                same = same[len(same) - context :]
            yield from _all(" ", same)
        else:
            yield from _all("-", gone[i1:i2])
            yield from _all("+", come[j1:j2])
