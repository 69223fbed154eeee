"""A line discipline for process output: bytes in, harmless styled lines out.

What a log needs and no more: UTF-8 across chunk borders, SGR (16, 256 and true colour, bold, dim, italic,
underline, blink, reverse, conceal, strike), `\\n`, `\\r`, `\\b`, tabs, `CSI K`. Every other sequence (OSC,
DCS, APC, cursor motion) is dropped whole, however it is cut. This is not a terminal: what moves the cursor
to another line is ignored. Columns of `\\r` and `\\b` are characters, so overwriting half of a wide
character shifts what follows by one cell.

Pure: no widget, no clock, no I/O. The result does not depend on how the bytes were cut into chunks.
"""

import codecs
import re
from collections.abc import Iterable

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from felan_tui.text.safe import safe_line

Line = list[Segment]
"""One line of output; its texts are safe, and its styles None or plain rich styles."""

MAX_LINE = 4096
"""Characters kept in one line; a longer one goes on in the next."""

MAX_STRING = 1 << 20
"""Characters of an OSC, DCS or APC string that are dropped before it is taken for one that never ends."""

MAX_SEQUENCE = 256
"""Characters of an unfinished CSI sequence that may be buffered."""

_MAX_STATES = 4096
# A line that is overwritten in the middle costs as much as it has runs; one of more loses its colours first.
_MAX_REWRITTEN = 128

_TOKEN = re.compile(
    "(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    "|(?P<newline>\n)"
    "|(?:\x1b\\[|\x9b)(?P<sgr>[0-9;:]*)m"
    "|(?P<return>\r+)"
    "|(?P<tab>\t)"
    "|(?:\x1b\\[|\x9b)(?P<erase>[0-2]?)K"
    "|(?P<back>\x08+)"
    "|(?P<string>\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])"
    f"|(?P<csi>(?:\x1b\\[|\x9b)[0-?]{{0,{MAX_SEQUENCE}}}[ -/]{{0,8}}(?P<csi_end>[@-~])?)"
    "|(?P<shift>(?:\x1b[NO]|[\x8e\x8f])(?P<shift_end>[ -~])?)"
    "|(?P<escape>\x1b[ -/]{0,8}(?P<escape_end>[0-~])?)"
    "|(?P<next_line>\x85)"
    "|(?P<other>[\x00-\x1f\x7f-\x9f])"
)
# A stretch of lines with nothing in them but text and colours: most of most output.
_SIMPLE = re.compile("(?:[^\x00-\x1f\x7f-\x9f]+|\x1b\\[[0-9;:]*m|\r?\n)++")
_SGR = re.compile("\x1b\\[([0-9;:]*)m")
_STRING_END = re.compile("\x07|\x1b\\\\|\x9c|(?=[\x18\x1a\x1b])")
_UNFINISHED = frozenset(("csi", "shift", "escape"))

_ATTRIBUTES = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    5: Style(blink=True),
    7: Style(reverse=True),
    8: Style(conceal=True),
    9: Style(strike=True),
    21: Style(underline2=True),
    22: Style(bold=False, dim=False),
    23: Style(italic=False),
    24: Style(underline=False, underline2=False),
    25: Style(blink=False),
    27: Style(reverse=False),
    28: Style(conceal=False),
    29: Style(strike=False),
    **{30 + number: Style(color=Color.from_ansi(number)) for number in range(8)},
    **{40 + number: Style(bgcolor=Color.from_ansi(number)) for number in range(8)},
    **{90 + number: Style(color=Color.from_ansi(8 + number)) for number in range(8)},
    **{100 + number: Style(bgcolor=Color.from_ansi(8 + number)) for number in range(8)},
}


class _State:
    """A style and, by the parameters of the next SGR sequence, the states that follow it."""

    __slots__ = ("following", "style")
    known = 0

    def __init__(self, style: Style | None) -> None:
        self.style = style
        self.following: dict[str, _State] = {}

    def after(self, parameters: str) -> "_State":
        """The state that `CSI parameters m` makes of this one."""
        state = self.following.get(parameters)
        if state is None:
            style = _apply(self.style, parameters)
            state = _PLAIN if style is None else _State(style)
            # A log that paints with all colours must not fill memory: then nothing more is remembered.
            if _State.known < _MAX_STATES:
                _State.known += 1
                self.following[parameters] = state
        return state


_PLAIN = _State(None)


