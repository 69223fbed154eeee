"""Whatever shape an agent sends: nothing raises, hangs, or leaves the contract (which the session checks)."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.agents.acp.agent_connection import AgentConnection, Times
from felan_core.agents.acp.asking import Asking
from felan_core.agents.acp.clip import BODY_BYTES, body, bounded, clip, label
from felan_core.agents.acp.rpc import RpcError
from felan_core.agents.acp.subjects import subject_of
from felan_core.agents.acp.tools import KEPT_CALLS, ToolBook
from felan_core.agents.acp.updates import Updates
from felan_core.agents.backend import ToolPatch
from felan_core.protocol.base import LIMITS
from felan_core.protocol.entries import ToolDiff, ToolText
from felan_core.protocol.forms import check_values
from felan_core.protocol.interactions import FormAnswer, FormRequest
from tests.harness.acp.recorder import Question, RecordingSession

WORDS = st.sampled_from(
    [
        "a",
        "text",
        "diff",
        "content",
        "completed",
        "failed",
        "pending",
        "execute",
        "allow_once",
        "reject_once",
        "form",
        "string",
        "integer",
        "array",
        "boolean",
    ]
) | st.sampled_from(["", "x" * 2000, "\x1b[31m[red]", "\u202e\x00", "é" * 700])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
MEMBERS = st.sampled_from(
    [
        "toolCallId",
        "title",
        "kind",
        "status",
        "content",
        "locations",
        "rawInput",
        "rawOutput",
        "_meta",
        "type",
        "text",
        "path",
        "oldText",
        "newText",
        "messageId",
        "entries",
        "priority",
        "availableCommands",
        "name",
        "description",
        "input",
        "hint",
        "used",
        "size",
        "severity",
        "options",
        "optionId",
        "toolCall",
        "message",
        "requestedSchema",
        "properties",
        "required",
        "enum",
        "oneOf",
        "const",
        "items",
        "anyOf",
        "default",
        "mode",
        "minimum",
        "maxLength",
        "command",
        "cmd",
        "terminal_output",
        "data",
        "terminal_exit",
        "exit_code",
        "uri",
    ]
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(MEMBERS | WORDS, inner, max_size=6),
    max_leaves=12,
)
OBJECTS = st.dictionaries(MEMBERS, JSON, max_size=10)
KINDS = st.sampled_from(
    [
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "notice",
        "available_commands_update",
        "session_info_update",
        "usage_update",
        "user_message_chunk",
        "new_kind",
    ]
)


def stage() -> tuple[RecordingSession, ToolBook, Updates]:
    session = RecordingSession(cwd="/")
    tools = ToolBook("1.")
    return session, tools, Updates(session, tools)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(KINDS, OBJECTS), max_size=6))
def test_any_update_is_taken(told: list[tuple[str, dict[str, Any]]]) -> None:
    async def play() -> None:
        _, _, updates = stage()
        for kind, members in told:
            await updates.take({"toolCallId": "t", **members, "sessionUpdate": kind})
        await updates.end_turn("lost", "interrupted")

    asyncio.run(play())


@settings(max_examples=20, deadline=None)
@given(OBJECTS, st.lists(OBJECTS, max_size=4))
def test_any_permission_request_gets_an_answer(tool: dict[str, Any], options: list[dict[str, Any]]) -> None:
    def choose(question: Question) -> None:
        question.choose(getattr(question.request, "options")[0].effect)  # noqa: B009 - of this kind of request

    async def play() -> None:
        session, tools, updates = stage()
        session.rule = choose
        asked = [{"optionId": "y", "kind": "allow_once", **option} for option in options]
        params = {"toolCall": {"toolCallId": "t", **tool}, "options": asked}
        try:
            answering = await Asking(session, tools, updates).permission(params)
        except RpcError:
            return
        answer = await answering
        assert answer["outcome"]["outcome"] in ("selected", "cancelled")

    asyncio.run(play())


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(WORDS, OBJECTS, max_size=4), OBJECTS)
def test_any_elicitation_gets_an_answer(properties: dict[str, Any], more: dict[str, Any]) -> None:
    def accept(question: Question) -> None:
        assert isinstance(question.request, FormRequest)
        fields = question.request.form.fields
        values = {
            field.id: field.default for field in fields if not isinstance(field.default, msgspec.UnsetType)
        }
        try:
            check_values(fields, values, "values")
        except Exception:
            # Something is required that has no default.
            question.answer(FormAnswer(action="decline"))
        else:
            question.answer(FormAnswer(action="submit", values=values))

    async def play() -> None:
        session, tools, updates = stage()
        session.rule = accept
        schema = {"properties": properties, **more}
        params = {"mode": "form", "message": "?", "requestedSchema": schema}
        answer = await (await Asking(session, tools, updates).elicitation(params, "agent"))
        assert answer["action"] in ("accept", "decline", "cancel")

    asyncio.run(play())


@pytest.mark.parametrize("method", ["session/update", "$/odd", "session/request_permission"])
async def test_parameters_of_the_wrong_shape_are_survived(method: str) -> None:
    life = AgentConnection(RecordingSession(cwd="/"), Times(), 1)
    life.agent_session = "s"
    for params in (
        {},
        {"sessionId": 3},
        {"sessionId": "s", "update": [1]},
        {"sessionId": "s", "toolCall": "x"},
    ):
        await life.notified(method, params, 10)
        with pytest.raises(RpcError):
            await life.requested(method, params)


def test_a_cut_ends_with_a_mark_and_never_inside_a_character() -> None:
    assert clip("abc", 3) == "abc"
    assert clip("ééééé", 8) == "éé…"
    assert label("  two\n words\t ") == "two words"
    assert len(label("é" * 2000).encode()) <= LIMITS.label_bytes
    assert body("x" * BODY_BYTES) == "x" * BODY_BYTES
    assert body("x" * (BODY_BYTES + 5)).endswith("…\n(5 more bytes are not kept)")


@pytest.mark.parametrize(
    "value",
    [{"a": "x" * 200_000, "b": 1}, ["y" * 100] * 5000, {str(n): n for n in range(20_000)}, {"n": 2**70}],
    ids=["long text", "many texts", "many members", "big number"],
)
def test_free_json_is_kept_within_the_limit_and_says_where_it_was_cut(value: Any) -> None:
    kept = bounded(value, LIMITS.structured_bytes)
    raw = msgspec.json.encode(kept)
    assert len(raw) <= LIMITS.structured_bytes
    assert "…" in raw.decode() or kept == {"n": "1180591620717411303424"}


def test_a_change_that_is_too_large_to_show_is_named_and_never_shown_in_half() -> None:
    call = ToolBook("1.").upsert(
        {
            "toolCallId": "t",
            "content": [
                {"type": "diff", "path": "/big", "oldText": "o" * BODY_BYTES, "newText": "n"},
                {"type": "diff", "path": "/small", "oldText": None, "newText": "n"},
                *({"type": "diff", "path": f"/{n}", "newText": "n"} for n in range(100)),
            ],
        },
        announced=True,
    )
    assert call is not None
    big, small, *_, more = call.body()
    assert isinstance(big, ToolText) and big.text.startswith("/big: a change of 1,048,577 characters")
    assert small == ToolDiff(path="/small", new="n")
    assert more == ToolText(text="… and 38 more changes")
    assert "too much to show" in str(subject_of(call).text)


def test_a_long_output_in_small_pieces_is_shown_in_few_patches_and_whole_at_the_end() -> None:
    tools, shown = ToolBook("1."), list[ToolPatch]()
    for number in range(10_001):
        state = "completed" if number == 10_000 else "in_progress"
        output = {"terminal_output_delta": {"data": f"{number:99}\n"}}
        call = tools.upsert({"toolCallId": "t", "status": state, "_meta": output}, announced=False)
        assert call is not None
        if (patch := call.patch()) is not None:
            shown.append(patch)
    assert 160 < len(shown) < 220
    (last,) = shown[-1].content if isinstance(shown[-1].content, list) else []
    assert isinstance(last, ToolText) and last.text.count("\n") == 10_001


def test_calls_that_ended_long_ago_are_forgotten_and_open_ones_are_not() -> None:
    tools = ToolBook("1.")
    tools.upsert({"toolCallId": "open"}, announced=True)
    for number in range(KEPT_CALLS * 3):
        tools.upsert({"toolCallId": str(number), "status": "completed"}, announced=True)
    assert tools.get("open") is not None and tools.get("0") is None
    assert tools.get(str(KEPT_CALLS * 3 - 1)) is not None
