import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec

from felan_core.agents.acp.questions import permission
from felan_core.agents.acp.tools import ToolCall
from felan_core.agents.backend import Withdrawn
from felan_core.protocol.elements import (
    BooleanField,
    EnumField,
    MultiSelectField,
    NumberField,
    Option,
    StringField,
)
from felan_core.protocol.entries import ToolDiff
from felan_core.protocol.interactions import ApprovalRequest, DiffSubject, FormAnswer, FormRequest
from tests.core.agents.acp.conftest import Stage
from tests.harness.acp.recorder import Question


def choosing(effect: str, **more: Any) -> Callable[[Question], None]:
    return lambda question: question.choose(effect, **more)


async def test_a_permission_for_an_unknown_call_makes_its_card_and_asks_with_the_diff(stage: Stage) -> None:
    assert await stage.play("unknown_tool", choosing("allow_once")) == "completed"
    (question,) = stage.session.questions
    request = question.request
    assert isinstance(request, ApprovalRequest) and question.tool is not None
    assert request.title == "Write made.txt"
    assert request.subject.category == "edit" and request.subject.paths == ["/x/made.txt"]
    assert request.subject.diff == [DiffSubject(path="/x/made.txt", new="hi\n")]
    card = stage.session.tools[question.tool]
    assert card["content"] == [ToolDiff(path="/x/made.txt", new="hi\n")]
    assert stage.session.states(question.tool)[0] == "running"


async def test_options_are_sorted_by_effect_and_have_the_names_that_the_agent_gave_them(stage: Stage) -> None:
    await stage.play("unknown_tool", choosing("allow_always"))
    request = stage.session.questions[0].request
    assert isinstance(request, ApprovalRequest)
    assert [option.effect for option in request.options] == ["allow_once", "allow_always", "reject_once"]
    assert request.options[1].label == "Do allow_always"
    chosen = json.loads(stage.session.said())["result"]["outcome"]
    assert chosen == {"outcome": "selected", "optionId": "o-allow_always"}


async def test_a_reject_fails_the_call_also_when_the_agent_says_nothing_more(stage: Stage) -> None:
    await stage.play("says_nothing_after_reject", choosing("reject_once"))
    card = stage.session.only_tool()
    assert (card["state"], card["details"].reason) == ("failed", "rejected")
    names = [call.name for call in stage.session.calls]
    assert names.index("ask") < len(names) - 1 - names[::-1].index("tool") < names.index("text")


async def test_a_command_given_as_words_is_shown_as_one_would_type_it(stage: Stage) -> None:
    await stage.play("says_nothing_after_reject", choosing("reject_once"))
    request = stage.session.questions[0].request
    assert isinstance(request, ApprovalRequest) and request.subject.command == "rm -r 'my dir'"


async def test_a_note_goes_to_the_agent_with_the_next_prompt_and_the_person_is_told(stage: Stage) -> None:
    await stage.play("says_nothing_after_reject", choosing("reject_once", note="use trash-cli"))
    (notice,) = stage.session.named("notice")
    assert "next message" in notice.title and notice.text == "use trash-cli"
    await stage.take_turn("go on")
    blocks = json.loads(stage.session.said().partition("blocks: ")[2])
    assert len(blocks) == 2 and "use trash-cli" in blocks[1] and "'Run'" in blocks[1]
    assert blocks[0] == "go on" and blocks[1].endswith("\n\n")


async def test_a_question_without_answers_is_answered_as_cancelled_and_told(stage: Stage) -> None:
    await stage.play("empty_question")
    assert not stage.session.questions
    outcome, _, code = stage.session.said().partition("}}}")
    assert '"outcome": "cancelled"' in outcome and code == "-32602"
    assert "offers no answer" in stage.session.named("notice")[0].title


async def test_the_agent_withdraws_its_own_question(stage: Stage) -> None:
    await stage.play("withdraws")
    assert stage.session.questions[0].withdrawn == "the agent withdrew the question"
    assert json.loads(stage.session.said())["error"]["code"] == -32800


async def test_a_question_that_is_withdrawn_in_the_same_breath_is_answered_too(stage: Stage) -> None:
    await stage.play("withdraws_at_once")
    assert json.loads(stage.session.said())["error"]["code"] == -32800
    assert all(question.withdrawn is not None for question in stage.session.questions)


