import pytest
from textual import events

from felan_tui.cards.messages import Answered
from tests.tui.cards.looking import gallery, go, lines, shows, text, told, until

ALL_KINDS = ["approval", "confirm", "select", "select-many", "select-long", "input", "input-lines", "form"]


@pytest.mark.parametrize("name", ALL_KINDS)
async def test_a_card_never_takes_the_focus_and_its_first_half_second_takes_nothing(name: str) -> None:
    app, clock = gallery(name)
    async with app.run_test() as pilot:
        await pilot.pause()
        clock.wait(10)
        await pilot.press("1", "y", "enter", "tab", "enter")
        await pilot.pause()
        assert app.focused is None
        await pilot.press("f2")
        for key in ("1", "y", "enter", "tab", "space"):
            clock.wait(0.4)
            await pilot.press(key)
        await shows(pilot, "too soon")
        assert told(app, Answered) == []
        assert app.stack.current is not None
        assert app.stack.current.draft == {}
        # The last key started the time anew; a half second without one ends it.
        clock.wait(0.5)
        await pilot.press("x")
        await until(pilot, lambda: "too soon" not in text(app))


async def test_going_away_and_coming_back_starts_the_time_anew() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("escape", "f2", "1")
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(1)
        await pilot.press("1")
        await until(pilot, lambda: bool(told(app, Answered)))


@pytest.mark.parametrize("name", ["approval", "confirm", "select", "select-many"])
async def test_a_paste_answers_nothing_and_neither_do_the_keys_right_behind_it(name: str) -> None:
    app, clock = gallery(name)
    async with app.run_test() as pilot:
        await go(pilot, clock)
        app.post_message(events.Paste("1\n"))
        await pilot.pause()
        await pilot.press("1", "enter")
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(0.2)
        await pilot.press("down", "1", "enter")
        await until(pilot, lambda: bool(told(app, Answered)))


async def test_a_paste_in_the_first_half_second_does_not_fill_a_field() -> None:
    app, clock = gallery("input")
    async with app.run_test() as pilot:
        await pilot.pause()
        clock.wait(10)
        await pilot.press("f2")
        app.post_message(events.Paste("meant for the composer"))
        await pilot.pause()
        assert "meant for" not in text(app)


async def test_the_click_that_focuses_the_terminal_answers_nothing() -> None:
    app, clock = gallery("confirm")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        choices = app.query_one("Choices")
        row = next(y for y, line in enumerate(lines(app)) if "1 Yes" in line)
        spot = (3, row - choices.region.y)
        app.post_message(events.AppBlur())
        await pilot.pause()
        app.post_message(events.AppFocus())
        await pilot.pause()
        clock.wait(0.1)
        await pilot.click(choices, offset=spot)
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(1)
        await pilot.click(choices, offset=spot)
        await until(pilot, lambda: bool(told(app, Answered)))


async def test_the_click_that_gives_the_card_the_focus_answers_nothing() -> None:
    app, clock = gallery("confirm")
    async with app.run_test() as pilot:
        await pilot.pause()
        clock.wait(10)
        choices = app.query_one("Choices")
        row = next(y for y, line in enumerate(lines(app)) if "1 Yes" in line)
        spot = (3, row - choices.region.y)
        await pilot.click(choices, offset=spot)
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(1)
        await pilot.click(choices, offset=spot)
        await until(pilot, lambda: bool(told(app, Answered)))
