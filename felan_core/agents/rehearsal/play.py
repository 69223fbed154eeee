"""One scenario being played in one turn: its steps in order, questions, steering, and what is open.

A play is a task that is cancelled at any await. What must not be half done (a file and the tool call that
tells of it, a process and its id) runs through ``firmly``. ``abandon`` then ends what is open, as a person
is to see it.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from felan_core.agents.backend import AgentError, Message, Session, ToolPatch, Withdrawn
from felan_core.agents.rehearsal.check import BUILT_IN
from felan_core.agents.rehearsal.folder import Folder
from felan_core.agents.rehearsal.load import Scenario
from felan_core.agents.rehearsal.memory import Memory, Place
from felan_core.agents.rehearsal.steps import SteerRule
from felan_core.agents.rehearsal.voice import Voice
from felan_core.agents.rehearsal.words import fill, found_at, one_line
from felan_core.protocol.base import UNSET, Json, Maybe
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import AnyToolContent, ToolDetails, ToolStateName
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.interactions import Answer, InteractionRequest

T = TypeVar("T")
MAX_STEPS: Final = 20_000
"""Steps of one turn, so that a scenario that goes in a circle ends."""
STOP_WAIT: Final = 2.0
"""Seconds that a cancelled turn waits for its process to be stopped; the stop itself goes on after that."""
WITHDRAWN_WAIT: Final = 0.05
"""Seconds after a withdrawn question: a cancel withdraws it first and reaches us right after."""
HEARD: Final = "Taking it into account."


def _with_images(count: int) -> str:
    return "" if not count else " with an image" if count == 1 else f" with {count} images"


class Jump(Exception):
    """A message of the person leads elsewhere."""

    def __init__(self, goto: str) -> None:
        super().__init__(goto)
        self.goto = goto


@dataclass(slots=True)
class PlayContext:
    """What a play has around it, the same for every play of a session."""

    session: Session
    folder: Folder
    memory: Memory
    clock: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question of an earlier host, which the first step takes instead of asking."""

    request: InteractionRequest
    answer: Answer


async def firmly(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end also when this task is cancelled meanwhile; the cancellation comes after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):  # told twice
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what goes on
        raise


