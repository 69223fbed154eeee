import json

import pytest

from felan_core.agents.acp.backend import WAITING_BYTES, AcpBackend, create
from felan_core.agents.acp.clip import BODY_BYTES
from felan_core.agents.backend import AgentError, AgentGone, Message, Turn
from felan_core.protocol.base import LIMITS
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.entries import ToolText
from felan_core.protocol.interactions import ApprovalRequest, FormAnswer
from felan_core.protocol.operations import Image
from tests.core.agents.acp.conftest import Stage
from tests.harness.acp.recorder import Question
from tests.harness.acp.traffic import Traffic


async def test_null_is_taken_for_absent_everywhere(stage: Stage) -> None:
    assert await stage.play("nulls") == "completed"
    assert stage.session.said() == "still here"
    card = stage.session.only_tool()
    assert (card["title"], card["category"], card["state"]) == ("Look", "other", "completed")
    assert stage.session.named("offer")[0].commands[0].name == "go"
    assert not stage.session.named("usage") and not stage.session.named("rename")


async def test_a_line_of_megabytes_arrives_and_what_is_kept_is_cut_with_a_mark(stage: Stage) -> None:
    assert await stage.play("long_line") == "completed"
    assert len(stage.session.said()) == 5_000_000
    card = stage.session.only_tool()
    assert card["title"].endswith("…") and len(card["title"].encode()) <= LIMITS.label_bytes
    (shown,) = card["content"]
    assert shown.text.startswith("zzz") and len(shown.text) < BODY_BYTES + 100
    assert "more bytes are not kept" in shown.text


async def test_lines_that_are_no_messages_are_skipped(stage: Stage) -> None:
    assert await stage.play("garbage") == "completed"
    assert stage.session.said() == "sane"
    with pytest.raises(AgentGone) as caught:
        await stage.take_turn()
    assert "that were no ACP message: 8;" in caught.value.details
    assert '{"no":"message"}' in caught.value.details


async def test_halves_of_a_surrogate_pair_and_broken_utf8_become_replacement_characters(stage: Stage) -> None:
    await stage.play("half_pairs")
    assert stage.session.said() == "a\ufffd\ufffdb\ufffd!"


async def test_an_update_of_a_call_that_was_never_announced_makes_its_card(stage: Stage) -> None:
    await stage.play("update_first")
    card = stage.session.only_tool()
    assert (card["state"], card["content"]) == ("completed", [ToolText(text="done\n")])


async def test_what_is_still_open_at_the_end_of_a_turn_is_closed_as_lost(stage: Stage) -> None:
    await stage.play("leaves_tools_open")
    lost, told = sorted(stage.session.tools.values(), key=lambda card: card["title"])
    assert (lost["title"], lost["state"], lost["details"].reason) == ("Never told", "interrupted", "lost")
    assert told["state"] == "completed"


async def test_an_id_that_is_used_again_in_a_later_turn_gets_a_card_of_its_own(stage: Stage) -> None:
    await stage.play("numbers_tools_anew")
    await stage.take_turn()
    assert [card["title"] for card in stage.session.tools.values()] == ["first", "second"]


async def test_the_output_of_a_command_is_read_from_the_meta_members(stage: Stage) -> None:
    await stage.play("terminal_output")
    card = stage.session.only_tool()
    assert card["content"] == [ToolText(text="one\ntwo\n")]
    assert (card["name"], card["state"], card["details"].exit_code) == ("exec_command", "failed", 3)


async def test_updates_that_come_before_the_session_has_an_id_are_kept_for_it(stage: Stage) -> None:
    await stage.play("early_updates")
    assert [command.name for command in stage.session.named("offer")[0].commands] == ["early"]
    assert stage.session.named("rename")[0].values["name"] == "Early title"


async def test_unknown_kinds_are_ignored_and_content_that_is_no_text_is_named(stage: Stage) -> None:
    assert await stage.play("other_kinds") == "completed"
    said = stage.session.said()
    assert "a (file:///a)" in said and "(image, image/png, 3 bytes)" in said and "'hologram'" in said
    assert "not for you" not in said
    notices = [(call.tone, call.title) for call in stage.session.named("notice")]
    assert notices[:2] == [("warning", "Careful"), ("info", "Hm")]
    assert notices[2] == ("warning", "The answer was cut short")
    assert stage.session.only_tool()["category"] == "other"


