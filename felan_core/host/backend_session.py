"""BackendSession: what a backend may do to its session (``agents.backend.Session``), each call one job of the
actor.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from felan_core.agents.backend import (
    AgentError,
    AgentGone,
    CompactTrigger,
    ProcessEnd,
    Refused,
    Tone,
    ToolPatch,
)
from felan_core.host.actor import SessionActor, notice_entry
from felan_core.host.broker import Broker
from felan_core.host.pointer import RECOVERY, Pointer
from felan_core.host.presentation import HOST_PREFIX, hide, show
from felan_core.host.processes import SessionProcesses
from felan_core.host.quotas import check_catalogue, check_request
from felan_core.host.sanitize import checked, label, mended, scalars
from felan_core.host.streams import Streams
from felan_core.host.turns import OpenTools
from felan_core.pointer.errors import PointerError
from felan_core.processes.errors import ProcessError
from felan_core.processes.piped import PipedProcess
from felan_core.protocol.base import LIMITS, UNSET, JsonObject, Maybe, or_default
from felan_core.protocol.elements import Element, StatusElement
from felan_core.protocol.entries import MessageOutcome, StreamKind, ToolDetails, ToolDiff, ToolEntry, ToolText
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.events import CatalogUpdated, SessionUpdated, ToolUpdated
from felan_core.protocol.interactions import Answer, Authority, InteractionRequest
from felan_core.protocol.session import AgentMode, Catalogue, Command, Model, ToolSpec
from felan_core.store.errors import InvalidRow, StoreError

USAGE = "felan.usage"
COMPACTED = "The agent compacted its context"
R = TypeVar("R")


class BackendSession:
    """One backend's hold on its session; ``on_gone`` is told when the agent ends outside a turn."""

    def __init__(
        self,
        actor: SessionActor,
        streams: Streams,
        broker: Broker,
        panel: SessionProcesses,
        pointer: Pointer,
        on_gone: Callable[[AgentGone], None],
    ) -> None:
        self._actor = actor
        self._streams = streams
        self._broker = broker
        self._panel = panel
        self._pointer = pointer
        self._on_gone = on_gone
        self._tools: dict[str, str] = {}
        self._leaving = False

    @property
    def id(self) -> str:
        return self._actor.id

    @property
    def cwd(self) -> str:
        return self._actor.cwd

    @property
    def instructions(self) -> str:
        return self._actor.instructions

    async def _do(self, job: Callable[[], Awaitable[R]]) -> R:
        """Run ``job`` of the actor. What the session refuses the agent hears as ``AgentError``."""

        async def while_open() -> R:
            self._check_open()
            return await job()

        try:
            return await self._actor.do(while_open)
        except ProtocolError as error:
            raise Refused(error.message) from error
        except InvalidRow as error:
            raise Refused(str(error)) from error
        except StoreError as error:
            self._actor.services.report(error, "what an agent did")
            raise AgentError(str(error)) from error

    def _check_open(self) -> None:
        """An agent that outlives its session changes nothing in it any more."""
        if self._actor.state.header.state == "closed":
            raise ProtocolError("unavailable", "session: it is closed")

    # --- transcript ---

    async def text(self, kind: StreamKind, text: str, message: str | None = None) -> None:
        await self._do(lambda: self._streams.text(kind, text, message))

    async def end_message(self, outcome: MessageOutcome = "completed") -> None:
        await self._do(lambda: self._streams.complete(outcome))

    async def notice(self, tone: Tone, title: str, text: str = "", details: str = "") -> None:
        async def job() -> None:
            await self._streams.complete("completed")
            await self._actor.commit(notice_entry(self._actor, tone, title, text, details))

        await self._do(job)

    async def tool(self, patch: ToolPatch) -> None:
        async def job() -> None:
            await self._streams.complete("completed")
            known = self._known_tool(patch.key)
            tool = self._new_tool(patch) if known is None else known
            changed = self._patched(tool, patch)
            if changed != known:
                await self._actor.commit(ToolUpdated(tool=changed))

        await self._do(job)

    def _known_tool(self, key: str) -> ToolEntry | None:
        entry = self._actor.state.entries.get(self._tools.get(key, ""))
        return entry if isinstance(entry, ToolEntry) else None

    def _new_tool(self, patch: ToolPatch) -> ToolEntry:
        stamp = self._actor.stamp()
        self._tools[patch.key] = str(stamp["id"])
        return ToolEntry(
            **stamp,
            name="",
            category="other",
            title="",
            state="running",
            started_at=self._actor.services.clock(),
        )

    def _patched(self, tool: ToolEntry, patch: ToolPatch) -> ToolEntry:
        changes: dict[str, Any] = {
            name: value
            for name in ("name", "category", "title", "state", "arguments", "locations", "content", "details")
            if (value := getattr(patch, name)) is not UNSET
        }
        for name in {"name", "category", "title"} & changes.keys():
            changes[name] = label(changes[name])
        if "arguments" in changes:
            changes["arguments"] = mended(changes["arguments"])
        changed = msgspec.structs.replace(tool, **changes)
        if changes.keys() & {"details", "locations", "content"}:
            checked(_without_bulk(changed), ToolEntry, "tool")
        if changed.state == "running":
            return msgspec.structs.replace(changed, ended_at=UNSET)
        if not isinstance(changed.ended_at, int):
            return self._ended(changed)
        return changed

    def _ended(self, tool: ToolEntry) -> ToolEntry:
        """The tool as it ends now. One that waited for an answer had not begun."""
        now = self._actor.services.clock()
        if not tool.waiting:
            return msgspec.structs.replace(tool, ended_at=now)
        details = tool.details
        if isinstance(details, ToolDetails) and details.reason == "lost":
            details = msgspec.structs.replace(details, reason="not_run")
        return msgspec.structs.replace(tool, started_at=now, ended_at=now, waiting=UNSET, details=details)

    async def close_tools(self, which: OpenTools, reason: str) -> None:
        """End what is still open: of any turn, of the agent, or all. Inside a job.

        A tool that an agent takes up again belongs to the turn in which it began, and ends with this one.
        """
        mine = set(self._tools.values())
        for entry in list(self._actor.state.entries):
            if not (isinstance(entry, ToolEntry) and entry.state == "running"):
                continue
            if which == "all" or (entry.id in mine if which == "agent" else bool(entry.run)):
                details = ToolDetails(reason=reason)
                ended = msgspec.structs.replace(entry, state="interrupted", details=details)
                await self._actor.commit(ToolUpdated(tool=self._ended(ended)))

    # --- questions ---

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
        async def job() -> "tuple[str, asyncio.Future[Answer]]":
            self._check_open()
            checked(request, InteractionRequest, "request")
            check_request(self._actor.state, request)
            await self._streams.complete("completed")
            waiting: list[ToolUpdated] = []
            known = self._known_tool(tool) if tool is not None else None
            if known is not None and known.state == "running" and not known.waiting:
                waiting = [ToolUpdated(tool=msgspec.structs.replace(known, waiting=True))]
            return await self._broker.open(
                request,
                tool=self._tools.get(tool) if tool is not None else None,
                authority=authority,
                deferrable=deferrable,
                expires_in_ms=expires_in_ms,
                resume=resume,
                beside=waiting,
            )

        opened = self._actor.do(job)
        try:
            interaction, answer = await asyncio.shield(opened)
        except asyncio.CancelledError as error:
            reason = _reason(error)
            opened.add_done_callback(lambda done: self._withdraw_opened(done, reason))
            raise
        except (ProtocolError, StoreError, InvalidRow) as error:
            raise AgentError(str(error)) from error
        try:
            answered = await asyncio.shield(answer)
        except asyncio.CancelledError as error:
            self._withdraw(interaction, _reason(error))
            raise
        if tool is not None:
            # The work begins with the answer, or never.
            await self._do(lambda: self._begin_work(tool))
        return answered

    async def _begin_work(self, key: str) -> None:
        """A question about the tool is answered; after the last one its work begins. Inside a job."""
        tool = self._known_tool(key)
        if tool is None or not tool.waiting:
            return
        questions = self._actor.state.interactions.values()
        if not any(one.state == "waiting" and one.scope.tool == tool.id for one in questions):
            now = self._actor.services.clock()
            changed = msgspec.structs.replace(tool, waiting=UNSET, started_at=now)
            await self._actor.commit(ToolUpdated(tool=changed))

    def _withdraw_opened(
        self, opened: "asyncio.Future[tuple[str, asyncio.Future[Answer]]]", reason: str
    ) -> None:
        if not opened.cancelled() and opened.exception() is None:
            self._withdraw(opened.result()[0], reason)

    def leave(self) -> None:
        """The host ends: a question whose task is cancelled from now on is not withdrawn, but deferred."""
        self._leaving = True

    def _withdraw(self, interaction: str, reason: str) -> None:
        if self._leaving:
            return
        self._actor.later(lambda: self._broker.withdraw([interaction], reason), "withdrawing a question")

    # --- presentation and catalogue ---

    async def show(self, element: Element) -> None:
        if element.id.startswith(HOST_PREFIX):
            raise AgentError(f"elements named {HOST_PREFIX}* are the host's")
        await self._show(element)

    async def _show(self, element: Element) -> None:
        async def job() -> None:
            checked(element, Element, "element")
            events = show(self._actor, element)
            if events:
                await self._actor.commit(*events)

        await self._do(job)

    async def remove(self, element: str) -> None:
        async def job() -> None:
            events = hide(self._actor, element)
            if events and not element.startswith(HOST_PREFIX):
                await self._actor.commit(*events)

        await self._do(job)

    async def usage(self, used: int, size: int) -> None:
        percent = round(100 * used / size) if size > 0 else 0
        text = f"ctx {percent}%" if size > 0 else f"{used} tokens"
        tone = "warning" if percent >= 80 else "muted"
        await self._show(StatusElement(id=USAGE, revision=1, text=text, tone=tone))

    async def offer(
        self,
        *,
        commands: Sequence[Command] | None = None,
        tools: Sequence[ToolSpec] | None = None,
        models: Sequence[Model] | None = None,
    ) -> None:
        async def job() -> None:
            old = self._actor.state.catalogue
            new = msgspec.structs.replace(
                old,
                commands=old.commands if commands is None else list(commands),
                tools=old.tools if tools is None else list(tools),
                models=old.models if models is None else list(models),
            )
            if new != old:
                checked(new, Catalogue, "catalogue")
                check_catalogue(self._actor.state, new)
                await self._actor.commit(CatalogUpdated(catalogue=new))

        await self._do(job)

    async def rename(self, name: str) -> None:
        async def job() -> None:
            header = self._actor.state.header
            wanted: Maybe[str] = " ".join(scalars(name).split())[: LIMITS.label_bytes // 4] or UNSET
            if not header.name and wanted:
                await self._actor.commit(SessionUpdated(header=msgspec.structs.replace(header, name=wanted)))

        await self._do(job)

    async def mode(self, mode: AgentMode) -> None:
        async def job() -> None:
            header = self._actor.state.header
            checked(mode, AgentMode, "mode")
            if header.agent.mode != mode:
                agent = msgspec.structs.replace(header.agent, mode=mode)
                await self._actor.commit(SessionUpdated(header=msgspec.structs.replace(header, agent=agent)))

        await self._do(job)

    async def remember(self, memory: JsonObject) -> None:
        async def job() -> None:
            before = self._actor.memory
            if before != memory:
                self._actor.memory = memory
                try:
                    await self._actor.commit()
                except BaseException:
                    # What cannot be stored must not stand in the way of the next change.
                    self._actor.memory = before
                    raise

        await self._do(job)

    # --- processes and the pointer ---

    async def spawn(self, argv: Sequence[str], environ: Mapping[str, str], *, title: str) -> PipedProcess:
        services = self._actor.services
        return await services.processes.spawn(
            argv, id=services.new_id(), owner=self.id, title=title, cwd=self.cwd, environ=environ
        )

    async def start_process(self, command: str, *, title: str | None = None) -> str:
        try:
            row = await self._do(lambda: self._panel.start(command, cwd=None, title=title))
        except ProcessError as error:
            raise AgentError(str(error)) from error
        return row.id

    async def process_end(self, process: str) -> ProcessEnd:
        return await self._panel.end(process)

    async def process_tail(self, process: str, limit: int) -> str:
        return await self._panel.tail(process, limit)

    async def stop_process(self, process: str) -> None:
        await self._actor.services.processes.stop(process)

    async def publish_pointer(self, text: str) -> None:
        async def job() -> None:
            element = await self._pointer.publish(text, new_task_id=str(uuid4()))
            await self._actor.commit(*show(self._actor, element))

        try:
            await self._do(job)
        except PointerError as error:
            raise AgentError(f"the task pointer was not published: {error.code}") from error

    async def compacting(self, trigger: CompactTrigger) -> None:
        async def job() -> None:
            self._pointer.compacting(trigger)

        await self._do(job)

    async def compacted(self, summary: str = "") -> str:
        async def job() -> str:
            await self._streams.complete("completed")
            await self._actor.commit(notice_entry(self._actor, "info", COMPACTED, summary))
            return await self._pointer.compacted()

        try:
            return await self._do(job)
        except PointerError as error:
            raise AgentError(
                f"The task pointer cannot be read after the compaction: {RECOVERY}:{error.code}",
                error.message,
            ) from error

    def gone(self, error: AgentGone) -> None:
        self._on_gone(error)


def _reason(error: asyncio.CancelledError) -> str:
    """What the task that asked was cancelled with: the backend knows best why nobody waits any more."""
    told = error.args[0] if error.args else None
    return told if isinstance(told, str) and told else "the agent withdrew it"


def _without_bulk(tool: ToolEntry) -> ToolEntry:
    """The tool without what has no bound but that of the whole entry, which is the store's to check."""
    content = [
        msgspec.structs.replace(one, new="", old=UNSET) if isinstance(one, ToolDiff) else one
        for one in or_default(tool.content, [])
        if not isinstance(one, ToolText)
    ]
    return msgspec.structs.replace(tool, arguments=UNSET, content=content)
