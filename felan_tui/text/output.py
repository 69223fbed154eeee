"""Writes safe text to the plain terminal: the one way to standard output and standard error.

A file name, an error's words and a caught exception may hold escape sequences; the terminal of a person, or
that of the CI which collects standard error, would follow them. A house rule keeps other ways out of the
tree.
"""

import sys
from typing import TextIO

from felan_tui.terminal.first_frame import SCREEN


def print_out(text: str, *, end: str = "\n") -> None:
    """Write harmless lines to standard output."""
    _write(sys.stdout, _harmless(text) + end)


def print_error(text: str) -> None:
    """Write harmless lines to standard error, at once."""
    _write(sys.stderr, _harmless(text.rstrip("\n")) + "\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """Write a value as JSON, with every character that is not seen as its escape: its meaning is the same."""
    from json import dumps  # a session never needs it

    text = dumps(value, indent=2, ensure_ascii=False)
    if not text.isprintable():
        text = "".join(one if one.isprintable() or one == "\n" else dumps(one)[1:-1] for one in text)
    _write(sys.stdout, text + "\n")


def _harmless(text: str) -> str:
    # Not at the top: the launcher is tiny, and a session that ends well writes nothing here.
    from felan_tui.text.safe import safe

    return safe(text)


def _write(stream: TextIO, text: str) -> None:
    SCREEN.leave()  # words would be lost with the frame
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