async def test_a_plan_is_a_view_that_goes_when_all_is_done_and_the_turn_is_over(stage: Stage) -> None:
    await stage.play("plans")
    view = stage.session.elements["acp.plan"]
    assert isinstance(view, ViewElement)
    assert [item.fields["status"] for item in view.items] == ["completed", "in progress"]
    assert [column.id for column in view.columns] == ["step", "status", "priority"]
    shown, seen = stage.session.named("show"), len(stage.session.calls)
    await stage.take_turn()
    assert len(shown) == 2 and not stage.session.elements
    names = [call.name for call in stage.session.calls[seen:]]
    assert names.index("show") < names.index("text") < names.index("remove")


async def test_a_plan_in_between_starts_a_new_message(stage: Stage) -> None:
    await stage.play("plans")
    names = [call.name for call in stage.session.calls if call.name in ("text", "end_message")]
    assert names == ["end_message", "text", "end_message", "text", "end_message"]


async def test_requests_for_files_and_terminals_are_refused_as_unknown(stage: Stage) -> None:
    await stage.play("asks_for_files")
    assert stage.session.said() == "-32601 " * 4


async def test_nothing_is_offered_that_we_do_not_do(stage: Stage) -> None:
    await stage.play("leaves_tools_open")
    (hello,) = stage.traffic.sent("initialize")
    assert hello["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    }
    (new,) = stage.traffic.sent("session/new")
    assert new["params"] == {"cwd": stage.session.cwd, "mcpServers": []}


async def test_the_agent_gets_the_environment_the_session_and_a_group_of_its_own(stage: Stage) -> None:
    stage.scripted("environment")
    stage.put_up(stage.backend._command, MARK="kept")  # pyright: ignore[reportPrivateUsage] - the same command
    await stage.backend.start(None)
    await stage.take_turn()
    told = json.loads(stage.session.said())
    assert told == {"id": "ses_recorded", "mark": "kept", "cwd": stage.session.cwd, "group": True}


async def test_context_follows_the_text_and_where_that_is_a_command_the_next_one(
    stage: Stage,
) -> None:
    backend = stage.scripted("prompt_blocks")
    await backend.start(None)
    await stage.session.until(lambda: stage.session.named("offer"))
    for text in ("look", "/review all", "/review more", "/etc/hosts is odd", "and now"):
        await backend.turn(Turn(run="r", text=text, context=f"for {text[-4:]}"))
    sent = [[block["text"] for block in message["params"]["prompt"]] for message in prompts(stage)]
    assert sent == [
        ["look", "\n\nfor look\n\n"],
        ["/review all"],
        ["/review more"],
        ["/etc/hosts is odd", "\n\nfor  all\n\nfor more\n\nfor  odd\n\n"],
        ["and now", "\n\nfor  now\n\n"],
    ]


async def test_of_what_waits_behind_commands_the_newest_is_kept(stage: Stage) -> None:
    backend = stage.scripted("prompt_blocks")
    await backend.start(None)
    await stage.session.until(lambda: stage.session.named("offer"))
    for number in range(3):
        await backend.turn(Turn(run="r", text="/review", context=f"{number}" + "é" * 20_000 + f"{number}"))
    await backend.turn(Turn(run="r", text="go"))
    told = prompts(stage)[-1]["params"]["prompt"][1]["text"].strip()
    assert len(told.encode()) <= WAITING_BYTES and told.endswith("é2") and "1\n\n2é" in told


async def test_images_go_to_an_agent_that_takes_them_and_are_named_where_it_does_not(stage: Stage) -> None:
    turn = Turn(run="r", text="look", images=[Image(media_type="image/png", data="AAAA")])
    backend = stage.scripted("prompt_blocks")
    await backend.start(None)
    await backend.turn(turn)
    assert [block["type"] for block in prompts(stage)[0]["params"]["prompt"]] == ["text"]
    assert stage.session.named("notice")[0].title == "scripted takes no images"
    await backend.close()
    stage.scripted("prompt_blocks", words=["images"])
    await stage.backend.start(None)
    await stage.backend.turn(turn)
    assert prompts(stage)[1]["params"]["prompt"][1] == {
        "type": "image",
        "mimeType": "image/png",
        "data": "AAAA",
    }


async def test_an_agent_that_wants_a_login_is_named_with_its_ways(stage: Stage) -> None:
    backend = stage.scripted("login_first")
    with pytest.raises(AgentError, match=r"scripted requires a login\.") as caught:
        await backend.start(None)
    assert not isinstance(caught.value, AgentGone)
    assert caught.value.title == "Login required"
    assert caught.value.advice.splitlines() == [
        "Ways to log in:",
        "- Log in: Run `scripted login`",
        "Then send the message again.",
    ]


async def test_a_login_that_is_wanted_at_the_prompt_leaves_the_agent_alive(stage: Stage) -> None:
    backend = stage.scripted("login_at_prompt")
    await backend.start(None)
    with pytest.raises(AgentError, match="requires a login"):
        await stage.take_turn()
    assert await stage.take_turn() == "completed"


async def test_a_refused_prompt_says_what_the_agent_said(stage: Stage) -> None:
    backend = stage.scripted("refuses")
    await backend.start(None)
    with pytest.raises(AgentError, match="Internal error") as caught:
        await stage.take_turn()
    assert "the model is on holiday" in caught.value.details
    assert await stage.take_turn() == "completed"


async def test_an_agent_that_has_forgotten_the_session_starts_without_memory(stage: Stage) -> None:
    backend = stage.scripted("forgets")
    assert await backend.start({"sessionId": "s-old"}) is False
    assert stage.session.memory is None, "the session that could not be loaded is not forgotten"
    (notice, _) = stage.session.named("notice")
    assert notice.title == "scripted could not take up its earlier session"
    assert notice.text == "scripted refused session/resume: Internal error"
    tried = [message["method"] for message in stage.traffic.ours()]
    assert tried == ["initialize", "session/resume", "session/load", "session/new"]
    assert await stage.take_turn() == "completed"
    assert prompts(stage)[0]["params"]["sessionId"] == "s-new"
    assert stage.session.memory == {"sessionId": "s-new", "earlier": "s-old"}
    await backend.close()
    await backend.start(stage.session.memory)
    tried = [message["params"]["sessionId"] for message in stage.traffic.sent("session/load")]
    assert tried == ["s-old", "s-new", "s-old"]


async def test_starting_again_what_runs_changes_nothing(stage: Stage) -> None:
    backend = stage.scripted("prompt_blocks")
    assert await backend.start(None) and await backend.start({"sessionId": "other"})
    assert len(stage.traffic.sent("initialize")) == 1


async def test_what_acp_has_not_is_not_among_the_abilities(stage: Stage) -> None:
    backend = stage.scripted("prompt_blocks")
    can = backend.abilities
    assert not any((can.steer, can.models, can.thinking, can.compact, can.strict_policy, can.deferrable))
    with pytest.raises(AgentError):
        await backend.steer(Message("left"))
    with pytest.raises(AgentError):
        await backend.act("acp.plan", "x", None, {})


def test_a_backend_is_made_from_its_settings_and_refused_without_a_command(stage: Stage) -> None:
    made = create(stage.session, {"agent.command": "opencode acp"})
    stage.backend = AcpBackend(stage.session, "opencode acp")
    assert (made.kind, made.name) == ("acp", "opencode acp")
    for settings in ({}, {"agent.command": " "}, {"agent.command": 3}):
        with pytest.raises(AgentError, match=r"agent\.command"):
            create(stage.session, settings)


@pytest.mark.parametrize(
    "name", ["nulls", "unknown_tool", "big_form", "odd_forms", "asks_for_files", "empty_question", "plans"]
)
async def test_all_that_we_send_is_valid_by_the_schema_of_the_protocol(stage: Stage, name: str) -> None:
    def rule(question: Question) -> None:
        if isinstance(question.request, ApprovalRequest):
            question.choose("allow_once")
        else:
            question.answer(FormAnswer(action="submit", values={"size": "s", "count": 3}))

    await stage.play(name, rule)
    assert not stage.traffic.violations("c2a")
    assert len(stage.traffic.ours()) >= 3


def test_the_check_of_the_schema_finds_what_is_wrong() -> None:
    traffic = Traffic()
    for message in (
        {"jsonrpc": "2.0", "id": 0, "method": "session/new", "params": {"cwd": "/x"}},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {}},
        {"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/steer", "params": {}},
    ):
        traffic("c2a", json.dumps(message).encode())
    assert len(traffic.violations("c2a")) == 5


def prompts(stage: Stage) -> list[dict]:
    return stage.traffic.sent("session/prompt")
