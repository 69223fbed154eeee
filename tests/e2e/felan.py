"""Felan: the installed `felan` in a pty with a data folder and a project of its own, and a person's hands."""

import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from felan_tui.cards.guard import GRACE
from felan_tui.composer.pastes import ENTER_SECONDS
from tests.harness.terminal import Terminal

COMMAND = str(Path(sys.executable).with_name("felan"))
WAIT = 40.0
"""Seconds; so much only where the machine has a lot else to do."""

_ESCAPES = re.compile(r"\x1b\[[<>?0-9;]*[a-zA-Z]|\x1b\][^\x07]*\x07")
NEUTRAL = {"FELAN_POINTER_ROOT": "", "FELAN_DATA_DIR": "", "TERM_PROGRAM": ""}


class Felan(Terminal):
    """`felan --data-dir FOLDER/data ARGS` in FOLDER/project. ``command``: something else in its place."""

    def __init__(
        self,
        folder: Path,
        *args: str,
        command: Sequence[str] = (),
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        answers: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self.data = folder / "data"
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        argv = list(command) or [COMMAND, "--data-dir", str(self.data), *args]
        environment = {**NEUTRAL, **(env or {})}
        super().__init__(
            argv, cwd=str(self.project), columns=columns, rows=rows, env=environment, answers=answers
        )

    # --- looking ---

    def see(self, *wanted: str, seconds: float = WAIT) -> str:
        return super().see(*wanted, seconds=seconds)

    def see_not(self, *gone: str, seconds: float = WAIT) -> str:
        return super().see_not(*gone, seconds=seconds)

    def until_gone(self, *processes: int) -> None:
        """Wait for the end of processes that nobody sees."""
        deadline = time.monotonic() + WAIT
        while left := [process for process in processes if alive(process)]:
            assert time.monotonic() < deadline, f"{left} did not end"
            self.pump(0.02)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something beside the screen (a file, a process) while the screen goes on."""
        self.wait(lambda _: condition(), what, WAIT)

    def ready(self) -> None:
        """The session is there."""
        self.see("F1 keys")
        self.see_not("starting…")

    # --- doing ---

    def enter(self, text: str) -> None:
        """Type ``text`` and press Enter: not so fast that Enter would be a line of a paste."""
        self.write(text)
        self.see(text[:40])
        self.past(ENTER_SECONDS)
        self.press("enter")
        self.see_not(f"› {text[:40]}", f"$ {text[:40]}")

    def past(self, seconds: float) -> None:
        """Wait until a span that the product counts is over; the screen goes on meanwhile."""
        deadline = time.monotonic() + seconds + 0.05
        while (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def go_to_card(self, *titles: str) -> None:
        """F2 when the card is there, and past its guard."""
        self.see(*titles, "F2 answer")
        self.press("f2")
        self.see(*titles, "█")
        self.past(GRACE)

    def step(self, key: str = "tab") -> None:
        """Tab or Enter in a form, until the focus is seen elsewhere: what is typed then goes there."""
        self.past(ENTER_SECONDS)
        before = self._looks()
        self.press(key)
        self.wait(lambda _: self._looks() != before, "another look of what has the focus")
        self.settle(0.1)

    def page_up_to(self, wanted: str) -> None:
        """Page up in the transcript, one page at a time, until ``wanted`` is read."""
        for _ in range(20):
            if wanted in self.text():
                return
            before = self._top()
            self.press("pageup")
            self.wait(lambda _, before=before: self._top() != before, "the page above")
            self.settle(0.1, 1.0)
        raise AssertionError(f"{wanted!r} stands on no page:\n{self.text()}")

    def fill(self, *words: str) -> None:
        """Fill in a form's fields, one after the other, and press the button behind them."""
        for one in words:
            self.write(one)
            self.see(one)
            self.step("enter")
        self.past(ENTER_SECONDS)
        self.press("enter")

    def _top(self) -> list[str]:
        return self.text().split("\n")[1:4]

    def _looks(self) -> list[tuple[str, str, bool]]:
        cells = (self.screen.buffer[y][x] for y in range(self.rows) for x in range(self.columns))
        return [(cell.fg, cell.bg, cell.reverse) for cell in cells]

    def quit(self) -> int:
        """Ctrl+D in an empty composer, and whatever would end may; the exit code."""
        self.press("ctrl+d")
        if self.poll() is None:
            self.wait(lambda text: self.poll() is not None or "Quit now?" in text, "the end", WAIT)
        if self.poll() is None:
            self.press("2")
        return self.ended(WAIT)

    def wait(self, condition: Callable[[str], object], what: str = "it", seconds: float = WAIT) -> str:
        return super().wait(condition, what, seconds)

    # --- the end ---

    def assert_whole(self) -> None:
        """The terminal is as it was: its settings, and all that an app switches on is off again."""
        assert self.settings() == self.before
        written = bytes(self.output)
        for mode in (1000, 1002, 1003, 1004, 1006, 1015, 1049, 2004, 2031):
            on, off = (written.rfind(b"\x1b[?%d%s" % (mode, end)) for end in (b"h", b"l"))
            assert on <= off, f"mode {mode} is still on"
        assert written.rfind(b"\x1b[?25h") >= written.rfind(b"\x1b[?25l"), "the cursor is hidden"
        assert written.count(b"\x1b[>1u") <= written.count(b"\x1b[<u"), "the keyboard protocol is still on"

    def said_at_last(self) -> str:
        """What was written to the plain terminal after the screen had gone."""
        tail = bytes(self.output).rpartition(b"\x1b[?1049l")[2].decode()
        return _ESCAPES.sub("", tail).replace("\r\n", "\n").strip()

    # --- processes ---

    @property
    def app(self) -> int:
        """The process of the app, the launcher's child."""
        return children(self.pid)[0]

    def kill_all(self) -> None:
        """`kill -9` of the whole program: the launcher and the app at once."""
        app = self.app
        os.kill(self.pid, signal.SIGSTOP)
        os.kill(app, signal.SIGKILL)
        os.kill(self.pid, signal.SIGKILL)
        assert self.ended(WAIT) == 128 + signal.SIGKILL

    @property
    def database(self) -> Path:
        return next(self.data.glob("*.db"))

    def stored(self, query: str) -> list[tuple[object, ...]]:
        """What the database says, read beside the app."""
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


def alive(pid: int) -> bool:
    """Whether the process runs: no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children(pid: int) -> list[int]:
    """The children of a process."""
    return sorted(child.pid for child in psutil.Process(pid).children())
