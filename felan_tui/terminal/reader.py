"""A strict reader of terminal input: bytes in, in whatever pieces, and events out. No I/O, no clock.

The rules, after ECMA-48 and what terminals send:

* A bracketed paste is one event: everything up to the first `ESC [ 201 ~`, raw. Time does not end it.
* Text is UTF-8; what is not becomes U+FFFD, as Python's `errors="replace"` does it.
* A sequence that is unknown, malformed or too long is dropped whole. It is never text.
* A control character inside a sequence voids the sequence and counts as itself; ESC begins anew.
* What is held back has a bound, and searching in it takes no loop over bytes.

After `feed`, `delay` says which silence ends what is held back, and `idle` ends it. The same bytes make the
same events however they are cut, as long as no such silence falls between them.
"""

import codecs
import re
from enum import Enum
from typing import Final

from felan_tui.terminal import keys, sequences
from felan_tui.terminal.events import Event, Key, Paste, PasteStalled
from felan_tui.terminal.win32 import Win32Keys

MAX_SEQUENCE: Final = 128
"""Bytes of a CSI or SS3 sequence."""

MAX_STRING: Final = 8 * 1024
"""Bytes of an OSC, DCS or APC string."""

MAX_PASTE: Final = 16 * 1024 * 1024
"""Bytes kept of a paste; the rest is counted."""

PASTE_END: Final = b"\x1b[201~"


class Delay(Enum):
    """Which silence ends what the reader holds back."""

    SHORT = "short"
    """An escape that may be the key itself: as long as a person's patience with Esc allows."""
    LONG = "long"
    """A sequence, a string or half a character that no key makes: a second costs nothing."""
    PASTE = "paste"
    """A paste without an end: the silence does not end it, it opens the way out."""


_TEXT = re.compile(rb"[^\x1b]+")
_CSI = re.compile(rb"\x1b\[([0-?]*)([ -/]*)")
_RXVT_SHIFT = re.compile(b"|".join(b"%d" % number for number in keys.TILDE if number < 100))
_SS3 = re.compile(rb"\x1bO([0-9;]*)")
_STRING = re.compile(rb"\x1b(?:\][0-9lLI]|P[0-9;>=!|$+]|_G)")
_BODY = re.compile(rb"[^\x00-\x1f]*")
_NAN = re.compile(rb"[aN;0-9-]*")
_SKIPPED = re.compile(rb"[ -?]*")
_PREFIXES: Final = (b"\x1b[", b"\x1bO", b"\x1b]", b"\x1bP", b"\x1b_")
# How much of what follows a stalled paste may be the way out of it: a few keys, in their longest spelling.
_MAX_WAY_OUT: Final = 96


