"""Which commands a beginning `/na` could mean, and which one is marked. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from felan_tui.text.safe import safe_line

MOST = 6
"""Rows that are shown."""


@dataclass(frozen=True)
class CommandName:
    """A command without its slash, and what it does; both safe."""

    name: str
    about: str = ""


def typed_name(text: str) -> str | None:
    """What was typed of a command's name; None when the text is not the beginning of a command."""
    if not text.startswith("/") or any(character.isspace() for character in text):
        return None
    return text[1:]


@dataclass
class Completion:
    """The commands of the session, and those that fit what is typed."""

    known: list[CommandName] = field(default_factory=list[CommandName])
    found: list[CommandName] = field(default_factory=list[CommandName])
    marked: int = 0
    _typed: str | None = None
    _closed: bool = False

    def set_commands(self, commands: Iterable[tuple[str, str]]) -> None:
        """All commands, each (name, what it does); a slash before the name is left out."""
        self.known = [
            CommandName(safe_line(name).strip().removeprefix("/"), safe_line(about).strip())
            for name, about in commands
        ]
        self._filter()

    def type(self, text: str) -> None:
        """The composer's text is this now."""
        typed = typed_name(text)
        if typed != self._typed:
            self._typed, self._closed, self.marked = typed, False, 0
            self._filter()

    def close(self) -> None:
        """Show nothing until something else is typed."""
        self._closed = True
        self.found = []

    @property
    def open(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self.found)

    def move(self, by: int) -> None:
        """Mark the next or the previous one."""
        if self.found:
            self.marked = (self.marked + by) % len(self.found)

    @property
    def choice(self) -> CommandName | None:
        """The marked one."""
        return self.found[self.marked] if self.found else None

    def window(self) -> range:
        """Which of `found` are on the rows that there are."""
        first = min(max(0, self.marked - MOST + 1), max(0, len(self.found) - MOST))
        return range(first, min(first + MOST, len(self.found)))

    def _filter(self) -> None:
        typed = (self._typed or "").casefold()
        if self._typed is None or self._closed:
            self.found = []
            return
        starting = [command for command in self.known if command.name.casefold().startswith(typed)]
        within = [c for c in self.known if typed in c.name.casefold() and c not in starting]
        self.found = starting + within
        # A name that is there whole needs no list.
        if [command.name for command in self.found] == [self._typed]:
            self.found = []
        self.marked = min(self.marked, max(0, len(self.found) - 1))