async def test_the_end_of_the_turn_withdraws_what_was_asked_in_it(stage: Stage) -> None:
    assert await stage.play("ends_while_asking") == "cancelled"
    (question,) = stage.session.questions
    assert question.withdrawn == "the turn is over"
    assert stage.session.only_tool()["details"].reason == "cancelled"
    await stage.take_turn()
    answer = json.loads(stage.session.said())
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_a_cancel_answers_every_open_question_as_cancelled(stage: Stage) -> None:
    stage.scripted("asks_and_cancels")
    await stage.backend.start(None)
    turn = asyncio.create_task(stage.take_turn())
    question = await stage.session.question()
    await stage.backend.cancel()
    assert await turn == "cancelled"
    assert question.withdrawn == "the turn was cancelled"
    assert json.loads(stage.session.said())["result"] == {"outcome": {"outcome": "cancelled"}}
    assert stage.session.only_tool()["state"] == "interrupted"


async def test_a_question_outside_any_turn_is_asked(stage: Stage) -> None:
    await stage.play("late", choosing("allow_once"))
    await stage.session.question(1)
    assert stage.session.said() == "by the way"


def form_of(stage: Stage) -> FormRequest:
    request = stage.session.questions[0].request
    assert isinstance(request, FormRequest)
    return request


async def test_an_elicitation_is_a_form_of_the_contract(stage: Stage) -> None:
    def rule(question: Question) -> None:
        values = {"size": "l", "count": 2, "name": "", "tops": [], "gift": False}
        question.answer(FormAnswer(action="submit", values=values))

    await stage.play("big_form", rule)
    form = form_of(stage).form
    assert (form.title, form.description) == ("What shall it be?", "Order")
    size, name, count, price, gift, tops = form.fields
    small = Option(id="s", label="Small", description="for one")
    large = Option(id="l", label="Large")
    assert size == EnumField(id="size", label="Size", options=[small, large], required=True)
    assert name == StringField(
        id="name", label="name", min_length=2, max_length=20, default="a@b.c", description="(format: email)"
    )
    # Its default would not be a valid answer, so it is no default.
    assert count == NumberField(id="count", label="count", integer=True, min=1, max=9, required=True)
    assert price == NumberField(id="price", label="price")
    assert gift == BooleanField(id="gift", label="gift", default=True)
    assert isinstance(tops, MultiSelectField) and tops.default == ["egg"] and tops.max == 2
    answer = json.loads(stage.session.said())["result"]
    assert answer == {"action": "accept", "content": {"size": "l", "count": 2, "gift": False}}


async def test_the_cancel_button_of_a_form_declines(stage: Stage) -> None:
    await stage.play("big_form", lambda question: question.answer(FormAnswer(action="decline")))
    assert json.loads(stage.session.said())["result"] == {"action": "decline"}


async def test_a_form_that_is_withdrawn_is_a_cancel(stage: Stage) -> None:
    await stage.play("big_form", lambda question: question.reply.set_exception(Withdrawn("expired")))
    assert json.loads(stage.session.said())["result"] == {"action": "cancel"}


async def test_what_cannot_be_asked_is_cancelled_and_a_form_is_told_of(stage: Stage) -> None:
    await stage.play("odd_forms")
    answers = [message["result"] for message in stage.traffic.ours() if "result" in message]
    assert answers == [{"action": "cancel"}, {"action": "cancel"}]
    (notice,) = stage.session.named("notice")
    assert "'x' is of an unknown kind" in notice.title


def test_ids_that_the_contract_has_no_room_for_lead_back_to_the_agents_own() -> None:
    long = "x" * 500
    options = [
        {"optionId": long, "name": "", "kind": "reject_once"},
        {"optionId": "", "name": "Empty", "kind": "allow_once"},
        {"optionId": "same", "name": "One", "kind": "allow_once"},
        {"optionId": "same", "name": "Two", "kind": "allow_once"},
        {"optionId": "odd", "name": "Odd", "kind": "allow_sometimes"},
        *({"optionId": f"n{number}", "name": "n", "kind": "allow_once"} for number in range(30)),
    ]
    asked = permission(ToolCall(key="k", turn=1, title="T"), options)
    shown = asked.request.options
    assert len(shown) == 16 and len({option.id for option in shown}) == 16
    assert [asked.option_id(option.id) for option in shown][:3] == ["", "same", "same"]
    assert asked.option_id(shown[-1].id) == long and shown[-1].label == "Reject once"
    msgspec.convert(msgspec.to_builtins(asked.request), ApprovalRequest)
