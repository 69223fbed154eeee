"""What an agent hands over may be anything: it costs nobody the session, and what can be shown is shown."""

import asyncio
import contextlib
import math
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import AgentError, Session, ToolPatch, Turn, TurnOutcome
from felan_core.protocol import ProtocolError
from felan_core.protocol.elements import (
    Column,
    DocumentElement,
    Hint,
    StatusElement,
    ViewElement,
    ViewItem,
    ViewPage,
)
from felan_core.protocol.entries import NoticeEntry, ToolDetails, ToolDiff, ToolEntry, ToolProcess, ToolText
from felan_core.protocol.interactions import ConfirmRequest, InputRequest, SelectRequest
from felan_core.protocol.session import Command, ToolSpec
from tests.core.host.rig import Puppet, Rig, Stagehand, until
from tests.core.host.same import differences, fresh


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"x": [value]}
    return value


ODD: list[Any] = [
    2**53,
    -(2**70),
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    "\ud800 lone",
    {"\udfff": 1, 7: 2},
    deep(13),
    deep(14),
    deep(500),
    [1.0, -0.0, True, None],
    (1, 2),
    {1, 2},
    b"bytes",
    object,
]


async def run(host: Rig, hand: Stagehand, work: Path, act: Any) -> Any:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await act(puppet.session)
        return "completed"

    hand.scripts.append(script)
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: hand.turns and replica.state.run is None)
    assert not differences(replica, await fresh(host, replica.state.session))
    return replica


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
async def test_any_arguments_of_a_tool_are_told_to_everybody(
    host: Rig, hand: Stagehand, work: Path, value: Any
) -> None:
    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="t", name="t", state="completed", arguments=value))
        await session.tool(ToolPatch(key="u", name="u", state="completed", arguments={"in": [value]}))

    replica = await run(host, hand, work, act)
    assert [one.state for one in replica.state.entries if isinstance(one, ToolEntry)] == ["completed"] * 2


async def test_arguments_that_are_fine_are_left_as_they_are(host: Rig, hand: Stagehand, work: Path) -> None:
    value = {"a": [1, -(2**53) + 1, 1.5, "é\x00\u2028", None, True, {"": []}], "deep": deep(12)}

    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="t", name="t", state="completed", arguments=value))

    replica = await run(host, hand, work, act)
    [tool] = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert tool.arguments == value


async def test_a_long_title_is_cut_and_the_tool_shown(host: Rig, hand: Stagehand, work: Path) -> None:
    async def act(session: Session) -> None:
        title = "\ud800" + "x" * 5000
        await session.tool(ToolPatch(key="t", name="n" * 5000, category="c" * 5000, title=title))
        await session.tool(ToolPatch(key="t", state="completed"))
        await session.notice("info", "t" * 5000, "x" * 300_000, "d" * 300_000 + "\udc00")
        await session.rename("\ud800 name " * 1000)

    replica = await run(host, hand, work, act)
    [tool] = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert len(tool.title.encode()) == 1024 and tool.title.startswith("\ufffdx")
    assert len([one for one in replica.state.entries if isinstance(one, NoticeEntry)]) == 1


async def test_what_is_too_long_in_bytes_alone_is_cut_and_told(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        await session.notice("info", "é" * 1000, "é" * 200_000, "🙂" * 100_000)
        await session.rename("🙂" * 1000)
        await session.tool(ToolPatch(key="t", name="é" * 1000, title="🙂" * 1000))
        await session.compacting("auto")
        await session.compacted("é" * 200_000)

    replica = await run(host, hand, work, act)
    notices = [one for one in replica.state.entries if isinstance(one, NoticeEntry)]
    assert notices[0].title == "é" * 512 and len(notices) == 2


@pytest.mark.parametrize(
    "patch",
    [
        {"details": ToolDetails(message="x" * 100_000)},
        {"details": ToolDetails(message="\ud800", exit_code=2**60)},
        {"locations": ["x" * 300_000, "\ud800"]},
        {"content": [ToolText(text="x" * 13_000_000)]},
        {"content": [ToolText(text="\ud800"), ToolDiff(path="p" * 300_000, new="\ud800")]},
        {"content": [ToolProcess(process="")]},
        {"arguments": {"x": "y" * 13_000_000}},
        {"details": ToolDetails(reason="é" * 1000)},
        {"locations": ["é" * 200_000]},
        {"content": [ToolDiff(path="é" * 200_000, new="x")]},
    ],
    ids=range(10),
)
async def test_a_tool_that_no_client_could_read_is_no_client_s_end(
    host: Rig, hand: Stagehand, work: Path, patch: dict[str, Any]
) -> None:
    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="t", name="good"))
        with contextlib.suppress(AgentError, ProtocolError):
            await session.tool(ToolPatch(key="t", state="completed", **patch))
        await session.tool(ToolPatch(key="u", name="after", state="completed"))

    replica = await run(host, hand, work, act)
    assert [one.name for one in replica.state.entries if isinstance(one, ToolEntry)] == ["good", "after"]


