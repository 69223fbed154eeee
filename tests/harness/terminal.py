"""A terminal: the real command in a pty, its screen read by pyte, its bytes kept."""

import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pyte

# pyte takes these for text: the keyboard protocol's private forms, and terminal queries.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-z]|\x1b\[\?[0-9;]*(?:\$p|u)|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

KEYS: dict[str, bytes] = {
    "enter": b"\r",
    "esc": b"\x1b",
    "tab": b"\t",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "backspace": b"\x7f",
    "pageup": b"\x1b[5~",
    "f1": b"\x1bOP",
    "f2": b"\x1bOQ",
    "f3": b"\x1bOR",
    "f4": b"\x1bOS",
    "f5": b"\x1b[15~",
    "f6": b"\x1b[17~",
    "f7": b"\x1b[18~",
    "ctrl+c": b"\x03",
    "ctrl+d": b"\x04",
    "ctrl+j": b"\n",
    "ctrl+t": b"\x14",
    "ctrl+z": b"\x1a",
}


class Ended(AssertionError):
    """The command ended before what was waited for came."""


class Terminal:
    """``argv`` in a pty of ``columns`` x ``rows``, which answers queries as ``answers`` says.

    Everything that waits has a limit and shows the screen.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        answers: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self.columns, self.rows = columns, rows
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.output = bytearray()
        self._answers = dict(answers or {})
        self._asked = 0
        self._held = b""
        self._text: str | None = None
        self._status: int | None = None
        leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(follower)
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        # Beside other test processes they are set (readline does it), and say another size than the pty has.
        for size in {"COLUMNS", "LINES"} - set(env or {}):
            environment.pop(size, None)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(leader)
            os.setsid()
            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
            for descriptor in (0, 1, 2):
                os.dup2(follower, descriptor)
            os.closerange(3, 64)
            os.chdir(cwd)
            os.execvpe(argv[0], list(argv), environment)
        self._follower = follower  # kept, so that the settings can be read when the command has ended
        self._leader = leader

    # --- looking ---

    def pump(self, seconds: float = 0.05) -> bool:
        """Take what the command wrote, for at most ``seconds``; whether there was anything."""
        if self._leader < 0:
            select.select([], [], [], seconds)
            return False
        ready, _, _ = select.select([self._leader], [], [], seconds)
        if not ready:
            return False
        data = b""
        while ready and len(data) < 1 << 18:  # all that is there, so that the screen is read less often
            try:
                data += os.read(self._leader, 65536)
            except OSError:
                break
            ready, _, _ = select.select([self._leader], [], [], 0)
        if not data:
            return False
        self._text = None
        self.output += data
        self._answer()
        data = self._held + data
        cut = data.rfind(b"\x1b")
        self._held = b""
        if (
            cut >= 0
            and len(data) - cut < 64
            and not re.match(rb"\x1b(\[[0-9;?<>=$ ]*[@-~]|[^\[\]])", data[cut:])
        ):
            data, self._held = data[:cut], data[cut:]
        self._stream.feed(_UNKNOWN.sub(b"", data))
        return True

    def _answer(self) -> None:
        """Answer what was asked since, in its order."""
        asked = sorted(
            (at, query)
            for query in self._answers
            if (at := self.output.find(query, max(0, self._asked - len(query) + 1))) >= 0
        )
        self._asked = len(self.output)
        for _, query in asked:
            self.send(self._answers[query])

    def text(self) -> str:
        """The screen as lines."""
        if self._text is None:
            self._text = "\n".join(line.rstrip() for line in self.screen.display)
        return self._text

    def wait(self, condition: Callable[[str], object], what: str = "it", seconds: float = 20.0) -> str:
        """Wait until ``condition`` holds for the screen's text."""
        deadline = time.monotonic() + seconds
        while True:
            while self.pump(0.02):
                if condition(self.text()):
                    break
            text = self.text()
            if condition(text):
                return text
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come:\n{text}")
            if self.poll() is not None and not self.pump(0):
                raise Ended(f"ended with {self._status} before {what} came:\n{self.text()}")

    def see(self, *wanted: str, seconds: float = 20.0) -> str:
        """Wait until all of ``wanted`` are on the screen."""
        return self.wait(lambda text: all(one in text for one in wanted), repr(wanted), seconds)

    def see_not(self, *gone: str, seconds: float = 20.0) -> str:
        """Wait until none of ``gone`` is on the screen."""
        return self.wait(lambda text: not any(one in text for one in gone), f"the end of {gone!r}", seconds)

    def settle(self, seconds: float = 0.3, most: float = 3.0) -> str:
        """Take what comes until nothing came for ``seconds``, or for ``most`` seconds."""
        deadline = time.monotonic() + most
        while self.pump(seconds) and time.monotonic() < deadline:
            pass
        return self.text()

    # --- doing ---

    def answers(self, answers: Mapping[bytes, bytes]) -> None:
        """Answer queries in this way from now on."""
        self._answers = dict(answers)

    def send(self, data: bytes) -> None:
        """What a terminal sends, as it is."""
        os.write(self._leader, data)

    def write(self, text: str) -> None:
        """Type ``text``."""
        self.send(text.encode())

    def paste(self, text: str | bytes) -> None:
        """Paste, bracketed as a terminal does it."""
        self.send(b"\x1b[200~" + (text if isinstance(text, bytes) else text.encode()) + b"\x1b[201~")

    def press(self, *keys: str) -> None:
        """Press keys by name, or as they are."""
        for key in keys:
            self.send(KEYS.get(key, key.encode()))

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal another size."""
        self.columns, self.rows = columns, rows
        self.screen.resize(rows, columns)
        self._text = None
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Send the command a signal."""
        os.kill(self.pid, number)

    # --- the end ---

    def poll(self) -> int | None:
        """The exit code (128 + the signal's number), or None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
                if self._status < 0:
                    self._status = 128 - self._status
        return self._status

    def ended(self, seconds: float = 20.0) -> int:
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + seconds
        while self.poll() is None:
            self.pump(0.02)
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not end:\n{self.text()}")
        while self.pump(0.05):
            pass
        assert self._status is not None
        return self._status

    def settings(self) -> list[object]:
        """The terminal's settings as they are now."""
        return termios.tcgetattr(self._follower)

    def hang_up(self) -> None:
        """Close the terminal's window: nothing is read or written any more."""
        os.close(self._leader)
        self._leader = -1

    def close(self) -> None:
        """End the command if it still runs, and the pty."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
            try:
                self.ended(10)
            except AssertionError:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self._status = 137
        if self._leader >= 0:
            os.close(self._leader)
        os.close(self._follower)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
