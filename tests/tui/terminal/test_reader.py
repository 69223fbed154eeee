"""The reader of terminal input against the vectors, and against noise in any pieces."""

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from felan_tui.terminal.events import (
    Cursor,
    Event,
    Focus,
    Key,
    Mode,
    Mouse,
    Paste,
    PasteStalled,
    Release,
    Reply,
    Resize,
)
from felan_tui.terminal.reader import MAX_PASTE, MAX_STRING, Delay, Reader

FILE = Path(__file__).parents[2] / "vectors" / "terminal" / "input.jsonl"
VECTORS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]


def plain(event: Event) -> dict[str, Any]:
    """The event in the form of the vectors."""
    match event:
        case Key(key, text):
            return {"type": "key", "key": key, "text": text}
        case Release(key):
            return {"type": "release", "key": key}
        case Paste(text, dropped):
            return {"type": "paste", "text": text, "dropped": dropped}
        case PasteStalled():
            return {"type": "paste_stalled"}
        case Focus(focused):
            return {"type": "focus", "in": focused}
        case Mouse(act, button, x, y, mods):
            return {"type": "mouse", "act": act, "button": button, "x": x, "y": y, "mods": list(mods)}
        case Resize(rows, cols, pixel_rows, pixel_cols):
            size = {"rows": rows, "cols": cols, "pixel_rows": pixel_rows, "pixel_cols": pixel_cols}
            return {"type": "resize", **size}
        case Mode(mode, setting, private):
            return {"type": "mode", "mode": mode, "setting": setting, "private": private}
        case Cursor(row, col):
            return {"type": "cursor", "row": row, "col": col}
        case Reply(kind, text):
            return {"type": "reply", "kind": kind, "text": text}


def read(*pieces: bytes, idle: bool = False) -> list[Event]:
    reader = Reader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.idle()] if idle else events


def one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def test_there_are_304_vectors() -> None:
    assert len(VECTORS) == 304


@pytest.mark.parametrize(
    "vector", VECTORS, ids=[f"{number}-{vector['group']}" for number, vector in enumerate(VECTORS, 1)]
)
def test_the_bytes_make_the_events_whole_and_in_pieces(vector: dict[str, Any]) -> None:
    data, idle = bytes.fromhex(vector["bytes"]), vector.get("idle", False)
    wanted = vector["events"]
    if data.startswith(b"\x1b[200~") and idle:
        wanted = [*wanted, {"type": "paste_stalled"}]
    assert [plain(event) for event in read(data, idle=idle)] == wanted
    assert [plain(event) for event in read(*one_by_one(data), idle=idle)] == wanted


FRAGMENTS = [bytes.fromhex(vector["bytes"]) for vector in VECTORS if len(vector["bytes"]) < 200]
FRAGMENTS += [b"\x1b", b"\x1b[", b"\x1bO", b"\x1b]", b"\x1b]1", b"\x1bP", b"\x1bP1", b"\x1b_G", b"\x1b[<"]
FRAGMENTS += [b"\x1b[M", b"\x1b[200~", b"\x1b[201~", b"\x1b\\", b"\x07", b"\x18", b"\r", b"\x03", b"x", b"9"]
FRAGMENTS += [b";", b":", b"$", b"\x1b\xef\xbf\xbd", b"\x1b\xe2\x82\xc3", b"\xc2", b"\xe6\x97", b"\xf0\x9f"]
FRAGMENTS += [b"\x80", b"1" * 140]


def test_noise_makes_the_same_events_in_any_pieces_and_no_exception() -> None:
    """Seeded: a failure here is one every time."""
    chance = random.Random(20261130)
    for _ in range(4000):
        picked = chance.choices(FRAGMENTS, k=chance.randint(1, 8))
        if chance.random() < 0.3:
            picked.append(chance.randbytes(chance.randint(1, 12)))
        data = b"".join(picked)
        whole = Reader()
        wanted = whole.feed(data)
        for pieces in (one_by_one(data), cut(data, chance), cut(data, chance)):
            reader = Reader()
            assert [e for piece in pieces for e in reader.feed(piece)] == wanted, pieces
            assert reader.delay == whole.delay, pieces
        for event in [*wanted, *whole.idle()]:
            if isinstance(event, Key | Paste) and event.text is not None:
                event.text.encode()  # no surrogate, which would end whoever writes it


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    at = sorted(chance.randint(0, len(data)) for _ in range(3))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


