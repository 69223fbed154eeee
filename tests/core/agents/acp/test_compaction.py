"""An agent that compacts: the session hears it before and after, and the agent is told the pointer again."""

import json

import pytest

from felan_core.agents.backend import AgentError, Turn
from tests.core.agents.acp.conftest import Stage


async def compacting(stage: Stage, name: str) -> None:
    stage.scripted(name, file="compacting.py")
    assert await stage.backend.start(None)


async def test_a_compaction_is_raised_before_and_after_and_told_once_with_the_next_prompt(
    stage: Stage,
) -> None:
    await compacting(stage, "compacts")
    await stage.take_turn()
    raised = [call for call in stage.session.calls if call.name in ("compacting", "compacted")]
    assert [(call.name, *call.values.values()) for call in raised] == [
        ("compacting", "auto"),
        ("compacted", "All in all."),
    ]
    said = len(stage.session.said())
    await stage.backend.turn(Turn(run="r2", text="two", context="the prompt's own"))
    assert json.loads(stage.session.said()[said:]) == [
        "two",
        "\n\nthe pointer after 1\n\nthe prompt's own\n\n",
    ]


async def test_every_way_in_which_a_compaction_can_go(stage: Stage) -> None:
    await compacting(stage, "compacts")
    await stage.take_turn()
    for _ in range(3):
        await stage.take_turn()
    assert len(stage.session.named("compacting")) == 4
    assert [call.summary for call in stage.session.named("compacted")] == ["All in all.", "Bit by bit."]
    (failed,) = stage.session.named("notice")
    assert (failed.tone, failed.title, failed.text) == (
        "warning",
        "The agent could not compact its context",
        "out of tokens",
    )


async def test_a_compaction_in_a_command_of_the_agent_was_asked_for(stage: Stage) -> None:
    await compacting(stage, "compacts")
    await stage.session.until(lambda: stage.session.named("offer"))
    await stage.take_turn("/compact keep the names")
    assert [call.trigger for call in stage.session.named("compacting")] == ["manual"]
    said = len(stage.session.said())
    await stage.take_turn("/compact again")
    assert json.loads(stage.session.said()[said:]) == ["/compact again"]
    said = len(stage.session.said())
    await stage.take_turn("go on")
    assert json.loads(stage.session.said()[said:]) == ["go on", "\n\nthe pointer after 2\n\n"]
    assert [call.trigger for call in stage.session.named("compacting")][1:] == ["manual", "auto"]


async def test_a_turn_ends_where_the_pointer_cannot_be_read_after_a_compaction(stage: Stage) -> None:
    await compacting(stage, "compacts_at_once")
    stage.session.recovery_fails = True
    with pytest.raises(AgentError, match="cannot be read") as caught:
        await stage.take_turn()
    assert caught.value.details == "STATE_INVALID"
    assert await stage.take_turn() == "completed"
    await stage.session.until(lambda: stage.session.named("notice"))
    (late,) = stage.session.named("notice")
    assert (late.tone, late.text) == ("error", "STATE_INVALID")
