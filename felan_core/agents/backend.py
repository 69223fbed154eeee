"""The one interface that an agent backend implements, and what a session offers to it.

A backend knows neither host nor screen. It gets a ``Session`` (what it may do to its session) and is driven
through ``Backend``. Everything it does is awaited: the session answers when the change is on disk and told,
so a backend that runs ahead is held back by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from felan_core.processes.piped import PipedProcess
from felan_core.protocol.base import UNSET, Json, JsonObject, Maybe
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import (
    AnyOrigin,
    AnyToolContent,
    MessageOutcome,
    StreamKind,
    Tone,
    ToolDetails,
    ToolStateName,
)
from felan_core.protocol.interactions import Answer, Authority, InteractionRequest
from felan_core.protocol.operations import Image
from felan_core.protocol.session import AgentMode, Command, Model, ToolSpec

TurnOutcome = Literal["completed", "cancelled", "failed"]
CompactTrigger = Literal["manual", "auto"]


class AgentError(Exception):
    """The agent refused or failed, and lives on. ``message`` is a line for people, ``details`` may have more
    lines. ``title``: what happened, in some words; ``advice``: what a person can do, as lines.
    """

    def __init__(self, message: str, details: str = "", *, title: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.title = title
        self.advice = advice


class Refused(AgentError):
    """The session refused one change: it is out of the contract, or too large. Nothing changed, and the
    agent can go on.
    """


class AgentGone(AgentError):
    """The agent's process ended or cannot be started. The session goes on; the next turn starts it anew."""


class Withdrawn(Exception):
    """The question will not be answered: it was cancelled or expired. ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a backend can do, as data. An operation of the contract that it cannot do is not in its session's
    catalogue. ``images``: a message may have some; ``deferrable``: it can go on after a question that
    outlived its host.
    """

    steer: bool = False
    images: bool = True
    models: bool = False
    thinking: bool = False
    modes: bool = False
    compact: bool = False
    fork: bool = False
    strict_policy: bool = False
    deferrable: bool = False

    def operations(self) -> list[str]:
        """The operations of the contract that these are."""
        return [name for name, ability in OPERATIONS.items() if getattr(self, ability)]


OPERATIONS: Mapping[str, str] = {"steer": "steer"}
"""The operations that need an ability, of those that the host has. Another one (``set_model``,
``set_thinking``, ``compact``) gets its line here, its verb in ``Backend`` and its handler in the host
together.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """What was written to a turn that runs, and by whom."""

    text: str
    images: Sequence[Image] = ()
    origin: AnyOrigin | None = None


@dataclass(frozen=True, slots=True)
class ToolPatch:
    """A change to one tool call, upserted by the backend's own ``key``. ``UNSET`` leaves a member as it
    is.
    """

    key: str
    name: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    state: Maybe[ToolStateName] = UNSET
    arguments: Maybe[Json] = UNSET
    locations: Maybe[list[str]] = UNSET
    content: Maybe[list[AnyToolContent]] = UNSET
    details: Maybe[ToolDetails] = UNSET


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn to be taken. ``context``: what the host adds for the agent alone (the task pointer, first as
    it stood when the agent was started).
    """

    run: str
    text: str
    images: Sequence[Image] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class Deferred:
    """An interaction that outlived its host and was answered: ``resume`` is what the backend gave to
    ``ask``.
    """

    interaction: str
    request: InteractionRequest
    answer: Answer
    resume: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process of the session ended."""

    state: Literal["exited", "signalled", "lost"]
    exit_code: int | None
    signal: str | None


class Session(Protocol):
    """What a backend may do to its session. Every method may be called at any time, inside a turn or not."""

    @property
    def id(self) -> str: ...
    @property
    def cwd(self) -> str:
        """The session's folder, absolute."""
        ...

    @property
    def instructions(self) -> str: ...

    async def text(self, kind: StreamKind, text: str, message: str | None = None) -> None:
        """Stream text. Another ``message`` key, or a tool call in between, starts a new message."""
        ...

    async def end_message(self, outcome: MessageOutcome = "completed") -> None:
        """Complete the message that is streaming, if there is one. What a turn's early end cut off is not
        ``completed``; a backend that leaves that message open has it ended as its turn ends.
        """
        ...

    async def tool(self, patch: ToolPatch) -> None:
        """Create or change a tool call. It completes a message that is streaming."""
        ...

    async def ask(
        self,
        request: InteractionRequest,
        *,
        tool: str | None = None,
        authority: Authority = "owner",
        deferrable: bool = False,
        expires_in_ms: int | None = None,
        resume: JsonObject | None = None,
    ) -> Answer:
        """Ask a person and wait. ``tool`` is the key of a ``ToolPatch``. Raises ``Withdrawn``.

        Cancelling the awaiting task withdraws the question. ``resume`` is kept beside a deferrable question
        and comes back in ``Deferred``.
        """
        ...

    async def show(self, element: Element) -> None:
        """Put up or replace an element; its ``revision`` is set by the session. Ids ``felan.*`` are the
        host's.
        """
        ...

    async def remove(self, element: str) -> None: ...
    async def notice(self, tone: Tone, title: str, text: str = "", details: str = "") -> None: ...
    async def offer(
        self,
        *,
        commands: Sequence[Command] | None = None,
        tools: Sequence[ToolSpec] | None = None,
        models: Sequence[Model] | None = None,
    ) -> None:
        """Replace parts of the session's catalogue; None leaves a part as it is."""
        ...

    async def rename(self, name: str) -> None:
        """Give the session a name where the person gave none."""
        ...

    async def mode(self, mode: AgentMode) -> None:
        """Publish the mode of the agent, which says whether it asks before it acts."""
        ...

    async def usage(self, used: int, size: int) -> None:
        """Tokens of context in use, and how many there are (the host element ``felan.usage``)."""
        ...

    async def remember(self, memory: JsonObject) -> None:
        """Keep what ``Backend.start`` needs to find the agent's own session again. Never a secret."""
        ...

    async def spawn(self, argv: Sequence[str], environ: Mapping[str, str], *, title: str) -> PipedProcess:
        """Run the agent's own program in the session's folder, on pipes. It is on record before it runs on,
        so that a later host ends it. ``title``: what a person calls what it leaves running. Raises
        ``ProcessError``.
        """
        ...

    async def start_process(self, command: str, *, title: str | None = None) -> str:
        """Run a shell command as a process of the session; its id. Raises ``AgentError`` when it cannot
        start.
        """
        ...

    async def process_end(self, process: str) -> ProcessEnd:
        """Wait until the process has ended."""
        ...

    async def process_tail(self, process: str, limit: int) -> str:
        """The last ``limit`` bytes of the output, as text."""
        ...

    async def stop_process(self, process: str) -> None: ...
    async def publish_pointer(self, text: str) -> None:
        """Publish the session's task pointer as CLEAN with ``text``. Raises ``AgentError`` when it is
        refused.
        """
        ...

    async def compacting(self, trigger: CompactTrigger) -> None:
        """The agent is about to compact what it knows (PreCompact); ``manual``: it was asked to."""
        ...

    async def compacted(self, summary: str = "") -> str:
        """It has: what it is to be told now, as the host tells it with a prompt (SessionStart compact).

        What it was told before may be gone from what it knows, so a backend tells it inside the turn where
        it can, else with the next prompt. ``summary`` is for people. Raises ``AgentError`` where the task
        pointer cannot be read: then the agent does not go on.
        """
        ...

    def gone(self, error: AgentGone) -> None:
        """The agent ended outside any turn. May be called from a callback; never blocks."""
        ...


