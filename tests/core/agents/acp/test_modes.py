"""The agent's mode, and what it means; the ways to log in."""

import pytest

from felan_core.agents.acp.login import ways
from felan_core.agents.acp.modes import Modes, asks_first, habits_of
from felan_core.agents.backend import AgentError
from felan_core.protocol.base import UNSET
from felan_core.protocol.session import AgentMode
from tests.core.agents.acp.conftest import Stage
from tests.harness.acp.recorder import RecordingSession


@pytest.mark.parametrize(
    ("agent", "mode", "asks"),
    [
        ("@agentclientprotocol/claude-agent-acp", "default", True),
        ("@agentclientprotocol/claude-agent-acp", "auto", False),
        ("@agentclientprotocol/claude-agent-acp", "acceptEdits", False),
        ("@agentclientprotocol/claude-agent-acp", "bypassPermissions", False),
        ("@agentclientprotocol/claude-agent-acp", "new-mode", UNSET),
        ("codex-acp", "agent", False),
        ("codex-acp", "read-only", True),
        ("codex-acp", "agent-full-access", False),
        ("gemini-cli", "yolo", False),
        ("qwen-code", "auto", False),
        ("pi-acp", "high", False),
        ("OpenCode", "build", UNSET),
        ("Deaf", "yolo", False),
    ],
)
def test_what_is_known_of_the_modes_of_agents(agent: str, mode: str, asks: object) -> None:
    assert asks_first(habits_of(agent), mode) is asks


async def test_a_mode_comes_with_the_session_and_changes_by_every_message_that_names_it(stage: Stage) -> None:
    stage.scripted("modes", file="hostile.py")
    await stage.backend.start(None)
    await stage.take_turn()
    assert [call.mode for call in stage.session.named("mode")] == [
        AgentMode(id="default", name="Always ask", asks=True),
        AgentMode(id="acceptEdits", name="Accept edits", asks=False),
        AgentMode(id="default", name="Ask", asks=True),
    ]


async def test_an_agent_that_never_asks_has_no_mode_of_its_own() -> None:
    session = RecordingSession(cwd="/")
    modes = Modes(session)
    modes.identify("pi-acp")
    await modes.opened({"modes": {"currentModeId": "high", "availableModes": []}})
    await modes.opened({})
    assert [call.mode for call in session.named("mode")] == [AgentMode(id="", name="", asks=False)]


async def test_gemini_says_its_mode_as_text_and_no_other_agent_does() -> None:
    session = RecordingSession(cwd="/")
    modes = Modes(session)
    assert not await modes.text("[MODE_UPDATE] yolo")
    modes.identify("gemini-cli")
    assert await modes.text("[MODE_UPDATE] yolo")
    assert not await modes.text("It said [MODE_UPDATE] yolo")
    assert [call.mode for call in session.named("mode")] == [AgentMode(id="yolo", name="yolo", asks=False)]


async def test_a_mode_of_any_shape_is_survived() -> None:
    session = RecordingSession(cwd="/")
    modes = Modes(session)
    for odd in (None, [], {}, 3, {"currentModeId": 4, "availableModes": [1, {"id": 2}]}):
        await modes.opened({"modes": odd, "configOptions": odd})
    options = [
        {"id": "mode", "currentValue": "m" * 5000, "options": [{"value": "m" * 5000, "name": "n" * 5000}]}
    ]
    await modes.update({"configOptions": [*options, 3]})
    (published,) = [call.mode for call in session.named("mode")]
    assert published.name.startswith("nnn") and published.id.startswith("mmm")


async def test_a_login_lists_what_to_do(stage: Stage) -> None:
    stage.scripted("logs_in", file="hostile.py")
    with pytest.raises(AgentError) as caught:
        await stage.backend.start(None)
    assert (caught.value.title, caught.value.message) == ("Login required", "scripted requires a login.")
    command = stage.backend._command  # pyright: ignore[reportPrivateUsage] - what it is shown
    assert caught.value.advice.splitlines() == [
        "Ways to log in:",
        "- Log in with Acme",
        f"  run in a terminal: {command} --cli 'two words'",
        "- Use a key",
        "  set ACME_KEY or A_KEY before Felan starts",
        "  open https://acme.invalid/keys",
        "- Legacy",
        "  the agent names the command: acme login",
        "- d: Run `acme auth` in a terminal",
        "- Set ACME_TOKEN before Felan starts.",
        "Then send the message again.",
    ]


def test_the_ways_of_an_error_stand_in_for_those_of_the_handshake() -> None:
    data = {"authMethods": [{"id": "x", "name": "Browser", "url": "https://a.invalid"}]}
    assert "- Browser\n  open https://a.invalid" in ways([], "a", data)
    assert "names no way" in ways([], "a")
    odd = [{}, {"type": "terminal", "args": 3}, {"vars": {"a": 1}, "_meta": {"terminal-auth": []}}] * 99
    assert len(ways(odd, 'a "b').splitlines()) < 60
