"""The terminal to write to, which may go away, and whose alternate screen may be on already."""

import os
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import IO

ALTERNATE_SCREEN: Final = "\x1b[?1049h"


class Outlet:
    """Writes to ``file``. Where the terminal is gone what is written is dropped, and SIGHUP is raised, once.

    ``painted``: the alternate screen is on, so the first switch to it, which would clear it, is left out.
    """

    def __init__(self, file: "IO[str]", *, painted: bool = False) -> None:
        self._file = file
        self._gone = False
        self._painted = painted

    def write(self, text: str) -> None:
        """Write ``text``."""
        if self._painted and text == ALTERNATE_SCREEN:
            self._painted = False
        elif not self._gone:
            try:
                self._file.write(text)
            except OSError:
                self.lost()

    def flush(self) -> None:
        """Write out what is buffered."""
        if not self._gone:
            try:
                self._file.flush()
            except OSError:
                self.lost()

    def fileno(self) -> int:
        """The descriptor."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def lost(self) -> None:
        """The terminal is gone: nothing more is written, and SIGHUP ends the app in order."""
        if not self._gone:
            self._gone = True
            os.kill(os.getpid(), signal.SIGHUP)