async def test_an_agent_with_a_name_of_any_length_is_told_of(
    host: Rig, hand: Stagehand, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Puppet, "name", "é\ud800" * 1000)

    async def act(session: Session) -> None:
        await session.text("assistant", "hello")

    replica = await run(host, hand, work, act)
    assert replica.state.header.agent.name.startswith("é\ufffdé")


BAD_ELEMENTS = [
    StatusElement(id="", revision=1, text="x", tone="info"),
    StatusElement(id="e", revision=1, text="x" * 2000, tone="info"),
    StatusElement(id="e", revision=1, text="\ud800", tone="info"),
    StatusElement(id="e", revision=1, text="x", tone="loud"),  # pyright: ignore[reportArgumentType] on purpose
    StatusElement(id="e", revision=1, text="x", tone="info", hint=Hint(id="h", version=1, data=deep(20))),
    StatusElement(id="e", revision=1, text="x", tone="info", hint=Hint(id="h", version=1, data=2**60)),
    DocumentElement(id="e", revision=1, markdown="x" * 300_000),
    ViewElement(
        id="e",
        revision=1,
        layout="table",
        columns=[],
        items=[],
        page=ViewPage(index=0, size=0, has_more=False),
    ),
    ViewElement(
        id="e",
        revision=1,
        layout="table",
        columns=[Column(id="c", label="c", type="number")],
        items=[ViewItem(id="i", fields={"c": 2**60})],
        page=ViewPage(index=0, size=1, has_more=False),
    ),
    StatusElement(id="felan.mine", revision=1, text="x", tone="info"),
]


@pytest.mark.parametrize("element", BAD_ELEMENTS, ids=range(len(BAD_ELEMENTS)))
async def test_an_element_that_breaks_the_contract_is_refused_to_the_agent(
    host: Rig, hand: Stagehand, work: Path, element: Any
) -> None:
    refused: list[AgentError] = []

    async def act(session: Session) -> None:
        with pytest.raises(AgentError) as refusal:
            await session.show(element)
        refused.append(refusal.value)

    replica = await run(host, hand, work, act)
    assert refused and list(replica.state.presentation) == ["felan.pointer"]


@pytest.mark.parametrize(
    "request_",
    [
        ConfirmRequest(title="x" * 2000),
        ConfirmRequest(title="\ud800"),
        SelectRequest(title="t", options=[]),
        InputRequest(title="t", default="x" * 300_000),
    ],
    ids=range(4),
)
async def test_a_question_that_breaks_the_contract_is_refused_to_the_agent(
    host: Rig, hand: Stagehand, work: Path, request_: Any
) -> None:
    async def act(session: Session) -> None:
        with pytest.raises(AgentError):
            await session.ask(request_)

    replica = await run(host, hand, work, act)
    assert replica.state.interactions == {}


async def test_a_catalogue_that_breaks_the_contract_is_refused_to_the_agent(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        offers: tuple[dict[str, Any], ...] = (
            {"commands": [Command(name="x" * 2000)]},
            {"tools": [ToolSpec(name="t", parameters=deep(40))]},
            {"tools": [ToolSpec(name="t", parameters={"x": 2**60})]},
        )
        for offer in offers:
            with pytest.raises(AgentError):
                await session.offer(**offer)
        await session.offer(commands=[Command(name="good")])

    replica = await run(host, hand, work, act)
    assert [one.name for one in replica.state.catalogue.commands] == ["good"]


async def test_a_memory_that_cannot_be_kept_does_not_stop_the_session(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        with pytest.raises(AgentError):
            await session.remember({"x": "\ud800"})
        await session.remember({"x": "good"})

    await run(host, hand, work, act)


async def test_an_agent_that_fills_the_presentation_cannot_keep_a_queue_from_being_held(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    full = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for number in range(100):
            try:
                await puppet.session.show(StatusElement(id=f"e{number}", revision=1, text="x", tone="info"))
            except AgentError:
                full.set()
        await puppet.session.usage(90, 100)
        return await puppet.until_cancelled()

    hand.scripts.append(script)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await full.wait()
    await until(lambda: "felan.usage" in replica.state.presentation)
    await client.follow_up(session, "later")
    await client.cancel(session)
    await until(lambda: replica.state.run is None and "felan.queue" in replica.state.presentation)
    assert len(replica.state.presentation) <= 64
    assert not differences(replica, await fresh(host, session))
