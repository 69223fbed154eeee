"""Which terminal types can show the screen, by the name in `TERM`."""

GOOD = "xterm-256color"
"""What works in nearly every terminal that can place the cursor."""

_KNOWN = ("xterm", "screen", "tmux", "linux", "rxvt", "vt", "alacritty", "foot", "kitty", "konsole")


def refusal(term: str | None) -> str:
    """Why the screen cannot be shown on this type; "" where it can.

    A type that the terminal database does not know is tried: names of new terminals are often missing there.
    """
    if not term:
        return f"TERM is not set. Set it to the type of your terminal, e.g. TERM={GOOD} felan."
    if term in ("dumb", "unknown") or not (term.startswith(_KNOWN) or _places_the_cursor(term)):
        return f"TERM={term!r} cannot place the cursor. Use a terminal that can, e.g. TERM={GOOD} felan."
    return ""


def _places_the_cursor(term: str) -> bool:
    try:
        import curses
    except ImportError:
        return True
    try:
        curses.setupterm(term, 1)
    except curses.error:
        return True
    return curses.tigetstr("cup") is not None
