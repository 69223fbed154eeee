import msgspec
from textual import events
from textual.pilot import Pilot

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ViewElement
from felan_tui.elements.actions import ActionBar
from felan_tui.elements.messages import ActionChosen
from tests.tui.cards.looking import Clock, gallery, lines, text, told, until
from tests.tui.gallery import Gallery


async def at_the_actions(pilot: Pilot[None], app: Gallery, clock: Clock) -> ActionBar:
    await pilot.pause()
    bar = app.query_one(ActionBar)
    bar.focus()
    await pilot.pause()
    clock.wait(1)
    return bar


def chosen(app: Gallery) -> list[tuple[object, ...]]:
    return [
        (one.element_id, one.revision, one.action_id, one.item, one.values) for one in told(app, ActionChosen)
    ]


async def test_an_action_is_chosen_by_its_digit() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        assert "1 Refresh   2 Clear   3 Add" in text(app)
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 5, "refresh", None, None)])


async def test_a_confirmed_action_asks_first_and_a_held_key_does_not_confirm() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        await pilot.press("2")
        await until(pilot, lambda: "! press again to confirm: all rows go away" in text(app))
        for _ in range(3):
            clock.wait(0.1)
            await pilot.press("2")
        await pilot.pause()
        assert chosen(app) == []
        clock.wait(1)
        await pilot.press("escape")
        await until(pilot, lambda: "press again" not in text(app))
        await pilot.press("2")
        clock.wait(1)
        await pilot.press("2")
        await until(pilot, lambda: chosen(app) == [("files", 5, "clear", None, None)])


async def test_another_action_in_between_confirms_nothing() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        await pilot.press("2")
        clock.wait(1)
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 5, "refresh", None, None)])
        await pilot.press("2")
        await until(pilot, lambda: "press again" in text(app))
        assert len(chosen(app)) == 1


async def test_an_action_with_fields_is_filled_in_first() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        bar = await at_the_actions(pilot, app, clock)
        await pilot.press("3")
        await until(pilot, lambda: "Name  required" in text(app) and app.focused is not bar)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "Name  ✗ Required" in text(app))
        await pilot.press(*"x1", "enter", "enter")
        await until(pilot, lambda: chosen(app) == [("files", 5, "add", None, {"name": "x1"})])
        await until(pilot, lambda: "1 Refresh" in text(app))


async def test_escape_closes_the_form_and_sends_nothing() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        await pilot.press("3", "x", "escape")
        await until(pilot, lambda: "1 Refresh" in text(app))
        assert isinstance(app.focused, ActionBar)
        assert chosen(app) == []


async def test_a_half_filled_form_survives_a_new_revision_and_sends_that() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        await pilot.press("3", "a")
        await app.side.show([msgspec.structs.replace(app.elements[0], revision=8, items=[])])
        await pilot.press("b", "enter", "enter")
        await until(pilot, lambda: chosen(app) == [("files", 8, "add", None, {"name": "ab"})])


async def test_an_action_that_is_no_longer_declared_goes_away_with_its_form() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        await at_the_actions(pilot, app, clock)
        await pilot.press("3")
        (shown,) = app.elements
        assert isinstance(shown, ViewElement)
        kept = or_default(shown.actions, [])[:1]
        await app.side.show([msgspec.structs.replace(shown, revision=8, actions=kept)])
        await until(pilot, lambda: "1 Refresh" in text(app))
        assert "Name  required" not in text(app)
        assert "[2]" not in text(app)


async def test_the_mouse_chooses_and_a_paste_does_not() -> None:
    app, clock = gallery("view")
    async with app.run_test() as pilot:
        bar = await at_the_actions(pilot, app, clock)
        app.post_message(events.Paste("1"))
        await pilot.pause()
        assert chosen(app) == []
        clock.wait(1)
        row = next(y for y, line in enumerate(lines(app)) if "1 Refresh" in line)
        await pilot.click(bar, offset=(lines(app)[row].index("Refresh") - bar.region.x, row - bar.region.y))
        await until(pilot, lambda: chosen(app) == [("files", 5, "refresh", None, None)])
