"""What an empty session shows: where it works, with which agent, and three things to try."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from felan_tui.text.cells import pad
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Line, Piece

TRY: Final = (
    ("! git status", "runs a command here, as a process of the session"),
    ("/", "lists commands"),
    ("F1", "shows every key"),
)
COLUMN: Final = 15
"""Cells of the column of what to press or type."""


def short_path(path: str, home: str) -> str:
    """The path, with ~ for the home folder."""
    try:
        inside = PurePath(path).relative_to(home) if home not in ("", "/") else None
    except ValueError:
        inside = None
    return path if inside is None else str(PurePath("~") / inside)


def welcome_pieces(folder: str, branch: str, agent: str) -> Iterator[Piece]:
    """Folder and branch, the agent and its mode, what to do, and what to try."""
    yield (safe_line(folder), "$text")
    if branch:
        yield (f" ⎇ {safe_line(branch)}", "$text-muted")
    if agent:
        yield (f"\n{safe_line(agent)}", "$text-muted")
    yield ("\n\nWrite what is to be done, and press Enter. Or try first:\n", "$text")
    for typed, does in TRY:
        yield "\n"
        yield (pad(typed, COLUMN), "$text-accent")
        yield (does, "$text-muted")


class Welcome(Line):
    """The lines on the screen, until there is something to read."""

    DEFAULT_CSS = """
    Welcome { width: 1fr; height: 1fr; padding: 1 3; }
    """

    def __init__(self, folder: str, home: str) -> None:
        self._home = home
        self._shown = (short_path(folder, home), "", "")
        super().__init__(*welcome_pieces(*self._shown))

    def tell(self, *, folder: str | None = None, branch: str | None = None, agent: str | None = None) -> None:
        """What is known by now; None leaves what is there."""
        known = self._shown
        path = known[0] if folder is None else short_path(folder, self._home)
        self._shown = (path, known[1] if branch is None else branch, known[2] if agent is None else agent)
        if self._shown != known:
            self.show(*welcome_pieces(*self._shown), layout=True)


__all__ = ["Welcome", "short_path", "welcome_pieces"]
