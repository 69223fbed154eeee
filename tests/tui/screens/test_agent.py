"""`/agent`: back to the start card, and another agent for a new session; and commands that nobody has."""

from pathlib import Path
from typing import Any

import pytest

from felan_core.protocol.session import Command
from felan_tui.actions import unknown_command
from felan_tui.preferences import AgentChoice, read_agent
from felan_tui.session.start import Start
from tests.core.agents.rehearsal.test_on_a_host import Rehearsing
from tests.core.host.rig import Stagehand
from tests.tui.screens.stage import SIZES, Stage, asks, confirm, says, stage, work
from tests.tui.screens.test_clearing import cleared, rows

QUESTION = "Which agent should work here?"


async def at_the_card(on: Stage) -> None:
    await on.say("/agent")
    await on.sees(QUESTION, "Esc back")


@pytest.mark.parametrize("size", SIZES)
async def test_another_agent_has_a_new_session_and_what_is_written_stays(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    hand = Stagehand(scripts=[says("I said this.")])
    agents = {"rehearsal": lambda: Rehearsing().create}
    async with stage(tmp_path, hand, size=size, agents=agents) as on:
        await on.attached()
        old = on.link.id
        await on.say("first things")
        await on.sees("I said this.")
        await on.idle()
        await at_the_card(on)
        assert on.link.id == old and hand.closed == 0
        on.composer.set_draft("half a thought")
        await on.pilot.press("1")
        fresh = await cleared(on, old)
        await on.sees("Rehearsal", "Write what is to be done")
        listed = await rows(on)
        assert (listed[old].state, listed[fresh].state) == ("closed", "idle")
        assert listed[fresh].cwd == listed[old].cwd
        assert on.composer.text == "half a thought" and on.composer.area.has_focus
        await on.until(lambda: read_agent(tmp_path / "data") == AgentChoice("rehearsal"))


async def test_esc_leads_back_and_nothing_has_ended(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[asks(confirm("May I?"), [])])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        old = on.link.id
        await on.say("go")
        await on.sees("May I?")
        await at_the_card(on)
        await on.pilot.press("escape")
        await on.sees("May I?", "F2 answer")
        assert on.link.id == old and on.link.state.run is not None
        assert read_agent(tmp_path / "data") is None


async def test_what_runs_or_waits_is_asked_about_before_it_ends(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[asks(confirm("May I?"), [])])
    agents = {"rehearsal": lambda: Rehearsing().create}
    async with stage(tmp_path, hand, agents=agents) as on:
        await on.attached()
        old = on.link.id
        await on.say("go")
        await on.sees("May I?")
        await at_the_card(on)
        await on.pilot.press("1")
        await on.sees("Change the agent now?", "a turn is running", "1 question", "closed and kept")
        await on.pilot.press("1")
        await on.sees("May I?")
        assert on.link.id == old and on.link.state.run is not None
        await at_the_card(on)
        await on.pilot.press("1")
        await on.sees("Change the agent now?")
        await on.pilot.press("2")
        await cleared(on, old)
        await on.sees_no("May I?")


async def test_an_agent_that_the_host_refuses_leaves_the_session_as_it_is(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[says("Still here.")])) as on:
        await on.attached()
        old = on.link.id
        await at_the_card(on)
        await on.pilot.press("1")
        await on.sees("Agent not changed", "agent.backend")
        assert on.link.id == old and read_agent(tmp_path / "data") is None
        await on.say("two")
        await on.sees("Still here.")


async def test_a_remembered_secret_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    stored = '[agent]\nkind = "acp"\ncommand = "python3 --api-key hunter2hunter2"\n'
    (tmp_path / "data" / "felan.toml").write_text(stored)
    async with stage(tmp_path, start=Start(kind="ask", cwd=work(tmp_path))) as on:
        await on.sees(QUESTION, "holds a secret (the value of api-key)")
        await on.pilot.press("2")
        await on.sees("opencode acp")
        assert "hunter2" not in on.text


def test_a_command_that_nobody_has_is_told_from_text() -> None:
    known = ["tour", "/edit", "mcp:search"]
    for text in (
        "/tour",
        "/edit now",
        "/mcp:search x",
        "/clear",
        "/etc/hosts is wrong",
        " /nosuch",
        "a /b",
        "/",
    ):
        assert unknown_command(text, known) == "", text
    assert unknown_command("/edti the file", known).startswith(
        "There is no command /edti. Did you mean /edit?"
    )
    assert unknown_command("/agents", known).startswith("There is no command /agents. Did you mean /agent?")
    assert "Did you mean" not in unknown_command("/zzz", known)
    assert unknown_command("/zzz", []) == "", "an agent that lists none may have some"


async def test_a_command_that_nobody_has_stays_in_the_composer(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[says("I read it.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.until(lambda: on.hand.puppets and on.link.state.header.agent.state == "ready")
        await on.puppet.session.offer(commands=[Command(name="deploy", description="ships it")])
        await on.until(lambda: on.link.state.catalogue.commands)
        await on.say("/deplyo now")
        await on.sees("There is no command /deplyo. Did you mean /deploy?")
        assert on.composer.text == "/deplyo now" and not hand.turns
        await on.say(" /deplyo now")
        await on.sees("I read it.")
        texts: list[Any] = [turn.text for turn in hand.turns]
        assert texts == [" /deplyo now"]
