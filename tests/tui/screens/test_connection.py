"""A connection that ends: what the screen shows, and what becomes of what a person wrote."""

from pathlib import Path
from typing import Any

import pytest

from felan_core.client.host_client import HostClient
from felan_core.client.transport import memory_pair
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.entries import MessageEntry
from tests.core.host.rig import Stagehand
from tests.tui.screens.stage import Stage, says, stage


def said(on: Stage) -> list[str]:
    entries = on.link.state.entries
    return [one.text for one in entries if isinstance(one, MessageEntry) and one.role == "user"]


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_connection_that_ends_is_made_again_and_the_session_goes_on(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    hand = Stagehand(scripts=[says("An answer."), says("Another.")])
    async with stage(tmp_path, hand, size=size) as on:
        await on.attached()
        await on.say("hello")
        await on.sees("An answer.")
        assert "connect" not in on.text
        on.door.closed = True
        await on.door.cut()
        await on.sees("reconnecting in", "Reconnecting: ", "An answer.")
        await on.say("meanwhile")
        await on.sees("Sent when the host answers again")
        assert on.composer.is_empty
        on.door.closed = False
        await on.sees("Connected again", "▌ meanwhile", "Another.")
        await on.sees_no("reconnecting")
        assert said(on) == ["hello", "meanwhile"]
        assert [turn.text for turn in hand.turns] == ["hello", "meanwhile"]


async def test_a_prompt_that_was_stored_before_the_cut_is_sent_once_and_not_in_the_composer(
    tmp_path: Path,
) -> None:
    hand = Stagehand(scripts=[says("Done.")])
    async with stage(tmp_path, hand) as on:
        await on.attached()

        connection = on.door.connections[0]

        def answer(re: str, frame: bytes) -> None:
            on.session.run_worker(on.door.cut())  # the reply to the prompt never arrives
            del frame, re

        connection.answer = answer  # type: ignore[method-assign]
        await on.say("only once")
        await on.sees("▌ only once", "Done.")
        await on.sees_no("reconnecting")
        assert said(on) == ["only once"] and on.composer.is_empty
        assert [turn.text for turn in hand.turns] == ["only once"]


async def test_what_nobody_knows_is_said_and_is_not_back_in_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()

        async def unknown(*_: Any) -> None:
            from felan_core.protocol import RequestIndeterminate

            raise RequestIndeterminate("indeterminate", "the host ended")

        on.link.client.prompt = unknown
        await on.say("maybe")
        await on.sees("It is unknown whether the message was sent")
        assert on.composer.is_empty
        await on.pilot.press("up")
        assert on.composer.text == "maybe"


async def test_what_waited_for_the_host_at_the_end_is_a_draft_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()
        on.door.closed = True
        await on.door.cut()
        await on.sees("reconnecting in")
        await on.say("first")
        await on.say("second")
        await on.write("third")
        on.app.leave()
        assert on.composer.text == "first\nsecond\nthird"


async def test_a_session_whose_snapshot_is_refused_for_good_says_so(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.attached()

        async def refuses(call: Any) -> Any:
            raise ProtocolError("not_found", "the session was deleted")

        handlers = on.door.host._admission._handlers  # pyright: ignore[reportPrivateUsage]
        attach, handlers["attach"] = handlers["attach"], refuses
        await on.door.cut()
        await on.sees("This session cannot be shown any more: the session was deleted", "session is gone")
        handlers["attach"] = attach
        await on.say("/clear")
        await on.sees("CLEARED r1")
        await on.sees_no("session is gone")


async def test_what_was_missed_is_marked_in_the_transcript_and_enter_fetches_it(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[says(f"Answer {n}.") for n in range(6)])) as on:
        await on.attached()
        await on.say("zero")
        await on.sees("Answer 0.")
        on.door.closed = True
        await on.door.cut()
        await on.sees("reconnecting")
        ours, theirs = memory_pair()
        on.door.host.serve(ours, op.Principal(id="uid:1", kind="local"))
        other = HostClient(theirs, op.ClientInfo(kind="headless", name="other", version="0"))
        await other.connect()
        replica = await other.attach(on.link.id)
        for number in range(1, 5):
            await other.prompt(on.link.id, f"question {number}")
            await on.until(lambda: replica.state.run is None)
        on.link.replica.history_limit = 2
        on.door.closed = False
        await on.sees("Answer 0.", "Entries are missing here. Enter fetches them.", "Answer 4.")
        assert "question 2" not in on.text
        on.view.focus()
        on.view.cursor = next(
            key for key in on.session._view._presenter._places if key.startswith("missing/")
        )
        await on.pilot.press("enter")
        await on.sees_no("Entries are missing here")
        await on.pilot.press("pageup")
        await on.sees("question 2", "Answer 1.")
        assert said(on) == ["zero", *(f"question {number}" for number in range(1, 5))]
        await other.close()
