"""The states of an agent, as a table. ``AgentConnection`` does what happens.

state      event       next       what happens
STARTING   ready       IDLE       the backend may take turns
STARTING   closed      LOST       the start fails, and says how the agent ended
IDLE       turn        IN_TURN    the agent gets a prompt; a cancel is for this turn from now on
IDLE       closed      ENDED      the end is reported to the session
IN_TURN    rest        IDLE       the questions of the turn are settled, its tools ended
IN_TURN    closed      LOST       the turn fails, and says how the agent ended
LOST       ready,rest  ENDED      nobody said how: the end is reported to the session
any        stop        STOPPED    the process is ended; nothing is reported
"""

import enum
from typing import Literal


class AgentState(enum.Enum):
    """Where an agent is in the table at the top."""

    STARTING = enum.auto()
    IDLE = enum.auto()
    IN_TURN = enum.auto()
    LOST = enum.auto()
    ENDED = enum.auto()
    STOPPED = enum.auto()


Event = Literal["ready", "turn", "rest", "closed", "stop"]
_NEXT: dict[tuple[AgentState, Event], AgentState] = {
    (AgentState.STARTING, "ready"): AgentState.IDLE,
    (AgentState.STARTING, "closed"): AgentState.LOST,
    (AgentState.IDLE, "turn"): AgentState.IN_TURN,
    (AgentState.IDLE, "closed"): AgentState.ENDED,
    (AgentState.IN_TURN, "rest"): AgentState.IDLE,
    (AgentState.IN_TURN, "closed"): AgentState.LOST,
    (AgentState.LOST, "ready"): AgentState.ENDED,
    (AgentState.LOST, "rest"): AgentState.ENDED,
    **{(state, "stop"): AgentState.STOPPED for state in AgentState},
}


def after(state: AgentState, event: Event) -> AgentState:
    """The state after ``event``; one that means nothing in ``state`` changes nothing."""
    return _NEXT.get((state, event), state)
