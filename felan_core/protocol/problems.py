"""A broken rule inside a value: the rule in words, and its path, which each parent extends."""

from collections.abc import Iterable, Sequence


class Problem(Exception):
    """A rule that a value breaks. ``where`` is the path below the value that was checked: ``.fields[3].id``.

    Shapes raise it in ``verify`` and ``weigh``; the parsers make it a ``ProtocolError`` that names the whole
    path.
    """

    def __init__(self, where: str, rule: str) -> None:
        super().__init__(rule)
        self.where = where
        self.rule = rule

    def under(self, where: str) -> "Problem":
        """The same problem with the path of its parent, which has this value at ``where``."""
        self.where = where + self.where
        return self


_PLACE_HEAD, _PLACE_TAIL = 120, 60
_NAMED_CHOICES = 24


def short(text: str, limit: int = 40) -> str:
    """A name from outside, cut to ``limit`` characters and … for an error message."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return cut.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """``text`` with control characters, bidi controls and lone surrogates written as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def one_of(choices: Iterable[str]) -> str:
    """The rule of an enumeration, its choices named: ``must be one of table, list``; the first 24 of many."""
    names = [printable(short(one)) for one in choices]
    if len(names) < 2:
        return f"must be {names[0]}" if names else "there is no choice here"
    more = f" and {len(names) - _NAMED_CHOICES} more" if len(names) > _NAMED_CHOICES else ""
    return f"must be one of {', '.join(names[:_NAMED_CHOICES])}{more}"


def nearest(name: str, names: Sequence[str]) -> str:
    """A name from outside, quoted, and the nearest of ``names``: ``'thme'; the nearest is theme``."""
    from difflib import get_close_matches  # only refusals load it

    # Cut first: a name may be long, and the comparison is quadratic.
    near = get_close_matches(name[:64], names, 1, cutoff=0.0)
    return f"{short(name)!r}; the nearest is {near[0]}" if near else repr(short(name))


def refusal_text(where: str, rule: str) -> str:
    """The message of a refusal: the place, cut in its middle where it is long, and the whole rule."""
    place = where.removeprefix(".")
    if len(place) > _PLACE_HEAD + _PLACE_TAIL:
        place = f"{place[:_PLACE_HEAD]}…{place[-_PLACE_TAIL:]}"
    return f"{printable(place) or 'value'}: {rule}"
