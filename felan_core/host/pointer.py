"""The session's task pointer as its host element ``felan.pointer`` (§5), the events of a session that concern
it (task pointer §3), and the steps that change it.

The state file is the pointer's room's; here it is read and moved in threads, since its lock may wait.
"""

import asyncio
from datetime import UTC, datetime
from typing import Literal

from felan_core.agents.backend import CompactTrigger
from felan_core.host.actor import SessionActor
from felan_core.host.presentation import show
from felan_core.pointer.about import remember
from felan_core.pointer.context_text import context, shell_line
from felan_core.pointer.errors import PointerError
from felan_core.pointer.handover import handover
from felan_core.pointer.lifecycle import pre_compact, prompt_submitted, read, session_started
from felan_core.pointer.main import felan_command
from felan_core.pointer.rules import State
from felan_core.pointer.watch import INTERVAL, Watcher
from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import (
    Action,
    Column,
    Hint,
    NumberField,
    StringField,
    ViewElement,
    ViewItem,
    ViewPage,
)

ELEMENT = "felan.pointer"
AGENT = "felan"
"""What `felan pointer list` names as the agent of a session of this host."""
RECOVERY = "TASK_POINTER_RECOVERY_REQUIRED"
"""Why a session does not go on after a clear or a compaction."""
StartSource = Literal["startup", "resume", "clear"]
_COLUMNS = [
    Column(id="status", label="status", type="string"),
    Column(id="generation", label="generation", type="string"),
    Column(id="revision", label="revision", type="number"),
    Column(id="taskId", label="task", type="string"),
    Column(id="text", label="text", type="string"),
    Column(id="updatedAt", label="updated", type="time"),
    Column(id="code", label="code", type="string"),
]
_ACTIONS = [
    Action(
        id="publish",
        label="publish",
        scope="element",
        fields=[
            StringField(id="expectedGeneration", label="expected generation", required=True),
            NumberField(id="expectedRevision", label="expected revision", required=True, integer=True, min=0),
            StringField(id="text", label="text", required=True, multiline=True),
        ],
    ),
    Action(id="clear", label="clear", scope="element", confirm="Clear the task pointer?", style="danger"),
]


def pointer_element(state: State | None, code: str | None = None) -> ViewElement:
    """The element for ``state`` (None: there is none). ``code``: why it cannot be read, or what went
    stale.
    """
    fields: JsonObject = {"status": "ABSENT", "revision": 0}
    if state is not None:
        fields = {
            "status": state.status,
            "generation": state.generation,
            "revision": state.revision,
            "updatedAt": _millis(state.updated_at),
        }
        if state.task_id is not None:
            fields["taskId"] = state.task_id
        if state.pointer_text is not None:
            fields["text"] = state.pointer_text
    if code is not None:
        fields["code"] = code
    return ViewElement(
        id=ELEMENT,
        revision=1,
        title="task pointer",
        hint=Hint(id=ELEMENT, version=1),
        layout="list",
        columns=_COLUMNS,
        items=[ViewItem(id="pointer", fields=fields)],
        page=ViewPage(index=0, size=1, total=1, has_more=False),
        actions=_ACTIONS,
    )


