"""What Textual gets of the terminal's events."""

from typing import Any

import pytest
from textual import events
from textual import messages as textual_messages
from textual.message import Message

from felan_tui.terminal.bursts import Bursts
from felan_tui.terminal.driver import Input
from felan_tui.terminal.events import Event, Key, Paste, PasteStalled
from felan_tui.terminal.messages import TerminalPasteStalled, Translator
from felan_tui.terminal.reader import Reader


def translated(data: bytes, translator: Translator | None = None) -> list[Message]:
    translator = translator or Translator()
    return [message for event in Reader().feed(data) for message in translator.messages(event)]


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"\x1b\r", "alt+enter"),
        (b"\x1b[13;2u", "shift+enter"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[1;5R", "ctrl+f3"),
        (b"\x1b[1;2R", "shift+f3"),
        (b"\x1f", "ctrl+underscore"),
        (b"\x1b[45;6u", "ctrl+underscore"),
        (b"\x1b[47;5u", "ctrl+underscore"),
        (b"\x1b[27;6;95~", "ctrl+underscore"),
        (b"\x1b[27;5;47~", "ctrl+underscore"),
        (b"\x1bb", "ctrl+left"),
        (b"\x1b\x7f", "ctrl+w"),
        (b"\x1b[1089::99;5u", "ctrl+c"),
    ],
)
def test_a_key_has_one_name_whatever_the_terminal_sends_for_it(data: bytes, key: str) -> None:
    (message,) = translated(data)
    assert isinstance(message, events.Key)
    assert message.key == key
    assert message.character is None


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\x1ba", ["escape", "a"]),
        (b"\x1bA", ["escape", "A"]),
        (b"\x1b\x10", ["escape", "ctrl+p"]),
        (b"\x1b\xc3\xa9", ["escape", "é"]),
        (b"\x1b\x1bOP", ["escape", "f1"]),
        (b"\x1b[97;3u", ["alt+a"]),
        (b"\x1b[27;3;97~", ["alt+a"]),
    ],
)
def test_esc_and_a_key_at_once_are_both_keys(data: bytes, wanted: list[str]) -> None:
    assert [message.key for message in translated(data) if isinstance(message, events.Key)] == wanted


def test_a_paste_without_the_focus_brings_it_back_first() -> None:
    translator = Translator()
    kinds = [
        type(message) for message in translated(b"\x1b[O\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", translator)
    ]
    assert kinds == [events.AppBlur, events.AppFocus, events.Paste, events.Paste]


def test_line_ends_of_a_paste_are_newlines() -> None:
    (message,) = translated(b"\x1b[200~a\r\nb\rc\nd\x1b[201~")
    assert isinstance(message, events.Paste)
    assert message.text == "a\nb\nc\nd"


def test_a_lost_end_of_a_paste_is_announced() -> None:
    assert [type(m) for m in Translator().messages(PasteStalled())] == [TerminalPasteStalled]


def facts(message: Message) -> dict[str, Any]:
    assert isinstance(message, events.MouseEvent)
    return {
        "kind": type(message),
        "at": (message.x, message.y),
        "delta": (message.delta_x, message.delta_y),
        "button": message.button,
        "held": (message.shift, message.meta, message.ctrl),
    }


def test_the_mouse_in_cells_and_then_in_pixels() -> None:
    translator = Translator()
    down, drag, up = translated(b"\x1b[<16;11;6M\x1b[<32;13;6M\x1b[<0;13;6m", translator)
    assert facts(down) == {
        "kind": events.MouseDown,
        "at": (10, 5),
        "delta": (10, 5),
        "button": 1,
        "held": (False, False, True),
    }
    assert facts(drag)["kind"] is events.MouseMove and facts(drag)["delta"] == (2, 0)
    assert facts(up)["kind"] is events.MouseUp and facts(up)["button"] == 1
    resize, move, wheel = translated(b"\x1b[48;30;100;600;1000t\x1b[<35;106;51M\x1b[<65;106;51M", translator)
    assert isinstance(resize, events.Resize) and resize.size == (100, 30)
    assert facts(move)["kind"] is events.MouseMove and facts(move)["at"] == (10, 2)
    assert facts(wheel)["kind"] is events.MouseScrollDown
    assert translated(b"\x1b[<128;3;4M") == []  # no left click


def test_a_mode_that_can_never_be_set_is_not_supported() -> None:
    assert translated(b"\x1b[?2026;4$y") == translated(b"\x1b[?2026;0$y") == []
    (message,) = translated(b"\x1b[?2026;2$y")
    assert isinstance(message, textual_messages.TerminalSupportsSynchronizedOutput)


# --- Input: which silence is waited for ---

ESCAPE = 0.1


def test_esc_alone_waits_for_its_delay_and_no_longer() -> None:
    source = Input(Reader(), Bursts())
    assert source.timeout(5.0, ESCAPE) is None
    assert source.feed(b"\x1b", 5.0) == []
    assert source.timeout(5.04, ESCAPE) == pytest.approx(0.06)
    assert source.wait(5.09, ESCAPE) == []
    assert source.wait(5.1, ESCAPE) == [Key("escape", "\x1b")]
    assert source.timeout(5.1, ESCAPE) is None


def test_half_a_reply_waits_for_a_second() -> None:
    source = Input(Reader(), Bursts())
    source.feed(b"\x1b]11;rgb:00", 5.0)
    assert source.wait(5.9, ESCAPE) == []
    assert source.feed(b"00/0000/0000\x1b\\x", 5.95)[-1] == Key("x", "x")


def test_a_stalled_paste_is_left_and_its_text_arrives() -> None:
    source = Input(Reader(), Bursts())
    source.feed(b"\x1b[200~lost", 5.0)
    assert source.timeout(5.0, ESCAPE) == pytest.approx(2.0)
    assert source.wait(7.0, ESCAPE) == [PasteStalled()]
    assert source.timeout(7.0, ESCAPE) is None
    found: list[Event] = source.feed(b"\x03", 9.0)
    assert found == [Paste("lost")]
