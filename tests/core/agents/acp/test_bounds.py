"""One bad or far too large member of a message costs that member: never the agent, never the turn."""

import asyncio

import msgspec
import pytest

from felan_core.agents.acp.agent_connection import EARLY_BYTES, AgentConnection, Times
from felan_core.agents.acp.clip import TOO_DEEP, bounded
from felan_core.agents.acp.rpc import RpcError
from felan_core.agents.acp.tools import ARGUMENT_BYTES, KEPT_BYTES, ToolBook
from felan_core.agents.acp.updates import COMMANDS_BYTES, MAX_COMPLAINTS
from felan_core.agents.backend import Refused, ToolPatch
from felan_core.protocol.base import LIMITS
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import ToolText
from tests.core.agents.acp.conftest import Stage
from tests.harness.acp.recorder import RecordingSession


async def play(stage: Stage, name: str) -> list[str]:
    """Two turns with the agent; the titles of the notices."""
    stage.scripted(name, file="hostile.py")
    assert await stage.backend.start(None)
    assert await stage.take_turn() == "completed"
    assert stage.session.said().endswith("alive")
    assert await stage.take_turn() == "completed"
    assert stage.session.said().endswith("alive again")
    return [call.title for call in stage.session.named("notice")]


async def test_of_more_commands_than_a_page_the_first_are_offered_and_it_is_said_once(stage: Stage) -> None:
    assert await play(stage, "many_commands") == ["Felan left out commands of the agent"]
    (offer,) = stage.session.named("offer")
    assert [command.name for command in offer.commands] == [f"skill-{number}" for number in range(256)]
    (notice,) = stage.session.named("notice")
    assert notice.text.startswith("It offers 257 commands, and the first 256 are listed.")


async def test_a_catalogue_of_megabytes_is_offered_with_short_descriptions(stage: Stage) -> None:
    assert await play(stage, "fat_commands") == []
    fat, same = stage.session.named("offer")
    assert len(fat.commands) == 200
    assert len(msgspec.json.encode(fat.commands)) <= COMMANDS_BYTES
    assert fat.commands[0].description.endswith("…")
    assert [command.name for command in same.commands] == ["same"]


async def test_what_is_nested_too_deep_is_cut_where_it_is(stage: Stage) -> None:
    assert await play(stage, "deep_output") == []
    output, arguments = stage.session.tools.values()
    (shown,) = output["content"]
    assert isinstance(shown, ToolText) and TOO_DEEP in shown.text
    assert TOO_DEEP in str(arguments["arguments"])


async def test_a_number_beyond_the_range_costs_itself_and_is_said_once(stage: Stage) -> None:
    assert await play(stage, "big_numbers") == ["Felan left out an exit code"]
    cards = list(stage.session.tools.values())
    assert len(cards) == 3
    for card in cards:
        assert "details" not in card and card["state"] == "completed"
        assert card["arguments"] == {"n": str(2**53)}
        assert str(2**60) in card["content"][0].text
    assert not stage.session.named("usage")


async def test_inputs_of_megabytes_are_cut_with_a_mark_and_not_kept_after_their_cards(stage: Stage) -> None:
    assert await play(stage, "fat_calls") == []
    cards = list(stage.session.tools.values())
    assert len(cards) == 12
    for card in cards:
        assert len(msgspec.json.encode(card["arguments"])) <= ARGUMENT_BYTES
        assert card["arguments"]["command"].endswith("…\n(7,737,856 more bytes are not kept)")


def test_what_all_calls_keep_together_has_a_bound_in_bytes() -> None:
    tools = ToolBook("1.")
    kept = "c" * (ARGUMENT_BYTES - 100)
    calls = []
    for number in range(20):
        call = tools.upsert({"toolCallId": str(number), "rawInput": {"command": kept}}, announced=True)
        assert call is not None and isinstance(patch := call.patch(), ToolPatch)
        assert patch.arguments == {"command": kept}
        calls.append(call)
    assert sum(call.size for call in calls) <= KEPT_BYTES
    assert calls[0].size == 0 and calls[-1].size > ARGUMENT_BYTES - 100
    # The card of a call that is not kept any more loses nothing by a later update.
    tools.upsert({"toolCallId": "0", "status": "completed"}, announced=False)
    patch = calls[0].patch()
    assert patch is not None and patch.state == "completed"
    assert patch.arguments is msgspec.UNSET and patch.content is msgspec.UNSET


