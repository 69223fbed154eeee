"""The rehearsal as an agent backend: which scenario a prompt plays, and the turn around the play."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from felan_core.agents.backend import (
    Abilities,
    AgentError,
    AgentGone,
    Deferred,
    Message,
    Session,
    Turn,
    TurnOutcome,
)
from felan_core.agents.rehearsal.asking import fits, words_of
from felan_core.agents.rehearsal.folder import Folder
from felan_core.agents.rehearsal.load import Scenario, ScenarioError, read_scenario, shipped
from felan_core.agents.rehearsal.memory import Memory, Place
from felan_core.agents.rehearsal.perform import perform
from felan_core.agents.rehearsal.play import Answered, Play, PlayContext
from felan_core.agents.rehearsal.showing import element_of
from felan_core.agents.rehearsal.steps import Document, View
from felan_core.agents.rehearsal.voice import Sleep, Voice
from felan_core.agents.rehearsal.words import fill, found_at, one_line
from felan_core.agents.settings import REHEARSAL_FILE, REHEARSAL_PACE, REHEARSAL_SCENARIO
from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.session import Command, ToolSpec

HELP: Final = "help"
"""The scenario that answers what no other does."""
_TOOLS: Final = (
    ToolSpec(name="read", description="Reads a file of the session's folder."),
    ToolSpec(name="write", description="Writes a file of the session's folder, after an approval."),
    ToolSpec(name="edit", description="Changes a file of the session's folder, after an approval."),
    ToolSpec(name="delete", description="Deletes a file of the session's folder, after an approval."),
    ToolSpec(name="bash", description="Runs a command as a process of the session, after an approval."),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """``scenario``: what the first prompt that matches nothing plays; ``pace``: a factor on every wait."""

    scenario: str | None = None
    pace: float = 1.0
    file: Path | None = None

    @classmethod
    def from_json(cls, plain: JsonObject) -> "Settings":
        """Raises ``AgentError`` that names the setting. Settings of others are not looked at."""
        names = (REHEARSAL_SCENARIO, REHEARSAL_PACE, REHEARSAL_FILE)
        scenario, pace, file = (plain.get(name) for name in names)
        if scenario is not None and not isinstance(scenario, str):
            raise AgentError("rehearsal.scenario: must be the name of a scenario")
        if pace is not None and (
            isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= 100
        ):
            raise AgentError("rehearsal.pace: must be a number from 0 (no waiting) to 100")
        if file is not None and not (isinstance(file, str) and PurePath(file).is_absolute()):
            raise AgentError("rehearsal.file: must be an absolute path")
        return cls(scenario, 1.0 if pace is None else float(pace), None if file is None else Path(file))


def create(session: Session, settings: JsonObject) -> "RehearsalBackend":
    """The factory (``BackendFactory``). What is wrong with the settings is said by ``start``."""
    return RehearsalBackend(session, settings)


class RehearsalBackend:
    """The ``Backend``.

    ``sleep`` (seconds) and ``clock`` (milliseconds since the epoch) are there to be replaced.
    """

    kind = "rehearsal"
    name = "Rehearsal"
    abilities = Abilities(steer=True, deferrable=True)

    def __init__(
        self,
        session: Session,
        settings: JsonObject,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        scenarios: Mapping[str, Scenario] | None = None,
    ) -> None:
        self._session = session
        self._settings = settings
        self._sleep = sleep
        self._given = scenarios
        self._scenarios: Mapping[str, Scenario] = {}
        self._default: str | None = None
        self._pace = 1.0
        self._stage = PlayContext(session, Folder(session.cwd), Memory(), clock)
        self._play: Play | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, memory: JsonObject | None) -> bool:
        """Load the scenarios and offer them as commands.

        Raises ``AgentError`` for settings and scenario files.
        """
        settings = Settings.from_json(self._settings)
        scenarios = dict(await asyncio.to_thread(shipped) if self._given is None else self._given)
        default = settings.scenario
        if settings.file is not None:
            try:
                own = await asyncio.to_thread(read_scenario, settings.file)
            except ScenarioError as error:
                raise AgentError("The scenario cannot be played.", str(error)) from None
            scenarios[own.name] = own
            default = default or own.name
        if default is not None and default not in scenarios:
            known = ", ".join(sorted(scenarios))
            raise AgentError(f"There is no scenario {one_line(default, 60)!r}. There are: {known}.")
        self._scenarios, self._default, self._pace = scenarios, default, settings.pace
        self._stage.memory = Memory.from_json(memory)
        await self._session.offer(commands=self._commands(), tools=_TOOLS)
        return True

    async def turn(self, turn: Turn) -> TurnOutcome:
        """Play the scenario that the prompt asks for."""
        scenario, variables = self._choose(turn.text)
        self._stage.memory.opened = True
        voice = Voice(self._session, self._pace, self._sleep)
        play = Play(self._stage, scenario, turn.run, voice, Place(scenario.name, 0, variables))
        return await self._take(play, self._from_start(play))

    async def resume(self, run: str, deferred: Deferred) -> TurnOutcome:
        """Go on after the question, with its answer.

        Raises ``AgentError`` when the scenario is another by now.
        """
        place = Place.from_json(deferred.resume)
        scenario = None if place is None else self._scenarios.get(place.scenario)
        if place is None or scenario is None or place.step >= len(scenario.steps):
            raise AgentError("The scenario that asked this is no longer there.")
        if not fits(deferred.request, deferred.answer) or not _asks(scenario, place.step, deferred):
            raise AgentError("The scenario that asked this has changed meanwhile.", "Nothing was done.")
        voice = Voice(self._session, self._pace, self._sleep)
        answered = Answered(deferred.request, deferred.answer)
        play = Play(self._stage, scenario, run, voice, place, answered)
        return await self._take(play, play.perform_all(perform))

    async def steer(self, message: Message) -> None:
        if self._play is None:
            raise AgentError("No turn is running.")
        self._play.steer(message)

    async def cancel(self) -> None:
        if self._task is not None and not self._task.cancelling():
            self._task.cancel()

    async def act(self, element: str, action: str, item: str | None, values: JsonObject) -> None:
        """What an element's or a row's action says: leave a notice, take the element or the row away, change
        the row. Raises ``AgentError``.
        """
        found = next(
            (
                (step, one)
                for scenario in self._scenarios.values()
                for step in scenario.steps
                if isinstance(step, Document | View) and step.id == element
                for one in step.actions
                if one.id == action
            ),
            None,
        )
        memory = self._stage.memory
        if found is None or element not in memory.up:
            raise AgentError("That action is no longer there.")
        step, declared = found
        variables = dict(memory.place.variables) if memory.place else {}
        if item is not None and (declared.remove or declared.cells):
            memory.act(element, item, action)
            shown = element_of(step, variables, self._stage.clock(), memory.acted[element])
            await self._session.remember(memory.to_json())
            await self._session.show(shown)
        elif declared.remove:
            memory.down(element)
            await self._session.remove(element)
            await self._session.remember(memory.to_json())
        if declared.notice:
            variables |= words_of(declared.fields, values)
            if item is not None:
                variables["item"] = item
            await self._session.notice("info", one_line(fill(declared.notice, variables)))

    async def close(self) -> None:
        task = self._task
        await self.cancel()
        if task is not None:
            await asyncio.wait({task})

    async def _take(self, play: Play, work: Coroutine[Any, Any, None]) -> TurnOutcome:
        """Run the play as a task of its own, so that a cancel ends it anywhere, and tidy up."""
        if self._task is not None:
            work.close()
            raise AgentError("A turn is running already.")
        self._play = play
        self._task = task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # the host itself goes: end the play before that
            await self.cancel()
            await asyncio.wait({task})
            await play.abandon("cancelled", message=False)
            raise
        finally:
            self._play = self._task = None
        if task.cancelled():
            await play.abandon("cancelled")
            return "cancelled"
        error = task.exception()
        if error is None:
            return "completed"
        if not isinstance(error, AgentGone):  # an agent that is gone tidies nothing up: that is for its host
            await play.abandon("failed")
        if isinstance(error, ProtocolError):
            raise AgentError("The session refused what the scenario shows.", error.message) from error
        raise error

    async def _from_start(self, play: Play) -> None:
        for element in list(self._stage.memory.up):
            await play.take_down(element)
        await play.perform_all(perform)

    def _choose(self, prompt: str) -> tuple[Scenario, dict[str, str]]:
        text = prompt.strip()
        variables = {
            "prompt": one_line(text, 1000),
            "args": "",
            "unknown": "",
            "folder": PurePath(self._session.cwd).name or self._session.cwd,
            "commands": self._listed(),
        }
        if text.startswith("/"):
            name, _, args = text[1:].partition(" ")
            if name in self._scenarios:
                return self._scenarios[name], {**variables, "args": args.strip()}
            return self._scenarios[HELP], {**variables, "unknown": one_line(f"/{name}", 60)}
        found = [
            (at, name)
            for name, scenario in self._scenarios.items()
            if (at := found_at(text, scenario.header.on)) is not None
        ]
        if found:
            return self._scenarios[min(found)[1]], variables
        if self._default is not None and not self._stage.memory.opened:
            return self._scenarios[self._default], variables
        return self._scenarios[HELP], variables

    def _offered(self) -> list[Scenario]:
        return [
            self._scenarios[name] for name in sorted(self._scenarios) if self._scenarios[name].header.offered
        ]

    def _commands(self) -> list[Command]:
        return [
            Command(name=one.name, description=one.header.summary, hint=one.header.hint or UNSET)
            for one in self._offered()
        ]

    def _listed(self) -> str:
        return "\n".join(f"- `/{one.name}`: {one.header.summary}" for one in self._offered())


def _asks(scenario: Scenario, index: int, deferred: Deferred) -> bool:
    """Whether the step is one that asks what was asked, by kind."""
    with contextlib.suppress(AttributeError):
        kind = str(deferred.request.__struct_config__.tag)
        tag = str(scenario.steps[index].__struct_config__.tag)
        return tag == kind or (kind == "approval" and tag in ("write", "edit", "append", "delete", "run"))
    return False