def _apply(style: Style | None, parameters: str) -> Style | None:
    codes = [int(code[:4] or "0") for code in re.split("[;:]", parameters)]
    index = 0
    while index < len(codes):
        code = codes[index]
        index += 1
        if code == 0:
            style = None
        elif code in (38, 48):
            color: Color | None = None
            if codes[index : index + 1] == [5] and index + 1 < len(codes):
                color = Color.from_ansi(codes[index + 1] & 255)
                index += 2
            elif codes[index : index + 1] == [2] and index + 3 < len(codes):
                # `38:2::r:g:b` has an empty colour space in between.
                at = index + (2 if "::" in parameters and index + 4 < len(codes) else 1)
                red, green, blue = (min(code, 255) for code in codes[at : at + 3])
                color = Color.from_rgb(red, green, blue)
                index = at + 3
            if color is not None:
                added = Style(color=color) if code == 38 else Style(bgcolor=color)
                style = added if style is None else style + added
        elif code in (39, 49) and style is not None:
            # No colour of its own: that of the widget that shows the line.
            style = style.without_color + Style.from_color(
                None if code == 39 else style.color, None if code == 49 else style.bgcolor
            )
        elif added := _ATTRIBUTES.get(code):
            style = added if style is None else style + added
    return style


class _Buffer:
    """The unfinished line: runs of text, and the cursor's column."""

    __slots__ = ("column", "length", "runs")

    def __init__(self) -> None:
        self.runs: list[tuple[str, Style | None]] = []
        self.length = 0
        self.column = 0

    def write(self, text: str, style: Style | None) -> None:
        size = len(text)
        if self.column >= self.length:
            runs = self.runs
            if runs and runs[-1][1] is style:
                runs[-1] = (runs[-1][0] + text, style)
            else:
                runs.append((text, style))
            self.length += size
            self.column = self.length
            return
        start, end = self.column, self.column + size
        if len(self.runs) > _MAX_REWRITTEN:
            self.runs = [("".join(text for text, _ in self.runs), None)]
        rest = self._slice(end, self.length)
        self.runs = self._slice(0, start)
        for run in ((text, style), *rest):
            if self.runs and self.runs[-1][1] is run[1]:
                self.runs[-1] = (self.runs[-1][0] + run[0], run[1])
            else:
                self.runs.append(run)
        self.length = max(self.length, end)
        self.column = end

    def erase(self, mode: str) -> None:
        column = self.column
        if mode in ("1", "2") and column:
            self.column = 0
            self.write(" " * column, None)
        if mode != "1":
            self.runs = self._slice(0, column)
            self.length = min(self.length, column)

    def _slice(self, start: int, end: int) -> list[tuple[str, Style | None]]:
        kept: list[tuple[str, Style | None]] = []
        at = 0
        for text, style in self.runs:
            after = at + len(text)
            if after > start and at < end:
                piece = text[max(0, start - at) : end - at]
                if kept and kept[-1][1] is style:
                    kept[-1] = (kept[-1][0] + piece, style)
                else:
                    kept.append((piece, style))
            at = after
            if at >= end:
                break
        return kept

    def line(self) -> Line:
        """The line as it is drawn."""
        line: Line = []
        column = 0
        for text, style in self.runs:
            if not text.isascii() or "\t" in text:
                if "\t" in text and column:
                    from felan_tui.text.cells import cell_len

                    before = " " * (sum(cell_len(segment.text) for segment in line) % 8)
                    text = safe_line(before + text)[len(before) :]
                else:
                    text = safe_line(text)
            column += len(text)
            if text:
                line.append(Segment(text, style))
        return line


