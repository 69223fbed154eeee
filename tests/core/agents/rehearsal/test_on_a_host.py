"""The rehearsal on a whole host: real store, processes and pointer, seen by a client over frames."""

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from felan_core.agents.backend import Backend, Session
from felan_core.agents.rehearsal import RehearsalBackend
from felan_core.client.host_client import HostClient
from felan_core.client.replica import SessionReplica
from felan_core.protocol import ProtocolError
from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.entries import MessageEntry, NoticeEntry, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.operations import UiActionParams
from tests.core.agents.rehearsal.fakes import AnswerOf, agree, refuse
from tests.core.host.rig import Clock, Rig, Stagehand, open_rig, until


class Rehearsing(Stagehand):
    """The host's agent is the rehearsal, which waits for nothing."""

    pace: float = 0

    def create(self, session: Session, settings: JsonObject) -> Backend:
        return RehearsalBackend(session, {"rehearsal.pace": self.pace})


async def opened(tmp_path: Path, pace: float = 0, publisher: str = "") -> Rig:
    hand = Rehearsing()
    hand.pace, hand.publisher = pace, publisher
    (tmp_path / "work").mkdir(exist_ok=True)
    return await open_rig(tmp_path / "data", hand, Clock())


def waiting(replica: SessionReplica) -> list[Interaction]:
    return [one for one in replica.state.interactions.values() if one.state in ("waiting", "deferred")]


async def answer_until(
    client: HostClient, replica: SessionReplica, over: Callable[[], object], answer: AnswerOf = agree
) -> None:
    """Answer what waits until ``over``."""
    async with asyncio.timeout(20):
        while not over():
            for one in waiting(replica):
                plain = answer(one.request)
                assert plain is not None
                await client.answer(replica.state.session, one.id, plain)
            await asyncio.sleep(0.002)


def texts(replica: SessionReplica) -> str:
    return "\n".join(one.text for one in replica.state.entries if isinstance(one, MessageEntry))


async def test_the_tour_arrives_whole_at_a_client(tmp_path: Path) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    await client.prompt(replica.state.session, "/tour")
    await answer_until(client, replica, lambda: "That was the tour" in texts(replica))
    await until(lambda: replica.state.run is None)
    tools = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert [(one.name, one.state) for one in tools] == [
        (name, "completed") for name in ("write", "read", "edit", "bash", "delete")
    ]
    assert {one.state for one in replica.state.interactions.values()} == {"resolved"}
    assert not [one for one in replica.state.presentation if one.startswith("rehearsal.")]
    pointer = replica.state.presentation["felan.pointer"]
    assert isinstance(pointer, ViewElement) and pointer.items[0].fields["status"] == "CLEAN"
    assert replica.state.header.name == "A tour of Felan"
    assert list((tmp_path / "work").iterdir()) == []
    assert not [one for one in replica.state.entries if isinstance(one, NoticeEntry)]
    await host.close()
    assert host.faults == []


async def test_a_cancel_while_a_question_waits_says_nothing_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/edit")
    await until(lambda: waiting(replica))
    said = texts(replica)
    await client.cancel(session)
    await until(lambda: replica.state.run is None)
    [tool] = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert tool.state == "interrupted"
    assert texts(replica) == said
    assert list((tmp_path / "work").iterdir()) == []
    await client.prompt(session, "help")
    await until(lambda: "I am **Rehearsal**" in texts(replica) and replica.state.run is None)
    await host.close()
    assert host.faults == []
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize(
    ("ending", "outcome"), [("cancel", "cancelled"), ("close", "interrupted"), ("kill", None)]
)
async def test_what_was_cut_off_while_it_was_said_is_marked_so(
    tmp_path: Path, ending: str, outcome: str | None
) -> None:
    host = await opened(tmp_path, pace=1)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/long")
    await until(lambda: replica.live_messages())
    if ending == "cancel":
        await client.cancel(session)
        await until(lambda: replica.state.run is None)
    else:
        await (host.close() if ending == "close" else host.kill())
        host = await opened(tmp_path)
        replica = await (await host.client()).attach(session)
    messages = [one for one in replica.state.entries if isinstance(one, MessageEntry)]
    assert [one.outcome for one in messages if one.role == "assistant"] == ([outcome] if outcome else [])
    notices = [one.title for one in replica.state.entries if isinstance(one, NoticeEntry)]
    assert notices == ([] if ending == "cancel" else ["The turn was interrupted"])
    await host.close()
    assert host.faults == []


