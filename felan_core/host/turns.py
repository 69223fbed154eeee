"""Turns: one at a time, the queue behind it, and the agent that takes them.

prompt ──▶ run.started ──▶ the agent's turn ──▶ run.ended ──▶ the next of the queue
              │                                   cancelled, failed: the queue is held
              └─ cancel: the questions of the run are withdrawn, the agent is asked to end; one that does
                 not end in ``CANCEL_SECONDS`` is ended
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from felan_core.agents.backend import AgentError, AgentGone, Backend, Deferred, Turn, TurnOutcome
from felan_core.host.actor import SessionActor, notice_entry
from felan_core.host.broker import AGENT_GONE, Broker
from felan_core.host.call import Call
from felan_core.host.pointer import Pointer
from felan_core.host.presentation import hide, show
from felan_core.host.streams import Streams
from felan_core.pointer.errors import PointerError
from felan_core.protocol import LIMITS, UNSET, ProtocolError
from felan_core.protocol.base import Maybe
from felan_core.protocol.elements import Action, Column, Hint, ViewElement, ViewItem, ViewPage
from felan_core.protocol.entries import AnyOrigin, LocalOrigin, MessageEntry, TextPart
from felan_core.protocol.errors import ErrorBody
from felan_core.protocol.events import (
    CatalogUpdated,
    KnownEvent,
    MessageCompleted,
    QueueUpdated,
    RunEnded,
    RunStarted,
    SessionUpdated,
)
from felan_core.protocol.operations import (
    CancelParams,
    CancelResult,
    Image,
    PromptParams,
    QueuedResult,
    RunResult,
)
from felan_core.protocol.session import Queue, QueueItem, Run, RunOutcome
from felan_core.store.errors import StoreError

CANCEL_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 1.0
QUEUE_ELEMENT: Final = "felan.queue"
TakeTurn = Callable[[Backend], Awaitable[TurnOutcome]]


class ToolCloser(Protocol):
    """Ends the tool calls that a turn left open. Inside a job."""

    async def __call__(self, run: str | None, reason: str) -> None: ...


class Turns:
    """``context``: what the host adds to the next prompt for the agent alone."""

    def __init__(
        self,
        actor: SessionActor,
        backend: Callable[[], Backend],
        *,
        streams: Streams,
        broker: Broker,
        pointer: Pointer,
        close_tools: ToolCloser,
        context: Callable[[], Awaitable[str]],
        operations: Callable[[Backend], list[str]],
    ) -> None:
        self._actor = actor
        self._make = backend
        self._backend = backend()
        self._streams = streams
        self._broker = broker
        self._pointer = pointer
        self._close_tools = close_tools
        self._context = context
        self._operations = operations
        self._ready = False
        self._starting = asyncio.Lock()
        self._taking: asyncio.Task[TurnOutcome] | None = None
        self._driver: asyncio.Task[None] | None = None
        self._cancelling = False
        self._leaving = False
        self._helpers: set[asyncio.Task[None]] = set()

    @property
    def backend(self) -> Backend:
        """The agent of the session, started or not."""
        return self._backend

    # --- what clients ask ---

    async def prompt(self, call: Call, params: PromptParams) -> RunResult:
        """Start a turn. ``busy`` while one runs: steer or follow up instead. Inside a job."""
        self._check_open()
        if self._actor.state.run is not None:
            raise ProtocolError("busy", "a turn is running: steer it, or follow up", retryable=True)
        run = self._actor.services.new_id()
        result = RunResult(run_id=run)
        await self._begin(run, params.text, params.images or [], call.origin, settle=(call, result))
        return result

    async def steer(self, call: Call, params: PromptParams) -> QueuedResult:
        """Put a message into the turn that runs; without one it starts a turn. Inside a job."""
        self._check_open()
        if not self._backend.abilities.steer:
            raise ProtocolError("unsupported_operation", "this session's agent cannot be steered")
        run = self._actor.state.run
        if run is None or not self._ready:
            return await self._enqueue(call, params, "steer")
        await self._streams.complete("completed")
        result = QueuedResult(status="handled")
        await self._actor.commit(self._said(params.text, call.origin, run.id), settle=(call, result))
        self._beside(self._backend.steer(params.text), "steering")
        return result

    async def follow_up(self, call: Call, params: PromptParams) -> QueuedResult:
        """Queue a message for after the turn; without one it starts a turn. Inside a job."""
        self._check_open()
        return await self._enqueue(call, params, "follow_up")

    async def cancel(self, call: Call, params: CancelParams) -> CancelResult:
        """End the turn that runs, and drop the queue where that is asked. Inside a job."""
        run = self._actor.state.run
        meant = run is not None and params.run_id in (UNSET, run.id)
        queue = self._actor.state.queue
        dropping = params.queue is True and bool(queue.items)
        returned: Maybe[list[str]] = [item.text for item in queue.items] if params.queue is True else UNSET
        result = CancelResult(cancelled=meant, returned=returned)
        events = self._queue_events(Queue(items=[], held=False)) if dropping else []
        await self._actor.commit(*events, settle=(call, result))
        if meant and run is not None:
            await self._broker.withdraw_all("cancelled with the turn", run.id)
            self._cancel_turn()
        return result

    async def release(self) -> None:
        """Take the queue up again after it was held. Inside a job."""
        queue = self._actor.state.queue
        if queue.held:
            await self._actor.commit(*self._queue_events(Queue(items=queue.items, held=False)))
            await self._pump()

    def continue_deferred(self, deferred: Deferred) -> None:
        """Start the continuation turn of an answered interaction, after the turn that runs."""

        async def job() -> None:
            if self._leaving or self._actor.state.run is not None:
                return
            if deferred.interaction in self._actor.resumes:
                await self._begin_continuation(deferred)

        self._actor.later(job, "a continuation turn")

    # --- the queue ---

    async def _enqueue(self, call: Call, params: PromptParams, mode: str) -> QueuedResult:
        actor = self._actor
        queue = actor.state.queue
        item_id = actor.services.new_id()
        result = QueuedResult(item_id=item_id)
        if actor.state.run is None and not queue.items:
            run = actor.services.new_id()
            await self._begin(run, params.text, params.images or [], call.origin, settle=(call, result))
            return result
        if len(queue.items) >= LIMITS.page_entries:
            raise ProtocolError("busy", f"the queue holds {LIMITS.page_entries} messages", retryable=True)
        item = QueueItem(
            id=item_id,
            text=params.text,
            mode="steer" if mode == "steer" else "follow_up",
            at=actor.services.clock(),
            origin=call.origin,
        )
        changed = Queue(items=[*queue.items, item], held=queue.held)
        await actor.commit(*self._queue_events(changed), settle=(call, result))
        return result

    def _queue_events(self, queue: Queue) -> list[KnownEvent]:
        """A held queue is an element too: the contract has no operation that releases it."""
        events: list[KnownEvent] = [QueueUpdated(queue=queue)]
        if queue.held and queue.items:
            events += show(self._actor, held_element(queue))
        else:
            events += hide(self._actor, QUEUE_ELEMENT)
        return events

    async def _pump(self) -> None:
        """Begin what comes next, when nothing runs. Inside a job."""
        actor = self._actor
        if self._leaving or actor.state.run is not None or actor.state.header.state == "closed":
            return
        for deferred in self._broker.unfinished():
            await self._begin_continuation(deferred)
            return
        queue = actor.state.queue
        if queue.items and not queue.held:
            item, *rest = queue.items
            events = self._queue_events(Queue(items=rest, held=False))
            await self._begin(actor.services.new_id(), item.text, [], item.origin, events=events)

    # --- one turn ---

    async def _begin(
        self,
        run: str,
        text: str,
        images: list[Image],
        origin: AnyOrigin,
        *,
        events: list[KnownEvent] | None = None,
        settle: tuple[Call, RunResult | QueuedResult] | None = None,
    ) -> None:
        actor = self._actor
        try:
            pointer = await self._pointer.prompted()
        except PointerError as error:
            if settle is None:
                await actor.commit(*self._queue_events(Queue(items=actor.state.queue.items, held=True)))
            raise ProtocolError(
                "storage_failure", f"the task pointer cannot be written: {error.code}"
            ) from error
        started = Run(id=run, started_at=actor.services.clock(), origin=origin)
        queue = actor.state.queue
        unheld = self._queue_events(Queue(items=queue.items, held=False)) if queue.held else []
        said = self._said(text, origin, run)
        await actor.commit(
            *(events or unheld), said, RunStarted(run=started), *show(actor, pointer), settle=settle
        )
        context = await self._context()
        turn = Turn(run=run, text=text, images=images, context=context)
        self._drive(run, lambda backend: backend.turn(turn))

    async def _begin_continuation(self, deferred: Deferred) -> None:
        actor = self._actor
        run = actor.services.new_id()
        interaction = actor.state.interactions[deferred.interaction]
        client = interaction.responder.client if interaction.responder else "felan"
        started = Run(id=run, started_at=actor.services.clock(), origin=LocalOrigin(client=client))
        await actor.commit(RunStarted(run=started), resumes={deferred.interaction: None})
        self._drive(run, lambda backend: backend.resume(run, deferred))

    def _said(self, text: str, origin: AnyOrigin, run: str) -> MessageCompleted:
        stamp = self._actor.stamp()
        stamp["run"] = run
        entry = MessageEntry(
            **stamp, role="user", parts=[TextPart(id="s0", text=text)], outcome="completed", origin=origin
        )
        return MessageCompleted(entry=entry)

    def _drive(self, run: str, take: TakeTurn) -> None:
        self._cancelling = False

        async def taking() -> TurnOutcome:
            await self.ensure_agent()
            return await take(self._backend)

        async def drive() -> None:
            outcome: RunOutcome
            problem: AgentError | None = None
            self._taking = asyncio.create_task(taking(), name="felan-turn")
            try:
                await asyncio.wait([self._taking])
                outcome = self._taking.result()
            except asyncio.CancelledError:
                outcome = "cancelled"
            except AgentError as error:
                outcome, problem = "failed", error
            except (StoreError, ProtocolError) as error:
                outcome, problem = "failed", AgentError(str(error))
                self._actor.services.report(error, "a turn")
            except Exception as error:
                self._actor.services.report(error, "a turn")
                outcome, problem = "failed", AgentError("the agent's backend failed", repr(error))
            await self._conclude(run, outcome, problem)

        self._driver = asyncio.create_task(drive(), name="felan-turn-driver")

    async def _conclude(self, run: str, outcome: RunOutcome, problem: AgentError | None) -> None:
        """End the turn on disk. While that cannot be written the turn has not ended, and is ended later."""
        while not self._leaving:
            try:
                await self._actor.do(lambda: self._ended(run, outcome, problem))
            except (StoreError, ProtocolError) as error:
                self._actor.services.report(error, "the end of a turn")
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _ended(self, run: str, outcome: RunOutcome, problem: AgentError | None) -> None:
        actor = self._actor
        if self._leaving or actor.state.run is None or actor.state.run.id != run:
            return
        gone = isinstance(problem, AgentGone)
        await self._streams.complete(outcome)
        await self._close_tools(run, "lost" if gone else "cancelled")
        await self._broker.withdraw_all(AGENT_GONE if gone else "the turn is over", run)
        events: list[KnownEvent] = []
        error: Maybe[ErrorBody] = UNSET
        if problem is not None:
            events.append(_error_card(actor, problem))
            error = ErrorBody(code="unavailable", message=problem.message[: LIMITS.label_bytes])
        events.append(RunEnded(run=run, outcome=outcome, error=error))
        if outcome != "completed" and actor.state.queue.items:
            events += self._queue_events(Queue(items=actor.state.queue.items, held=True))
        if gone:
            events += self._agent_events("gone")
        await actor.commit(*events)
        if gone:
            self._replace_agent()
        self._actor.later(self._pump, "the next of the queue")

    def _cancel_turn(self) -> None:
        if self._cancelling:
            return
        self._cancelling = True
        taking = self._taking
        if not self._ready and taking is not None:
            taking.cancel()
            return
        self._beside(self._cancel_agent(taking), "cancelling")

    async def _cancel_agent(self, taking: "asyncio.Task[TurnOutcome] | None") -> None:
        await self._backend.cancel()
        if taking is None:
            return
        await asyncio.wait([taking], timeout=CANCEL_SECONDS)
        if not taking.done():
            taking.cancel()
            backend = self._backend
            self._replace_agent()
            await backend.close()

    # --- the agent ---

    async def ensure_agent(self) -> None:
        """Start the agent if it is not there. Outside jobs. Raises ``AgentError``."""
        async with self._starting:
            if self._ready:
                return
            actor = self._actor
            await actor.do(lambda: actor.commit(*self._agent_events("starting")))
            spoken = any(
                isinstance(one, MessageEntry) and one.role == "assistant" for one in actor.state.entries
            )
            try:
                remembers = await self._backend.start(actor.memory)
            except BaseException:
                await self._backend.close()
                self._replace_agent()
                actor.later(lambda: actor.commit(*self._agent_events("gone")), "an agent that did not start")
                raise
            self._ready = True

            async def ready() -> None:
                events = self._agent_events("ready", memory=remembers)
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

    def wake_agent(self) -> None:
        """Start the agent beside everything else; one that cannot start says so as a notice."""
        if self._ready or self._starting.locked() or self._actor.state.header.state == "closed":
            return

        async def start() -> None:
            try:
                await self.ensure_agent()
            except AgentError as error:
                self._actor.later(partial(self._tell_problem, error), "an agent that did not start")

        self._beside(start(), "starting the agent")

    async def _tell_problem(self, problem: AgentError) -> None:
        await self._actor.commit(_error_card(self._actor, problem))

    def agent_gone(self, error: AgentGone) -> None:
        """The agent ended outside a turn (inside one, the turn says so)."""

        async def job() -> None:
            if self._actor.state.run is not None or not self._ready:
                return
            await self._streams.complete("interrupted")
            await self._broker.withdraw_all(AGENT_GONE)
            await self._close_tools(None, "lost")
            await self._actor.commit(_error_card(self._actor, error), *self._agent_events("gone"))
            self._replace_agent()

        self._actor.later(job, "an agent that ended")

    def _replace_agent(self) -> None:
        self._ready = False
        self._backend = self._make()

    def _agent_events(self, state: str, memory: bool = True) -> list[KnownEvent]:
        actor = self._actor
        header = actor.state.header
        agent = msgspec.structs.replace(
            header.agent, kind=self._backend.kind, name=self._backend.name, state=state, memory=memory
        )
        catalogue = msgspec.structs.replace(actor.state.catalogue, operations=self._operations(self._backend))
        events: list[KnownEvent] = []
        if agent != header.agent:
            events.append(SessionUpdated(header=msgspec.structs.replace(header, agent=agent)))
        if catalogue != actor.state.catalogue:
            events.append(CatalogUpdated(catalogue=catalogue))
        return events

    # --- the end ---

    async def recover(self) -> None:
        """An earlier host ended in the middle: what ran is interrupted, the queue is held. Inside a job."""
        actor = self._actor
        run = actor.state.run
        await self._broker.suspend()
        if run is not None:
            await self._close_tools(run.id, "lost")
        await self._close_tools(None, "lost")
        events: list[KnownEvent] = []
        if run is not None:
            events.append(RunEnded(run=run.id, outcome="interrupted"))
        if actor.state.queue.items and not actor.state.queue.held:
            events += self._queue_events(Queue(items=actor.state.queue.items, held=True))
        header = actor.state.header
        if header.agent.state != "none":
            agent = msgspec.structs.replace(header.agent, state="none")
            events.append(SessionUpdated(header=msgspec.structs.replace(header, agent=agent)))
        if events:
            await actor.commit(*events)
        actor.state.catalogue = msgspec.structs.replace(
            actor.state.catalogue, operations=self._operations(self._backend)
        )

    async def resume_unfinished(self) -> None:
        """Continue what was answered and never continued. Inside a job."""
        await self._pump()

    async def shut_down(self) -> None:
        """The host ends: nothing more is started, the turn is interrupted, the agent is closed. Outside
        jobs.
        """
        self._leaving = True
        mine: tuple[asyncio.Task[Any] | None, ...] = (self._driver, self._taking, *self._helpers)
        tasks = [task for task in mine if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

        async def job() -> None:
            await self._streams.complete("interrupted")
            await self.recover()

        await self._actor.do(job)
        await self._backend.close()

    def _check_open(self) -> None:
        if self._actor.state.header.state == "closed":
            raise ProtocolError("unavailable", "session: it is closed")
        if self._leaving:
            raise ProtocolError("unavailable", "the host is ending", retryable=True)

    def _beside(self, work: Awaitable[None], what: str) -> None:
        async def run() -> None:
            try:
                await work
            except AgentError:
                pass  # an agent that ends is told by its turn
            except Exception as error:
                self._actor.services.report(error, what)

        task = asyncio.create_task(run(), name=f"felan-{what}")
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)


def _error_card(actor: SessionActor, problem: AgentError) -> MessageCompleted:
    title = "The agent ended" if isinstance(problem, AgentGone) else "The agent failed"
    return notice_entry(actor, "error", title, problem.message, problem.details)


def held_element(queue: Queue) -> ViewElement:
    """The host element of a held queue, with the action that releases it."""
    return ViewElement(
        id=QUEUE_ELEMENT,
        revision=1,
        title="held",
        hint=Hint(id=QUEUE_ELEMENT, version=1),
        layout="list",
        columns=[Column(id="text", label="message", type="string")],
        items=[
            ViewItem(id=item.id, fields={"text": item.text[: LIMITS.label_bytes]}) for item in queue.items
        ],
        page=ViewPage(index=0, size=len(queue.items), total=len(queue.items), has_more=False),
        actions=[Action(id="release", label="send them", scope="element")],
    )
