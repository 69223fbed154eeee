"""A prompt and the task pointer: the prompt is on disk first, and the agent gets it after the pointer."""

import threading
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import lifecycle
from felan_core.pointer.errors import PointerError
from felan_core.protocol.entries import MessageEntry, NoticeEntry
from tests.core.host.rig import Rig, Stagehand, until


async def test_a_prompt_whose_pointer_cannot_be_written_ends_its_turn_and_is_not_sent(
    host: Rig, hand: Stagehand, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PointerError("LOCK_TIMEOUT", "the lock is held")

    client = await host.client()
    replica = await host.session(client, work)
    with monkeypatch.context() as broken:
        broken.setattr("felan_core.host.pointer.prompt_submitted", refuse)
        await client.prompt(replica.state.session, "one")
        await until(lambda: any(isinstance(one, NoticeEntry) for one in replica.state.entries))
    await until(lambda: replica.state.run is None)
    said, card = replica.state.entries
    assert isinstance(said, MessageEntry) and said.role == "user"
    assert isinstance(card, NoticeEntry) and "LOCK_TIMEOUT" in f"{card.title} {card.text}"
    assert hand.turns == []
    await client.prompt(replica.state.session, "two")
    await until(lambda: [turn.text for turn in hand.turns] == ["two"])


async def test_while_the_lock_of_the_pointer_is_waited_for_the_session_answers_and_a_cancel_ends_the_turn(
    host: Rig, hand: Stagehand, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()
    submit = lifecycle.prompt_submitted

    def wait(*arguments: Any) -> Any:
        entered.set()
        leave.wait(10)
        return submit(*arguments)

    monkeypatch.setattr("felan_core.host.pointer.prompt_submitted", wait)
    client = await host.client()
    replica = await host.session(client, work)
    session = replica.state.session
    try:
        await client.prompt(session, "one")
        await until(entered.is_set)
        await client.rename(session, "a name")
        assert (await client.steer(session, "two")).item_id
        assert (await client.cancel(session)).cancelled is True
        await until(lambda: replica.state.run is None)
    finally:
        leave.set()
    assert replica.state.queue.held and hand.turns == []
