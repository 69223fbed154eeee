"""What breaks a rule inside a value: the rule in words, and the path, put together on the way out."""


class Problem(Exception):
    """A rule that a value breaks. ``where`` is the path below the value that was checked: ``.fields[3].id``.

    Shapes raise it in ``verify`` and ``weigh``; the parsers make it a ``ProtocolError`` that names the whole
    path. ``member``: which of a struct's members it is in, where whoever raises it knows only that.
    """

    def __init__(self, where: str, rule: str) -> None:
        super().__init__(rule)
        self.where = where
        self.rule = rule
        self.member: str | None = None

    def under(self, where: str) -> "Problem":
        """The same problem, seen from the value that holds this one at ``where``."""
        self.where = where + self.where
        self.member = None
        return self


def short(text: str, limit: int = 40) -> str:
    """As much of a name from outside as an error may repeat."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return cut.encode("utf-8", "replace").decode()
