"""The events that the reader makes of a terminal's bytes: plain values, no I/O, no Textual."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key was pressed or repeats. ``key``: the name as Textual spells it, modifiers sorted and joined by +.

    ``text``: what the key writes, or None. ``base``: the name by the layout of a US keyboard, where the
    terminal reported that key and it differs. ``after_escape``: the second key, where the bytes may also be
    Esc and that key (`ESC x` is Alt+x, or two keys that a slow link or tmux delivered together).
    """

    key: str
    text: str | None = None
    base: str | None = None
    after_escape: "Key | None" = None


@dataclass(frozen=True, slots=True)
class Release:
    """A key was released (kitty's event type 3)."""

    key: str


@dataclass(frozen=True, slots=True)
class Paste:
    """A whole paste, decoded, with every control character that it has.

    ``dropped``: the bytes beyond the reader's bound, which are not in ``text``.
    """

    text: str
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class PasteStalled:
    """A paste has no end, and nothing came for the reader's patience: Ctrl+C or Esc Esc ends it now."""


@dataclass(frozen=True, slots=True)
class Focus:
    """The terminal got (True) or lost the focus."""

    focused: bool


@dataclass(frozen=True, slots=True)
class Mouse:
    """A mouse report. ``act``: down, up, move, drag, wheel_up, wheel_down, wheel_left, wheel_right.

    ``button``: 1 left, 2 middle, 3 right, 8 and more extra, 0 none. ``x``, ``y``: from 0, in cells, or in
    pixels where mode 1016 is on. ``mods``: of shift, alt, ctrl.
    """

    act: str
    button: int
    x: int
    y: int
    mods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resize:
    """The size of the terminal (mode 2048), in cells and in pixels."""

    rows: int
    cols: int
    pixel_rows: int
    pixel_cols: int


@dataclass(frozen=True, slots=True)
class Mode:
    """The state of a mode (DECRPM). ``setting``: 0 unknown, 1 set, 2 reset, 3 always set, 4 never set."""

    mode: int
    setting: int
    private: bool


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position of the cursor, from 1."""

    row: int
    col: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Any other answer of the terminal. ``kind``: da1, da2, da3, dsr, decxcpr, kitty_flags, graphics, window,
    xtversion, dcs, apc, osc, or osc with its number (osc11). ``text``: what the answer carries.
    """

    kind: str
    text: str


Event = Key | Release | Paste | PasteStalled | Focus | Mouse | Resize | Mode | Cursor | Reply
