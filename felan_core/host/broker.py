"""The interaction broker: every question of a session, its one winner, and what becomes of it at the end
(§6).

States and what leads from one to the next:

    waiting  --answer--> resolved      waiting  --withdrawn, not deferrable at a drain--> cancelled
    waiting  --drain---> deferred      waiting, deferred --now >= expiresAt--> expired
    deferred --answer--> resolved (and a continuation turn)
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from felan_core.agents.backend import Deferred, Withdrawn
from felan_core.host.actor import SessionActor
from felan_core.host.request_context import RequestContext
from felan_core.protocol import UNSET, ProtocolError, validate_interaction_answer
from felan_core.protocol.base import JsonObject
from felan_core.protocol.events import InteractionUpdated, KnownEvent
from felan_core.protocol.interactions import (
    Answer,
    Authority,
    Interaction,
    InteractionRequest,
    InteractionScope,
    InteractionState,
    deferred_until,
    is_overdue,
    resolved_result,
)
from felan_core.protocol.operations import AnswerParams, AnswerResult
from felan_core.protocol.reducer import OPEN_STATES

# state → what may follow it
TRANSITIONS: Final[dict[InteractionState, tuple[InteractionState, ...]]] = {
    "waiting": ("resolved", "deferred", "cancelled", "expired"),
    "deferred": ("resolved", "cancelled", "expired"),
    "resolved": (),
    "cancelled": (),
    "expired": (),
}

AGENT_GONE: Final = "the agent that asked is gone"


class Broker:
    """``continues``: starts the continuation turn of a deferred interaction that was answered."""

    def __init__(self, actor: SessionActor, continues: Callable[[Deferred], None]) -> None:
        self._actor = actor
        self._continues = continues
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    # --- asking ---

    async def open(
        self,
        request: InteractionRequest,
        *,
        tool: str | None,
        authority: Authority,
        deferrable: bool,
        expires_in_ms: int | None,
        resume: JsonObject | None,
        beside: Sequence[KnownEvent] = (),
    ) -> tuple[str, "asyncio.Future[Answer]"]:
        """Put up a question; its id and the answer to come. ``beside``: events of the same commit. Inside a
        job.
        """
        actor = self._actor
        now = actor.services.clock()
        interaction = Interaction(
            id=actor.services.new_id(),
            scope=InteractionScope(
                session=actor.id,
                root=actor.root,
                run=actor.state.run.id if actor.state.run else UNSET,
                tool=tool or UNSET,
            ),
            request=request,
            authority=authority,
            created_at=now,
            expires_at=now + expires_in_ms if expires_in_ms is not None else UNSET,
            deferrable=deferrable,
            state="waiting",
        )
        resumes = {interaction.id: resume} if deferrable and resume is not None else None
        await actor.commit(*beside, InteractionUpdated(interaction=interaction), resumes=resumes)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[interaction.id] = answer
        self.watch(interaction)
        return interaction.id, answer

    # --- answering ---

    async def answer(self, call: RequestContext, params: AnswerParams) -> AnswerResult:
        """Take an answer, in the contract's order of checks. The first one wins, on disk before anybody is
        told.
        """
        actor = self._actor
        interaction = actor.state.interactions.get(params.interaction)
        if interaction is None:
            raise ProtocolError("not_found", "interaction: there is none with this id")
        self._authorise(call, interaction)
        if interaction.state == "expired" or (
            interaction.state in OPEN_STATES and self._overdue(interaction)
        ):
            await self._expire(interaction.id)
            raise ProtocolError("expired", "interaction: its time is over")
        if "resolved" not in TRANSITIONS[interaction.state]:
            raise ProtocolError("already_resolved", f"interaction: it is {interaction.state}")
        answer = validate_interaction_answer(interaction.request, params.answer)
        resolved = msgspec.structs.replace(
            interaction,
            state="resolved",
            responder=call.responder,
            result=resolved_result(answer),
            resolved_at=actor.services.clock(),
        )
        result = AnswerResult(state="resolved")
        waiting = self._waiting.get(interaction.id)
        # A question that somebody waits for needs nothing kept; a deferred one keeps it until its turn
        # starts.
        resumes = {interaction.id: None} if waiting is not None else None
        await actor.commit(InteractionUpdated(interaction=resolved), settle=(call, result), resumes=resumes)
        self._forget(interaction.id)
        if waiting is not None:
            if not waiting.done():
                waiting.set_result(answer)
        else:
            self._continues(self._deferred(resolved, answer))
        return result

    def _authorise(self, call: RequestContext, interaction: Interaction) -> None:
        connection = call.connection
        if self._actor.id not in connection.attached:
            raise ProtocolError("forbidden", "interaction: attach to the session first")
        kind = msgspec.to_builtins(interaction.request)["kind"]
        if kind not in connection.interactions:
            raise ProtocolError("forbidden", f"interaction: this client did not say that it knows {kind}")
        if interaction.authority == "local-console" and connection.principal.kind != "local":
            raise ProtocolError("forbidden", "interaction: the host's own console answers this")

    def unfinished(self) -> list[Deferred]:
        """Answers that were given and whose continuation turn never started: they start now."""
        return [
            self._deferred(one, validate_interaction_answer(one.request, one.result))
            for one in self._actor.state.interactions.values()
            if one.state == "resolved" and one.id in self._actor.resumes
        ]

    def _deferred(self, interaction: Interaction, answer: Answer) -> Deferred:
        resume = self._actor.resumes.get(interaction.id, {})
        return Deferred(interaction.id, interaction.request, answer, resume)

    # --- ending ---

    async def withdraw(self, interactions: Iterable[str], reason: str) -> None:
        """Cancel those of ``interactions`` that still wait."""
        states = self._actor.state.interactions
        waiting = [one for one in interactions if one in states and states[one].state == "waiting"]
        await self._end(waiting, "cancelled", reason)

    async def withdraw_open(self, reason: str) -> None:
        """Cancel every question that could still be answered, deferred ones too."""
        states = self._actor.state.interactions.values()
        await self._end([one.id for one in states if one.state in OPEN_STATES], "cancelled", reason)

    async def withdraw_all(self, reason: str, run: str | None = None) -> None:
        """Cancel every waiting question, or those of one run."""
        ids = [
            one.id
            for one in self._actor.state.interactions.values()
            if one.state == "waiting" and (run is None or one.scope.run == run)
        ]
        await self.withdraw(ids, reason)

    async def suspend(self) -> None:
        """The host ends, or ended without a word: what can be deferred is, the rest is cancelled (§6)."""
        now = self._actor.services.clock()
        events: list[InteractionUpdated] = []
        dropped: dict[str, JsonObject | None] = {}
        for one in list(self._actor.state.interactions.values()):
            if one.state != "waiting":
                continue
            if one.deferrable:
                changed = msgspec.structs.replace(one, state="deferred", expires_at=deferred_until(one, now))
            else:
                changed = msgspec.structs.replace(one, state="cancelled", reason=AGENT_GONE, resolved_at=now)
                dropped[one.id] = None
            events.append(InteractionUpdated(interaction=changed))
        if events:
            await self._actor.commit(*events, resumes=dropped)
        for event in events:
            self._settle(event.interaction.id, AGENT_GONE)

    async def _end(self, interactions: Iterable[str], state: InteractionState, reason: str) -> None:
        now = self._actor.services.clock()
        events: list[InteractionUpdated] = []
        for interaction_id in interactions:
            one = self._actor.state.interactions.get(interaction_id)
            if one is not None and state in TRANSITIONS[one.state]:
                ended = msgspec.structs.replace(one, state=state, reason=reason, resolved_at=now)
                events.append(InteractionUpdated(interaction=ended))
        if events:
            await self._actor.commit(*events, resumes={event.interaction.id: None for event in events})
        for event in events:
            self._settle(event.interaction.id, reason)

    def _settle(self, interaction: str, reason: str) -> None:
        waiting = self._waiting.get(interaction)
        self._forget(interaction)
        if waiting is not None and not waiting.done():
            waiting.set_exception(Withdrawn(reason))
            waiting.exception()

    def _forget(self, interaction: str) -> None:
        self._waiting.pop(interaction, None)
        timer = self._timers.pop(interaction, None)
        if timer is not None:
            timer.cancel()

    # --- expiry ---

    def watch(self, interaction: Interaction) -> None:
        """End the question when its time is over."""
        if isinstance(interaction.expires_at, int) and interaction.state in OPEN_STATES:
            wait = max(0, interaction.expires_at - self._actor.services.clock()) / 1000
            loop = asyncio.get_running_loop()
            self._timers[interaction.id] = loop.call_later(
                wait, lambda: self._actor.later(lambda: self._expire(interaction.id), "expiry")
            )

    def watch_all(self) -> None:
        """Take up the expiry of every open question, after a restart."""
        for interaction in self._actor.state.interactions.values():
            self.watch(interaction)

    def unwatch(self) -> None:
        """Stop every timer."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _overdue(self, interaction: Interaction) -> bool:
        return is_overdue(interaction, self._actor.services.clock())

    async def _expire(self, interaction: str) -> None:
        one = self._actor.state.interactions.get(interaction)
        if one is None or one.state not in OPEN_STATES:
            return
        if self._overdue(one):
            await self._end([interaction], "expired", "nobody answered in time")
        else:
            self.watch(one)
