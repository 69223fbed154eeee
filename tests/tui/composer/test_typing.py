"""Pastes: they never submit, never lose text, and a large one folds."""

import pytest
from textual import events
from textual.app import App

from felan_tui.composer import Composer
from tests.tui.composer.support import Writing, paste, shown, type_at, write

TYPED = 0.05  # seconds between keys of a fast typist


async def test_a_paste_never_submits() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        paste(app, "one\r\ntwo\n")
        await pilot.pause()
        assert app.said == []
        assert app.composer.text == "one\ntwo\n"


async def test_an_enter_right_behind_a_paste_is_a_new_line_and_a_later_one_sends() -> None:
    app = Writing(when=lambda event: getattr(event, "at", 0.0))
    async with app.run_test() as pilot:

        def at(event: events.Event, when: float) -> events.Event:
            event.at = when  # pyright: ignore[reportAttributeAccessIssue]
            return event

        app.post_message(at(events.Paste("rm -rf x"), 10.0))
        app.post_message(at(events.Key("enter", "\r"), 10.119))
        await pilot.pause()
        assert app.said == []
        assert app.composer.text == "rm -rf x\n"
        app.post_message(at(events.Key("enter", "\r"), 10.121))
        await pilot.pause()
        assert app.heard() == [("Submitted", "rm -rf x\n")]


async def test_fast_typing_is_typing() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        at = type_at(app, "run all the tests", 100.0, TYPED)
        type_at(app, "\r", at + TYPED, TYPED)
        await pilot.pause()
        assert app.heard() == [("Submitted", "run all the tests")]


async def test_a_large_paste_is_folded_and_sent_whole() -> None:
    app = Writing()
    text = "".join(f"line {number} 가나다\n" for number in range(9_000))
    async with app.run_test() as pilot:
        paste(app, text)
        await pilot.press(*"see")
        await pilot.pause()
        assert "[pasted 9000 lines #1]see" in shown(app)
        await pilot.pause(0.13)
        await pilot.press("enter")
        await pilot.pause()
        assert app.heard() == [("Submitted", text + "see")]


@pytest.mark.parametrize("key", ["enter", "ctrl+t"])
async def test_a_message_that_is_too_long_stays_with_its_size(key: str) -> None:
    app = Writing()
    text = "가" * 100_000
    async with app.run_test() as pilot:
        paste(app, text)
        await pilot.pause(0.13)
        await pilot.press(key)
        await pilot.pause()
        assert app.composer.text == text
        [(kind, _)] = app.heard()
        assert kind == "NotTaken"
        assert app.problems == [
            "Not sent: the message has 293 KB, the limit is 256 KB. Shorten it, or save it as a file."
        ]


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("x" * 2049, "[pasted 2 KB #1]"),
        ("a\n" * 41, "[pasted 41 lines #1]"),
        ("ab\n" * 3000, "[pasted 3000 lines #1]"),
        ("a\n" * 39 + "b", None),
        ("x" * 2048, None),
    ],
)
async def test_what_is_large_folds(text: str, marker: str | None) -> None:
    app = Writing()
    async with app.run_test() as pilot:
        paste(app, text)
        await pilot.pause()
        assert app.composer.area.text == (marker or text)
        assert app.composer.text == text


async def test_a_marker_goes_whole_and_editing_around_it_keeps_it() -> None:
    app = Writing()
    big = "a\n" * 50
    async with app.run_test() as pilot:
        await write(pilot, "x ")
        paste(app, big)
        await pilot.pause()
        await pilot.press(*" y", "home", *"z")
        assert app.composer.text == f"zx {big} y"
        await pilot.press("end", "left", "left", "backspace")
        await pilot.pause()
        assert app.composer.area.text == "zx  y"
        assert app.composer.text == "zx  y"
        app.composer.area.undo()
        await pilot.pause()
        assert app.composer.text == f"zx {big} y"
        app.composer.area.move_cursor((0, 3))
        await pilot.press("delete")
        await pilot.pause()
        assert app.composer.text == "zx  y"


async def test_two_pastes_have_two_markers_and_history_knows_both() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        paste(app, "a\n" * 50)
        paste(app, "b\n" * 60)
        await pilot.pause()
        assert app.composer.area.text == "[pasted 50 lines #1][pasted 60 lines #2]"
        text = app.composer.text
        app.composer.send()
        await pilot.press("up")
        await pilot.pause()
        assert app.composer.area.text == "[pasted 50 lines #1][pasted 60 lines #2]"
        assert app.composer.text == text


async def test_a_marker_typed_by_hand_is_text() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.set_draft("[pasted 50 lines #1]")
        assert app.composer.text == "[pasted 50 lines #1]"
        app.composer.area.move_cursor((0, 20))
        await pilot.press("backspace")
        assert app.composer.text == "[pasted 50 lines #1"


async def test_control_characters_of_a_paste_go_and_tabs_stay() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        paste(app, "all:\n\tcc -o \x1b[31mx\x1b[0m\x00 y\x1b]52;c;aGk=\x07.c\n")
        await pilot.pause()
        assert app.composer.text == "all:\n\tcc -o x y.c\n"


async def test_the_composer_comes_back_from_a_resize_with_its_draft() -> None:
    app: App[None] = Writing()
    async with app.run_test(size=(80, 24)) as pilot:
        composer = app.query_one(Composer)
        composer.set_draft("word " * 60)
        for size in ((60, 16), (160, 48), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert composer.text == "word " * 60
            assert composer.area.size.height <= size[1] // 3
            assert "word word" in shown(app)