def test_all_the_texts_and_changes_of_a_card_fit_its_entry() -> None:
    escaped = "\x1b" * 900_000
    update = {
        "toolCallId": "t",
        "rawInput": {"x": "\x1b" * 2_000_000},
        "content": [
            *({"type": "diff", "path": f"/{n}", "oldText": escaped, "newText": "n"} for n in range(9)),
            *({"type": "content", "content": {"type": "text", "text": escaped}} for _ in range(9)),
        ],
        "locations": [{"path": f"/{n}/" + "p" * 5000} for n in range(300)],
        "rawOutput": escaped,
    }
    call = ToolBook("1.").upsert(update, announced=True)
    assert call is not None
    patch = call.patch()
    assert len(msgspec.json.encode(msgspec.to_builtins(patch))) <= LIMITS.page_bytes
    assert "too much to show" in str(patch)


async def test_updates_before_the_session_are_kept_up_to_a_bound_and_the_rest_is_said(stage: Stage) -> None:
    assert await play(stage, "early_flood") == ["Felan left out updates that came before the session"]
    early = len(stage.session.said()) - len("alive again")
    assert 0 < early <= EARLY_BYTES and early % 60_000 == 0


async def test_ids_of_any_length_are_looked_up_and_not_kept(stage: Stage) -> None:
    stage.scripted("long_ids", file="hostile.py")
    await stage.backend.start(None)
    assert await stage.take_turn() == "completed"
    assert stage.session.only_tool()["state"] == "completed"
    (said,) = stage.session.named("text")
    assert said.text == "alive" and len(said.message) <= LIMITS.id_bytes
    assert stage.session.memory is None
    assert stage.session.named("notice")[0].title == "Felan left out the id of the agent's session"


async def test_a_line_beyond_all_measure_and_one_with_too_many_values_are_named(stage: Stage) -> None:
    titles = await play(stage, "too_large")
    assert titles[0] == f"Felan left out a message of {66 << 20:,} bytes"
    assert titles[1].startswith("Felan left out params.update.entries of a message of ")
    assert len(titles) == 2


class Refusing(RecordingSession):
    """Refuses what the agent puts up, as a session does that has no room for it."""

    async def show(self, element: Element) -> None:
        raise Refused("presentation: no room")

    async def tool(self, patch: ToolPatch) -> None:
        raise Refused("tool: no room")


async def test_what_the_session_refuses_is_said_once_and_the_agent_goes_on() -> None:
    session = Refusing(cwd="/")
    life = AgentConnection(session, Times(), 1)
    life.agent_session = "s"
    for update in (
        {"sessionUpdate": "plan", "entries": [{"content": "x"}]},
        {"sessionUpdate": "tool_call", "toolCallId": "t"},
    ):
        for _ in range(2):
            await life.notified("session/update", {"sessionId": "s", "update": update}, 10)
    await life.updates.end_turn("lost", "completed")
    assert [(call.title, call.text) for call in session.named("notice")] == [
        ("Felan left out an update of the kind plan", "presentation: no room"),
        ("Felan left out a change of a tool call", "tool: no room"),
    ]


async def test_complaints_end_after_a_while() -> None:
    session = RecordingSession(cwd="/")
    life = AgentConnection(session, Times(), 1)
    for number in range(100):
        await life.dropped(f"thing {number}")
    assert len(session.named("notice")) == MAX_COMPLAINTS


async def test_a_question_that_the_session_refuses_is_answered_with_an_error() -> None:
    session = RecordingSession(cwd="/")
    life = AgentConnection(session, Times(), 1)

    async def refuse(*_: object) -> None:
        raise Refused("no room")

    life.asking.permission = refuse  # pyright: ignore[reportAttributeAccessIssue] - in the place of the method
    with pytest.raises(RpcError, match="no room"):
        await life.requested("session/request_permission", {})
    assert session.named("notice")[0].title == "Felan left out a question of the agent"


def test_bounded_json_keeps_what_fits_as_it_is() -> None:
    value = {"a": [1, 2.5, True, None, "x"], "b": {"c": []}}
    assert bounded(value, 1000) == value
    assert bounded({"n": [2**53, -(2**53), 1e300, float("inf")]}, 1000) == {
        "n": [str(2**53), str(-(2**53)), "1e+300", "inf"]
    }


async def test_a_replay_that_goes_on_after_its_answer_is_no_part_of_the_next_answer(stage: Stage) -> None:
    stage.scripted("replays_late", file="hostile.py")
    assert await stage.backend.start({"sessionId": "s-1"})
    assert await stage.take_turn() == "completed"
    assert stage.session.said() == "alive"
    assert [command.name for command in stage.session.named("offer")[0].commands] == ["go"]


async def test_a_title_that_begins_with_the_context_is_no_name(stage: Stage) -> None:
    from felan_core.agents.backend import Turn

    stage.scripted("titles", file="hostile.py")
    await stage.backend.start(None)
    context = "Felan task pointer, revision 7: state DIRTY. What follows is for you alone."
    await asyncio.wait_for(stage.backend.turn(Turn(run="r", text="mend the bug", context=context)), 20)
    assert [call.values["name"] for call in stage.session.named("rename")] == ["mend the bug"]
