"""Names of keys, as Textual spells them: of characters, control characters and numbered keys."""

import unicodedata
from functools import lru_cache
from typing import Final

from felan_tui.terminal.events import Key

_NAMES: Final = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}

TILDE: Final = {
    1: "home",
    2: "insert",
    3: "delete",
    4: "end",
    5: "pageup",
    6: "pagedown",
    7: "home",
    8: "end",
    **{10 + number: f"f{number}" for number in range(1, 6)},
    **{11 + number: f"f{number}" for number in range(6, 11)},
    **{12 + number: f"f{number}" for number in range(11, 15)},
    **{13 + number: f"f{number}" for number in range(15, 17)},
    **{14 + number: f"f{number}" for number in range(17, 21)},
    57427: "kp_begin",
}
"""`CSI n ~`."""

LETTERS: Final = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "kp_begin",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
    "Z": "shift+tab",
}
"""`CSI letter` and `CSI 1 ; m letter`."""

RXVT: Final = {"a": "up", "b": "down", "c": "right", "d": "left"}
"""`CSI letter` with shift and `SS3 letter` with ctrl, as rxvt sends them."""

LINUX: Final = {ord("A") + number: f"f{number + 1}" for number in range(5)}
"""`CSI [ letter` of the Linux console."""


SS3: Final = {
    **{letter: (LETTERS[letter], None) for letter in "ABCDEFHPQRS"},
    **{letter: (f"ctrl+{name}", None) for letter, name in RXVT.items()},
    **{chr(ord("p") + digit): (str(digit), str(digit)) for digit in range(10)},
    "M": ("enter", None),
    "I": ("tab", "\t"),
    "X": ("equals_sign", "="),
    "j": ("asterisk", "*"),
    "k": ("plus", "+"),
    "l": ("comma", ","),
    "m": ("minus", "-"),
    "n": ("full_stop", "."),
    "o": ("slash", "/"),
}
"""`SS3 letter`: the key and its text. Cursor keys, F1 to F4, and the keypad in application mode."""

C0_KEYS: Final = {8: "backspace", 9: "tab", 13: "enter", 27: "escape", 127: "backspace"}
"""Control characters that are keys of their own."""

C0_TEXTS: Final = {9: "\t", 13: "\r"}

# https://sw.kovidgoyal.net/kitty/keyboard-protocol/#functional-key-definitions
_FUNCTIONAL: Final = (
    (57358, "caps_lock scroll_lock num_lock print_screen pause menu"),
    (57376, " ".join(f"f{number}" for number in range(13, 36))),
    (57399, "0 1 2 3 4 5 6 7 8 9 decimal divide multiply subtract add enter equal separator"),
    (57417, "left right up down pageup pagedown home end insert delete kp_begin"),
    (57428, "media_play media_pause media_play_pause media_reverse media_stop media_fast_forward"),
    (57434, "media_rewind media_track_next media_track_previous media_record"),
    (57438, "lower_volume raise_volume mute_volume"),
    (57441, "left_shift left_control left_alt left_super left_hyper left_meta"),
    (57447, "right_shift right_control right_alt right_super right_hyper right_meta"),
    (57453, "iso_level3_shift iso_level5_shift"),
)
FUNCTIONAL: Final = {
    first + offset: name for first, names in _FUNCTIONAL for offset, name in enumerate(names.split())
}
"""Codes of the private use area that are keys."""

FUNCTIONAL_TEXTS: Final = {
    **{57399 + digit: str(digit) for digit in range(10)},
    57409: ".",
    57410: "/",
    57411: "*",
    57412: "-",
    57413: "+",
    57414: "\r",
    57415: "=",
    57416: ",",
}

MODIFIER_KEYS: Final = range(57441, 57455)
"""The codes of keys that are modifiers themselves."""

MODIFIER_NAMES: Final = frozenset(FUNCTIONAL[code] for code in MODIFIER_KEYS)

_MODIFIERS: Final = ("shift", "alt", "ctrl", "super", "hyper", "meta")


@lru_cache(maxsize=1024)
def name_of(character: str) -> str:
    """The name of the key that writes ``character``: itself where it is a letter or digit."""
    if character.isalnum():
        return character
    try:
        name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    except ValueError:
        return character
    return _NAMES.get(name, name)


def modifiers(number: int) -> frozenset[str] | None:
    """The modifiers that a report's number (1 and a bit mask) means, without locks; None where it is void."""
    if not 1 <= number <= 256:
        return None
    return frozenset(name for bit, name in enumerate(_MODIFIERS) if (number - 1) >> bit & 1)


def joined(held: frozenset[str], name: str) -> str:
    """The key's name with its modifiers, each once, sorted."""
    *more, last = name.split("+") if len(name) > 1 else [name]
    return "+".join([*sorted(held.union(more)), last])


@lru_cache(maxsize=64)
def control_key(code: int) -> Key:
    """The key of a control character (0 to 31, or 127)."""
    if name := C0_KEYS.get(code):
        return Key(name, "\x1b" if code == 27 else C0_TEXTS.get(code))
    letter = chr(code + 64)
    if letter == "@":
        return Key("ctrl+@")
    return Key("ctrl+" + name_of(letter.lower()))


@lru_cache(maxsize=1024)
def character_key(character: str) -> Key:
    """The key that writes the character."""
    return Key(name_of(character), character)


def with_alt(code: str) -> Key:
    """The key of ESC and one character."""
    point = ord(code)
    if point < 32 or point == 127:
        alone = control_key(point)
        return Key(joined(frozenset(["alt"]), alone.key), after_escape=alone)
    alone = character_key(code)
    if code.isupper():
        return Key(f"alt+shift+{name_of(code.lower())}", after_escape=alone)
    return Key(f"alt+{alone.key}", after_escape=alone)
