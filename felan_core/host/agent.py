"""The agent of one session: started when it is first needed, replaced when it is gone."""

import asyncio
from collections.abc import Callable

import msgspec

from felan_core.agents.backend import AgentError, AgentGone, Backend
from felan_core.host.actor import SessionActor, notice_entry
from felan_core.host.pointer import Pointer
from felan_core.host.sanitize import label
from felan_core.host.services import CLEARS_SETTING
from felan_core.protocol.base import UNSET
from felan_core.protocol.entries import MessageEntry
from felan_core.protocol.events import CatalogUpdated, KnownEvent, MessageCompleted, SessionUpdated


class Agent:
    """``make``: a backend that is not started. ``operations``: what a session with a backend can do."""

    def __init__(
        self,
        actor: SessionActor,
        pointer: Pointer,
        make: Callable[[], Backend],
        operations: Callable[[Backend], list[str]],
    ) -> None:
        self._actor = actor
        self._pointer = pointer
        self._make = make
        self._operations = operations
        self._starting = asyncio.Lock()
        self._waking: asyncio.Task[None] | None = None
        self._announced = False
        self._was_ready = False
        self._used = False
        self.backend = make()
        self.ready = False

    @property
    def starting(self) -> bool:
        """Whether it is being started."""
        return self._starting.locked() or (self._waking is not None and not self._waking.done())

    def operations(self) -> list[str]:
        """What the session can do with this agent."""
        return self._operations(self.backend)

    async def ensure(self) -> None:
        """Start the agent if it is not there. Outside jobs. Raises ``AgentError``."""
        async with self._starting:
            if self.ready:
                return
            actor = self._actor
            self._used = True

            async def starting() -> None:
                await actor.commit(*self.events("starting"))
                await self.announce()

            try:
                await actor.do(starting)
                spoken = self._spoken()
                remembers = await self.backend.start(actor.memory)
            except BaseException:
                await self.close()
                actor.later(lambda: actor.commit(*self.events("gone")), "an agent that did not start")
                raise
            self.ready = self._was_ready = True

            async def ready() -> None:
                events = self.events("ready", memory=remembers)
                if not remembers and spoken:
                    events.append(
                        notice_entry(
                            actor,
                            "warning",
                            "The agent starts without memory",
                            "It could not take up its earlier session; what stands above is new to it.",
                        )
                    )
                await actor.commit(*events)

            await actor.do(ready)

    async def announce(self) -> None:
        """SessionStart, once for each start of the agent and before what is said to it. Inside a job."""
        if self._announced:
            return
        self._announced = True
        actor = self._actor
        if self._was_ready or actor.memory is not None or self._spoken():
            await self._pointer.started("resume")
        else:
            await self._pointer.started("clear" if CLEARS_SETTING in actor.settings else "startup")

    def _spoken(self) -> bool:
        """Whether an agent has said anything in this session."""
        return any(
            isinstance(one, MessageEntry) and one.role == "assistant" for one in self._actor.state.entries
        )

    def wake(self) -> None:
        """Start the agent beside everything else; one that cannot start says so as a notice."""
        if self.ready or self._starting.locked() or self._actor.state.header.state == "closed":
            return
        if self._waking is not None and not self._waking.done():
            return

        async def start() -> None:
            try:
                await self.ensure()
            except AgentError as problem:
                card = error_card(self._actor, problem)
                self._actor.later(lambda: self._actor.commit(card), "an agent that did not start")
            except Exception as error:
                self._actor.services.report(error, "starting the agent")

        self._waking = asyncio.create_task(start(), name="felan-agent-start")

    async def leave(self) -> None:
        """The session ends: an agent that is just being started is not waited for."""
        if self._waking is not None:
            self._waking.cancel()
            await asyncio.wait([self._waking])

    def replace(self) -> None:
        """Take a new one, not started yet, in the place of one that is gone."""
        self.ready = self._announced = self._used = False
        self.backend = self._make()

    async def close(self) -> None:
        """End the backend, where it was ever asked to start; another one takes its place."""
        if self._used:
            try:
                await self.backend.close()
            finally:
                self.replace()

    def events(self, state: str, memory: bool = True) -> list[KnownEvent]:
        """What has to be told when the agent is now in ``state``."""
        header = self._actor.state.header
        # A name may be the whole command that somebody typed.
        kind, name = label(self.backend.kind), label(self.backend.name)
        # An agent that starts anew publishes its mode anew.
        mode = header.agent.mode if state == "ready" else UNSET
        agent = msgspec.structs.replace(
            header.agent, kind=kind, name=name, state=state, memory=memory, mode=mode
        )
        old = self._actor.state.catalogue
        catalogue = msgspec.structs.replace(old, operations=self.operations())
        events: list[KnownEvent] = []
        if agent != header.agent:
            events.append(SessionUpdated(header=msgspec.structs.replace(header, agent=agent)))
        if catalogue != old:
            events.append(CatalogUpdated(catalogue=catalogue))
        return events


def error_card(actor: SessionActor, problem: AgentError) -> MessageCompleted:
    """An agent's failure, as it stands in the transcript."""
    title = problem.title or ("The agent ended" if isinstance(problem, AgentGone) else "The agent failed")
    text = "\n".join(part for part in (problem.message, problem.advice) if part)
    return notice_entry(actor, "error", title, text, problem.details)
