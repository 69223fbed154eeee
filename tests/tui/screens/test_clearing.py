"""/clear: a new session in the same folder with the same agent; what would end is asked about, what cannot be
done leaves the old one.
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from felan_core.pointer.store import PointerStore
from felan_core.protocol import ProtocolError
from felan_core.protocol.session import Command, SessionRow
from felan_tui.session.start import Start
from tests.core.host.rig import Stagehand
from tests.tui.screens.stage import SIZES, Stage, asks, confirm, says, stage, work

SETTINGS = {"agent.backend": "puppet", "agent.command": "an agent of mine"}


def pointers(folder: Path) -> PointerStore:
    return PointerStore(str(folder / "data" / "pointers"))


def publish(folder: Path, session: str, text: str) -> None:
    store = pointers(folder)
    state = store.read(session)
    assert state is not None
    store.publish(session, state.generation, state.revision, str(uuid4()), "CLEAN", text)


async def rows(on: Stage) -> dict[str, SessionRow]:
    page = await on.link.client.sessions_list()
    return {row.id: row for row in page.items}


async def cleared(on: Stage, old: str) -> str:
    """The id of the session that has taken the place of ``old``, when that is closed."""
    await on.until(lambda: on.link is not None and on.link.id != old)
    client = on.link.client
    await on.until(lambda: client.replica(old) is None)
    return on.link.id


async def confirms(on: Stage) -> None:
    await on.sees("Clear now?")
    await on.pilot.press("2")


@pytest.mark.parametrize("size", SIZES)
async def test_a_new_session_takes_the_place_and_the_old_one_is_closed_with_its_pointer(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    hand = Stagehand(scripts=[says("I said this.")])
    start = Start(kind="agent", cwd=work(tmp_path), settings=SETTINGS)
    async with stage(tmp_path, hand, size=size, start=start) as on:
        await on.attached()
        old = on.link.id
        await on.say("first things")
        await on.sees("I said this.")
        await on.idle()
        publish(tmp_path, old, "Goal: of the old session")
        await on.sees("CLEAN r2")
        before = (tmp_path / "data" / "pointers" / old / "state.json").read_bytes()
        await on.say("/clear")
        fresh = await cleared(on, old)
        await on.sees("CLEARED r1", "Write what is to be done")
        assert "first things" not in on.text and "I said this." not in on.text
        state = pointers(tmp_path).read(fresh)
        assert state is not None and (state.status, state.revision) == ("CLEARED", 1)
        assert (tmp_path / "data" / "pointers" / old / "state.json").read_bytes() == before
        listed = await rows(on)
        assert (listed[old].state, listed[fresh].state) == ("closed", "idle")
        assert listed[fresh].cwd == work(tmp_path)
        assert hand.closed == 1 and hand.puppets[-1].settings["agent.command"] == "an agent of mine"
        await on.say("second things")
        await on.until(lambda: len(hand.turns) == 2)
        await on.sees("second things", "CLEARED r2")
        assert on.link.id == fresh and fresh in [one.session.id for one in hand.puppets]
        assert on.composer.area.has_focus


async def test_a_continued_session_is_cleared_with_the_agent_that_it_had(tmp_path: Path) -> None:
    hand = Stagehand()
    start = Start(kind="agent", cwd=work(tmp_path), settings=SETTINGS)
    async with stage(tmp_path, hand, start=start) as on:
        await on.attached()
    async with stage(tmp_path, hand, start=Start(kind="continue", cwd=work(tmp_path))) as on:
        await on.attached()
        old = on.link.id
        await on.say("/clear")
        await cleared(on, old)
        await on.until(lambda: on.link.state.header.agent.state == "ready")
        assert hand.puppets[-1].settings["agent.command"] == "an agent of mine"


async def test_the_prompt_of_the_start_is_not_said_again(tmp_path: Path) -> None:
    hand = Stagehand()
    async with stage(tmp_path, hand, start=Start(kind="agent", cwd=work(tmp_path), prompt="/tour")) as on:
        await on.attached()
        await on.until(lambda: len(hand.turns) == 1)
        await on.idle()
        old = on.link.id
        await on.say("/clear")
        await cleared(on, old)
        await on.sees("Write what is to be done")
        assert len(hand.turns) == 1 and on.link.state.run is None


async def test_nothing_that_runs_or_waits_ends_unasked(tmp_path: Path) -> None:
    answers: list[Any] = []
    hand = Stagehand(scripts=[asks(confirm("May I?"), answers)])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        old = on.link.id
        await on.say("! sleep 60")
        await on.until(lambda: on.link.state.processes)
        await on.say("go")
        await on.sees("May I?")
        await on.link.send("and then this", "follow_up")
        await on.until(lambda: on.link.state.queue.items)
        await on.say("/clear")
        await on.sees(
            "Clear now?",
            "a turn is running; it is cancelled",
            "1 question would be withdrawn",
            "1 queued message would return to the composer",
            "1 process would be stopped",
            "closed and kept",
        )
        await on.pilot.press("1")
        await on.sees_no("Clear now?")
        assert on.link.id == old and on.link.state.run is not None
        assert on.link.state.queue.items and not answers
        await on.say("/clear")
        await confirms(on)
        await cleared(on, old)
        assert on.composer.text == "and then this"
        assert (await rows(on))[old].state == "closed"
        await on.sees_no("May I?", "cancelled")
        assert len(hand.turns) == 1


@pytest.mark.parametrize("size", SIZES)
async def test_all_that_would_end_and_what_to_press_is_seen_at_every_size(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    hand = Stagehand(scripts=[asks(confirm("May I?"), [])])
    async with stage(tmp_path, hand, size=size) as on:
        await on.attached()
        await on.pilot.press("f8", "e")
        await on.write("mine")
        await on.pilot.press("escape", "escape")
        await on.until(lambda: on.app.screen is on.session)
        await on.link.shell("sleep 60")
        await on.say("go")
        await on.until(lambda: on.link.state.interactions)
        await on.link.send("and then this", "follow_up")
        await on.until(lambda: on.link.state.queue.items and on.link.state.processes)
        on.session.action_clear()
        await on.sees(
            "Clear now?",
            "unpublished",
            "it is cancelled",
            "would be withdrawn",
            "return to the composer",
            "would be stopped",
            "[2] end them and clear",
            "closed and kept",
        )


async def test_a_draft_of_the_pointer_is_asked_about(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        old = on.link.id
        await on.pilot.press("f8", "e")
        await on.write("mine")
        await on.pilot.press("escape", "escape")
        await on.until(lambda: on.app.screen is on.session)
        await on.say("/clear")
        await on.sees("Clear now?", "unpublished")
        await on.pilot.press("escape")
        await on.sees_no("Clear now?")
        assert on.link.id == old


async def test_what_is_written_stays_and_what_is_sent_meanwhile_goes_to_the_new_session(
    tmp_path: Path,
) -> None:
    hand = Stagehand()
    async with stage(tmp_path, hand) as on:
        await on.attached()
        old = on.link.id
        on.composer.set_draft("half a thought")
        on.session.action_clear()
        await on.until(lambda: on.link is None)
        on.session._requests.send("quick", on.composer.take_draft())
        on.composer.set_draft("half a thought")
        fresh = await cleared(on, old)
        await on.until(lambda: hand.turns)
        assert on.link.id == fresh and fresh in [one.session.id for one in hand.puppets]
        assert hand.turns[0].text == "half a thought"
        assert on.composer.text == "half a thought"


async def test_where_the_host_refuses_the_old_session_goes_on(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[says("Here."), says("Still here.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        old = on.link.id
        await on.say("one")
        await on.sees("Here.")
        await on.idle()
        on.door.host._services.agents.clear()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        await on.say("/clear")
        await on.sees("Not cleared", "agent.backend")
        assert on.link.id == old and "Here." in on.text
        assert list(await rows(on)) == [old]
        await on.say("two")
        await on.sees("Still here.")


async def test_a_new_session_that_cannot_be_attached_is_closed_and_the_old_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        old = on.link.id

        async def refuses(*args: Any, **named: Any) -> Any:
            raise ProtocolError("unavailable", "no room for you")

        monkeypatch.setattr(on.link.client, "attach", refuses)
        await on.say("/clear")
        await on.sees("Not cleared: no room for you")
        assert on.link.id == old
        await on.until(lambda: on.link is not None)
        assert sorted(row.state for row in (await rows(on)).values()) == ["closed", "idle"]
        assert (await rows(on))[old].state == "idle"


async def test_an_old_session_that_cannot_be_closed_is_said_to_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        old = on.link.id

        async def refuses(*args: Any) -> int:
            raise ProtocolError("storage_failure", "the disk is full")

        monkeypatch.setattr(on.link.client, "close_session", refuses)
        await on.say("/clear")
        await on.sees("The session before is not closed", "the disk is full", "CLEARED r1")
        await on.sees_no("the one before is kept")
        assert on.link.id != old


async def test_a_host_that_is_gone_leaves_what_is_shown(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[says("Here.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()
        await on.say("one")
        await on.sees("Here.")
        on.door.lose()
        await on.sees("host is gone")
        await on.say("/clear")
        await on.sees("Not cleared: the host is gone", "Here.")


async def test_a_host_that_goes_while_the_new_session_comes_is_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        client = on.link.client
        create = client.sessions_create

        async def cut(*args: Any) -> Any:
            on.door.lose()
            return await create(*args)

        monkeypatch.setattr(client, "sessions_create", cut)
        await on.say("/clear")
        await on.until(lambda: on.link is not None)
        await on.sees("Not cleared: the host is gone", "1 more in /notices")
        await on.say("/notices")
        await on.sees("Notices", "Not cleared: the host is gone", "The host is gone: ")
        await on.pilot.press("escape")
        await on.until(lambda: "host is gone" in on.lines[-1])


async def test_the_command_takes_no_words(tmp_path: Path) -> None:
    hand = Stagehand()
    async with stage(tmp_path, hand) as on:
        await on.attached()
        old = on.link.id
        await on.say("/clear the table")
        await on.sees("/clear takes no words after it")
        assert on.composer.text == "/clear the table" and on.link.id == old and not hand.turns


async def test_it_is_listed_with_the_agents_commands_and_goes_before_one_of_the_same_name(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        await on.until(lambda: on.hand.puppets and on.link.state.header.agent.state == "ready")
        offered = [Command(name=name, description=f"the agent's {name}") for name in ("clear", "claim")]
        await on.puppet.session.offer(commands=offered)
        await on.until(lambda: on.link.state.catalogue.commands)
        await on.pilot.pause(0.1)
        await on.write("/cl")
        await on.sees("/clear", "/claim", "a new session here", "the agent's claim")
        assert "the agent's clear" not in on.text
        await on.pilot.press("tab")
        assert on.composer.text == "/clear "
        old = on.link.id
        await on.pilot.press("enter")
        await cleared(on, old)


async def test_two_clears_at_once_make_one_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        old = on.link.id
        on.session.action_clear()
        on.session.action_clear()
        await cleared(on, old)
        assert len(await rows(on)) == 2


async def test_ctrl_t_and_the_palette_clear_too(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(100, 40)) as on:
        await on.attached()
        old = on.link.id
        on.composer.set_draft("/clear")
        await on.pilot.press("ctrl+t")
        fresh = await cleared(on, old)
        await on.pilot.press("ctrl+p")
        await on.until(lambda: on.app.screen is not on.session)
        await on.write("clear")
        await on.sees("a new session here")
        await on.pilot.press("enter")
        await on.until(lambda: on.link is not None and on.link.id not in (old, fresh))
