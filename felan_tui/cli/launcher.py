"""The launcher: a tiny parent that gives the terminal back whole, however the app ends.

It forks before the app's imports, waits, and does nothing else: a SIGKILL of the app leaves mouse tracking,
the alternate screen and raw mode behind, and only another process can undo that. Signals to the launcher go
on to the app; a stop of the app (Ctrl+Z) stops the launcher too, since the shell waits for the launcher.
"""

import os
import signal
import termios

from felan_tui.terminal.first_frame import SCREEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

RESTORE = (
    # Mouse; then focus, bracketed paste, resize reports, frames; then keyboard, alternate screen,
    # wrap, cursor, colours.
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    b"\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?2026l"
    b"\x1b[?2031l\x1b[>4m\x1b[<u\x1b[?1049l\x1b[?7h\x1b[?25h\x1b[0m"
)
"""What undoes all that a terminal app switches on."""

FORWARDED = (signal.SIGTERM, signal.SIGHUP)


class Terminal:
    """The terminal's settings as they were, to be put back."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        try:
            self._settings: list[int | list[bytes | int]] | None = termios.tcgetattr(descriptor)
        except (termios.error, OSError):
            self._settings = None

    def restore(self, *, screen: bool) -> None:
        """Put the settings back; with ``screen`` undo what an app that was killed left switched on."""
        if self._settings is None:
            return
        # From the background a terminal would stop us at this write.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if screen:
                os.write(1 if os.isatty(1) else self._descriptor, RESTORE)  # house: a constant of ours
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)
        except (termios.error, OSError):
            pass  # the terminal is gone


def launch(app: "Callable[[int], int]", draw: "Callable[[], None]" = lambda: None) -> int:
    """``draw`` the first frame, run ``app`` in a child and return its exit code, 128 + the signal's number
    where a signal ended it.

    ``app`` gets a descriptor that reads as ended once the launcher is gone; it returns the exit code.
    """
    terminal = Terminal()
    draw()
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        return app(alive)
    os.close(alive)
    SCREEN.take_over()  # the child's from now on
    return _guard(child, terminal)


def _guard(child: int, terminal: Terminal) -> int:
    def forward(number: int, frame: "FrameType | None") -> None:
        os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    # The terminal's own Ctrl+C and Ctrl+\ reach the app directly; it decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            # No SIGSTOP: where no shell is left to continue us (its window was closed), this does nothing.
            os.kill(os.getpid(), signal.SIGTSTP)
            os.kill(child, signal.SIGCONT)
            continue
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            terminal.restore(screen=True)
            name = signal.Signals(number).name
            from felan_tui.text.output import print_error

            print_error(f"felan was ended by {name}. felan -c brings the session back.")
            return 128 + number
        terminal.restore(screen=False)
        return os.WEXITSTATUS(status)
