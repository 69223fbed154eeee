"""The table of an agent's states: each way to an end, and what changes nothing."""

import pytest

from felan_core.agents.acp.agent_state import AgentState, Event, after

S = AgentState


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ("ready", S.IDLE),
        ("ready turn rest", S.IDLE),
        ("ready turn rest closed", S.ENDED),
        ("ready closed", S.ENDED),
        ("closed", S.LOST),
        ("closed ready", S.ENDED),
        ("ready turn closed", S.LOST),
        ("ready turn closed rest", S.ENDED),
        ("ready turn closed stop rest", S.STOPPED),
        ("ready stop closed", S.STOPPED),
        ("closed closed closed", S.LOST),
        ("ready closed turn rest", S.ENDED),
        ("rest turn", S.STARTING),
    ],
)
def test_the_states_of_an_agent(events: str, state: AgentState) -> None:
    now = S.STARTING
    for event in events.split():
        now = after(now, event)  # pyright: ignore[reportArgumentType] - the words above are events
    assert now is state


@pytest.mark.parametrize("event", ["ready", "turn", "rest", "closed", "stop"])
def test_nothing_leaves_the_last_state(event: Event) -> None:
    assert after(S.STOPPED, event) is S.STOPPED
