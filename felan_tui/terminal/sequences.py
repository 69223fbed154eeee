"""What one whole control sequence means: its parameters, intermediates and final byte, as an event or none.

Sources: ECMA-48, xterm's ctlseqs, the kitty keyboard protocol, rxvt and the Linux console where they differ.
None is a sequence that no key, mouse or answer of these sends: the reader drops it.
"""

import re
from typing import Final

from felan_tui.terminal import keys
from felan_tui.terminal.events import Cursor, Event, Focus, Key, Mode, Mouse, Release, Reply, Resize

MAX_DIGITS: Final = 7
_WHEEL: Final = ("wheel_up", "wheel_down", "wheel_left", "wheel_right")
_BITS: Final = ((4, "shift"), (8, "alt"), (16, "ctrl"))
_SHIFT: Final = frozenset(["shift"])
_NUMBERS = re.compile(r"[0-9;]*")


def csi(parameters: str, intermediates: str, final: str) -> list[Event]:
    """The events of `CSI parameters intermediates final`; nothing where it is unknown or malformed."""
    if intermediates:
        return _mode(parameters, final) if intermediates == "$" else []
    if parameters[:1] in ("?", ">", "=", "<"):
        return _private(parameters[0], parameters[1:], final)
    match final:
        case "u":
            return _kitty(parameters)
        case "~":
            return _tilde(parameters)
        case "^" | "@":
            number = _number(parameters)
            name = keys.TILDE.get(number) if number is not None else None
            held = frozenset(["ctrl"] if final == "^" else ["ctrl", "shift"])
            return [Key(keys.joined(held, name))] if name else []
        case "I" | "O" if not parameters:
            return [Focus(final == "I")]
        case "M" if parameters:
            return _mouse_1015(parameters)
        case "t":
            return _window(parameters)
        case "n":
            return [Reply("dsr", parameters)] if _NUMBERS.fullmatch(parameters) else []
        case "R":
            return _f3_or_cursor(parameters)
        case _ if final in keys.RXVT and not parameters:
            return [Key(f"shift+{keys.RXVT[final]}")]
        case _ if final in keys.LETTERS:
            return _letter(parameters, final)
        case _:
            return []


def ss3(parameters: str, final: str) -> list[Event]:
    """The events of `SS3 parameters final`; the parameters are modifiers, as old xterms send them."""
    if not parameters:
        known = keys.SS3.get(final)
        return [Key(*known)] if known else []
    held = _modifiers(parameters.rpartition(";")[2])
    if held is None or final not in keys.LETTERS or len(parameters) > MAX_DIGITS:
        return []
    return [Key(keys.joined(held, keys.LETTERS[final]))]


def x10(data: bytes) -> list[Event]:
    """The event of the three bytes behind `CSI M`."""
    code, x, y = (byte - 32 for byte in data)
    return _mouse(code, x, y, code & 3 == 3 and not code & 96)


def string(kind: str, text: str) -> list[Event]:
    """The event of a control string: ``kind`` is the byte that introduced it (`]`, `P` or `_`)."""
    if kind == "_":
        return [Reply("apc", text)]
    if kind == "P":
        return [Reply("xtversion", text[2:]) if text.startswith(">|") else Reply("dcs", text)]
    number, _, rest = text.partition(";")
    if number.isdecimal() and len(number) <= MAX_DIGITS:
        return [Reply(f"osc{number}", rest)]
    return [Reply("osc", text)]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def _numbers(text: str) -> list[int] | None:
    """Numbers between semicolons; None where one is missing or too long."""
    found = [_number(part) for part in text.split(";")]
    return None if None in found else [number for number in found if number is not None]


def _modifiers(text: str) -> frozenset[str] | None:
    number = _number(text) if text else 1
    return None if number is None else keys.modifiers(number)


def _mode(parameters: str, final: str) -> list[Event]:
    private = parameters.startswith("?")
    numbers = _numbers(parameters.removeprefix("?"))
    if final != "y" or numbers is None or len(numbers) != 2:
        return []
    return [Mode(numbers[0], numbers[1], private)]


_ANSWERS: Final = {
    ("?", "c"): "da1",
    (">", "c"): "da2",
    ("=", "c"): "da3",
    ("?", "u"): "kitty_flags",
    ("?", "n"): "dsr",
    ("?", "S"): "graphics",
    ("?", "R"): "decxcpr",
}


def _private(marker: str, parameters: str, final: str) -> list[Event]:
    if marker == "<":
        return _mouse_sgr(parameters, final) if final in "Mm" else []
    kind = _ANSWERS.get((marker, final))
    return [Reply(kind, parameters)] if kind and _NUMBERS.fullmatch(parameters) else []


def _window(parameters: str) -> list[Event]:
    whole = [_number(part.partition(":")[0]) for part in parameters.split(";")]
    match whole:
        case [48, int(rows), int(cols), int(pixel_rows), int(pixel_cols)] if rows and cols:
            return [Resize(rows, cols, pixel_rows, pixel_cols)]
        case _:
            return [Reply("window", parameters)] if _NUMBERS.fullmatch(parameters) else []


def _f3_or_cursor(parameters: str) -> list[Event]:
    """F3 and a cursor's position share a form: `1;2` to `1;16` is F3, as nothing here asks for a position."""
    numbers = _numbers(parameters)
    if numbers is None or len(numbers) != 2 or (numbers[0] == 1 and 2 <= numbers[1] <= 16):
        return _letter(parameters, "R")
    return [Cursor(*numbers)] if min(numbers) > 0 else []


