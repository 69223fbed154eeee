"""Rows of a view and every kind of field, from an agent to the screen and back."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.protocol.elements import (
    Action,
    Column,
    Form,
    FormButton,
    MultiSelectField,
    NumberField,
    Option,
    ViewElement,
    ViewItem,
    ViewPage,
)
from felan_core.protocol.interactions import FormRequest
from felan_tui.elements.view import ViewPanel
from tests.core.agents.rehearsal.test_on_a_host import Rehearsing
from tests.core.host.rig import Puppet, Stagehand
from tests.tui.screens.stage import Stage, forever, stage

FIELDS = [
    NumberField(id="count", label="How many", integer=True, min=1, max=9, required=True),
    MultiSelectField(
        id="hosts", label="Hosts", options=[Option(id="a", label="Alder"), Option(id="b", label="Birch")]
    ),
]
TABLE = ViewElement(
    id="table",
    revision=1,
    title="Findings",
    layout="table",
    columns=[Column(id="name", label="Name", type="string")],
    items=[
        ViewItem(id="one", fields={"name": "alpha"}),
        ViewItem(id="two", fields={"name": "beta"}, actions=["fix"]),
    ],
    page=ViewPage(index=0, size=10, has_more=False),
    actions=[
        Action(id="open", label="Open", scope="item"),
        Action(id="fix", label="Fix", scope="item", confirm="It cannot be undone", fields=FIELDS),
    ],
)


async def at_the_rows(on: Stage) -> None:
    await on.say("begin")
    await on.runs()
    await on.puppet.session.show(TABLE)
    await on.sees("Findings", "Enter on a row: Open, Fix")
    on.app.screen.query_one(ViewPanel).focus()


async def test_an_action_on_a_row_reaches_the_agent_with_the_row(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[forever])
    async with stage(tmp_path, hand, size=(160, 48)) as on:
        await on.attached()
        await at_the_rows(on)
        await on.pilot.press("home", "enter")
        await on.sees("1 Open   2 Fix", "› alpha")
        await on.settle_card()
        await on.pilot.press("1")
        await on.until(lambda: hand.acts == [("table", "open", "one", {})])


async def test_an_action_on_a_row_is_filled_in_confirmed_and_sent_once(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[forever])
    async with stage(tmp_path, hand, size=(160, 48)) as on:
        await on.attached()
        await at_the_rows(on)
        await on.pilot.press("end", "enter")
        await on.sees("1 Fix", "› beta")
        await on.settle_card()
        await on.pilot.press("1")
        await on.sees("How many  required  whole number, 1 to 9")
        await on.pilot.press("4", "tab", "2", "enter", "enter")
        await on.sees("press again to confirm: It cannot be undone")
        assert hand.acts == []
        await on.settle_card()
        await on.pilot.press("1")
        await on.until(lambda: hand.acts == [("table", "fix", "two", {"count": 4, "hosts": ["b"]})])


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_form_of_numbers_and_several_options_is_answered_with_the_keyboard(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    answers: list[Any] = []

    async def asks(puppet: Puppet, turn: Turn) -> TurnOutcome:
        form = Form(
            title="Rollout",
            fields=FIELDS,
            submit=FormButton(id="go", label="Roll out"),
            cancel=FormButton(id="no", label="Not now"),
        )
        answers.append(msgspec.to_builtins(await puppet.session.ask(FormRequest(form=form))))
        return "completed"

    async with stage(tmp_path, Stagehand(scripts=[asks]), size=size) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("Rollout", "How many  required")
        await on.pilot.press("f2")
        await on.settle_card()
        await on.pilot.press("7", "tab", "1", "2", "enter", "enter")
        await on.until(lambda: answers)
        assert answers == [{"action": "go", "values": {"count": 7, "hosts": ["a", "b"]}}]


async def test_an_action_on_a_row_of_the_rehearsal_changes_the_row_on_the_screen(tmp_path: Path) -> None:
    async with stage(tmp_path, Rehearsing(), size=(160, 48)) as on:
        await on.attached()
        await on.say("/elements")
        await on.sees("Releases", "1.1.0-rc1", "Enter on a row: Look at it, Call it stable, Yank")
        on.app.screen.query_one(ViewPanel).focus()
        await on.pilot.press("home", "down", "enter")
        await on.sees("› 1.1.0-rc1", "3 Yank")
        await on.settle_card()
        await on.pilot.press("3")
        await on.sees("Reason  required")
        await on.pilot.press(*"bug", "enter", "enter")
        await on.sees("press again to confirm: Take this release back?")
        await on.settle_card()
        await on.pilot.press("3")
        await on.sees("You took release 2 back: bug.")
        await on.sees_no("1.1.0-rc1")
