"""TerminalDriver: reads the terminal strictly, asks what it is, and survives that it is taken away.

Textual's own parser types unknown sequences, ends a paste at the first escape sequence, and dies of a byte
that is not UTF-8 (8.2.8); `Reader` replaces it. Textual's driver writes from its signal handlers, which waits
for ever when the signal comes inside another write (the writer's queue is locked): here the event loop calls
them. It starts its threads again at every SIGCONT, of which `fg` sends two (the shell's to the whole job, and
the launcher's). Its writer's thread ends at the first write that fails, and the app then waits for ever.
"""

import asyncio
import logging
import os
import select
import signal
import termios
import threading
import time
from contextlib import suppress
from typing import Any, Final

from textual import constants
from textual.drivers.linux_driver import LinuxDriver

from felan_tui.terminal import background
from felan_tui.terminal.bursts import Bursts
from felan_tui.terminal.events import Event, Reply
from felan_tui.terminal.first_frame import SCREEN
from felan_tui.terminal.messages import TerminalBackground, TerminalInputFailed, Translator
from felan_tui.terminal.outlet import Outlet
from felan_tui.terminal.reader import Delay, Reader

LONG_SECONDS: Final = 1.0
"""How long half a sequence that no key makes is waited for."""

STALLED_SECONDS: Final = 2.0
"""After so long without a byte, a paste that has no end can be left by hand."""

_LOG = logging.getLogger(__name__)

ASK_DEVICE: Final = "\x1b[c"
"""Primary device attributes: every terminal answers, so its answer comes behind all that was asked before."""

ASK_KITTY: Final = "\x1b[?u"
# Report the key of the base layout too: Ctrl+C on a Cyrillic keyboard.
ALTERNATE_KEYS: Final = "\x1b[=4;2u"
MODIFY_OTHER_KEYS: Final = ("\x1b[>4;1m", "\x1b[>4m")
SCHEME_REPORTS: Final = ("\x1b[?2031h", "\x1b[?2031l")
"""Whether the terminal tells of a change between its light and its dark colours."""


