"""Actions on the rows of a view, as somebody at the keyboard meets them."""

import msgspec
import pytest
from textual.pilot import Pilot

from felan_core.protocol.elements import ViewElement
from felan_tui.elements.actions import ActionBar
from felan_tui.elements.messages import ActionChosen
from felan_tui.elements.view import ViewPanel
from tests.tui.cards.looking import SIZES, Clock, gallery, lines, shows, text, told, until
from tests.tui.gallery import Gallery


def chosen(app: Gallery) -> list[tuple[object, ...]]:
    return [
        (one.element_id, one.revision, one.action_id, one.item, one.values) for one in told(app, ActionChosen)
    ]


async def at_row(pilot: Pilot[None], app: Gallery, clock: Clock, row: int) -> None:
    """Go to a row, counted from 1, and press Enter on it."""
    await pilot.pause()
    app.query_one(ViewPanel).focus()
    await pilot.press("home", *["down"] * (row - 1), "enter")
    await pilot.pause()
    clock.wait(1)


def view_of(app: Gallery) -> ViewElement:
    (shown,) = app.elements
    assert isinstance(shown, ViewElement)
    return shown


@pytest.mark.parametrize("size", SIZES)
async def test_enter_on_a_row_offers_its_actions_and_a_digit_does_one(size: tuple[int, int]) -> None:
    app, clock = gallery("view-list")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "Enter on a row: Open, Drop, Rename", "1 Reload")
        await at_row(pilot, app, clock, 1)
        await shows(pilot, "1 Open   2 Drop   3 Rename", "› a.py · Esc back to the rows")
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 5, "open", "r0", None)])
        # The element's own actions stand there again, and the next key is the rows'.
        await shows(pilot, "1 Reload")
        assert isinstance(app.focused, ViewPanel)


async def test_a_row_offers_only_the_actions_that_it_has() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        await at_row(pilot, app, clock, 2)
        await shows(pilot, "1 Open")
        assert "Drop" not in text(app)
        await pilot.press("2")
        await pilot.pause()
        assert chosen(app) == []


async def test_a_row_without_actions_offers_nothing() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        await at_row(pilot, app, clock, 3)
        assert "1 Reload" in text(app)
        assert isinstance(app.focused, ViewPanel)


async def test_an_action_on_a_row_is_confirmed_and_a_held_enter_confirms_nothing() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        await at_row(pilot, app, clock, 4)
        await pilot.press("2")
        await shows(pilot, "! press again to confirm: the row goes away")
        await pilot.press("2")
        await pilot.pause()
        assert chosen(app) == []
        clock.wait(1)
        await pilot.press("2")
        await until(pilot, lambda: chosen(app) == [("files", 5, "drop", "r3", None)])


async def test_the_key_that_named_the_row_chooses_nothing_while_it_is_held() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        await pilot.pause()
        app.query_one(ViewPanel).focus()
        await pilot.press("home", "enter", "1")
        await pilot.pause()
        assert chosen(app) == []
        clock.wait(1)
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 5, "open", "r0", None)])


async def test_an_action_on_a_row_with_fields_sends_them() -> None:
    app, clock = gallery("view-list")
    async with app.run_test(size=(160, 48)) as pilot:
        await at_row(pilot, app, clock, 1)
        await pilot.press("3")
        await shows(pilot, "Name  required")
        await pilot.press(*"b.py", "enter", "enter")
        await until(pilot, lambda: chosen(app) == [("files", 5, "rename", "r0", {"name": "b.py"})])


async def test_escape_leads_back_step_by_step_and_sends_nothing() -> None:
    app, clock = gallery("view-list")
    async with app.run_test(size=(160, 48)) as pilot:
        await at_row(pilot, app, clock, 1)
        await pilot.press("3", "x", "escape")
        await shows(pilot, "3 Rename")
        assert isinstance(app.focused, ActionBar)
        await pilot.press("escape")
        await shows(pilot, "1 Reload")
        assert isinstance(app.focused, ViewPanel)
        assert chosen(app) == []


async def test_a_new_revision_is_what_is_sent_and_a_row_that_is_gone_offers_nothing() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        shown = view_of(app)
        await at_row(pilot, app, clock, 1)
        await app.side.show([msgspec.structs.replace(shown, revision=9)])
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 9, "open", "r0", None)])
        await at_row(pilot, app, clock, 1)
        await pilot.press("2")
        await shows(pilot, "press again to confirm")
        await app.side.show([msgspec.structs.replace(shown, revision=10, items=shown.items[1:])])
        await shows(pilot, "1 Reload")
        assert "press again" not in text(app)
        clock.wait(1)
        await pilot.press("2")
        await pilot.pause()
        assert len(chosen(app)) == 1


async def test_a_click_on_the_row_under_the_cursor_offers_its_actions() -> None:
    app, clock = gallery("view-list")
    async with app.run_test() as pilot:
        await shows(pilot, "a.py")
        panel = app.query_one(ViewPanel)
        row = next(y for y, line in enumerate(lines(app)) if "a.py" in line)
        for _ in range(2):
            await pilot.click(panel, offset=(3, row - panel.region.y))
        await shows(pilot, "1 Open")
        clock.wait(1)
        await pilot.press("1")
        await until(pilot, lambda: chosen(app) == [("files", 5, "open", "r0", None)])