@pytest.mark.parametrize("ending", ["close", "kill"])
async def test_a_question_outlives_the_host_and_the_tour_goes_on(tmp_path: Path, ending: str) -> None:
    first = await opened(tmp_path)
    client = await first.client()
    replica = await first.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/tour")
    await answer_until(client, replica, lambda: [one for one in waiting(replica) if "Edit" in title(one)])
    assert (tmp_path / "work" / "rehearsal.md").exists()
    await (first.close() if ending == "close" else first.kill())

    second = await opened(tmp_path)
    client = await second.client()
    replica = await client.attach(session)
    [deferred] = waiting(replica)
    assert deferred.state == "deferred" and replica.state.run is None
    assert "[ ] write a file" in (tmp_path / "work" / "rehearsal.md").read_text()
    await client.answer(session, deferred.id, {"option": "allow"})
    await answer_until(client, replica, lambda: "That was the tour" in texts(replica))
    await until(lambda: replica.state.run is None)
    tools = [one for one in replica.state.entries if isinstance(one, ToolEntry)]
    assert [one.state for one in tools] == ["completed", "completed", "interrupted", *["completed"] * 3]
    assert list((tmp_path / "work").iterdir()) == []
    await second.close()
    assert second.faults == []


def title(interaction: Interaction) -> str:
    return str(msgspec.to_builtins(interaction.request).get("title", ""))


async def test_a_crash_shows_a_card_and_the_session_goes_on(tmp_path: Path) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/crash")
    await until(lambda: [one for one in replica.state.entries if isinstance(one, NoticeEntry)])
    await until(lambda: replica.state.run is None)
    await client.prompt(session, "help")
    await until(lambda: "I am **Rehearsal**" in texts(replica) and replica.state.run is None)
    await host.close()
    assert host.faults == []


@pytest.mark.parametrize("answer", [agree, refuse])
async def test_hostile_text_is_taken_by_the_host_as_data(tmp_path: Path, answer: AnswerOf) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    await client.prompt(replica.state.session, "/hostile")
    await until(lambda: replica.state.run is not None)
    await answer_until(client, replica, lambda: replica.state.run is None, answer)
    assert texts(replica).count("0123456789") == 60_000
    [notice] = [one for one in replica.state.entries if isinstance(one, NoticeEntry) and one.tone == "error"]
    assert "[red]failed[/x]" in notice.title + str(notice.text)
    await host.close()
    assert host.faults == []


async def test_steering_reaches_the_tour(tmp_path: Path) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/tour")
    await until(lambda: waiting(replica))
    await client.steer(session, "stop")
    await until(lambda: replica.state.run is None)
    assert "You said: “stop”. Then let me clean up and stop." in texts(replica)
    assert {one.state for one in replica.state.interactions.values()} == {"cancelled"}
    await host.close()
    assert host.faults == []


async def test_after_a_compaction_all_that_is_known_is_what_the_host_told(tmp_path: Path) -> None:
    host = await opened(tmp_path, publisher="publish-it")
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    await client.prompt(replica.state.session, "/compact mend the login test")
    await until(lambda: replica.state.run is None and "So I go on" in texts(replica))
    said = texts(replica)
    assert "reads “” now" in said
    assert "revision 2, CLEAN, recovery mode CONTINUE:" in said
    assert "Goal: mend the login test\nNext: say what is left after the compaction" in said
    (notice,) = [one for one in replica.state.entries if isinstance(one, NoticeEntry)]
    assert notice.title == "The agent compacted its context"
    await host.close()
    assert host.faults == []


async def test_an_action_of_a_row_goes_to_the_agent_and_comes_back_as_the_next_element(
    tmp_path: Path,
) -> None:
    host = await opened(tmp_path)
    client = await host.client()
    replica = await host.session(client, tmp_path / "work")
    session = replica.state.session
    await client.prompt(session, "/elements")
    await until(lambda: replica.state.run is None and "rehearsal.table" in replica.state.presentation)

    def table() -> ViewElement:
        shown = replica.state.presentation["rehearsal.table"]
        assert isinstance(shown, ViewElement)
        return shown

    first = table()
    yank = UiActionParams(
        element=first.id, revision=first.revision, action="yank", item="2", values={"reason": "a bug"}
    )
    await client.ui_action(session, yank)
    await until(lambda: [item.id for item in table().items] == ["3", "1"])
    assert table().revision > first.revision
    with pytest.raises(ProtocolError) as stale:
        await client.ui_action(session, yank)
    assert stale.value.code == "stale_request"
    await host.close()
