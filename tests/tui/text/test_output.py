"""What the command prints: harmless whatever it repeats, and JSON that still means the same."""

import io
import json
import sys

import pytest

from felan_tui.text.output import print_error, print_json, print_out
from tests.tui.text.hostile import ESCAPES, MARKUP

CLIPBOARD = "repo\x1b]52;c;cm0gLXJmIH4=\x07x"


@pytest.mark.parametrize("text", [CLIPBOARD, *ESCAPES.values(), *MARKUP.values()])
def test_nothing_that_a_terminal_follows_is_printed(capfd: pytest.CaptureFixture[str], text: str) -> None:
    print_out(text)
    print_error(text)
    for printed in capfd.readouterr():
        assert all(one == "\n" or one.isprintable() or one in "\u200c\u200d" for one in printed)


def test_lines_stay_and_an_error_ends_with_one_line_end(capsys: pytest.CaptureFixture[str]) -> None:
    print_out("a\nb", end="")
    print_error("no session of /x\n\n")
    assert capsys.readouterr() == ("a\nb", "no session of /x\n")


def test_json_keeps_its_meaning_and_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": CLIPBOARD, "bidi": "\u202e\x9b31m", "plain": "日本 é 😀", "tag": "\U000e0041"}
    print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert all(one == "\n" or one.isprintable() for one in printed)
    assert "日本 é 😀" in printed


def test_a_terminal_without_the_characters_gets_signs_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    print_out("café")
    plain.flush()
    assert plain.buffer.getvalue() == b"caf?\n"  # pyright: ignore[reportAttributeAccessIssue] a BytesIO
