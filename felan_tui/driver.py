"""TerminalDriver: Textual's driver for a terminal that may be taken away, for a while (Ctrl+Z) or for good.

Textual's own starts its threads again at every SIGCONT, of which `fg` brings two (the shell's to the whole
job, and the launcher's); and its writer's thread ends at the first write that fails, after which the app
waits for ever for it to take another line.
"""

import os
import signal
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from typing import IO


class TerminalDriver(LinuxDriver):
    """The Linux (and macOS) driver of FelanApp; what it takes is what Textual hands its driver."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)  # pyright: ignore[reportUnknownMemberType] untyped in Textual
        self._file: Any = Outlet(self._file)
        self._resuming = False
        self._again = False

    def resume_application_mode(self) -> None:
        """Take the terminal again, once, however often it is asked for.

        It is called in a signal handler, so it may come while it runs.
        """
        if self._resuming:
            self._again = True
            return
        self._resuming = True
        try:
            if self._running():
                if not self._taken_away():
                    return
                self.suspend_application_mode()
            self._again = True
            while self._again and not self._running():
                self._again = False
                super().resume_application_mode()
        finally:
            self._resuming = False

    def _running(self) -> bool:
        return self._key_thread is not None and self._key_thread.is_alive()

    def _taken_away(self) -> bool:
        """Whether the shell had the terminal since (after a SIGSTOP, which says nothing before)."""
        with suppress(termios.error):
            return bool(termios.tcgetattr(self.fileno)[3] & termios.ICANON)
        return False


class Outlet:
    """The terminal to write to. Where it is gone what is written is dropped, and SIGHUP says so, once."""

    def __init__(self, file: "IO[str]") -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> None:
        """Write ``text``."""
        if not self._gone:
            try:
                self._file.write(text)
            except OSError:
                self._lost()

    def flush(self) -> None:
        """Hand on what was written."""
        if not self._gone:
            try:
                self._file.flush()
            except OSError:
                self._lost()

    def fileno(self) -> int:
        """The descriptor."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def _lost(self) -> None:
        self._gone = True
        os.kill(os.getpid(), signal.SIGHUP)
