from typing import Any

import pytest

from felan_core.protocol.interactions import validate_interaction_answer
from felan_tui.cards.card import InteractionCard
from felan_tui.cards.editors import read_number
from felan_tui.cards.form import FormCard
from felan_tui.cards.messages import Answered
from tests.tui.cards.looking import SIZES, gallery, go, shows, text, told, until
from tests.tui.gallery import Gallery


def answer(app: Gallery) -> dict[str, Any]:
    (message,) = told(app, Answered)
    validate_interaction_answer(app.interactions[0].request, message.answer)
    return message.answer


def form_card(app: Gallery) -> FormCard:
    card = app.stack.current
    assert isinstance(card, FormCard)
    return card


@pytest.mark.parametrize("size", SIZES)
async def test_a_form_shows_labels_help_required_marks_and_its_buttons(size: tuple[int, int]) -> None:
    app, _ = gallery("form")
    async with app.run_test(size=size) as pilot:
        await shows(
            pilot,
            "Release",
            "What is released is tagged and pushed.",
            "Version  required  as 1.2.3",
            "Notes",
            "Sign the tag",
            "[ Not now ]  [ Release it ]",
            "waiting 7 s",
        )


async def test_a_form_is_filled_in_with_the_keyboard_alone_and_defaults_are_sent() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press(*"1.2.3", "enter", *"ab", "ctrl+j", "c", "enter", "tab", "2", "enter", "enter")
        await pilot.press("enter")
        await until(pilot, lambda: bool(told(app, Answered)))
        values = {"version": "1.2.3", "notes": "ab\nc", "sign": True, "channel": "o2"}
        assert answer(app) == {"action": "send", "values": values}


async def test_a_problem_says_what_to_do_and_the_focus_goes_there() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("1", "shift+tab", "enter")
        await until(pilot, lambda: "Version  ✗ Needs at least 5 characters" in text(app))
        assert "Channel  ✗ Required" in text(app)
        assert told(app, Answered) == []
        await pilot.press("end", *".2.3", "enter")
        await until(pilot, lambda: "Version  ✗" not in text(app))


async def test_cancel_is_the_declared_one_and_skips_what_is_required() -> None:
    app, clock = gallery("form")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("x", "shift+tab", "shift+tab", "enter")
        await until(pilot, lambda: bool(told(app, Answered)))
        assert answer(app) == {"action": "stop"}


async def test_tab_goes_round_inside_of_the_form() -> None:
    app, clock = gallery("form")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        first = app.focused
        seen = []
        for _ in range(6):
            await pilot.press("tab")
            seen.append(app.focused)
        assert seen[-1] is first
        assert len(set(map(id, seen))) == 6


async def test_numbers_and_several_options_are_filled_in_and_sent_as_such() -> None:
    app, clock = gallery("form-numbers")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await shows(pilot, "How many  whole number, 1 to 9", "Hosts  required  choose at most 2")
        await pilot.press(
            "backspace", "7", "tab", *"-0.25", "tab", "1", "down", "down", "space", "enter", "enter"
        )
        await until(pilot, lambda: bool(told(app, Answered)))
        values = {"count": 7, "ratio": -0.25, "hosts": ["o1", "o2"]}
        assert answer(app) == {"action": "send", "values": values}
        assert "☑ option 1, option 2" in text(app)


async def test_a_number_out_of_its_bounds_and_too_many_options_say_what_to_do() -> None:
    app, clock = gallery("form-numbers")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("0", "tab", *"1,5", "tab", "1", "2", "3", "tab", "tab", "enter")
        await shows(
            pilot,
            "How many  ✗ Must be at most 9",
            "Ratio  ✗ Must be a number",
            "Hosts  ✗ Choose at most 2",
        )
        assert told(app, Answered) == []
        # The focus is where the first problem is.
        await pilot.press("end", "backspace", "enter")
        await until(pilot, lambda: "How many  ✗" not in text(app))


async def test_an_optional_number_without_text_is_absent_and_a_default_is_sent() -> None:
    app, clock = gallery("form-numbers")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        assert form_card(app).fields.values() == {"count": 3}
        await pilot.press("tab", "tab", "1", "2", "1")
        assert form_card(app).fields.values() == {"count": 3, "hosts": ["o2"]}
        await pilot.press("delete")
        assert form_card(app).fields.values() == {"count": 3}


async def test_marks_and_numbers_come_back_as_a_draft() -> None:
    app, clock = gallery("form-numbers")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("tab", *"1.", "tab", "2", "3")
        app.stack.show([])
        await until(pilot, lambda: not app.query(InteractionCard))
        app.stack.show(app.interactions)
        await shows(pilot, "☑ option 2, option 3")
        assert form_card(app).draft == {"fields": {"ratio": "1.", "hosts": ["o2", "o3"]}}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", None),
        ("  ", None),
        ("3", 3),
        ("+3", 3),
        ("2.0", 2),
        ("1e3", 1000),
        (".5", 0.5),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", "9007199254740992"),
        ("1e400", "1e400"),
        ("1,5", "1,5"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("٣", "٣"),
    ],
)
def test_a_number_is_read_as_the_wire_has_it(written: str, read: object) -> None:
    found = read_number(written)
    assert found == read
    assert type(found) is type(read)


async def test_a_yes_or_no_and_options_by_their_keys() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("tab", "tab", "n", "tab", "down", "down", "space")
        values = form_card(app).fields.values()
        assert values == {"sign": False, "channel": "o2"}
        await pilot.press("shift+tab", "delete")
        assert form_card(app).fields.values() == {"channel": "o2"}


async def test_a_half_filled_form_survives_updates_other_cards_and_leaving() -> None:
    app, clock = gallery("stack")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("ctrl+n")
        clock.wait(1)
        await pilot.press(*"1.2", "escape")
        app.stack.show(app.interactions)
        app.stack.update_interaction(app.interactions[1])
        await pilot.press("f2", "ctrl+n", "ctrl+n", "ctrl+n")
        clock.wait(1)
        await pilot.press(".")
        await until(pilot, lambda: "1.2." in text(app))
        assert form_card(app).draft == {"fields": {"version": "1.2."}}


async def test_a_draft_comes_back_when_the_cards_were_taken_away() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press(*"1.2", "tab", "x", "tab", "n", "tab", "3")
        app.stack.show([])
        await until(pilot, lambda: not app.query(InteractionCard))
        app.stack.show(app.interactions)
        await until(pilot, lambda: "1.2" in text(app))
        assert form_card(app).fields.values() == {
            "version": "1.2",
            "notes": "x",
            "sign": False,
            "channel": "o3",
        }


async def test_a_refused_form_keeps_what_is_in_it() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press(*"1.2.3", "tab", "tab", "tab", "1", "tab", "tab", "enter")
        await until(pilot, lambda: bool(told(app, Answered)))
        app.stack.reject("f-1", "the host is busy")
        await until(pilot, lambda: "✗ the host is busy" in text(app))
        assert "1.2.3" in text(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(told(app, Answered)) == 2)


async def test_a_field_that_opens_is_seen_whole_on_a_small_screen() -> None:
    app, clock = gallery("form")
    async with app.run_test(size=(80, 24)) as pilot:
        await go(pilot, clock)
        await pilot.press("tab", "tab", "tab")
        await shows(pilot, "1 option 1", "3 option 3", "[ Release it ]")
        await pilot.press("2", "tab")
        await shows(pilot, "● option 2")
