"""Agents that compact what they know, on raw lines; like `scripted.py`, and run in the same way."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.harness.acp.scripted import (
    SESSION,
    answer,
    await_method,
    begin,
    finish,
    pass_time,
    receive,
    shake_hands,
    text,
    update,
)


def compacts() -> None:
    """Compacts in its first turns, each in another way, and says what every prompt holds."""
    shake_hands()
    answer(await_method("session/new"), {"sessionId": SESSION})
    update("available_commands_update", availableCommands=[{"name": "compact", "description": "Compact"}])
    ways = [one_piece, in_chunks, failing, cancelled_compaction, one_piece]
    while True:
        prompt = await_method("session/prompt")
        text(json.dumps([block["text"] for block in prompt["params"]["prompt"]]))
        if ways:
            ways.pop(0)()
        finish(prompt)


def compaction(number: int, status: str, /, **members: Any) -> None:
    update("compaction_update", compactionId=f"c-{number}", status=status, **members)


def one_piece() -> None:
    compaction(1, "in_progress", summary=None)
    compaction(1, "in_progress")
    compaction(1, "completed", summary=[{"type": "text", "text": "All in all."}])
    compaction(1, "completed")


def in_chunks() -> None:
    for words in ("Bit by ", "bit."):
        update("compaction_summary_chunk", compactionId="c-2", content={"type": "text", "text": words})
    compaction(2, "completed")


def failing() -> None:
    compaction(3, "in_progress")
    compaction(3, "failed", error="out of tokens")


def cancelled_compaction() -> None:
    compaction(4, "in_progress")
    compaction(4, "cancelled")
    compaction(4, "_of_tomorrow")
    update("compaction_update", status="completed")
    update("compaction_summary_chunk", compactionId=None, content=None)


def compacts_at_once() -> None:
    """Goes on after its compaction until it is cancelled."""
    prompt = begin()
    compaction(1, "completed")
    while receive().get("method") != "session/cancel":
        pass
    finish(prompt, "cancelled")
    prompt = await_method("session/prompt")
    finish(prompt)
    pass_time(0.3)  # no longer in the turn
    compaction(2, "completed")
    await_method("session/prompt")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