def _millis(instant: str) -> int:
    moment = datetime.strptime(instant, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000


def _same_state(shown: ViewElement, now: ViewElement) -> bool:
    """Whether both say the same state; the code of a publish that was refused stays until the state moves.

    A code without a state said that it could not be read: no state at all is another thing.
    """
    before, after = dict(shown.items[0].fields), dict(now.items[0].fields)
    if "code" not in after and before.get("status") != "ABSENT":
        before.pop("code", None)
    return before == after


class Pointer:
    """The pointer of one session."""

    def __init__(self, actor: SessionActor) -> None:
        self._actor = actor
        self._store = actor.services.pointers
        self._blocking = actor.services.on_pointers
        self._watching: asyncio.Task[None] | None = None
        self._untold = ""

    async def look(self) -> ViewElement:
        """The element as the state file stands; an unreadable one shows its code."""
        try:
            return pointer_element(await self._blocking(self._store.read, self._actor.id))
        except PointerError as error:
            return pointer_element(None, error.code)

    async def check(self) -> None:
        """Raises ``PointerError`` where the state cannot be read; changes nothing."""
        await self._blocking(self._store.read, self._actor.id)

    async def submit(self) -> tuple[str, str]:
        """UserPromptSubmit of a prompt that is on disk: a task becomes DIRTY, no task gets its fence.

        The context for the agent: that of its start, once, and that of the prompt. Outside jobs: the lock of
        the state file may wait. Raises ``PointerError``; then the agent must not get the prompt.
        """
        state = await self._blocking(self._submitted)
        element = pointer_element(state)
        await self._actor.do(lambda: self._actor.commit(*show(self._actor, element)))
        started, self._untold = self._untold, ""
        return started, self._told(state, brief=True)

    def _submitted(self) -> State:
        state = prompt_submitted(self._store, self._actor.id)
        remember(self._store.root, self._actor.id, self._actor.cwd, AGENT)
        return state

    async def started(self, source: StartSource) -> None:
        """SessionStart. What the agent is told by it stands before its next prompt (``submit``).

        A pointer that cannot be read keeps no session from starting. ``clear`` wrote its state when the
        session was made (``creating``); here its agent is told of it.
        """
        try:
            if source == "clear":
                state = await self._blocking(read, self._store, self._actor.id)
            else:
                state = await self._blocking(session_started, self._store, self._actor.id, source)
        except PointerError as error:
            self._untold = f"UNKNOWN_RECOVERY:{error.code}"
        else:
            other = await self._blocking(self._handover) if state is None else ""
            self._untold = self._told(state, handover=other)

    def _handover(self) -> str:
        felan = shell_line([*felan_command(), "pointer"])
        return handover(self._store, self._actor.id, self._actor.cwd, felan)

    def compacting(self, trigger: CompactTrigger) -> None:
        """PreCompact: it changes nothing, since prompt and publish made the pointer durable."""
        pre_compact(self._store, self._actor.id, trigger)

    async def compacted(self) -> str:
        """SessionStart of ``compact``: what the agent is told now. Raises ``PointerError``."""
        return self._told(await self._blocking(session_started, self._store, self._actor.id, "compact"))

    def _told(self, state: State | None, *, brief: bool = False, handover: str = "") -> str:
        publisher = self._actor.services.publisher
        if not publisher:
            return ""
        return context(state, publisher, self._actor.id, brief=brief, handover=handover)

    def watch(self) -> None:
        """Follow what others write into the state file, an agent's publisher above all, while anybody is
        attached.
        """
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._follow(), name="felan-pointer")

    async def unwatch(self) -> None:
        """Follow no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._watching = None

    async def _follow(self) -> None:
        watcher = Watcher(self._store, self._actor.id)
        self._actor.later(self.refresh, "the task pointer")  # it may have changed while nobody was attached
        while self._actor.has_subscribers:
            await asyncio.sleep(INTERVAL)
            # The stat in the loop: ten hand-overs a second to a thread cost a quarter of a percent of a core.
            if not watcher.moved():
                continue
            try:
                changed = await self._blocking(watcher.poll)
            except PointerError:
                continue
            if changed:
                self._actor.later(self.refresh, "a task pointer that changed")

    async def refresh(self) -> None:
        """Show the pointer as the state file stands now. Inside a job."""
        element = await self.look()
        shown = self._actor.state.presentation.get(ELEMENT)
        if not (isinstance(shown, ViewElement) and _same_state(shown, element)):
            await self._actor.commit(*show(self._actor, element))

    async def publish(
        self, text: str, expected: tuple[str, int] | None = None, *, new_task_id: str
    ) -> ViewElement:
        """Publish ``text`` as CLEAN; ``expected`` None means what is there now. Raises ``PointerError``."""

        def write() -> State:
            state = self._store.read(self._actor.id)
            now = ("ABSENT", 0) if state is None else (state.generation, state.revision)
            generation, revision = expected or now
            task = state.task_id if state is not None and state.task_id else new_task_id
            return self._store.publish(self._actor.id, generation, revision, task, "CLEAN", text)

        return pointer_element(await self._blocking(write))

    async def clear(self) -> ViewElement:
        """Write CLEARED. Raises ``PointerError``."""
        return pointer_element(await self._blocking(self._store.clear, self._actor.id))