class Reader:
    """One terminal's input. ``feed`` and ``idle`` return events; ``delay`` is None where nothing is held."""

    def __init__(self) -> None:
        self._held = b""
        # What is dropped until its end: "" nothing, "[" a sequence, "N" a mouse report of NaN, or a string.
        self._dropping = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._win32 = Win32Keys()
        self._paste: _OpenPaste | None = None

    @property
    def delay(self) -> Delay | None:
        """The silence after which `idle` is due; None where there is nothing to wait for."""
        if self._paste is not None:
            return self._paste.delay
        if self._held == b"\x1b" and not self._dropping:
            return Delay.SHORT
        if self._held in _PREFIXES or self._held.startswith(b"\x1b[M"):
            return Delay.SHORT
        return Delay.LONG if self._held or self._dropping or self._decoder.getstate()[0] else None

    def feed(self, data: bytes) -> list[Event]:
        """The events that ``data`` completes."""
        events: list[Event] = []
        while True:
            if self._paste is not None:
                rest = self._paste.feed(data, events)
                if rest is None:
                    return events
                self._paste, data = None, rest
            data = self._scan(data, events)
            if self._paste is None:
                return events

    def idle(self) -> list[Event]:
        """The silence that `delay` names has passed: what is held is a key, or nothing."""
        if self._paste is not None:
            return self._ended_by_hand(self._paste.idle())
        held, dropping = self._held, self._dropping
        self._held, self._dropping = b"", ""
        events: list[Event] = []
        self._text(b"", events, final=True)
        if dropping or _STRING.match(held):
            # Esc behind a string that nothing ends.
            if held.endswith(b"\x1b"):
                events.append(keys.control_key(27))
        elif held == b"\x1b":
            events.append(keys.control_key(27))
        elif held in _PREFIXES:
            events.append(keys.with_alt(chr(held[1])))
        elif len(held) > 1 and held[1] >= 0x80:
            events.append(keys.with_alt("\ufffd"))
        return events

    def _ended_by_hand(self, events: list[Event]) -> list[Event]:
        if events and isinstance(events[-1], Paste):
            self._paste = None
        return events

    # --- outside of a paste ---

    def _scan(self, data: bytes, events: list[Event]) -> bytes:
        """Take what is there, up to the beginning of a paste; returns what follows that."""
        if self._held:
            data, self._held = self._held + data, b""
        at, end = 0, len(data)
        while at < end:
            if self._dropping:
                after = self._drop(data, at)
            elif found := _TEXT.match(data, at):
                self._text(found[0], events)
                after = found.end()
            else:
                self._text(b"", events, final=True)
                after = self._sequence(data, at, events)
            if after < 0:
                self._held = data[at:]
                break
            at = after
            if self._paste is not None:
                return data[at:]
        return b""

    def _text(self, data: bytes, events: list[Event], *, final: bool = False) -> None:
        for character in self._decoder.decode(data, final):
            code = ord(character)
            if code < 32 or code == 127:
                events.append(keys.control_key(code))
            elif not 0x80 <= code <= 0x9F:
                events.append(keys.character_key(character))

    def _sequence(self, data: bytes, at: int, events: list[Event]) -> int:
        """Take the sequence at ``at``, an ESC. Returns where it ends; -1 where more is needed."""
        if at + 1 == len(data):
            return -1
        match data[at + 1]:
            case 0x1B:
                events.append(keys.control_key(27))
                return at + 1
            case 0x5B:
                return self._csi(data, at, events)
            case 0x4F:
                return self._ss3(data, at, events)
            case 0x5D | 0x50 | 0x5F:
                if at + 2 == len(data):
                    return -1
                if _STRING.match(data, at):
                    return self._string(data, at, events)
            case code if code >= 0x80:
                return self._alt_character(data, at, events)
            case _:
                pass
        events.append(keys.with_alt(chr(data[at + 1])))
        return at + 2

    def _alt_character(self, data: bytes, at: int, events: list[Event]) -> int:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        for end in range(at + 1, min(len(data), at + 5)):
            if found := decode(data[end : end + 1]):
                if not 0x80 <= ord(found[0]) <= 0x9F:
                    events.append(keys.with_alt(found[0]))
                # A byte that cut a character short is not part of it.
                cut = found[0] == "\ufffd" and end > at + 1 and data[at + 1 : end + 1] != b"\xef\xbf\xbd"
                return end if cut else end + 1
        return -1

    def _csi(self, data: bytes, at: int, events: list[Event]) -> int:
        found = _CSI.match(data, at)
        assert found is not None
        parameters, between = found.groups()
        end = found.end()
        if end + 1 - at > MAX_SEQUENCE:
            self._dropping = "["
            return end
        if between == b"$" and _RXVT_SHIFT.fullmatch(parameters):
            # rxvt's shift: `$` is the end.
            events.append(Key(keys.joined(frozenset(["shift"]), keys.TILDE[int(parameters)])))
            return end
        if end == len(data):
            return -1
        final = data[end]
        if final < 0x20 or final >= 0x7F:
            return end
        if final < 0x40:
            self._dropping = "["
            return end
        if not between and not parameters:
            if final == 0x5B:
                return self._linux(data, end + 1, events)
            if final == 0x4D:
                return self._x10(data, end + 1, events)
        if final == 0x4E and parameters.startswith(b"<") and not between:
            self._dropping = "N"
            return end + 1
        after = end + 1
        if final == 0x7E and parameters == b"200" and not between:
            self._paste = _OpenPaste()
        elif final == 0x5F and not between:
            events.extend(self._win32.keys(parameters.decode()))
        else:
            events.extend(sequences.csi(parameters.decode(), between.decode(), chr(final)))
        return after

    @staticmethod
    def _linux(data: bytes, at: int, events: list[Event]) -> int:
        if at == len(data):
            return -1
        if name := keys.LINUX.get(data[at]):
            events.append(Key(name))
        return at + 1 if 0x20 <= data[at] < 0x7F else at

    @staticmethod
    def _x10(data: bytes, at: int, events: list[Event]) -> int:
        report = data[at : at + 3]
        for offset, byte in enumerate(report):
            if byte < 0x20:
                return at + offset
        if len(report) < 3:
            return -1
        events.extend(sequences.x10(report))
        return at + 3

    def _ss3(self, data: bytes, at: int, events: list[Event]) -> int:
        found = _SS3.match(data, at)
        assert found is not None
        end = found.end()
        if end + 1 - at > MAX_SEQUENCE:
            self._dropping = "["
            return end
        if end == len(data):
            return -1
        final = data[end]
        if 0x40 <= final < 0x7F:
            events.extend(sequences.ss3(found[1].decode(), chr(final)))
            return end + 1
        if end == at + 2 and 0x20 <= final < 0x7F:
            events.append(keys.with_alt("O"))
        return end

    def _string(self, data: bytes, at: int, events: list[Event]) -> int:
        kind = data[at + 1]
        body = _BODY.match(data, at + 2)
        assert body is not None
        end = body.end()
        if end - at > MAX_STRING:
            self._dropping = chr(kind)
            return end
        after = _string_end(data, end, kind)
        if after is not None and after > end:
            events.extend(sequences.string(chr(kind), body[0].decode(errors="replace")))
        return -1 if after is None else after

    def _drop(self, data: bytes, at: int) -> int:
        """Go to the end of what is dropped, or as far as there is anything."""
        pattern = {"[": _SKIPPED, "N": _NAN}.get(self._dropping, _BODY)
        found = pattern.match(data, at)
        assert found is not None
        end = found.end()
        if end == len(data):
            return end
        match self._dropping:
            case "[":
                after = end + 1 if 0x40 <= data[end] < 0x7F else end
            case "N":
                after = end + 1 if data[end] in b"Mm" else end
            case kind:
                found_end = _string_end(data, end, ord(kind))
                if found_end is None:
                    # Hold the ESC alone.
                    return end if end > at else -1
                after = found_end
        self._dropping = ""
        return after


