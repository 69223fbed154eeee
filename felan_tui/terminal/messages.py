"""Events of the terminal as messages of Textual: names, positions, sizes, and what a widget expects."""

import os
from collections.abc import Iterator
from typing import Final

from textual import constants, events
from textual import messages as textual_messages
from textual.message import Message

from felan_tui.terminal.background import Rgb
from felan_tui.terminal.events import (
    Cursor,
    Event,
    Focus,
    Key,
    Mode,
    Mouse,
    Paste,
    PasteStalled,
    Resize,
)

ALIASES: Final = {
    # Readline's, by the names that text areas bind.
    "alt+b": "ctrl+left",
    "alt+f": "ctrl+right",
    "alt+backspace": "ctrl+w",
    # Ctrl+_ and Ctrl+/ are one byte in most terminals: one name for what the others send.
    "ctrl+slash": "ctrl+underscore",
    "ctrl+shift+minus": "ctrl+underscore",
    "ctrl+shift+underscore": "ctrl+underscore",
}

ALT_KEYS: Final = frozenset(["alt+enter", "alt+delete", *ALIASES])
"""Keys with Alt that do something. With any other, `ESC x` is Esc and x, as somebody in a hurry types it."""

_WHEEL: Final = {
    "wheel_up": events.MouseScrollUp,
    "wheel_down": events.MouseScrollDown,
    "wheel_left": events.MouseScrollLeft,
    "wheel_right": events.MouseScrollRight,
}
_ITERM: Final = (
    os.environ.get("LC_TERMINAL") == "iTerm2" or os.environ.get("TERM_PROGRAM") == "iTerm.app"
)  # faulty in the protocols that in-band resize needs


class TerminalBackground(Message):
    """The terminal reported its background."""

    def __init__(self, color: Rgb) -> None:
        super().__init__()
        self.color = color


class TerminalPasteStalled(Message):
    """A paste has no end so far; Ctrl+C or Esc Esc ends it."""


class TerminalInputFailed(Message):
    """The thread that reads the terminal failed: no key arrives any more."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Translator:
    """Makes messages of events; keeps what a mouse position and a focus depend on."""

    def __init__(self) -> None:
        self._focused = True
        self._x = self._y = 0.0
        self._cell: tuple[float, float] | None = None

    def messages(self, event: Event) -> Iterator[Message]:
        """The messages of one event: none for a release and for answers that the driver itself acts on."""
        match event:
            case Key(after_escape=Key() as second) if event.key not in ALT_KEYS:
                yield events.Key("escape", "\x1b")
                yield events.Key(key_name(second), second.text)
            case Key():
                yield events.Key(key_name(event), event.text)
            case Paste():
                if not self._focused:
                    # Textual gives the keyboard back for keys and clicks only.
                    self._focused = True
                    yield events.AppFocus()
                yield events.Paste(event.text.replace("\r\n", "\n").replace("\r", "\n"))
            case PasteStalled():
                yield TerminalPasteStalled()
            case Focus(focused):
                self._focused = focused
                yield events.AppFocus() if focused else events.AppBlur()
            case Mouse():
                if message := self._mouse(event):
                    yield message
            case Resize(rows, cols, pixel_rows, pixel_cols):
                if pixel_rows and pixel_cols:
                    self._cell = (pixel_cols / cols, pixel_rows / rows)
                yield events.Resize.from_dimensions((cols, rows), (pixel_cols, pixel_rows))
            case Mode(2026, 1 | 2 | 3, True):
                yield textual_messages.TerminalSupportsSynchronizedOutput()
            case Mode(2048, setting, True) if constants.SMOOTH_SCROLL and not _ITERM:
                yield textual_messages.InBandWindowResize.from_setting_parameter(setting)
            case Cursor(row, col):
                yield events.CursorPosition(col - 1, row - 1)
            case _:
                pass

    def _mouse(self, event: Mouse) -> Message | None:
        x, y = float(event.x), float(event.y)
        if self._cell is not None:
            # Pixels are reported from the first in-band resize on.
            x, y = x / self._cell[0], y / self._cell[1]
        delta_x, delta_y = int(x) - int(self._x), int(y) - int(self._y)
        self._x, self._y = x, y
        if event.button > 3:
            return None
        if wheel := _WHEEL.get(event.act):
            kind: type[events.MouseEvent] = wheel
        elif event.act in ("move", "drag") or not event.button:
            kind = events.MouseMove
        else:
            kind = events.MouseDown if event.act == "down" else events.MouseUp
        return kind(
            None,
            x,
            y,
            delta_x,
            delta_y,
            event.button,
            "shift" in event.mods,
            "alt" in event.mods,
            "ctrl" in event.mods,
            screen_x=x,
            screen_y=y,
        )


def key_name(key: Key) -> str:
    """The name that bindings use: Textual's own, an alias, or that of the base layout for other scripts."""
    name = key.key
    if key.base is not None and not name.isascii():
        name = key.base
    return ALIASES.get(name, name)
