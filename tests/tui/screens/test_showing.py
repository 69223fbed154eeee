"""What an agent puts on the screen besides words: elements, the header, the pointer, errors, hostile text."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import AgentGone, ToolPatch, Turn, TurnOutcome
from felan_core.protocol.elements import (
    Action,
    Column,
    DocumentElement,
    ProgressElement,
    StatusElement,
    ViewElement,
    ViewItem,
    ViewPage,
)
from felan_core.protocol.entries import ToolDiff, ToolText
from felan_core.protocol.interactions import ApprovalRequest, FormRequest, InputRequest, SelectRequest
from felan_tui.session.start import Start
from tests.core.host.rig import Puppet, Stagehand
from tests.tui.screens.stage import SIZES, Stage, forever, says, stage, work

DOCUMENT = DocumentElement(
    id="doc", revision=1, title="The plan", markdown="# Heading one\n\nSome **bold** words and `code`."
)
TABLE = ViewElement(
    id="table",
    revision=1,
    title="Findings",
    layout="table",
    columns=[Column(id="name", label="Name", type="string"), Column(id="n", label="Count", type="number")],
    items=[ViewItem(id="a", fields={"name": "alpha", "n": 3}), ViewItem(id="b", fields={"name": "beta"})],
    page=ViewPage(index=0, size=10, has_more=False),
    actions=[Action(id="again", label="Look again", scope="element")],
)


async def show(on: Stage, *elements: Any) -> None:
    await on.say("begin")
    await on.runs()
    for element in elements:
        await on.puppet.session.show(element)


@pytest.mark.parametrize("size", SIZES)
async def test_status_and_progress_stand_above_the_composer(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever]), size=size) as on:
        await on.attached()
        await show(
            on,
            StatusElement(id="s", revision=1, title="Index", text="warming up", tone="info"),
            ProgressElement(id="p", revision=1, label="Copying", state="running", value=5, total=10),
        )
        await on.sees("Index: warming up", "Copying", "50%")
        rows = [
            next(i for i, row in enumerate(on.lines) if text in row) for text in ("Copying", "Enter steer")
        ]
        assert rows[0] < rows[1]
        await on.puppet.session.remove("s")
        await on.sees_no("Index: warming up")


async def test_a_wide_screen_shows_documents_beside_the_transcript(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever]), size=(160, 48)) as on:
        await on.attached()
        await show(on, DOCUMENT)
        await on.sees("The plan", "Heading one", "Some bold words and code", "I am at it.", "F5 side pane")
        assert "**bold**" not in on.text
        assert on.composer.area.has_focus
        await on.pilot.press("f5")
        assert not on.composer.area.has_focus
        await on.pilot.press("f5")
        await on.sees_no("Heading one")
        assert on.composer.area.has_focus
        await on.pilot.press("f5")
        await on.sees("Heading one")


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_a_narrow_screen_gives_the_side_pane_all_of_it_when_asked(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever]), size=size) as on:
        await on.attached()
        await show(on, DOCUMENT)
        await on.sees("I am at it.", "F5 The plan")
        assert "Heading one" not in on.text
        await on.pilot.press("f5")
        await on.sees("Heading one", "Some bold words and code")
        assert "I am at it." not in on.text
        await on.pilot.press("escape")
        await on.sees("I am at it.")
        assert on.composer.area.has_focus and on.link.state.run is not None
        await on.pilot.press("f5")
        await on.sees("Heading one")
        await on.puppet.session.remove("doc")
        await on.sees("I am at it.")


async def test_a_side_pane_that_had_the_screen_stands_beside_the_transcript_once_there_is_room(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever]), size=(80, 24)) as on:
        await on.attached()
        await show(on, DOCUMENT)
        await on.sees("I am at it.", "F5 The plan")
        await on.pilot.press("f5")
        await on.sees("Heading one")
        await on.pilot.resize_terminal(160, 48)
        await on.sees("Heading one", "I am at it.")
        await on.pilot.press("f5")
        await on.sees_no("Heading one")
        assert on.composer.area.has_focus


async def test_an_action_of_a_table_reaches_the_agent(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever]), size=(160, 48)) as on:
        await on.attached()
        await show(on, TABLE)
        await on.sees("Findings", "alpha", "beta", "Count", "Look again")
        y = next(i for i, row in enumerate(on.lines) if "Look again" in row)
        await on.settle_card()
        await on.pilot.click(offset=(on.lines[y].index("Look again") + 2, y))
        await on.until(lambda: on.hand.acts)
        assert on.hand.acts[0][:2] == ("table", "again")


async def test_f5_says_when_there_is_nothing_to_show(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.pilot.press("f5")
        await on.sees("There is no document and no table")


async def test_header_and_pointer_follow_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[forever])) as on:
        await on.attached()
        await on.sees("felan  work", "Puppet")
        await on.say("begin")
        await on.runs()
        await on.puppet.session.rename("Mend the login")
        await on.puppet.session.publish_pointer("Goal: mend the login. Next: tests.")
        await on.sees("felan  Mend the login", "● CLEAN", "Goal: mend the login.")


async def test_an_agent_that_dies_is_said_and_the_session_goes_on(tmp_path: Path) -> None:
    async def dies(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "Half a sen")
        raise AgentGone("The agent ended with exit code 3", "Traceback (most recent call last): [red]boom")

    hand = Stagehand(scripts=[dies, says("Here again.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("Half a sen", "The agent ended with exit code 3")
        await on.sees("✗ failed")
        await on.say("go on")
        await on.sees("Here again.")


async def test_an_edit_is_one_row_and_shows_its_diff_when_it_is_opened(tmp_path: Path) -> None:
    async def edits(puppet: Puppet, turn: Turn) -> TurnOutcome:
        diff = ToolDiff(path="a.py", old="one\n", new="two\n")
        patch = ToolPatch("k", name="edit", category="edit", title="a.py", state="running", content=[diff])
        await puppet.session.tool(patch)
        await gate.wait()
        await puppet.session.tool(ToolPatch("k", state="completed"))
        bash = ToolPatch("b", name="bash", category="execute", title="ls", state="completed")
        await puppet.session.tool(bash)
        await puppet.session.tool(ToolPatch("b", content=[ToolText(text="file-1\nfile-2")]))
        return "completed"

    gate = asyncio.Event()
    async with stage(tmp_path, Stagehand(scripts=[edits])) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("a.py", "+1 −1")
        assert "two" not in on.text
        gate.set()
        await on.sees("✓ edit", "✓ bash  ls")
        assert "file-1" not in on.text and "two" not in on.text
        await on.pilot.press("f6", "up", "enter")
        await on.sees("two", "one")
        await on.pilot.press("down", "enter")
        await on.sees("file-1", "file-2")
        await on.pilot.press("y")
        await on.until(lambda: "file-2" in on.app.clipboard)
        await on.pilot.press("escape")
        assert on.composer.area.has_focus


async def answer_current(on: Stage, asked: list[str]) -> None:
    """Answer the first question: by its first choice, or where it wants more than a key, as a client does."""
    current = next(one for one in on.link.state.interactions.values() if one.state == "waiting")
    asked.append(current.id)
    match current.request:
        case InputRequest():
            await on.link.answer(current.id, {"text": "[red]x"})
        case SelectRequest() as request:
            await on.link.answer(current.id, {"options": [request.options[0].id]})
        case FormRequest() as request:
            await on.link.answer(current.id, {"action": request.form.cancel.id})
        case ApprovalRequest() as request if len(asked) > 2:
            await on.link.answer(current.id, {"option": request.options[0].id})
        case _:
            await on.pilot.press("f2")
            await on.settle_card()
            await on.pilot.press("1")
    await on.until(lambda: on.link.state.interactions[current.id].state != "waiting")


@pytest.mark.timeout(240)  # a megabyte without a break, on a busy machine
async def test_hostile_text_of_every_kind_does_no_harm(tmp_path: Path) -> None:
    from felan_core.agents.rehearsal.backend import create

    (tmp_path / "work").mkdir()
    settings = {"agent.backend": "rehearsal", "rehearsal.pace": 0}
    start = Start(kind="agent", cwd=work(tmp_path), settings=settings, prompt="/hostile")
    agents = {"rehearsal": lambda: create}
    async with stage(tmp_path, start=start, agents=agents, size=(100, 40)) as on:
        await on.until(lambda: on.link is not None and len(on.link.state.entries) > 2)
        asked: list[str] = []
        while on.link.state.run is not None or not asked:
            await on.pilot.pause(0.2)
            if on.session._view.can_answer:
                await answer_current(on, asked)
            assert len(asked) < 40
            assert not on.app._exit, "something on the screen quit the app"
            joined = on.text
            assert not any(ord(char) < 32 and char != "\n" for char in joined), "a control character is shown"
            assert not any(char in joined for char in "\x7f\x9b\u202e\u2066"), "an unsafe character is shown"
        await on.pilot.press("pageup", "f5", "escape", "f3", "escape", "f7")
        assert on.app.is_running