def _string_end(data: bytes, at: int, kind: int) -> int | None:
    """Where a string that stops at ``at`` is over: behind its end, at ``at`` where something else voids it.

    None where the data ends before that is known.
    """
    if at == len(data) or (data[at] == 0x1B and at + 1 == len(data)):
        return None
    if data[at] == 0x07 and kind == 0x5D:
        return at + 1
    return at + 2 if data[at : at + 2] == b"\x1b\\" else at


class _OpenPaste:
    """A paste whose end has not come, and the way out of one that has none: Ctrl+C, or Esc Esc."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._dropped = 0
        self._tail = b""  # the last bytes, which may be the beginning of the end
        self._way_out: _WayOut | None = None

    @property
    def delay(self) -> Delay | None:
        inner = self._way_out.delay if self._way_out else None
        if self._way_out is not None and not self._way_out.begun:
            return None
        return inner or Delay.PASTE

    def feed(self, data: bytes, events: list[Event]) -> bytes | None:
        """Take what belongs to the paste; what follows its end, None while there is none."""
        data = self._tail + data
        end = data.find(PASTE_END)
        if end >= 0:
            self._keep(data[:end])
            events.append(self._event())
            return data[end + len(PASTE_END) :]
        keep = _overlap(data)
        fresh = data[len(self._tail) :]
        self._tail = data[len(data) - keep :]
        self._keep(data[: len(data) - keep])
        if self._way_out is not None:
            self._way_out.feed(fresh)
            if self._way_out.left:
                events.append(self._event(without=self._way_out.length))
                return b""
            if self._way_out.void:
                self._way_out = None
        return None

    def idle(self) -> list[Event]:
        """Nothing came: open the way out, or see whether an Esc that waited was the second."""
        if self._way_out is not None and self._way_out.delay is not None:
            self._way_out.idle()
            if self._way_out.left:
                return [self._event(without=self._way_out.length)]
            if not self._way_out.void:
                return []
        first = self._way_out is None
        self._way_out = _WayOut()
        return [PasteStalled()] if first else []

    def _keep(self, data: bytes) -> None:
        room = MAX_PASTE - len(self._data)
        self._data += data[:room]
        self._dropped += max(0, len(data) - room)

    def _event(self, without: int = 0) -> Paste:
        if without:
            self._keep(self._tail)
            over = min(self._dropped, without)
            self._dropped -= over
            del self._data[len(self._data) - (without - over) :]
        return Paste(self._data.decode(errors="replace"), self._dropped)


class _WayOut:
    """What came since a paste stalled, as keys: whether they are Ctrl+C, or Esc Esc, and nothing else."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._keys: list[str] = []
        self.length = 0
        self.void = False

    @property
    def begun(self) -> bool:
        return self.length > 0

    @property
    def delay(self) -> Delay | None:
        return self._reader.delay

    @property
    def left(self) -> bool:
        return not self.void and self._keys in (["ctrl+c"], ["escape", "escape"])

    def feed(self, data: bytes) -> None:
        self.length += len(data)
        if self.length > _MAX_WAY_OUT:
            self.void = True
        else:
            self._take(self._reader.feed(data))

    def idle(self) -> None:
        self._take(self._reader.idle())

    def _take(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Key("ctrl+c" | "escape" as key):
                    self._keys.append(key)
                case Key(key) if key in keys.MODIFIER_NAMES:
                    pass  # Ctrl itself, where the terminal reports it
                case Key() | Paste():
                    self.void = True
                case _:
                    pass
        if self._keys not in ([], ["escape"], ["ctrl+c"], ["escape", "escape"]):
            self.void = True


def _overlap(data: bytes) -> int:
    """How many of the last bytes may be the beginning of the end of a paste."""
    for length in range(min(len(PASTE_END) - 1, len(data)), 0, -1):
        if PASTE_END.startswith(data[-length:]):
            return length
    return 0
