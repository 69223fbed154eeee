"""The real agents through the whole screen: `felan --agent` in a pty, answered by keys."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.felan import Felan, children
from tests.harness.acp.fake_model import Step
from tests.harness.acp.real import RealAgent

pytestmark = [pytest.mark.agents, pytest.mark.timeout(400)]

FIRST = 150.0
"""Seconds: the first start of an agent in a new home can take half a minute, and more beside other work."""


@pytest.fixture
def screen(agent: RealAgent, tmp_path: Path) -> Iterator[Felan]:
    with Felan(tmp_path, "--agent", agent.command, columns=120, rows=40) as felan:
        felan.ready()
        yield felan


def _send(felan: Felan, prompt: str) -> None:
    """As a paste: a prompt for the fake model is long."""
    felan.write(f"\x1b[200~{prompt}\x1b[201~")
    felan.see(prompt[:20])
    felan.past(0.12)
    felan.press("enter")


def _says(*pieces: str) -> list[Step]:
    """Steps that say the pieces as one text, which stands nowhere in the prompt."""
    return [{"text": piece} for piece in pieces]


def test_a_file_is_changed_and_a_command_run_after_the_answers_alone(agent: RealAgent, screen: Felan) -> None:
    target, made = screen.project / "target.txt", screen.project / "made.txt"
    target.write_text("before\n")
    prompt = agent.prompt(
        {"text": "I change the file."},
        agent.edit(target, "before", "after"),
        {"text": "Now a command."},  # without it, an agent may ask both at once, in any order
        agent.run(f"echo from-the-command > {made}; cat {made}"),
        *_says("All done", " here."),
    )
    _send(screen, prompt)
    screen.wait(lambda text: "F2 answer" in text, "the first question", FIRST)
    screen.go_to_card("target.txt", "1 ")
    assert target.read_text() == "before\n" and not made.exists()
    screen.press("1")
    screen.until(lambda: target.read_text() == "after\n", "the change")
    screen.go_to_card("from-the-command")
    assert not made.exists()
    screen.press("1")
    screen.see("All done here.")
    assert made.read_text() == "from-the-command\n"
    assert screen.quit() == 0
    screen.assert_whole()


def test_an_agent_that_is_killed_leaves_a_card_and_the_session_goes_on(
    agent: RealAgent, screen: Felan
) -> None:
    made = screen.project / "made.txt"
    _send(screen, agent.prompt({"text": "First a command."}, agent.run(f"touch {made}")))
    screen.wait(lambda text: "F2 answer" in text, "the question", FIRST)
    for child in children(screen.app):
        os.kill(child, signal.SIGKILL)
    screen.see("The agent ended", "SIGKILL", "the agent that asked is gone")
    assert not made.exists()
    _send(screen, agent.prompt(*_says("Here I", " am again.")))
    screen.wait(lambda text: "Here I am again." in text, "another turn", FIRST)
    assert screen.quit() == 0


def test_a_turn_is_cancelled_while_it_asks(agent: RealAgent, screen: Felan) -> None:
    made = screen.project / "made.txt"
    _send(screen, agent.prompt({"text": "First a command."}, agent.run(f"touch {made}")))
    screen.wait(lambda text: "F2 answer" in text, "the question", FIRST)
    screen.press("esc")
    screen.see("– stopped")
    assert not made.exists()
    _send(screen, agent.prompt(*_says("Still", " with you.")))
    screen.see("Still with you.")
    assert screen.quit() == 0
