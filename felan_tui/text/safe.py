"""Makes untrusted text safe to show: no control characters, no escape sequences, nothing invisible.

Everything that an agent, a tool, a process, a file name or a paste brings passes one of these functions
before it reaches a widget. They are total (any string goes in, none raises) and linear in the length of the
text.

* `safe` keeps lines; `safe_line` makes one line; `visible` *shows* what the other two drop, for approvals.
* `SafeStream` is `safe` for text that arrives in pieces: the pieces' results joined equal `safe` of the
whole.

What is dropped and why: C0, C1 and DEL can move the cursor, write the clipboard or ring; bidirectional
controls and zero-width format characters can make text read as something that it is not (Trojan Source);
tag characters and variation selectors carry hidden text; more than 16 marks on one character draw over the
lines around it. U+200D stays only inside an emoji sequence, where a terminal draws it and `rich.cells`
counts it right.
"""

import re
from functools import cache

from rich.cells import cell_len

TAB = 8
"""Cells between tab stops, as terminals have them."""

MAX_MARKS = 16
"""Zero-width marks kept on one character; more than any script needs."""

# A sequence may be cut off: then its introducer and what belongs to it for certain go (a string up to its
# line's end). Possessive quantifiers, and bodies that stop at the next introducer, keep this linear on
# hostile text.
_ESCAPE = re.compile(
    "(?P<csi>\x1b\\[|\x9b)[0-?]*+[ -/]*+(?P<csi_end>[@-~])?+"
    "|(?P<string>\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\r\x07\x1b\x85\x8e-\x90\x98\x9b-\x9f\u2028\u2029]*+"
    "(?P<string_end>\x07|\x1b\\\\|\x9c)?+"
    "|(?P<shift>\x1b[NO]|[\x8e\x8f])(?P<shift_end>[ -~])?+"
    "|(?P<plain>\x1b)[ -/]*+(?P<plain_end>[0-~])?+"
)
_INTRODUCER = re.compile("[\x1b\x8e-\x90\x98\x9b\x9d-\x9f]")
_NEWLINE = re.compile("\r\n|[\r\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN_CLASS = (
    "\xad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0d\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_EMOJI_BEFORE = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]"
_EMOJI_AFTER = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
# Persian and the Indic scripts need U+200C between letters.
_JOINING = "[\u0600-\u0dff]"
_HIDDEN_PATTERN = (
    f"[{_HIDDEN_CLASS}]"
    f"|\u200d(?!{_EMOJI_AFTER})|(?<!{_EMOJI_BEFORE})\u200d"
    f"|\u200c(?!{_JOINING})|(?<!{_JOINING})\u200c"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUSPECT = re.compile(f"[\t\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200c\u200d\ud800-\udfff{_HIDDEN_CLASS}]")
_SUSPECT_ASCII = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f]")
# Space that is not the space bar's, and letters that show nothing: harmless on screen, not in a command to
# approve.
_ODD_SPACE = "\xa0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3164\uffa0"
# Classes of so many characters take milliseconds to compile, which a start has to pay only for text that
# needs them.


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(_HIDDEN_PATTERN)


@cache
def _unseen() -> re.Pattern[str]:
    return re.compile(f"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_ODD_SPACE}]|{_HIDDEN_PATTERN}")


# Only a run like this can hold too many marks.
_LONG_RUN = re.compile(f"[^\x00-\u02ff]{{{MAX_MARKS + 1}}}")


@cache
def _too_many_marks() -> re.Pattern[str]:
    from felan_tui.compat import cell_widths

    ranges = [
        (start, min(end, 0xFFFF))
        for start, end, width in cell_widths()
        if not width and 0xA0 < start < 0xFFFF
    ]
    marks = "".join(f"\\u{start:04x}-\\u{end:04x}" for start, end in ranges)
    return re.compile(f"([{marks}]{{{MAX_MARKS}}})[{marks}]++")


def _clean(text: str) -> str:
    """All of `safe` but the tabs."""
    if (_SUSPECT_ASCII if text.isascii() else _SUSPECT).search(text):
        if _INTRODUCER.search(text):
            text = _ESCAPE.sub("", text)
        text = _NEWLINE.sub("\n", text)
        text = _CONTROL.sub("", text)
        if not text.isascii():
            text = _SURROGATE.sub("\ufffd", text)
            text = _hidden().sub("", text)
    if not text.isascii() and _LONG_RUN.search(text):
        text = _too_many_marks().sub(r"\1", text)
    return text


def _expand_tabs(line: str, column: int, tab: int) -> str:
    """One line with its tabs as spaces, when its first character stands in `column`."""
    if line.isascii():
        return (" " * column + line).expandtabs(tab)[column:]
    pieces = line.split("\t")
    out: list[str] = []
    for piece in pieces[:-1]:
        column += cell_len(piece)
        gap = tab - column % tab
        column += gap
        out += (piece, " " * gap)
    out.append(pieces[-1])
    return "".join(out)


def safe(text: str, *, tab: int = TAB) -> str:
    """`text` as harmless lines: only printable characters and `\\n`; tabs become spaces up to the next
    stop, or stay with `tab=0`, for a caller that expands them itself.
    """
    text = _clean(text)
    if not tab or "\t" not in text:
        return text
    if text.isascii():
        return text.expandtabs(tab)
    return "\n".join(_expand_tabs(line, 0, tab) if "\t" in line else line for line in text.split("\n"))


def safe_line(text: str, *, mark: str = " ") -> str:
    """`text` as one harmless line: line ends inside it become `mark` (a space, or `"⏎"`), those around it
    go.
    """
    return safe(text).strip("\n").replace("\n", mark)


def original(text: str) -> str:
    """`text` for the clipboard: as it came, tabs, line ends and invisible characters too, without escape
    sequences and control characters, which a program that it is pasted into could obey.
    """
    if _INTRODUCER.search(text):
        text = _ESCAPE.sub("", text)
    return _SURROGATE.sub("\ufffd", _UNPASTEABLE.sub("", text))


_UNPASTEABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _show(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point < 0x20:
        return chr(0x2400 + point)
    if point == 0x7F:
        return "␡"
    return f"‹U+{point:04X}›"


def visible(text: str) -> str:
    """`text` with everything that a reader could not see shown by a sign: `␛`, `␀`, `␉`, `‹U+202E›`.

    For commands, paths and arguments that a person approves. `\\n` stays a line end, and nothing else is
    dropped.
    """
    shown = _unseen().sub(_show, text)
    if shown.isascii():
        return shown
    return _too_many_marks().sub(
        lambda match: match.group(1) + f"‹{len(match.group()) - MAX_MARKS} marks›", shown
    )


class SafeStream:
    """`safe` for text that comes in pieces, whatever the cuts (inside a sequence, a CRLF, an emoji, a tab
    stop).

    `feed` returns what is certain so far. At most a few characters are held: those of an unfinished
    sequence that decide how it ends (its body is dropped at once, so it needs no limit), a CR, a joiner.
    """

    def __init__(self, *, tab: int = TAB) -> None:
        self._tab = tab
        self._raw = ""
        self._joiner = ""
        self._previous = ""
        self._marks = ""
        self._line = ""

    def feed(self, text: str) -> str:
        """The next piece; returns safe text."""
        return self._expand(self._unhide(self._unescape(self._raw + text), last=False))

    def close(self) -> str:
        """Ends the text; returns the buffered rest."""
        text, self._raw = _clean(self._raw), ""
        return self._expand(self._unhide(text, last=True))

    def _unescape(self, text: str) -> str:
        self._raw = ""
        if _INTRODUCER.search(text):
            kept: list[str] = []
            start = 0
            opened = ""
            for match in _ESCAPE.finditer(text):
                if match.start() > start:
                    kept.append(text[start : match.start()])
                    opened = ""
                self._raw = self._unfinished(match, len(text), opened)
                opened = match["string"] if match["string"] and not match["string_end"] else ""
                start = match.end()
            kept.append(text[start:])
            text = "".join(kept)
        if text.endswith("\r"):
            # Perhaps a CRLF, with a sequence in between or not.
            text, self._raw = text[:-1], "\r" + self._raw
        return _CONTROL.sub("", _NEWLINE.sub("\n", text))

    @staticmethod
    def _unfinished(match: re.Match[str], end: int, opened: str) -> str:
        """What to hold of a sequence that ends where the text ends: as much as decides how it goes on."""
        kind = match.lastgroup or ""
        if match.end() < end or kind.endswith("_end"):
            return ""
        if kind == "csi":
            between = match.group()[-1]
            return match["csi"] + (between if between <= "/" else "")
        if kind == "plain" and len(match.group()) == 1:
            # Perhaps the first half of a string's end.
            return opened + "\x1b"
        if kind == "plain":
            return "\x1b "
        return match[kind]

    def _unhide(self, text: str, *, last: bool) -> str:
        text, self._joiner = self._joiner + text, ""
        if text and text[-1] in "\u200c\u200d" and not last:
            text, self._joiner = text[:-1], text[-1]
        if not text:
            return ""
        joined = self._previous + text
        start = len(self._previous)
        self._previous = text[-1]
        if text.isascii():
            self._marks = ""
            return text
        kept: list[str] = []
        for match in _hidden().finditer(joined, start):
            kept.append(joined[start : match.start()])
            start = match.end()
        kept.append(joined[start:])
        text = _SURROGATE.sub("\ufffd", "".join(kept))
        text = _too_many_marks().sub(r"\1", self._marks + text)
        end = len(text)
        while end and len(text) - end < MAX_MARKS and _is_mark(text[end - 1]):
            end -= 1
        text, self._marks = text[len(self._marks) :], text[end:]
        return text

    def _expand(self, text: str) -> str:
        if not text or not self._tab:
            return text
        lines = text.split("\n")
        if "\t" in text:
            column = cell_len(self._line)
            lines[0] = _expand_tabs(lines[0], column, self._tab)
            lines[1:] = [_expand_tabs(line, 0, self._tab) if "\t" in line else line for line in lines[1:]]
        self._line = lines[-1] if len(lines) > 1 else self._line + lines[0]
        if len(self._line) > 512:
            # Only the place between two stops matters.
            self._line = " " * (cell_len(self._line) % self._tab)
        return "\n".join(lines)


def _is_mark(character: str) -> bool:
    return "\xa0" < character < "\uffff" and not cell_len(character)
