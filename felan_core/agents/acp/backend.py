"""``AcpBackend``: an agent that speaks the Agent Client Protocol, driven through the backend interface."""

import os
from collections.abc import Mapping

from felan_core.agents.acp import schema
from felan_core.agents.acp.agent_connection import AgentConnection, Times
from felan_core.agents.acp.rpc import Trace
from felan_core.agents.backend import (
    Abilities,
    AgentError,
    AgentGone,
    Backend,
    BackendBase,
    BackendFactory,
    Session,
    Turn,
    TurnOutcome,
)
from felan_core.agents.settings import AGENT_COMMAND
from felan_core.protocol.base import JsonObject

WAITING_BYTES = 48 * 1024
"""What is kept, the newest of it, for the next prompt that is no command of the agent."""
_STOPPED_SHORT = {
    "max_tokens": ("The answer was cut short", "The model's limit of tokens was reached."),
    "max_turn_requests": ("The turn was cut short", "The agent's limit of requests in one turn was reached."),
    "refusal": ("The agent refused to go on", "It may leave this prompt out of what it remembers."),
}


class AcpBackend(BackendBase):
    """One ACP agent of one session. The process lives from ``start`` to ``close`` or to its own end."""

    def __init__(
        self,
        session: Session,
        command: str,
        *,
        environ: Mapping[str, str] | None = None,
        times: Times = Times(),  # noqa: B008 - immutable
        trace: Trace | None = None,
    ) -> None:
        self._session = session
        self._command = command
        self._environ = environ
        self._times = times
        self._trace = trace
        self._agent: AgentConnection | None = None
        self._starts = 0
        self._running = False
        self._notes = ""
        self._waiting = ""
        self.name = command

    @property
    def kind(self) -> str:
        return "acp"

    @property
    def abilities(self) -> Abilities:
        agent = self._agent
        images = agent is None or schema.offers(agent.capabilities, "promptCapabilities", "image")
        return Abilities(images=images)

    async def start(self, memory: JsonObject | None) -> bool:
        if self._agent is not None:
            if not self._agent.over:
                return True
            # Its end is reported before the next agent can begin.
            await self._agent.ended_with()
        self._starts += 1
        agent = self._agent = AgentConnection(self._session, self._times, self._starts)
        try:
            environ = os.environ if self._environ is None else self._environ
            await agent.begin(self._command, environ, self._trace)
            remembers = await agent.open(memory)
            agent.ready()
        except BaseException:
            # An agent without a session is of no use, and after a login it must look for its keys again.
            self._agent = None
            await agent.stop()
            raise
        finally:
            self.name = agent.name
        return remembers

    async def turn(self, turn: Turn) -> TurnOutcome:
        agent = self._agent
        if agent is None:
            raise AgentGone(f"{self.name} is not running.")
        if agent.over:
            raise await agent.ended_with()
        agent.begin_turn()
        self._running = True
        try:
            stop = await agent.prompt(await self._blocks(agent, turn))
            if (refusal := agent.updates.compactions.refusal) is not None:
                raise refusal
        finally:
            self._running = False
            self._notes += agent.asking.take_notes()
        if stop == "cancelled":
            return "cancelled"
        if (short := _STOPPED_SHORT.get(stop)) is not None:
            await self._session.notice("warning", *short)
        return "completed"

    async def _blocks(self, agent: AgentConnection, turn: Turn) -> list[JsonObject]:
        blocks: list[JsonObject] = [{"type": "text", "text": turn.text}]
        word = turn.text.split(maxsplit=1)[0] if turn.text.strip() else ""
        command = word.startswith("/") and word[1:] in agent.updates.commands
        agent.updates.compactions.begin_turn(command=command)
        context = ""
        if not command:
            # A command of the agent is found at the very start of the prompt and takes all of it for its
            # arguments, so what is for the agent alone waits for the next prompt.
            waiting, self._waiting = self._waiting, ""
            notes, self._notes = self._notes, ""
            told = agent.updates.compactions.take_told()
            context = "\n\n".join(text for text in (waiting, told, turn.context, notes) if text)
        elif turn.context:
            waiting = f"{self._waiting}\n\n{turn.context}".lstrip()
            self._waiting = waiting.encode()[-WAITING_BYTES:].decode(errors="ignore")
        if turn.images and not self.abilities.images:
            await self._session.notice("warning", f"{agent.name} takes no images", "It got your text alone.")
        else:
            for image in turn.images:
                blocks.append({"type": "image", "mimeType": image.media_type, "data": image.data})
        if context:
            # After the person's text, from which agents take their titles. Some join the blocks as they are.
            blocks.append({"type": "text", "text": f"\n\n{context}\n\n"})
            agent.updates.contexts.sent(context)
        return blocks

    async def cancel(self) -> None:
        if self._agent is not None and self._running:
            self._agent.cancel()

    async def close(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.stop()


def create(session: Session, settings: JsonObject) -> Backend:
    """A backend from ``{"agent.command": "opencode acp"}``. Raises ``AgentError`` without a command."""
    command = settings.get(AGENT_COMMAND)
    if not isinstance(command, str) or not command.strip():
        raise AgentError(f"{AGENT_COMMAND} is missing: the command that starts the agent.")
    return AcpBackend(session, command)


FACTORY: BackendFactory = create