class TerminalDriver(LinuxDriver):
    """The Linux (and macOS) driver of FelanApp; its arguments are those of Textual's drivers.

    Where the launcher's first frame is on the terminal, it is drawn over.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)  # pyright: ignore[reportUnknownMemberType] untyped in Textual
        self._outlet = Outlet(self._file, painted=SCREEN.settings is not None)  # pyright: ignore[reportArgumentType] a text stream
        self._file: Any = self._outlet
        self.exit_event = Wake()
        self._kitty = False
        self._modifies_keys = False
        self._asks = os.environ.get("TERM_PROGRAM") != "Apple_Terminal" and os.environ.get("TERM") != "linux"
        self._suspended = False
        loop = asyncio.get_running_loop()
        untyped: Any = self
        loop.add_signal_handler(signal.SIGTSTP, untyped._sigtstp_application)
        loop.add_signal_handler(signal.SIGCONT, untyped._sigcont_application)

    # --- the modes of the terminal ---

    def start_application_mode(self) -> None:
        """Take the terminal, and ask for its background, its keyboard protocol and what it is."""
        self._kitty = self._modifies_keys = False
        super().start_application_mode()
        # Not those that the launcher made: these are given back at the end.
        self.attrs_before = SCREEN.take_over() or self.attrs_before
        if not self._running() or not self._asks:
            return
        if not constants.DISABLE_KITTY_KEY:
            self.write(ALTERNATE_KEYS + ASK_KITTY)
        self.write(SCHEME_REPORTS[0] + background.QUERY + ASK_DEVICE)
        self.flush()

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was."""
        if self._writer_thread is not None and self._asks:
            self.write(SCHEME_REPORTS[1])
            if self._modifies_keys:
                self.write(MODIFY_OTHER_KEYS[1])
        before = self.attrs_before
        if before is not None:
            # Ctrl+C would drop the output that waits, and with it the end of the modes: not before `close`.
            self.attrs_before = [*before[:3], before[3] | termios.NOFLSH, *before[4:]]
        super().stop_application_mode()
        self.attrs_before = before

    def close(self) -> None:
        """End the writing thread, and restore the terminal's settings once all is written."""
        super().close()
        if self.attrs_before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSADRAIN, self.attrs_before)

    def suspend_application_mode(self) -> None:
        """Give the terminal back for a while. An app that ends has given it back already."""
        if self._running():
            self._suspended = True
            super().suspend_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again; once, however many signals ask for it."""
        if self._running() and self._taken_away():
            self.suspend_application_mode()
        if self._suspended:
            super().resume_application_mode()
            # In the background the terminal stays the shell's, and another SIGCONT comes.
            self._suspended = not self._running()

    def _running(self) -> bool:
        return self._key_thread is not None and self._key_thread.is_alive()

    def _taken_away(self) -> bool:
        """Whether the shell had the terminal since (after a SIGSTOP, which cannot be caught)."""
        with suppress(termios.error):
            return bool(termios.tcgetattr(self.fileno)[3] & termios.ICANON)
        return False

    def write(self, data: str) -> None:
        """Write to the terminal. While another program has it (an editor) nothing is written: the frame
        after it is a whole one.
        """
        if self._writer_thread is not None:
            super().write(data)

    # --- input ---

    def _run_input_thread(self) -> None:
        """The thread's target. A fault in it ends the app with a report: nobody could end it by a key."""
        try:
            self.run_input_thread()
        except Exception as error:
            self.send_message(TerminalInputFailed(error))

    def run_input_thread(self) -> None:
        """Read the terminal until the driver stops, or the terminal is gone."""
        source = Input(Reader(), Bursts())
        translator = Translator()
        while not self.exit_event.is_set():
            timeout = source.timeout(time.monotonic(), self._escape_seconds)
            ready, _, _ = select.select([self.fileno, self.exit_event], [], [], timeout)
            data = None
            if self.fileno in ready:
                try:
                    data = os.read(self.fileno, 65536)
                except OSError:
                    data = b""
                if not data:
                    self._outlet.lost()
                    return
            now = time.monotonic()
            events = source.feed(data, now) if data else source.wait(now, self._escape_seconds)
            self._deliver(events, translator)

    @property
    def _escape_seconds(self) -> float:
        """How long an ESC alone may be the beginning of something.

        A terminal that speaks kitty's protocol spells the key `ESC [ 27 u`, so there waiting is free.
        """
        return LONG_SECONDS if self._kitty else constants.ESCAPE_DELAY

    def _deliver(self, events: list[Event], translator: Translator) -> None:
        for event in events:
            try:
                if isinstance(event, Reply):
                    self._answered(event)
                for message in translator.messages(event):
                    self.process_message(message)
            except Exception:
                _LOG.exception("an event of the terminal was dropped: %s", type(event).__name__)

    def _answered(self, reply: Reply) -> None:
        match reply.kind:
            case "osc11":
                if color := background.parse_color(reply.text):
                    self.process_message(TerminalBackground(color))
            case "kitty_flags":
                self._kitty = reply.text.isdecimal() and bool(int(reply.text[:4]) & 1)
            case "da1" if not self._kitty and not self._modifies_keys:
                # Reset the style behind it: a terminal that does not know the sequence may take it for one.
                self._modifies_keys = True
                self.write(MODIFY_OTHER_KEYS[0] + "\x1b[m")
            case "dsr" if reply.text.startswith("997;"):
                self.write(background.QUERY)
            case _:
                pass


class Input:
    """Reader and bursts together, with their times: seconds of one monotonic clock."""

    def __init__(self, reader: Reader, bursts: Bursts) -> None:
        self._reader = reader
        self._bursts = bursts
        self._last = 0.0

    def feed(self, data: bytes, now: float) -> list[Event]:
        """The events of one read."""
        self._last = now
        return self._bursts.take(self._reader.feed(data), now)

    def timeout(self, now: float, escape: float) -> float | None:
        """Seconds until `wait` has something to do, where no byte comes; None for never."""
        due = [at for at in (self._silence_ends(escape), self._bursts.deadline) if at is not None]
        return max(0.0, min(due) - now) if due else None

    def wait(self, now: float, escape: float) -> list[Event]:
        """The events that silence makes. ``escape``: seconds that an ESC alone is held."""
        events: list[Event] = []
        ends = self._silence_ends(escape)
        if ends is not None and now >= ends:
            self._last = now
            events = self._bursts.take(self._reader.idle(), now)
        return events + self._bursts.due(now)

    def _silence_ends(self, escape: float) -> float | None:
        match self._reader.delay:
            case Delay.SHORT:
                return self._last + escape
            case Delay.LONG:
                return self._last + LONG_SECONDS
            case Delay.PASTE:
                return self._last + STALLED_SECONDS
            case None:
                return None


class Wake(threading.Event):
    """An event that `select` can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)

    def fileno(self) -> int:
        """Readable while it is set."""
        return self._reading

    def set(self) -> None:
        """Set it, and wake who selects."""
        super().set()
        with suppress(BlockingIOError):
            os.write(self._writing, b"\0")

    def clear(self) -> None:
        """Reset it."""
        super().clear()
        with suppress(BlockingIOError):
            while os.read(self._reading, 512):
                pass

    def __del__(self) -> None:
        os.close(self._reading)
        os.close(self._writing)
