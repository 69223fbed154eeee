"""The task pointer in Felan's own sessions with the real agents.

What an event tells reaches the model, and the agent publishes by the command that it is told.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_screen import FIRST
from tests.e2e.felan import Felan
from tests.harness.acp.fake_model import FakeModel
from tests.harness.acp.real import RealAgent
from tests.harness.hooks.lab import Context, contexts_in

pytestmark = [pytest.mark.agents, pytest.mark.timeout(400)]


class Asked:
    """The contexts in what the model is asked from now on."""

    def __init__(self, model: FakeModel) -> None:
        self._model = model
        self._from = len(model.requests)

    def contexts(self) -> dict[tuple[str, str, int], Context]:
        """By session, status and revision, in the order in which the newest request has them."""
        found: dict[tuple[str, str, int], Context] = {}
        for _, body in self._model.requests[self._from :]:
            for context in contexts_in(_texts(body)):
                found[context.at()] = context
        return found


def _texts(value: Any) -> Iterator[str]:
    """Every text in a request, whichever its dialect."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _say(felan: Felan, prompt: str) -> None:
    felan.write(f"\x1b[200~{prompt}\x1b[201~")
    felan.see(prompt[:20])
    felan.past(0.12)
    felan.press("enter")


def _state(felan: Felan, session: str) -> dict[str, Any]:
    return json.loads((felan.data / "task-pointers" / "v3" / session / "state.json").read_bytes())


def _sessions(felan: Felan) -> set[str]:
    root = felan.data / "task-pointers" / "v3"
    return {path.parent.name for path in root.glob("*/state.json")}


def test_an_agent_publishes_by_what_it_is_told_and_has_the_pointer_again_later(
    agent: RealAgent, model: FakeModel, tmp_path: Path
) -> None:
    script = tmp_path / "publish.sh"
    with Felan(tmp_path, "--agent", agent.command, columns=120, rows=40) as felan:
        felan.ready()
        asked = Asked(model)
        _say(
            felan,
            agent.prompt({"text": "I publish."}, agent.run(f"sh {script}"), {"text": "It is published."}),
        )
        felan.wait(lambda text: "F2 answer" in text, "the question", FIRST)
        (session,) = _sessions(felan)
        told = asked.contexts()
        assert list(told) == [(session, "ABSENT", 0), (session, "CLEARED", 1)], (
            "the start's, then the prompt's"
        )
        context = told[session, "CLEARED", 1]
        script.write_text(context.shell("Goal: see it through\nNext: come back") + "\n")
        felan.go_to_card("publish.sh")
        felan.press("1")
        felan.see("● CLEAN r2", "Goal: see it through")
        felan.see("It is published.")
        assert _state(felan, session)["task_id"] == json.loads(context["request"])["task_id"]
        assert felan.quit() == 0
    with Felan(tmp_path, "-c", columns=120, rows=40) as felan:
        felan.ready()
        asked = Asked(model)
        _say(felan, agent.prompt({"text": "I am"}, {"text": " back."}))
        felan.wait(lambda text: "I am back." in text, "the turn after the restart", FIRST)
        told = asked.contexts()
        resumed, prompted = told[session, "CLEAN", 2], told[session, "DIRTY", 3]
        assert (resumed["recovery_mode"], prompted["recovery_mode"]) == ("CONTINUE", "MERGE_FIRST")
        assert "| Goal: see it through\n| Next: come back" in resumed.text
        before = _state(felan, session)
        asked = Asked(model)
        felan.enter("/clear")
        felan.see("○ CLEARED r1")
        (fresh,) = _sessions(felan) - {session}
        _say(felan, agent.prompt({"text": "All"}, {"text": " is new."}))
        felan.wait(lambda text: "All is new." in text, "the turn after the clear", FIRST)
        assert list(asked.contexts()) == [(fresh, "CLEARED", 1), (fresh, "CLEARED", 2)]
        assert _state(felan, session) == before
        assert felan.quit() == 0