class Play:
    """A scenario in a run. ``perform`` is called for every step and returns where to go on, or None."""

    def __init__(
        self,
        context: PlayContext,
        scenario: Scenario,
        run: str,
        voice: Voice,
        place: Place,
        answered: Answered | None = None,
    ) -> None:
        self.context = context
        self.session = context.session
        self.scenario = scenario
        self.voice = voice
        self.variables = dict(place.variables)
        self.allowed = set(place.allowed)
        self.index = place.step
        self.process: str | None = None
        self.moving: Element | None = None
        self._run = run
        self._answered = answered
        self._tools = 0
        self._open: str | None = None
        self._said: deque[Message] = deque()
        self._nudge = asyncio.Event()
        self._stopping: set[asyncio.Task[None]] = set()

    # Steps

    async def perform_all(self, perform: Callable[["Play"], Awaitable[str | None]]) -> None:
        """Play from where the place says to the end."""
        steps = self.scenario.steps
        for _ in range(MAX_STEPS):
            if self.index >= len(steps):
                return
            await asyncio.sleep(0)  # a step may wait for nothing, and a cancel is to arrive all the same
            try:
                goto = await perform(self)
                await self.heed()
            except Jump as jump:
                await self.close_open("skipped")
                goto = jump.goto
            self._answered = None
            self.index = self.index + 1 if goto is None else self.scenario.target(goto, self.index)
        raise AgentError(
            f"The scenario {self.scenario.name!r} goes in a circle.", f"It took {MAX_STEPS} steps."
        )

    def fill(self, text: str) -> str:
        return fill(text, self.variables)

    def bind(self, name: str | None, value: str, **more: str) -> None:
        """Bind ``name`` and ``name.member`` for each of ``more``; what it held before is gone."""
        if name is None:
            return
        for old in [one for one in self.variables if one.startswith(f"{name}.")]:
            del self.variables[old]
        self.variables[name] = value
        self.variables.update({f"{name}.{member}": text for member, text in more.items()})

    def forget(self) -> None:
        """Keep of the variables what every scenario has."""
        self.variables = {name: value for name, value in self.variables.items() if name in BUILT_IN}

    # Steering

    def steer(self, message: Message) -> None:
        self._said.append(message)
        self._nudge.set()

    def led_away(self) -> bool:
        """Whether a message waits that leads elsewhere, so that what is being said breaks off."""
        return any(
            rule is not None and rule.goto is not None
            for rule in (self._rule(one.text) for one in self._said)
        )

    async def heed(self) -> None:
        """Answer each message that waits. Raises ``Jump`` for one that leads elsewhere."""
        while self._said:
            message = self._said.popleft()
            said = message.text
            rule = self._rule(said)
            heard = (rule.say if rule is not None else "") or HEARD
            self.variables["said"] = one_line(said)
            await self.voice.finish()
            beside = _with_images(len(message.images))
            await self.voice.pour("assistant", f"You said: “{one_line(said)}”{beside}. {self.fill(heard)}", 0)
            await self.voice.finish()
            if rule is not None and rule.pace is not None:
                self.voice.pace *= rule.pace
            if rule is not None and rule.goto is not None:
                raise Jump(rule.goto)

    def _rule(self, said: str) -> SteerRule | None:
        found = [
            (at, rule) for rule in self.scenario.header.steer if (at := found_at(said, rule.on)) is not None
        ]
        return min(found, key=lambda one: one[0])[1] if found else None

    async def until(self, awaited: Coroutine[Any, Any, T]) -> T:
        """Wait for ``awaited`` and heed what the person says meanwhile. A ``Jump`` cancels it."""
        task = asyncio.ensure_future(awaited)
        nudge: asyncio.Task[bool] | None = None
        try:
            while True:
                self._nudge.clear()
                await self.heed()
                nudge = asyncio.ensure_future(self._nudge.wait())
                await asyncio.wait({task, nudge}, return_when=asyncio.FIRST_COMPLETED)
                nudge.cancel()
                if task.done():
                    return task.result()
        finally:
            if nudge is not None:
                nudge.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # whoever leaves early has another reason, and this one is no fault

    # Questions

    def answered(self) -> Answered | None:
        """The answer that came to this step from before, once."""
        found, self._answered = self._answered, None
        return found

    async def ask(self, request: InteractionRequest, tool: str | None = None) -> Answer:
        """Ask a person, with all that a later host needs to go on from here.

        Raises ``Withdrawn`` and ``Jump``.
        """
        await self.voice.finish()
        place = Place(self.scenario.name, self.index, self.variables, frozenset(self.allowed))
        self.context.memory.place = place
        await self.remember()
        try:
            return await self.until(
                self.session.ask(
                    request, tool=tool, authority="owner", deferrable=True, resume=place.to_json()
                )
            )
        except Withdrawn:
            await asyncio.sleep(WITHDRAWN_WAIT)
            raise

    async def remember(self) -> None:
        await self.session.remember(self.context.memory.to_json())

    # Tools

    async def begin_tool(
        self,
        *,
        name: str,
        category: str,
        title: str,
        arguments: Json,
        locations: list[str] | None = None,
        content: list[AnyToolContent] | None = None,
    ) -> None:
        """Put up a tool call that is running; there is one at a time."""
        self._tools += 1
        self._open = f"{self._run}.{self._tools}"
        self.voice.interrupted()
        patch = ToolPatch(
            self._open,
            name=name,
            category=category,
            title=one_line(title),
            state="running",
            arguments=arguments,
            locations=UNSET if locations is None else locations,
            content=UNSET if content is None else content,
        )
        await firmly(self.session.tool(patch))  # what is to be ended has to be there

    @property
    def tool(self) -> str | None:
        """The key of the tool call that is open."""
        return self._open

    async def change_tool(self, content: list[AnyToolContent]) -> None:
        if self._open is not None:
            await self.session.tool(ToolPatch(self._open, content=content))

    async def end_tool(
        self,
        state: ToolStateName,
        *,
        reason: str = "",
        message: str = "",
        exit_code: int | None = None,
        content: list[AnyToolContent] | None = None,
    ) -> None:
        """End the tool call that is open, also when the turn is being cancelled."""
        key, self._open = self._open, None
        if key is None:
            return
        code: Maybe[int] = UNSET if exit_code is None else exit_code
        told = ToolDetails(reason=reason or UNSET, message=message or UNSET, exit_code=code)
        details: Maybe[ToolDetails] = told if told != ToolDetails() else UNSET
        patch = ToolPatch(key, state=state, details=details, content=UNSET if content is None else content)
        await firmly(self.session.tool(patch))

    # Elements

    async def show(self, element: Element) -> None:
        kind = str(element.__struct_config__.tag)
        self.context.memory.acted.pop(element.id, None)
        if self.context.memory.up.get(element.id) != kind:
            # Before it is up: what a later turn takes away may be gone, but nothing may stay up for good.
            self.context.memory.up[element.id] = kind
            await self.remember()
        await self.session.show(element)

    async def take_down(self, element: str) -> None:
        if element in self.context.memory.up:
            with contextlib.suppress(AgentError, ProtocolError):  # a person or the host was faster
                await self.session.remove(element)
            self.context.memory.down(element)
            await self.remember()

    # Endings

    async def close_open(self, reason: str) -> None:
        """End what is open: the process is stopped, the tool call interrupted, a progress cancelled."""
        process, self.process = self.process, None
        if process is not None:
            stop = asyncio.ensure_future(self._stop(process))
            self._stopping.add(stop)
            stop.add_done_callback(self._stopping.discard)
            await asyncio.wait({stop}, timeout=STOP_WAIT)
        await self.end_tool("interrupted", reason=reason)
        moving, self.moving = self.moving, None
        if moving is not None:
            await self.show(moving)

    async def abandon(self, reason: Literal["cancelled", "failed"], *, message: bool = True) -> None:
        """The turn ends early: end what is open, take status lines away, end the message as cut off.

        ``message``: without it that is left to the host, which knows how it ended the turn.
        """
        with contextlib.suppress(AgentError, ProtocolError):
            if message:
                await self.voice.finish(reason)
            await self.close_open(reason)
            for element in [one for one, kind in self.context.memory.up.items() if kind == "status"]:
                await self.take_down(element)

    async def _stop(self, process: str) -> None:
        with contextlib.suppress(AgentError, ProtocolError):  # it ended by itself
            await self.session.stop_process(process)
