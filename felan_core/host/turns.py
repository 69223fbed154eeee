"""Turns: one at a time, the queue behind it, and the agent that takes them.

prompt ──▶ run.started ──▶ the agent's turn ──▶ run.ended ──▶ the next of the queue
              │                                   cancelled, failed: the queue is held
              └─ cancel: the questions of the run are withdrawn, the agent is asked to end; one that does
                 not end in ``HostLimits.cancel_seconds`` is ended
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, Protocol

import msgspec

from felan_core.agents.backend import AgentError, AgentGone, Backend, Deferred, Message, Turn, TurnOutcome
from felan_core.host.actor import SessionActor, notice_entry, user_message
from felan_core.host.agent import Agent, error_card
from felan_core.host.broker import AGENT_GONE, Broker
from felan_core.host.held_queue import QUEUE_ELEMENT, held_element
from felan_core.host.pointer import Pointer
from felan_core.host.presentation import hide, show
from felan_core.host.quotas import check_queue
from felan_core.host.request_context import RequestContext
from felan_core.host.sanitize import label
from felan_core.host.streams import Streams
from felan_core.pointer.errors import PointerError
from felan_core.protocol import LIMITS, UNSET, ProtocolError
from felan_core.protocol.base import Maybe
from felan_core.protocol.entries import AnyOrigin, LocalOrigin
from felan_core.protocol.errors import ErrorBody, invalid
from felan_core.protocol.events import (
    KnownEvent,
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

CUT_OFF: Final = (
    "The turn was interrupted",
    "Felan ended while it ran. What the agent had not finished is not done; say how to go on.",
)
TakeTurn = Callable[[Backend], Awaitable[TurnOutcome]]
OpenTools = Literal["turn", "agent", "all"]


class ToolCloser(Protocol):
    """Ends the tool calls that were left open. Inside a job."""

    async def __call__(self, which: OpenTools, reason: str) -> None: ...


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
        self.agent = Agent(actor, pointer, backend, operations)
        self._streams = streams
        self._broker = broker
        self._pointer = pointer
        self._close_tools = close_tools
        self._context = context
        self._taking: asyncio.Task[TurnOutcome] | None = None
        self._driver: asyncio.Task[None] | None = None
        self._cancelling = False
        self._agent_works = False
        """Whether the agent has the turn that runs: only then can it be steered or cancel it."""
        self._leaving = self._ending = False
        self._helpers: set[asyncio.Task[None]] = set()
        # The contract's queue items have no images: they are kept here, and a restart loses them.
        self._images: dict[str, list[Image]] = {}

    @property
    def busy(self) -> bool:
        """Whether there is a turn, a message that waits for one, or an agent that is being started."""
        queue = self._actor.state.queue
        waits = bool(queue.items) and (not queue.held or bool(self._images))
        driven = self._driver is not None and not self._driver.done()
        return (
            self._actor.state.run is not None or driven or waits or bool(self._helpers) or self.agent.starting
        )

    # --- what clients ask ---

    async def prompt(self, call: RequestContext, params: PromptParams) -> RunResult:
        """Start a turn. ``busy`` while one runs: steer or follow up instead. Inside a job."""
        await self._take_up()
        if self._actor.state.run is not None:
            raise ProtocolError("busy", "a turn is running: steer it, or follow up", retryable=True)
        run = self._actor.services.new_id()
        result = RunResult(run_id=run)
        await self._begin(run, params.text, params.images or [], call.origin, settle=(call, result))
        return result

    async def steer(self, call: RequestContext, params: PromptParams) -> QueuedResult:
        """Put a message into the turn that runs; without one it starts a turn. Inside a job."""
        await self._take_up()
        if not self.agent.backend.abilities.steer:
            raise ProtocolError("unsupported_operation", "this session's agent cannot be steered")
        message = Message(params.text, params.images or [], call.origin)
        if message.images and not self.agent.backend.abilities.images:
            raise invalid("images: this session's agent takes none")
        run = self._actor.state.run
        over = self._taking is None or self._taking.done()
        if run is None or over or not (self._agent_works and self.agent.ready):
            return await self._enqueue(call, params, "steer")
        await self._streams.complete("completed")
        result = QueuedResult(status="handled")
        await self._actor.commit(
            user_message(self._actor, params.text, call.origin, run.id), settle=(call, result)
        )
        self._beside(self._steer(self.agent.backend, message), "steering")
        return result

    async def _steer(self, backend: Backend, message: Message) -> None:
        try:
            await backend.steer(message)
        except AgentGone:
            pass  # its turn tells
        except AgentError as problem:
            # It stands in the transcript as said, and the agent does not know it.
            card = error_card(self._actor, problem)
            self._actor.later(lambda: self._actor.commit(card), "steering")

    async def follow_up(self, call: RequestContext, params: PromptParams) -> QueuedResult:
        """Queue a message for after the turn; without one it starts a turn. Inside a job."""
        await self._take_up()
        return await self._enqueue(call, params, "follow_up")

    async def cancel(self, call: RequestContext, params: CancelParams) -> CancelResult:
        """End the turn that runs, and drop the queue where that is asked. Inside a job."""
        run = self._actor.state.run
        meant = run is not None and params.run_id in (UNSET, run.id)
        queue = self._actor.state.queue
        dropping = params.queue is True and bool(queue.items)
        returned: Maybe[list[str]] = [item.text for item in queue.items] if params.queue is True else UNSET
        result = CancelResult(cancelled=meant, returned=returned)
        events = self._queue_events(Queue(items=[], held=False)) if dropping else []
        await self._actor.commit(*events, settle=(call, result))
        if dropping:
            self._images.clear()
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

    async def _enqueue(self, call: RequestContext, params: PromptParams, mode: str) -> QueuedResult:
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
        check_queue(changed.items)
        await actor.commit(*self._queue_events(changed), settle=(call, result))
        if params.images:
            self._images[item_id] = params.images
        if actor.state.run is None and not queue.held:
            # An earlier start of the queue failed: a full disk, a pointer that could not be written.
            self._actor.later(self._pump, "the queue")
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
            images = self._images.get(item.id, [])
            await self._begin(actor.services.new_id(), item.text, images, item.origin, events=events)
            self._images.pop(item.id, None)

    # --- one turn ---

    async def _begin(
        self,
        run: str,
        text: str,
        images: list[Image],
        origin: AnyOrigin,
        *,
        events: list[KnownEvent] | None = None,
        settle: tuple[RequestContext, RunResult | QueuedResult] | None = None,
    ) -> None:
        actor = self._actor
        # What an agent said after its last turn is a message of its own, not the start of the next answer.
        await self._streams.complete("completed")
        await self.agent.announce()
        try:
            await self._pointer.check()
        except PointerError as error:
            if settle is None:
                await actor.commit(*self._queue_events(Queue(items=actor.state.queue.items, held=True)))
            raise ProtocolError(
                "storage_failure", f"the task pointer cannot be read: {error.code}"
            ) from error
        started = Run(id=run, started_at=actor.services.clock(), origin=origin)
        queue = actor.state.queue
        unheld = self._queue_events(Queue(items=queue.items, held=False)) if queue.held else []
        said = user_message(actor, text, origin, run)
        await actor.commit(*(events or unheld), said, RunStarted(run=started), settle=settle)

        async def submit() -> TakeTurn:
            try:
                submitted = await self._pointer.submit()
            except PointerError as error:
                problem = f"the task pointer cannot be written: {error.code}"
                raise AgentError(problem, "The agent did not get the prompt.") from error
            parts = (*submitted, await self._context())
            context = "\n\n".join(part for part in parts if part)
            return lambda backend: backend.turn(Turn(run=run, text=text, images=images, context=context))

        self._drive(run, submit)

    async def _begin_continuation(self, deferred: Deferred) -> None:
        actor = self._actor
        run = actor.services.new_id()
        interaction = actor.state.interactions[deferred.interaction]
        client = interaction.responder.client if interaction.responder else "felan"
        started = Run(id=run, started_at=actor.services.clock(), origin=LocalOrigin(client=client))
        await actor.commit(RunStarted(run=started), resumes={deferred.interaction: None})

        async def submit() -> TakeTurn:
            return lambda backend: backend.resume(run, deferred)

        self._drive(run, submit)

    def _drive(self, run: str, submit: Callable[[], Awaitable[TakeTurn]]) -> None:
        if self._leaving:
            return  # the end of the session, whose job follows this one, ends the run
        self._cancelling = self._agent_works = False

        async def take_turn() -> TurnOutcome:
            take = await submit()
            await self.agent.ensure()
            self._agent_works = True
            return await take(self.agent.backend)

        taking = self._taking = asyncio.create_task(take_turn(), name="felan-turn")

        async def drive() -> None:
            outcome: RunOutcome
            problem: AgentError | None = None
            try:
                await asyncio.wait([taking])
            except asyncio.CancelledError:
                taking.cancel()
                raise  # the host ends, and says itself how the turn ended
            try:
                outcome = taking.result()
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

        async def job() -> None:
            await self._ended(run, outcome, problem)
            await self._pump()

        while not self._leaving:
            try:
                await self._actor.do(job)
            except (StoreError, ProtocolError) as error:
                self._actor.services.report(error, "the end of a turn")
                await asyncio.sleep(self._actor.services.limits.retry_seconds)
            else:
                return

    async def _ended(self, run: str, outcome: RunOutcome, problem: AgentError | None) -> None:
        actor = self._actor
        if self._leaving or actor.state.run is None or actor.state.run.id != run:
            return
        gone = isinstance(problem, AgentGone)
        await self._streams.complete(outcome)
        await self._close_tools("turn", "lost" if gone else "cancelled")
        await self._broker.withdraw_all(AGENT_GONE if gone else "the turn is over", run)
        events: list[KnownEvent] = []
        error: Maybe[ErrorBody] = UNSET
        if problem is not None:
            events.append(error_card(actor, problem))
            error = ErrorBody(code="unavailable", message=label(problem.message))
        events.append(RunEnded(run=run, outcome=outcome, error=error))
        if outcome != "completed" and actor.state.queue.items:
            events += self._queue_events(Queue(items=actor.state.queue.items, held=True))
        if gone:
            events += self.agent.events("gone")
        await actor.commit(*events)
        if gone:
            self.agent.replace()

    def _cancel_turn(self) -> None:
        if self._cancelling:
            return
        self._cancelling = True
        taking = self._taking
        if taking is not None and not (self._agent_works and self.agent.ready):
            taking.cancel()
            return
        backend = self.agent.backend
        self._beside(backend.cancel(), "cancelling")
        if taking is not None:
            self._beside(self._end_late(taking, backend), "ending a turn")

    async def _end_late(self, taking: "asyncio.Task[TurnOutcome]", backend: Backend) -> None:
        """A turn that does not end when it is asked to is ended, and its agent with it."""
        await asyncio.wait([taking], timeout=self._actor.services.limits.cancel_seconds)
        if taking.done():
            return
        taking.cancel()
        if self.agent.backend is backend:
            self.agent.replace()
            self._actor.later(lambda: self._actor.commit(*self.agent.events("gone")), "an agent that hangs")
        await backend.close()

    # --- the agent ---

    def agent_gone(self, error: AgentGone) -> None:
        """The agent ended outside a turn (inside one, the turn says so)."""

        async def job() -> None:
            if self._actor.state.run is not None or not self.agent.ready:
                return
            await self._streams.complete("interrupted")
            await self._broker.withdraw_all(AGENT_GONE)
            await self._close_tools("agent", "lost")
            await self._actor.commit(error_card(self._actor, error), *self.agent.events("gone"))
            self.agent.replace()

        self._actor.later(job, "an agent that ended")

    # --- the end ---

    async def recover(self, outcome: RunOutcome = "interrupted") -> None:
        """The turn was cut off, by an earlier host's end or by ours: it ended so, and the queue is held.
        Where nothing goes on with it, the transcript says so. Inside a job.
        """
        actor = self._actor
        run = actor.state.run
        await self._broker.suspend()
        await self._close_tools("all", "lost")
        events: list[KnownEvent] = []
        if run is not None:
            if outcome == "interrupted" and not actor.resumes:
                events.append(notice_entry(actor, "warning", *CUT_OFF))
            events.append(RunEnded(run=run.id, outcome=outcome))
        if actor.state.queue.items and not actor.state.queue.held:
            events += self._queue_events(Queue(items=actor.state.queue.items, held=True))
        header = actor.state.header
        if header.agent.state != "none":
            agent = msgspec.structs.replace(header.agent, state="none", mode=UNSET)
            events.append(SessionUpdated(header=msgspec.structs.replace(header, agent=agent)))
        if events:
            await actor.commit(*events)
        actor.state.catalogue = msgspec.structs.replace(
            actor.state.catalogue, operations=self.agent.operations()
        )

    async def resume_unfinished(self) -> None:
        """Continue what was answered and never continued. Inside a job."""
        await self._pump()

    async def shut_down(self, outcome: RunOutcome = "interrupted", *, closing: bool = False) -> None:
        """Nothing more is started, the turn ends as ``outcome`` says, the agent is closed. Outside jobs.

        ``closing``: it is the session alone that ends, and it can be taken up again.
        """
        self._leaving = True
        self._ending = self._ending or not closing
        await self.agent.leave()
        mine: tuple[asyncio.Task[Any] | None, ...] = (self._driver, self._taking, *self._helpers)
        tasks = [task for task in mine if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

        async def job() -> None:
            await self._streams.complete(outcome)
            await self.recover(outcome)

        try:
            await self._actor.do(job)
        finally:
            await self.agent.close()

    def stay_open(self) -> None:
        """A close failed: the session goes on, and the turn that was cut off ends when that can be stored."""
        if self._ending:
            return
        self._leaving = False
        run = self._actor.state.run
        if run is not None and (self._driver is None or self._driver.done()):
            conclude = self._conclude(run.id, "cancelled", None)
            self._driver = asyncio.create_task(conclude, name="felan-turn-driver")

    async def _take_up(self) -> None:
        """What is said in a closed session takes it up again: its agent is started anew. Inside a job."""
        header = self._actor.state.header
        if self._ending:
            raise ProtocolError("unavailable", "the host is ending", retryable=True)
        if header.state == "closed":
            await self._actor.commit(SessionUpdated(header=msgspec.structs.replace(header, state="idle")))
            self._leaving = False
        elif self._leaving:
            raise ProtocolError("unavailable", "session: it is being closed", retryable=True)

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
