"""Key events of Windows' win32-input-mode: `CSI Vk ; Sc ; Uc ; Kd ; Cs ; Rc _`, each field 0 where missing.

Source: "Win32 Input Mode Sequences" of Windows Terminal. Vk: virtual key, Uc: UTF-16 unit, Kd: 1 down,
Cs: modifier bits, Rc: repeat count. A surrogate pair comes as two events, so this keeps the first half.
"""

from typing import Final

from felan_tui.terminal import keys
from felan_tui.terminal.events import Key

MAX_REPEATS: Final = 100

_KEYS: Final = {
    8: "backspace",
    9: "tab",
    13: "enter",
    27: "escape",
    33: "pageup",
    34: "pagedown",
    35: "end",
    36: "home",
    37: "left",
    38: "up",
    39: "right",
    40: "down",
    45: "insert",
    46: "delete",
    **{111 + number: f"f{number}" for number in range(1, 25)},
}
_ALT: Final = 1 | 2
_CTRL: Final = 4 | 8
_SHIFT: Final = 16


class Win32Keys:
    """Makes keys of the events, one after the other."""

    def __init__(self) -> None:
        self._half = 0

    def keys(self, parameters: str) -> list[Key]:
        """The keys of one event: none for a release, a lone modifier, a first half or nonsense."""
        fields = parameters.split(";")
        if len(fields) > 6 or any(field and not (field.isdecimal() and len(field) <= 7) for field in fields):
            return []
        numbers = [int(field or "0") for field in fields]
        code, _, unit, down, state, count = [*numbers, *(0, 0, 0, 0, 0, 1)[len(numbers) :]]
        if not down:
            return []
        if 0xD800 <= unit <= 0xDBFF:
            self._half = unit
            return []
        half, self._half = self._half, 0
        if 0xDC00 <= unit <= 0xDFFF:
            if not half:
                return []
            unit = 0x10000 + ((half - 0xD800) << 10) + (unit - 0xDC00)
        key = _key(code, unit, state)
        return [key] * min(max(count, 1), MAX_REPEATS) if key else []


def _key(code: int, unit: int, state: int) -> Key | None:
    bits = ((_ALT, "alt"), (_CTRL, "ctrl"), (_SHIFT, "shift"))
    held = frozenset(name for bit, name in bits if state & bit)
    if name := _KEYS.get(code):
        text = {"enter": "\r", "tab": "\t"}.get(name)
        return Key(keys.joined(held, name), None if held else text)
    if unit > 0x10FFFF:
        return None
    if unit >= 32 and not 127 <= unit <= 159:
        character = chr(unit)
        # AltGr is Alt and Ctrl at once, and writes.
        if held <= {"shift"} or {"alt", "ctrl"} <= held:
            return keys.character_key(character)
        return Key(keys.joined(held, keys.name_of(character.lower())))
    if 48 <= code <= 90 and held:
        return Key(keys.joined(held, chr(code).lower()))
    return keys.control_key(unit) if 0 < unit < 32 else None