class Backend(Protocol):
    """One agent of one session. The session calls ``start`` before anything else, and one turn at a time."""

    @property
    def kind(self) -> str:
        """``rehearsal``, ``acp``, …"""
        ...

    @property
    def name(self) -> str:
        """What a person calls it; known after ``start``."""
        ...

    @property
    def abilities(self) -> Abilities: ...

    async def start(self, memory: JsonObject | None) -> bool:
        """Make the agent ready. ``memory``: what an earlier backend of this session gave to ``remember``.

        Returns whether the agent remembers the session's earlier turns (True for a new session).
        Raises ``AgentGone`` or ``AgentError``.
        """
        ...

    async def turn(self, turn: Turn) -> TurnOutcome:
        """Take one turn, to its end. After ``cancel`` it returns ``cancelled`` soon. Raises
        ``AgentError``.
        """
        ...

    async def resume(self, run: str, deferred: Deferred) -> TurnOutcome:
        """Take the continuation turn of a deferred question. Only with ``abilities.deferrable``."""
        ...

    async def steer(self, message: Message) -> None:
        """Put a message into the turn that runs. Only with ``abilities.steer``. Raises ``AgentError``."""
        ...

    async def cancel(self) -> None:
        """Ask the turn that runs to end. Returns at once or soon; the turn itself ends by ``turn``
        returning.
        """
        ...

    async def act(self, element: str, action: str, item: str | None, values: JsonObject) -> None:
        """A person used a declared action of one of the backend's elements. Raises ``AgentError``."""
        ...

    async def close(self) -> None:
        """End the agent and whatever it started. Never raises."""
        ...


class BackendBase:
    """The verbs of ``Backend`` that need an ability, refused: a backend implements those that it has."""

    name = "The agent"

    async def resume(self, run: str, deferred: Deferred) -> TurnOutcome:
        raise AgentError(f"{self.name} cannot go on after a question of an earlier turn.")

    async def steer(self, message: Message) -> None:
        raise AgentError(f"{self.name} cannot be steered.")

    async def act(self, element: str, action: str, item: str | None, values: JsonObject) -> None:
        raise AgentError(f"{self.name} has no actions.")


BackendFactory = Callable[[Session, JsonObject], Backend]
"""Makes a backend for a session from its settings (``sessions.create``'s ``extensions`` of this backend)."""
