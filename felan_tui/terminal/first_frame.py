"""The first frame: drawn by the launcher before anything else is loaded, in the colours of the last time.

The app leaves the colours behind in the data folder (`FILE`, 0600) once a session is shown. Where there are
none, or the terminal is another kind than that time, nothing is drawn. What is typed meanwhile waits in the
terminal, unseen and unchanged, for the app.

Nothing is imported here that Python has not loaded itself, but `termios`.
"""

import os
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Settings = list[Any]

FILE = "first-frame"
LEAST = (60, 16)
"""Columns and rows of the smallest terminal that it is drawn on."""

NAMES = ("ground", "text", "muted", "accent", "rule", "surface")
"""Of colours: two backgrounds, `ground` and `surface`, and the colours of text and rule."""
PLACEHOLDER = "type a message · / commands · ! shell"
LEAVE = b"\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l"


class Screen:
    """The terminal between the launcher's first frame and the app's. There is one a process: `SCREEN`."""

    def __init__(self) -> None:
        self.settings: Settings | None = None
        """The terminal's settings of before; None while nothing of ours is on the terminal."""

    def enter(self, data: str, cwd: str) -> None:
        """Draw the frame, if there is one to draw, and take the keys out of the terminal's hands."""
        colors = read(data, kind_of_terminal())
        try:
            columns, rows = os.get_terminal_size(1)
            settings = termios.tcgetattr(0)
        except (termios.error, OSError):
            return
        if colors is None or columns < LEAST[0] or rows < LEAST[1]:
            return
        raw: list[Any] = [*settings[:6], list(settings[6])]
        raw[0] &= ~(termios.ICRNL | termios.IXON)
        raw[3] &= ~(termios.ECHO | termios.ICANON)
        raw[6][termios.VMIN], raw[6][termios.VTIME], raw[6][termios.VSUSP] = 1, 0, b"\0"
        try:
            termios.tcsetattr(0, termios.TCSANOW, raw)
        except termios.error:
            return
        self.settings = settings
        title = cwd.rstrip("/").rpartition("/")[2] or cwd
        os.write(1, frame(colors, columns, rows, title))  # house: a frame of ours

    def take_over(self) -> "Settings | None":
        """The app draws from now on: the settings of before, where a frame is on the terminal."""
        settings, self.settings = self.settings, None
        return settings

    def leave(self) -> None:
        """Give the terminal back, where the app did not take it over: words are to be read on it."""
        settings = self.take_over()
        if settings is not None:
            try:
                os.write(1, LEAVE)  # house: a constant of ours
                termios.tcsetattr(0, termios.TCSANOW, settings)
            except (termios.error, OSError):
                pass  # the terminal is gone


SCREEN = Screen()


def kind_of_terminal() -> str:
    """What decides how colours are written: another kind of terminal than last time gets no frame."""
    names = ("TERM", "COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM", "TERM_PROGRAM")
    return "|".join(os.environ.get(name, "") for name in names)


def read(data: str, terminal: str) -> "dict[str, str] | None":
    """The colours, as SGR parameters by name; None where there are none for this terminal."""
    try:
        descriptor = os.open(f"{data}/{FILE}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        first, *lines = os.read(descriptor, 2048).decode("utf-8", "replace").split("\n")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    colors = {name: value for name, _, value in (line.partition("=") for line in lines)}
    if first != terminal or any(not _is_color(colors.get(name, "")) for name in NAMES):
        return None
    return colors


def _is_color(parameters: str) -> bool:
    """`38;2;R;G;B`, `48;2;R;G;B`, `38;5;N` or `48;5;N`, in decimal."""
    kind, *values = parameters.split(";")
    numbers = [int(one) for one in values if one.isascii() and one.isdecimal() and len(one) <= 3]
    return (
        kind in ("38", "48")
        and len(numbers) == len(values)
        and values[:1] in (["2"], ["5"])
        and len(values) == {"2": 4, "5": 2}[values[0]]
    )


def frame(colors: "dict[str, str]", columns: int, rows: int, title: str) -> bytes:
    """Header, rule and composer of an empty session, and the cursor's place in it."""
    # A name outside of ASCII is left out: how wide it is, is not known yet.
    name = f"  {title}" if title.isascii() and title.isprintable() else ""
    rest = name[: max(0, columns - 20)]
    ground, text, muted, accent, rule, surface = (colors[name] for name in NAMES)
    # Not every terminal clears with the background: each cell is written.
    cells = "".join(f"\x1b[{row};1H{' ' * columns}" for row in range(2, rows + 1))
    return (
        f"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0;{ground}m\x1b[2J{cells}"
        f"\x1b[1;1H\x1b[{surface}m{' ' * columns}\x1b[1;2H\x1b[1;{accent}mfelan\x1b[22;{text}m{rest}"
        f"\x1b[{rows - 2};1H\x1b[{ground};{rule}m{'─' * columns}"
        f"\x1b[{rows - 1};2H\x1b[{accent}m›\x1b[{rows - 1};4H\x1b[{muted}m{PLACEHOLDER}"
        f"\x1b[{rows - 1};4H\x1b[{text};7m{PLACEHOLDER[0]}\x1b[27m"
    ).encode()