@pytest.mark.parametrize("start", [b"\x1b]11;", b"\x1bP1", b"\x1b_G", b"\x1b[1", b"\x1bO1", b"\x1b[<1;NaN"])
def test_what_never_ends_is_dropped_and_takes_no_room(start: bytes) -> None:
    reader = Reader()
    assert reader.feed(start) == []
    piece = b"1" * 65536
    tracemalloc.start()
    try:
        for _ in range(128):
            assert reader.feed(piece) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4 * MAX_STRING
    assert reader.delay is Delay.LONG
    assert reader.idle() == []
    assert reader.feed(b"x") == [Key("x", "x")]


def test_a_paste_keeps_16_mib_and_counts_the_rest() -> None:
    reader = Reader()
    reader.feed(b"\x1b[200~")
    for _ in range(17):
        assert reader.feed(b"a" * (1 << 20)) == []
    assert reader.feed(b"\x1b[201~x") == [Paste("a" * MAX_PASTE, 1 << 20), Key("x", "x")]


@pytest.mark.parametrize(
    ("data", "delay"),
    [
        (b"", None),
        (b"a", None),
        (b"\x1b", Delay.SHORT),
        (b"\x1b[", Delay.SHORT),
        (b"\x1bO", Delay.SHORT),
        (b"\x1b]", Delay.SHORT),
        (b"\x1b[M!", Delay.SHORT),
        (b"\x1b[1", Delay.LONG),
        (b"\x1b]11;rgb:00", Delay.LONG),
        (b"\x1b]11;rgb:00\x1b", Delay.LONG),
        (b"\xe6", Delay.LONG),
        (b"\x1b[200~a", Delay.PASTE),
        (b"\x1b[200~a\x1b[201", Delay.PASTE),
    ],
)
def test_the_reader_names_the_silence_that_ends_what_is_held(data: bytes, delay: Delay | None) -> None:
    reader = Reader()
    reader.feed(data)
    assert reader.delay is delay


@pytest.mark.parametrize(
    "way_out",
    [
        [b"\x03"],
        [b"\x1b[99;5u"],
        [b"\x1b[57442;5u", b"\x1b[99;5u"],
        [b"\x1b[27u", b"\x1b[27u"],
        [b"\x1b", b"\x1b", None],
        [b"\x1b", None, b"\x1b", None],
        [b"\x1b\x1b", None],
    ],
)
def test_a_paste_without_its_end_is_left_by_ctrl_c_or_esc_esc_after_a_silence(
    way_out: list[bytes | None],
) -> None:
    reader = Reader()
    reader.feed(b"\x1b[200~half a text\x1b[20")
    assert reader.idle() == [PasteStalled()]
    assert reader.delay is None  # said once; nothing to wait for
    events = [e for piece in way_out for e in (reader.idle() if piece is None else reader.feed(piece))]
    assert events == [Paste("half a text\x1b[20")]
    assert reader.feed(b"x\x1b[A") == [Key("x", "x"), Key("up")]


@pytest.mark.parametrize("more", [b"\x03 and more", b"x\x03", b"\x1b[A", b"\x1b\x1b[A", b"\x1bx", b"1" * 200])
def test_what_goes_on_after_a_silence_is_still_the_paste(more: bytes) -> None:
    reader = Reader()
    reader.feed(b"\x1b[200~begun ")
    reader.idle()
    assert reader.feed(more) == []
    assert reader.feed(b"\x1b[201~") == [Paste("begun " + more.decode())]


def test_a_first_esc_is_forgotten_after_another_silence() -> None:
    reader = Reader()
    reader.feed(b"\x1b[200~a")
    reader.idle()
    assert reader.feed(b"\x1b") == []
    assert reader.delay is Delay.SHORT
    assert reader.idle() == []
    assert reader.delay is Delay.PASTE
    assert reader.idle() == []
    reader.feed(b"\x1b")
    assert reader.idle() == []
    reader.feed(b"\x1b")
    assert reader.idle() == [Paste("a\x1b")]


def test_a_paste_that_is_not_silent_is_not_left_by_ctrl_c() -> None:
    reader = Reader()
    assert reader.feed(b"\x1b[200~a") == []
    assert reader.feed(b"\x03") == []
    assert reader.feed(b"\x1b[201~") == [Paste("a\x03")]


def test_esc_behind_a_string_that_nothing_ends_is_esc() -> None:
    assert read(b"\x1b]11;rgb:00", b"\x1b", idle=True) == [Key("escape", "\x1b")]


def test_a_key_names_the_key_of_the_base_layout() -> None:
    assert read(b"\x1b[1089::99;5u") == [Key("ctrl+с", None, "ctrl+c")]
