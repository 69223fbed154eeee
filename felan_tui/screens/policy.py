"""What a key does in which state of the session screen: plain functions that return what is to be done."""

from typing import Final, Literal

QUIT_SECONDS: Final = 2.0
"""Ctrl+C twice within this time quits."""

ESCAPE_SECONDS: Final = 1.0
"""For so long after Esc has left a card or a pane, another Esc does nothing: it would stop the turn."""

Escape = Literal["leave", "stop", "take_back", "nothing"]
Interrupt = Literal["copy", "quit", "clear", "stop", "ask"]
Pane = Literal["show", "enter", "hide", "none"]
OWN_KEYS: Final = frozenset({"y"})
"""Printable keys that are the transcript's own; all others are typed into the composer."""


def escape(*, away: bool, running: bool, stopping: bool, held: bool, since_left: float) -> Escape:
    """Esc. ``away``: the focus is elsewhere than in the composer, or a pane has the whole screen.
    ``since_left``: seconds since Esc left something the last time.
    """
    if away:
        return "leave"
    if since_left < ESCAPE_SECONDS:
        return "nothing"
    if running:
        return "nothing" if stopping else "stop"
    return "take_back" if held else "nothing"


def interrupt(*, selected: bool, since_last: float, empty: bool, running: bool) -> Interrupt:
    """Ctrl+C. ``selected``: something is; ``since_last``: seconds since the last one; ``empty``: nothing is
    written. A second one stops no turn: it quits, and asks where something would end.
    """
    if selected:
        return "copy"
    if not empty:
        return "clear"
    if since_last < QUIT_SECONDS:
        return "quit"
    return "stop" if running else "ask"


def pane_key(*, exists: bool, shown: bool, inside: bool) -> Pane:
    """The key of a pane: it shows the pane and goes there, and hides it from inside."""
    if not exists:
        return "none"
    if not shown:
        return "show"
    return "hide" if inside else "enter"


def is_typed(key: str, printable: bool) -> bool:
    """Whether a key that came while the transcript has the focus belongs to the composer."""
    return printable and key not in OWN_KEYS


__all__ = ["ESCAPE_SECONDS", "OWN_KEYS", "QUIT_SECONDS", "escape", "interrupt", "is_typed", "pane_key"]