class AnsiLines:
    """Turns output into lines: `feed` returns those that were finished, `open_line` shows the one that was
    not.

    A `\\r` does not finish a line: what follows overwrites it, as a terminal shows a progress bar.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""
        self._dropping = ""
        self._dropped = 0
        self._state = _PLAIN
        self._buffer = _Buffer()

    @property
    def open_line(self) -> Line:
        """The line that no `\\n` has ended yet; empty when nothing is on it."""
        return self._buffer.line()

    def feed(self, data: bytes | str, *, final: bool = False) -> list[Line]:
        """The next bytes (or text); returns the lines that they finished.

        With `final` the last line is finished too, and whatever was held back is given up.
        """
        text = data if isinstance(data, str) else self._decode(data, final)
        lines: list[Line] = []
        self._scan(self._held + text, lines, final)
        if final and (self._buffer.runs or self._buffer.length):
            self._finish(lines)
        return lines

    def _finish(self, lines: list[Line]) -> None:
        lines.append(self._buffer.line())
        self._buffer = _Buffer()

    def _write(self, text: str, lines: list[Line]) -> None:
        buffer = self._buffer
        while buffer.column + len(text) > MAX_LINE:
            room = MAX_LINE - buffer.column
            buffer.write(text[:room], self._state.style)
            text = text[room:]
            self._finish(lines)
            buffer = self._buffer
        if text:
            buffer.write(text, self._state.style)

    def _scan(self, text: str, lines: list[Line], final: bool) -> None:
        self._held = ""
        position, end = 0, len(text)
        simple = True
        token = _TOKEN.match
        while position < end:
            if self._dropping:
                position = self._drop(text, position, final)
                continue
            if simple and not self._buffer.length and not self._buffer.column:
                position = self._scan_simple(text, position, lines)
                simple = False
                continue
            match = token(text, position)
            if match is None:
                break
            kind = match.lastgroup or ""
            if kind == "text":
                self._write(match.group(), lines)
            elif kind == "newline" or kind == "next_line":
                self._finish(lines)
                simple = True
            elif kind == "sgr":
                self._state = self._state.after(match["sgr"])
            elif kind == "return":
                self._buffer.column = 0
            elif kind == "tab":
                self._write("\t", lines)
            elif kind == "erase":
                self._buffer.erase(match["erase"])
            elif kind == "back":
                self._buffer.column = max(0, self._buffer.column - len(match.group()))
            elif kind == "string":
                self._dropping, self._dropped = match.group(), 0
            elif kind in _UNFINISHED and match.end() == end and not final and end - position <= MAX_SEQUENCE:
                self._held = match.group()
            position = match.end()

    def _scan_simple(self, text: str, position: int, lines: list[Line]) -> int:
        """Takes whole lines that hold nothing but text and colours; returns where the first other line
        begins.
        """
        match = _SIMPLE.match(text, position)
        if match is None:
            return position
        stop = text.rfind("\n", position, match.end()) + 1
        if not stop:
            return position
        state = self._state
        for line in text[position : stop - 1].split("\n"):
            line = line.removesuffix("\r")
            if "\x1b" not in line and len(line) <= MAX_LINE:
                shown = line if line.isascii() else safe_line(line)
                lines.append([Segment(shown, state.style)] if shown else [])
                continue
            pieces = _SGR.split(line)
            if len(line) > MAX_LINE:
                self._state = state
                self._write(pieces[0], lines)
                for parameters, piece in zip(pieces[1::2], pieces[2::2], strict=True):
                    self._state = self._state.after(parameters)
                    self._write(piece, lines)
                self._finish(lines)
                state = self._state
                continue
            runs: Line = [Segment(pieces[0], state.style)] if pieces[0] else []
            last = state if pieces[0] else None
            for parameters, piece in zip(pieces[1::2], pieces[2::2], strict=True):
                state = state.following.get(parameters) or state.after(parameters)
                if not piece:
                    continue
                if last is state or (last is not None and last.style is state.style):
                    runs[-1] = Segment(runs[-1].text + piece, state.style)
                else:
                    runs.append(Segment(piece, state.style))
                last = state
            if not line.isascii():
                runs = [Segment(shown, style) for raw, style, _ in runs if (shown := safe_line(raw))]
            lines.append(runs)
        self._state = state
        return stop

    def _drop(self, text: str, position: int, final: bool) -> int:
        """Inside a string sequence: the index after its end. An OSC also ends at its line's end."""
        limit = min(len(text), position + MAX_STRING - self._dropped)
        found = _STRING_END.search(text, position, limit)
        stop = found.start() if found else limit
        if self._dropping in ("\x1b]", "\x9d"):
            newline = text.find("\n", position, stop)
            if newline >= 0:
                self._dropping = ""
                return newline
        self._dropped += stop - position
        if found is None:
            if self._dropped >= MAX_STRING:
                self._dropping = ""
            return limit
        if not found.group() and stop + 1 == len(text) and text[stop] == "\x1b" and not final:
            # Perhaps the first half of the string's end.
            self._held = "\x1b"
            return len(text)
        self._dropping = ""
        return found.end()


def ansi_lines(text: str | bytes) -> list[Line]:
    """The lines of a whole output (`AnsiLines` for output that is still coming)."""
    return AnsiLines().feed(text, final=True)


def plain_text(lines: Iterable[Line]) -> str:
    """The text of lines, joined by `\\n`."""
    return "\n".join("".join(segment.text for segment in line) for line in lines)
