"""What a mouse selects: the word or the whole line at a place, and the text of a selection. Pure.

A line that was wrapped is one line: its rows are joined by what stood between them, and a word that goes on
in the next row is one word. A place is the number of a row and a character in it.
"""

import re
from collections.abc import Callable

from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row, goes_on, row_text, source_of

Place = tuple[int, int]
RowAt = Callable[[int], Row | None]
"""The row of a number, None where there is none."""

MAX_ROWS = 1_000
"""Rows of one line that are looked at, above and below the place."""

# As terminals have it: what a path, an address or a name is made of.
_WORD = re.compile(r"[\w./~@%+#?&=:$-]+")
_BEHIND = ".,:?"


def line_at(row_at: RowAt, number: int) -> tuple[int, int]:
    """The first and the last row of the line that a row is part of."""
    first = last = number
    while number - first < MAX_ROWS and (above := row_at(first - 1)) is not None and goes_on(above):
        first -= 1
    while last - number < MAX_ROWS and (row := row_at(last)) is not None and goes_on(row):
        last += 1
    return first, last


def whole_line(row_at: RowAt, number: int) -> tuple[Place, Place]:
    """Where the line of a row begins and ends."""
    first, last = line_at(row_at, number)
    return (first, 0), (last, len(row_text(row_at(last) or [])))


def word_at(row_at: RowAt, number: int, at: int, look: Look) -> tuple[Place, Place] | None:
    """Where the word at a character of a row begins and ends; None where there is none."""
    first, last = line_at(row_at, number)
    places: list[Place | None] = []
    characters: list[str] = []
    pointed = -1
    for place in range(first, last + 1):
        column = 0
        for segment in row_at(place) or []:
            drawn = not look.is_decoration(segment.style)
            for offset in range(len(segment.text)):
                if (place, column + offset) == (number, at):
                    pointed = len(characters) if drawn else -1
                if drawn:
                    places.append((place, column + offset))
                    characters.append(segment.text[offset])
            if not segment.text:
                for character in source_of(segment):
                    places.append(None)
                    characters.append(character)
            column += len(segment.text)
    for found in _WORD.finditer("".join(characters)):
        if found.start() <= pointed < found.end():
            end = found.start() + max(1, len(found[0].rstrip(_BEHIND)))
            start_place, end_place = places[found.start()], places[max(end, pointed + 1) - 1]
            if start_place is None or end_place is None:
                return None
            return start_place, (end_place[0], end_place[1] + 1)
    return None


def text_between(row: Row, look: Look, start: int, end: int) -> str:
    """What is copied of a row from one character to another (to its end with -1), without decoration."""
    kept: list[str] = []
    at = 0
    for segment in row:
        after = at + len(segment.text)
        if after > start and (end < 0 or at < end) and not look.is_decoration(segment.style):
            source = source_of(segment)
            if source == segment.text:
                source = source[max(0, start - at) : None if end < 0 else end - at]
            kept.append(source)
        elif not segment.text and end < 0:
            kept.append(source_of(segment))
        at = after
    return "".join(kept)
