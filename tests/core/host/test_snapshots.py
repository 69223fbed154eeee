"""What a client gets that attaches, and the pages before it: all of it, in order, within the bounds."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.agents.backend import AgentError, Session, ToolPatch, Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.host.cursors import HistoryCursor, history_cursor
from felan_core.protocol import LIMITS, ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.elements import DocumentElement, Form, FormButton
from felan_core.protocol.entries import Entry, MessageEntry, NoticeEntry, ToolEntry
from felan_core.protocol.interactions import (
    ApprovalOption,
    ApprovalRequest,
    ApprovalSubject,
    DiffSubject,
    FormRequest,
)
from tests.core.host.raw import HELLO, Raw
from tests.core.host.rig import Clock, Puppet, Rig, Script, Stagehand, open_rig, until
from tests.core.host.same import differences, fresh

MB = 1024 * 1024


def doing(act: Any) -> Script:
    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await act(puppet.session)
        return "completed"

    return script


async def all_pages(client: HostClient, replica: SessionReplica, limit: int = 256) -> list[Entry]:
    """What the replica shows and every page before it, put together as a client does: by ``seq``."""
    pages: list[Entry] = []
    cursor = replica.cursor
    while cursor is not msgspec.UNSET:
        page = await client.history(replica.state.session, op.HistoryParams(cursor=cursor, limit=limit))
        assert page.items and len(page.items) <= limit
        assert len(msgspec.json.encode(page.items)) <= LIMITS.page_bytes
        assert not {one.id for one in page.items} & {one.id for one in pages}
        pages = page.items + pages
        cursor = page.next_cursor
    known = {one.id: one for one in [*pages, *replica.state.entries]}
    return sorted(known.values(), key=lambda one: one.seq)


def asked(replica: SessionReplica) -> list[Any]:
    return list(replica.state.interactions.values())


@pytest.mark.parametrize("limit", [1, 256])
async def test_from_any_snapshot_pages_lead_back_to_the_first_entry(
    host: Rig, hand: Stagehand, work: Path, limit: int
) -> None:
    async def act(session: Session) -> None:
        await asyncio.gather(*(session.notice("info", str(number)) for number in range(270)))

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None)
    late = await (other := await host.client()).attach(replica.state.session, history_limit=limit)
    assert len(list(late.state.entries)) == limit
    assert late.cursor is not msgspec.UNSET
    entries = await all_pages(other, late, 100)
    assert [one.seq for one in entries] == list(range(1, 272))
    assert [one.title for one in entries if isinstance(one, NoticeEntry)] == [str(n) for n in range(270)]


async def test_a_tool_that_runs_since_long_ago_hides_nothing_that_came_after_it(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    go_on = asyncio.Event()

    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="long", name="long"))
        await asyncio.gather(*(session.notice("info", str(number)) for number in range(270)))
        await go_on.wait()

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: len(replica.state.entries) == 272)
    late = await (other := await host.client()).attach(replica.state.session, history_limit=256)
    [running] = [one for one in late.state.entries if isinstance(one, ToolEntry)]
    assert running.state == "running" and len(late.state.entries) == 257
    entries = await all_pages(other, late)
    assert [one.seq for one in entries] == list(range(1, 273))
    go_on.set()
    await until(lambda: replica.state.run is None and late.state.run is None)
    assert await all_pages(other, late) == list(replica.state.entries)


async def test_after_a_restart_large_entries_are_all_there_and_in_order(
    tmp_path: Path, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="old", name="old"))
        for number in range(9):
            arguments = {"n": number, "data": "x" * (3 * MB)}
            await session.tool(ToolPatch(key=str(number), name="t", state="completed", arguments=arguments))
        await asyncio.Event().wait()

    hand.scripts.append(doing(act))
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: len(replica.state.entries) == 11)
    before = [one.id for one in replica.state.entries]
    await first.kill()
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    assert 0 < len(list(replica.state.entries)) < 6
    entries = await all_pages(client, replica)
    assert [one.id for one in entries[:-1]] == before
    assert isinstance(entries[-1], NoticeEntry), "that the turn was interrupted"
    assert [one.state for one in entries if isinstance(one, ToolEntry)] == ["interrupted"] + ["completed"] * 9
    assert second.faults == []
    await second.close()


async def test_a_tool_s_arguments_are_kept_whole_however_many_and_large(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    arguments = {"many": list(range(5000)), "map": {str(n): n for n in range(3000)}, "text": "é" * MB}

    async def act(session: Session) -> None:
        await session.tool(ToolPatch(key="t", name="t", arguments=arguments))
        await session.tool(ToolPatch(key="t", state="completed"))

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None)
    late = await fresh(host, replica.state.session)
    page = await client.history(replica.state.session, op.HistoryParams())
    for entries in (list(replica.state.entries), list(late.state.entries), page.items):
        [tool] = [one for one in entries if isinstance(one, ToolEntry)]
        assert tool.arguments == arguments


async def test_a_snapshot_gives_up_history_first_and_then_the_text_that_streams(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    go_on = asyncio.Event()
    part = "y" * (MB - 1000)

    async def act(session: Session) -> None:
        for number in range(4):
            arguments = {"data": "x" * (2 * MB)}
            await session.tool(ToolPatch(key=str(number), name="t", state="completed", arguments=arguments))
        for number in range(56):
            document = DocumentElement(id=f"d{number}", revision=1, markdown="z" * 204_000)
            await session.show(document)
        for kind in ("assistant", "thinking", "assistant", "thinking"):
            await session.text(kind, part)  # pyright: ignore[reportArgumentType] the literals of the loop
        await go_on.wait()

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(lambda: sum(len(one) for one in replica.live_messages().values()) == 4)
    raw = Raw(host.raw())
    await raw.ask(HELLO)
    reply = await raw.request("attach", {}, session)
    snapshot = reply["result"]["snapshot"]
    assert len(msgspec.json.encode(snapshot)) <= LIMITS.snapshot_bytes
    assert snapshot["history"]["entries"] == [] and snapshot["history"]["cursor"]
    assert snapshot["streams"] == []
    assert [one["reason"] for one in snapshot["completionOnlyStreams"]] == ["limit"] * 4
    late = await (other := await host.client()).attach(session)
    assert late.live_messages() == {} and len(late.state.presentation) == 57
    go_on.set()
    await until(lambda: late.state.run is None and replica.state.run is None)
    assert late.state.completion_only == {}
    [answer] = [one for one in late.state.entries if isinstance(one, MessageEntry)]
    assert [part_.text for part_ in answer.parts] == [part] * 4
    assert await all_pages(other, late) == list(replica.state.entries)


async def test_history_is_shortened_to_its_own_bytes_even_where_the_snapshot_would_hold_it(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        for number in range(7):
            arguments = {"data": "x" * (2 * MB - 1000)}
            await session.tool(ToolPatch(key=str(number), name="t", state="completed", arguments=arguments))

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None)
    late = await fresh(host, replica.state.session)
    history = list(late.state.entries)
    assert len(history) == 6 and len(msgspec.json.encode(history)) <= LIMITS.page_bytes
    assert await all_pages(client, late) == list(replica.state.entries)


async def test_a_page_can_end_with_an_entry_and_no_other_session_s(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        for number in range(10):
            await session.notice("info", str(number))

    hand.scripts += [doing(act), doing(act)]
    client = await host.client()
    one, other = await host.session(client, work), await host.session(client, work)
    for replica in (one, other):
        await client.prompt(replica.state.session, "go")
        await until(lambda replica=replica: replica.state.run is None)
    entries = list(one.state.entries)
    page = await client.history(one.state.session, op.HistoryParams(entry=entries[5].id, limit=3))
    assert page.items == entries[3:6] and page.next_cursor is not msgspec.UNSET
    page = await client.history(one.state.session, op.HistoryParams(cursor=page.next_cursor))
    assert page.items == entries[:3] and page.next_cursor is msgspec.UNSET
    with pytest.raises(ProtocolError) as refusal:
        await client.history(other.state.session, op.HistoryParams(entry=entries[5].id))
    assert refusal.value.code == "not_found"


async def test_an_entry_is_placed_when_it_is_stored_and_each_is_on_the_branch(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    go = asyncio.Event()

    async def act(session: Session) -> None:
        await session.text("assistant", "the answer begins, ")
        await go.wait()
        await session.text("assistant", "and ends.")

    hand.scripts += [doing(act), doing(act)]
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    await until(replica.live_messages)
    await client.shell(session, op.ShellParams(command="true"))  # while the agent speaks
    go.set()
    await until(lambda: replica.state.run is None)
    await client.prompt(session, "next")
    await until(lambda: replica.state.run is None and len(replica.state.entries) == 5)
    entries = list(replica.state.entries)
    roles = [getattr(one, "role", "tool") for one in entries]
    assert roles == ["user", "tool", "assistant", "user", "assistant"]
    assert [one.seq for one in entries] == [1, 2, 3, 4, 5]
    assert [one.parent for one in entries] == [msgspec.UNSET, *(one.id for one in entries[:-1])]
    assert replica.state.branch.leaf == entries[-1].id
    assert await all_pages(client, replica) == entries
    page = await client.history(session, op.HistoryParams())
    assert page.items == entries


async def test_a_cursor_is_pinned_to_its_leaf_and_bound_to_its_session(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        for number in range(6):
            await session.notice("info", str(number))

    hand.scripts += [doing(act), doing(act), doing(act)]
    client = await host.client()
    one, other = await host.session(client, work), await host.session(client, work)
    for replica in (one, other):
        await client.prompt(replica.state.session, "go")
        await until(lambda replica=replica: replica.state.run is None)
    mine = one.state.session
    entries = list(one.state.entries)
    page = await client.history(mine, op.HistoryParams(limit=2))
    cursor = page.next_cursor
    await client.prompt(mine, "more")  # entries that come move no page
    await until(lambda: one.state.run is None and len(one.state.entries) == 14)
    page = await client.history(mine, op.HistoryParams(cursor=cursor, limit=2))
    assert page.items == entries[3:5]
    # The captured branch ends with its leaf: a later entry is none of it.
    later = one.state.entries.newest(1)[0]
    beyond = history_cursor(mine, HistoryCursor(entries[0].id, later.id))
    other_s = history_cursor(other.state.session, HistoryCursor("x", ""))
    for params, code in (
        (op.HistoryParams(cursor=cursor, entry=later.id), "not_found"),
        (op.HistoryParams(cursor="h1.7"), "invalid_request"),
        (op.HistoryParams(cursor=history_cursor(mine, HistoryCursor("gone", ""))), "invalid_request"),
        (op.HistoryParams(cursor=beyond), "invalid_request"),
        (op.HistoryParams(cursor=other_s), "stale_request"),
    ):
        with pytest.raises(ProtocolError) as refusal:
            await client.history(mine, params)
        assert refusal.value.code == code


@pytest.mark.parametrize("ending", ["close", "kill"])
async def test_the_chain_of_entries_goes_on_after_a_restart(
    tmp_path: Path, hand: Stagehand, work: Path, ending: str
) -> None:
    clock = Clock()
    first = await open_rig(tmp_path / "data", hand, clock)
    client = await first.client()
    replica = await first.session(client, work)
    session = replica.state.session
    for text in ("one", "two"):
        await client.prompt(session, text)
        await until(lambda: replica.state.run is None)
    leaf = replica.state.branch.leaf
    await (first.close() if ending == "close" else first.kill())
    second = await open_rig(tmp_path / "data", hand, clock)
    client = await second.client()
    replica = await client.attach(session)
    assert replica.state.branch.leaf == leaf
    await client.prompt(session, "three")
    await until(lambda: replica.state.run is None)
    entries = list(replica.state.entries)
    assert [one.parent for one in entries] == [msgspec.UNSET, *(one.id for one in entries[:-1])]
    assert not differences(replica, await fresh(second, session))
    await second.close()


async def test_a_session_of_many_large_approvals_is_attached_to_without_the_oldest_that_ended(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    async def act(session: Session) -> None:
        for number in range(80):
            change = DiffSubject(path=f"{number}.txt", new="n" * (MB // 4 - 2000))
            subject = ApprovalSubject(category="edit", diff=[change])
            options = [ApprovalOption(id="yes", label="Yes", effect="allow_once")]
            request = ApprovalRequest(title=str(number), subject=subject, options=options)
            await session.ask(request)

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    for number in range(79):
        title = str(number)
        await until(lambda title=title: any(one.request.title == title for one in asked(replica)))
        [one] = [one for one in asked(replica) if one.request.title == title]
        await client.answer(session, one.id, {"option": "yes"})
    await until(lambda: any(one.state == "waiting" for one in asked(replica)))
    late = await (await host.client()).attach(session)
    assert [one.request.title for one in asked(late)] == ["77", "78", "79"]
    assert late.state.run is not None


async def test_questions_that_are_open_have_a_share_and_one_too_many_is_refused_to_the_agent(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    refused: list[str] = []

    async def act(session: Session) -> None:
        async def ask(number: int) -> None:
            try:
                await session.ask(
                    FormRequest(
                        form=Form(
                            title=str(number),
                            description="d" * 260_000,
                            fields=[],
                            submit=FormButton(id="s", label="s"),
                            cancel=FormButton(id="c", label="c"),
                        )
                    )
                )
            except AgentError as error:
                refused.append(error.message)

        await asyncio.gather(*(ask(number) for number in range(50)))

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: len(refused) == 6)
    assert "take more than" in refused[0]
    late = await (await host.client()).attach(replica.state.session)
    assert len(asked(late)) == 44


async def test_elements_together_have_a_share_and_a_session_full_of_them_is_attached_to(
    host: Rig, hand: Stagehand, work: Path
) -> None:
    refused: list[str] = []

    async def act(session: Session) -> None:
        for number in range(50):
            try:
                await session.show(DocumentElement(id=str(number), revision=1, markdown="d" * 260_000))
            except AgentError as error:
                refused.append(error.message)

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    await client.prompt(replica.state.session, "go")
    await until(lambda: replica.state.run is None and refused)
    assert len(refused) == 6
    assert not differences(replica, await fresh(host, replica.state.session))


async def test_a_queue_has_a_share_and_a_message_more_is_busy(host: Rig, hand: Stagehand, work: Path) -> None:
    go_on = asyncio.Event()

    async def act(session: Session) -> None:
        await go_on.wait()

    hand.scripts.append(doing(act))
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    await client.prompt(session, "go")
    for _ in range(6):
        await client.follow_up(session, "q" * 250_000)
    with pytest.raises(ProtocolError) as busy:
        await client.follow_up(session, "q" * 250_000)
    assert busy.value.code == "busy"
    assert len((await fresh(host, session)).state.queue.items) == 6
    await client.cancel(session, queue=True)
    go_on.set()


@pytest.mark.parametrize("other", [{}, {"namespace": "x"}, {"instance": "x"}, {"root": "/elsewhere"}])
async def test_a_target_of_attach_is_compared_whole_and_a_symlink_is_the_same_root(
    host: Rig, work: Path, tmp_path: Path, other: dict[str, str]
) -> None:
    client = await host.client()
    session = (await host.session(client, work)).state.session
    assert client.hello_result is not None
    here = client.hello_result.host
    link = tmp_path / "link"
    link.symlink_to(here.root)
    named = {"namespace": here.namespace, "instance": here.instance, "root": str(link), **other}
    params = op.AttachParams(target=op.Target(**named))
    asking = client.request("attach", params, expect=op.AttachResult, session=session)
    if other:
        with pytest.raises(ProtocolError) as refusal:
            await asking
        assert refusal.value.code == "target_mismatch"
    else:
        assert (await asking).snapshot.session == session
