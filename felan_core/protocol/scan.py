"""Scan of the bytes of a JSON text: its depth, and the numbers and escapes that need a full check.

All of it is a few C loops over the whole line. Nothing here decides that a text is JSON.
"""

import re
from collections.abc import Iterator
from typing import Final

from felan_core.protocol.base import LIMITS

_CHUNK: Final = 256 * 1024
_BACKSLASH: Final = 0x5C
_OPENERS: Final = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS: Final = bytes.maketrans(b"123456789E", b"000000000e")
_MANY_DIGITS: Final = b"0" * 16
"""2^53 − 1 has sixteen digits, so a shorter run is never beyond it."""
_LEVELS: Final = LIMITS.json_depth - 4
"""Levels of a part of a frame that are within ``jsonDepth`` for the whole."""
_SURROGATE: Final = re.compile(rb"\\u[dD]")
_MARK: Final = b"\xef\xbb\xbf"


def outside_strings(line: bytes) -> bytes:
    """The text without its strings, in pieces of bounded size so that a large frame is never copied whole."""
    return b"".join(outside_pieces(line))


def outside_pieces(line: bytes) -> Iterator[bytes]:
    """The same, piece by piece, for a reader that may stop early."""
    inside = 0
    start, length = 0, len(line)
    while start < length:
        end = min(start + _CHUNK, length)
        if end < length:
            # Never cut between a backslash and what it escapes.
            cut = end
            while cut > start and line[cut - 1] == _BACKSLASH:
                cut -= 1
            if cut == start:
                while end < length and line[end] == _BACKSLASH:
                    end += 1
                cut = min(end + 1, length) if (end - start) % 2 else end
            end = cut
        piece = line[start:end] if start or end < length else line
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= (len(parts) - 1) & 1
        start = end


def nests_deeper(outside: bytes, limit: int = LIMITS.json_depth) -> bool:
    """Whether arrays and objects nest deeper than ``limit`` in a text without its strings."""
    if outside.count(b"[") + outside.count(b"{") <= limit:
        return False
    rest = outside.translate(_OPENERS, _NOT_BRACKETS)
    for _ in range(limit):
        # Each round takes the innermost level away.
        fewer = rest.replace(b"[]", b"")
        if not fewer:
            return False
        if len(fewer) == len(rest):
            break
        rest = fewer
    return True


def has_odd_number(outside: bytes) -> bool:
    """Whether a text without its strings holds a number with a fraction, an exponent or sixteen digits."""
    digits = outside.translate(_DIGITS)
    return b"." in digits or b"0e" in digits or _MANY_DIGITS in digits


def is_plain(line: bytes) -> bool:
    """Whether a JSON text surely keeps every rule that a typed decoder cannot see: the depth, small integers
    for numbers, valid UTF-8 without escaped surrogates.

    A no decides nothing: the text may still be right.
    """
    if not line.isascii() and not _is_utf8(line):
        return False
    if _SURROGATE.search(line) is not None:
        return False
    outside = outside_strings(line)
    return not (nests_deeper(outside, _LEVELS) or has_odd_number(outside))


def _is_utf8(line: bytes) -> bool:
    try:
        return line.decode() != "" and not line.startswith(_MARK)
    except UnicodeDecodeError:
        return False
