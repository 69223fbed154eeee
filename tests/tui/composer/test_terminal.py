"""The composer behind a real terminal's bytes: what is pasted never sends, and the keys that exist arrive."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.terminal import Terminal

ROOT = Path(__file__).parents[3]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal([sys.executable, "-m", "tests.tui.composer.terminal_app"], cwd=str(ROOT)) as opened:
        opened.see("type a message")
        yield opened


def after_the_paste(terminal: Terminal) -> None:
    """A person's Enter comes later than that of a paste."""
    until = time.monotonic() + 0.3
    terminal.wait(lambda _: time.monotonic() > until, "0.3 s")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"\x1b[200~one\rtwo\r\x1b[201~\r", "one\ntwo\n\n"),
        (b"\x1b[200~evil\x1b[201~ rest of it\r", "evil rest of it\n"),
        (b"git status\rgit push --force\r", "git status\ngit push --force\n"),
        (b"a\x1b[<32;NaN;NaNMb", "ab"),
        (b"a\x1b[13;2ub\x1b[27;2;13~c\nd\x1b\re", "a\nb\nc\nd\ne"),
        (b"caf\xe9\xff au lait", "caf\ufffd\ufffd au lait"),
    ],
    ids=["bracketed", "an end inside", "unbracketed", "mouse", "new lines", "no UTF-8"],
)
def test_bytes_become_text_and_a_later_enter_sends_all_of_it(
    terminal: Terminal, sent: bytes, text: str
) -> None:
    terminal.send(sent)
    last = text.split("\n")[-1] or text.split("\n")[0]
    terminal.see(last)
    assert "Submitted" not in terminal.text()
    after_the_paste(terminal)
    assert "Submitted" not in terminal.text()
    terminal.press("enter")
    terminal.see(f"Submitted {text!r}")


def test_ctrl_t_and_wide_characters_arrive(terminal: Terminal) -> None:
    terminal.write("한글 日本")
    terminal.see("한글 日本")
    terminal.press("ctrl+t")
    terminal.see("FollowUp '한글 日本'")