def _letter(parameters: str, final: str) -> list[Event]:
    fields = parameters.split(";") if parameters else []
    if len(fields) > 2 or (len(fields) == 2 and fields[0] not in ("", "1")):
        return []
    return _pressed(keys.LETTERS[final], fields[-1] if fields else "")


def _tilde(parameters: str) -> list[Event]:
    number, *fields = parameters.split(";")
    code = _number(number)
    if code == 27 and len(fields) == 2:
        return _modify_other(*fields)
    name = keys.TILDE.get(code) if code is not None else None
    return _pressed(name, fields[0] if fields else "") if name and len(fields) <= 1 else []


def _pressed(name: str, field: str) -> list[Event]:
    """A key that writes nothing, with `modifiers:type`."""
    mods, _, kind = field.partition(":")
    held = _modifiers(mods)
    if held is None or kind not in ("", "1", "2", "3"):
        return []
    full = keys.joined(held, name)
    return [Release(full) if kind == "3" else Key(full)]


def _modify_other(mods: str, code: str) -> list[Event]:
    """xterm's modifyOtherKeys: the code is the character as it is with shift."""
    held, point = _modifiers(mods), _number(code)
    if held is None or point is None or not mods or not _is_key(point) or point in keys.FUNCTIONAL:
        return []
    if point in keys.C0_KEYS:
        return [Key(keys.joined(held, keys.C0_KEYS[point]), None if held else keys.C0_TEXTS.get(point))]
    character = chr(point)
    if held <= {"shift"}:
        return [keys.character_key(character)]
    if character.isupper():
        return [Key(keys.joined(held | {"shift"}, character.lower()))]
    if not character.isalpha() and character != " ":
        held -= {"shift"}
    return [Key(keys.joined(held, keys.name_of(character)))]


def _is_key(code: int) -> bool:
    if code < 32 or code == 127:
        return code in keys.C0_KEYS and code != 8
    if 57344 <= code <= 63743:
        return code in keys.FUNCTIONAL
    return not (0x80 <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF)


def _kitty(parameters: str) -> list[Event]:
    """`code:shifted:base ; modifiers:type ; text:… u`, any part of it empty."""
    fields = parameters.split(";")
    if len(fields) > 3:
        return []
    codes = fields[0].split(":")
    mods, _, kind = fields[1].partition(":") if len(fields) > 1 else ("", "", "")
    held, text = _modifiers(mods), _text(fields[2]) if len(fields) > 2 else ""
    code = _number(codes[0])
    if code is None or held is None or text is None or len(codes) > 3 or kind not in ("", "1", "2", "3"):
        return []
    if code == 0:
        return [keys.character_key(character) for character in text] if kind != "3" else []
    if not _is_key(code):
        return []
    shifted, base = (_number(part) for part in (*codes[1:], "", "")[:2])
    if kind == "3":
        return [Release(_kitty_key(code, held, None, None).key)]
    if text:
        return [keys.character_key(character) for character in text]
    return [_kitty_key(code, held, shifted, base)]


def _text(field: str) -> str | None:
    """The characters of a field of code points, controls left out; None where one is no code point."""
    if not field:
        return ""
    points = [_number(part) for part in field.split(":")]
    if any(point is None or point > 0x10FFFF or 0xD800 <= point <= 0xDFFF for point in points):
        return None
    return "".join(
        chr(point) for point in points if point is not None and point >= 32 and not 127 <= point <= 159
    )


def _kitty_key(code: int, held: frozenset[str], shifted: int | None, base: int | None) -> Key:
    if code in keys.FUNCTIONAL:
        name = keys.FUNCTIONAL[code]
        if code in keys.MODIFIER_KEYS:
            return Key(name)
        return Key(keys.joined(held, name), None if held else keys.FUNCTIONAL_TEXTS.get(code))
    if code in keys.C0_KEYS:
        return Key(keys.joined(held, keys.C0_KEYS[code]), None if held else keys.C0_TEXTS.get(code))
    character = chr(code)
    if not held or (held == _SHIFT and character == " "):
        return keys.character_key(character)
    if held == _SHIFT:
        if shifted is not None and _is_key(shifted) and shifted > 32:
            return keys.character_key(chr(shifted))
        upper = character.upper()
        if character.isalpha() and len(upper) == 1:
            return keys.character_key(upper)
    if base is not None and 32 < base < 127 and base != code:
        return Key(
            keys.joined(held, keys.name_of(character)), None, keys.joined(held, keys.name_of(chr(base)))
        )
    return Key(keys.joined(held, keys.name_of(character)))


def _mouse_sgr(parameters: str, final: str) -> list[Event]:
    numbers = _numbers(parameters)
    if numbers is None or len(numbers) != 3 or max(numbers) > 99_999:
        return []
    code, x, y = numbers
    return _mouse(code, x, y, final == "m")


def _mouse_1015(parameters: str) -> list[Event]:
    numbers = _numbers(parameters)
    if numbers is None or len(numbers) != 3 or max(numbers) > 99_999:
        return []
    code = numbers[0] - 32
    return _mouse(code, numbers[1], numbers[2], code & 3 == 3 and not code & 96)


def _mouse(code: int, x: int, y: int, up: bool) -> list[Event]:
    if not 0 <= code <= 255 or x < 1 or y < 1:
        return []
    mods = tuple(name for bit, name in _BITS if code & bit)
    low = code & 3
    button = low + 8 if code & 128 else (low + 1) % 4
    if code & 64:
        act, button = _WHEEL[low], 0
    elif code & 32:
        act = "drag" if button else "move"
    else:
        act = "up" if up or not button else "down"
    return [Mouse(act, button, x - 1, y - 1, mods)]
