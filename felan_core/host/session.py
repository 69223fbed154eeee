"""One live session of the host: its actor, its parts, and what each operation means to it."""

import asyncio
from uuid import uuid4

import msgspec

from felan_core.agents.backend import AgentError, AgentGone, Backend
from felan_core.host.actor import SessionActor
from felan_core.host.backend_session import BackendSession
from felan_core.host.broker import Broker
from felan_core.host.cursors import HistoryCursor, forged, history_cursor, parse_history_cursor
from felan_core.host.held_queue import QUEUE_ELEMENT
from felan_core.host.pointer import ELEMENT as POINTER
from felan_core.host.pointer import Pointer, pointer_element
from felan_core.host.presentation import check_action, show
from felan_core.host.processes import SessionProcesses, checked_folder
from felan_core.host.request_context import RequestContext, accepted
from felan_core.host.sanitize import label
from felan_core.host.services import Services
from felan_core.host.snapshot import captured
from felan_core.host.streams import Streams
from felan_core.host.turns import Turns
from felan_core.pointer.errors import PointerError
from felan_core.processes.errors import ProcessError
from felan_core.processes.records import ProcessRecord
from felan_core.protocol import LIMITS, UNSET, ProtocolError, or_default
from felan_core.protocol import operations as op
from felan_core.protocol.base import Maybe
from felan_core.protocol.entries import ToolDetails, ToolEntry, ToolProcess
from felan_core.protocol.errors import invalid
from felan_core.protocol.events import PresentationUpdated, SessionClosed, SessionUpdated, ToolUpdated
from felan_core.protocol.framing import encode_frame
from felan_core.protocol.reducer import OPEN_STATES
from felan_core.protocol.session import ProcessRow, SessionSnapshot
from felan_core.store.errors import NoSuchEntry
from felan_core.store.rows import LoadedSession

ALWAYS = (
    "attach",
    "cancel",
    "close",
    "detach",
    "follow_up",
    "interaction.answer",
    "prompt",
    "session.history",
    "session.rename",
    "shell.execute",
    "ui.action",
)


class LiveSession:
    """A session that the host has up. Its operations run as jobs of the actor, but for what only reads."""

    def __init__(self, services: Services, loaded: LoadedSession) -> None:
        self._services = services
        self.actor = SessionActor(services, loaded)
        self._streams = Streams(self.actor)
        self._panel = SessionProcesses(self.actor, self._process_ended)
        self._pointer = Pointer(self.actor)
        self._broker = Broker(self.actor, lambda deferred: self._turns.continue_deferred(deferred))
        self._stage = BackendSession(
            self.actor,
            self._streams,
            self._broker,
            self._panel,
            self._pointer,
            lambda error: self._agent_gone(error),
        )
        factory = services.agents[services.agent_kind(self.actor.settings)]()
        self._turns = Turns(
            self.actor,
            lambda: factory(self._stage, self.actor.settings),
            streams=self._streams,
            broker=self._broker,
            pointer=self._pointer,
            close_tools=self._stage.close_tools,
            context=self._context,
            operations=operations_of,
        )
        self._shared: list[str] = []

    def _agent_gone(self, error: AgentGone) -> None:
        self._turns.agent_gone(error)

    # --- life ---

    async def open(self) -> None:
        """Bring the session up: what an earlier host left is put in order first."""
        self.actor.start()

        async def job() -> None:
            await self._panel.restore()
            await self._end_cards()
            await self._turns.recover()
            await self.actor.commit(*show(self.actor, await self._pointer.look()))
            self._broker.watch_all()
            await self._turns.resume_unfinished()

        await self.actor.do(job)

    async def shut_down(self) -> None:
        """The host ends, or unloads it: the turn is interrupted, questions are deferred or cancelled, and
        agent and processes are ended.
        """
        self._stage.leave()
        await self._pointer.unwatch()
        try:
            # Those of a person first: their cards end with them, and not as what an earlier host left.
            # Those of an agent after its turn, which would go on when they end.
            persons = [row.id for row in self._running() if self._card_of(row.id) is not None]
            await self._stop_processes(persons)
            await self._turns.shut_down()
            await self._stop_processes([row.id for row in self._running()])
        finally:
            self._broker.unwatch()
            await self.actor.stop()

    def wake_agent(self) -> None:
        """Start the agent before it is needed."""
        self._turns.agent.wake()

    @property
    def closed(self) -> bool:
        """Whether it was closed: it is on disk, and the next prompt opens it again."""
        return self.actor.state.header.state == "closed"

    @property
    def has_agent(self) -> bool:
        """Whether its agent runs."""
        return self._turns.agent.ready

    @property
    def idle(self) -> bool:
        """Whether all that it is is on disk: nobody is attached, nothing runs, waits or is queued."""
        state = self.actor.state
        return not (
            self.actor.busy
            or self.actor.has_subscribers
            or self._turns.busy
            or self._panel.pending
            or self._shared
            or self._running()
            or any(one.state in OPEN_STATES for one in state.interactions.values())
        )

    # --- attaching ---

    async def attach(self, call: RequestContext, params: op.AttachParams) -> op.AttachResult:
        """Snapshot and subscription in one job; the reply is queued before any frame of the session."""
        if params.require_policy == "acp-strict" and self.actor.state.policy.name != "acp-strict":
            raise ProtocolError("forbidden", "requirePolicy: this session does not run under acp-strict")

        async def job() -> op.AttachResult:
            result = op.AttachResult(snapshot=self.snapshot(or_default(params.history_limit, 64)))
            frame = encode_frame(accepted(call.re, result))
            self.actor.subscribe(call.connection)
            call.connection.answer(call.re, frame)
            call.replied = True
            return result

        async with call.connection.space(LIMITS.snapshot_bytes):
            result = await self.actor.do(job)
        self._pointer.watch()
        if call.connection.client.kind == "tui":
            self.wake_agent()  # a person is there: the agent is ready when the first message is written
        return result

    def snapshot(self, history_limit: int) -> SessionSnapshot:
        """The session as of now, within ``snapshotBytes``. Inside a job."""
        return captured(self.actor, self._streams.prefixes(), history_limit)

    async def detach(self, call: RequestContext) -> op.Empty:
        """End the subscription, also when there is none."""

        async def job() -> op.Empty:
            self.actor.unsubscribe(call.connection)
            call.connection.forget(self.actor.id)
            call.connection.attached.discard(self.actor.id)
            # Here, as at attaching: in the order in which it was done, or the client believes the wrong one.
            call.connection.accept(call.re, op.Empty())
            call.replied = True
            return op.Empty()

        return await self.actor.do(job)

    async def history(self, call: RequestContext, params: op.HistoryParams) -> op.HistoryPage:
        """A page of the branch that ends with the leaf, with ``entry``, or before the cursor's entry."""
        leaf, before = or_default(self.actor.state.branch.leaf, ""), ""
        if params.cursor is not UNSET:
            leaf, before = parse_history_cursor(str(params.cursor), self.actor.id)
        last = or_default(params.entry, "")
        if not leaf:
            if last:
                raise no_such_entry()
            return op.HistoryPage(items=[])
        try:
            entries, more = await self._services.store.history(
                self.actor.id, leaf, before=before, last=last, limit=or_default(params.limit, 64)
            )
        except NoSuchEntry as error:
            if last and error.entry == last:
                raise no_such_entry() from error
            raise forged() from error
        older = HistoryCursor(leaf, entries[0].id) if entries and more else None
        cursor: Maybe[str] = history_cursor(self.actor.id, older) if older else UNSET
        return op.HistoryPage(items=entries, next_cursor=cursor)

    # --- turns ---

    async def prompt(self, call: RequestContext, params: op.PromptParams) -> op.RunResult:
        return await self.actor.do(lambda: self._turns.prompt(call, params))

    async def steer(self, call: RequestContext, params: op.PromptParams) -> op.QueuedResult:
        return await self.actor.do(lambda: self._turns.steer(call, params))

    async def follow_up(self, call: RequestContext, params: op.PromptParams) -> op.QueuedResult:
        return await self.actor.do(lambda: self._turns.follow_up(call, params))

    async def cancel(self, call: RequestContext, params: op.CancelParams) -> op.CancelResult:
        return await self.actor.do(lambda: self._turns.cancel(call, params))

    async def answer(self, call: RequestContext, params: op.AnswerParams) -> op.AnswerResult:
        return await self.actor.do(lambda: self._broker.answer(call, params))

    async def rename(self, call: RequestContext, params: op.RenameParams) -> op.RevisionResult:
        """Give the session a name; an empty one takes it away."""

        async def job() -> op.RevisionResult:
            header = msgspec.structs.replace(self.actor.state.header, name=params.name or UNSET)
            result = op.RevisionResult(revision=self.actor.state.revision + 1)
            await self.actor.commit(SessionUpdated(header=header), settle=(call, result))
            return result

        return await self.actor.do(job)

    async def close(self, call: RequestContext) -> op.RevisionResult:
        """End the session: the turn is cancelled, questions are withdrawn, its processes are stopped."""
        await call.reserve()
        await self._stop_processes([row.id for row in self._running()])

        async def withdraw() -> None:
            await self._broker.withdraw_open("the session was closed")

        async def job() -> op.RevisionResult:
            await self._broker.withdraw_open("the session was closed")
            result = op.RevisionResult(revision=self.actor.state.revision + 1)
            await self.actor.commit(SessionClosed(), settle=(call, result))
            return op.RevisionResult(revision=self.actor.state.revision)

        try:
            await self.actor.do(withdraw)
            await self._turns.shut_down("cancelled", closing=True)
            return await self.actor.do(job)
        except BaseException:
            # It is not closed: it takes prompts again, and a turn that was cut off is ended when it can be.
            self._turns.stay_open()
            raise

    def _running(self) -> list[ProcessRow]:
        """Those that run, and those that ended and left something running."""
        rows = self.actor.state.processes.values()
        return [row for row in rows if row.state == "running" or or_default(row.leftovers, 0)]

    async def _stop_processes(self, running: list[str]) -> None:
        """Stop them and wait until their ends are in the session. Outside jobs. Never raises."""
        stopped = await asyncio.gather(
            *(self._services.processes.stop(process) for process in running), return_exceptions=True
        )
        for process, outcome in zip(running, stopped, strict=True):
            if isinstance(outcome, BaseException):
                self._services.report(outcome, f"stopping process {process}")
        ends = [asyncio.ensure_future(self._panel.end(process)) for process in running]
        if ends:
            await asyncio.wait(ends, timeout=self._services.limits.output_seconds)

    # --- elements ---

    async def act(self, call: RequestContext, params: op.UiActionParams) -> op.Empty:
        """Check an action against the current element, then do it."""

        async def check() -> None:
            check_action(self.actor, call, params)
            await call.reserve()

        await self.actor.do(check)
        if params.element == POINTER:
            await self._act_on_pointer(params)
        elif params.element == QUEUE_ELEMENT:
            await self.actor.do(self._turns.release)
        else:
            if self.actor.state.header.state == "closed":
                raise ProtocolError("unavailable", "session: it is closed")
            try:
                await self._turns.agent.ensure()
                await self._turns.agent.backend.act(
                    params.element, params.action, params.item or None, or_default(params.values, {})
                )
            except AgentError as error:
                raise ProtocolError("unavailable", error.message) from error
        return op.Empty()

    async def _act_on_pointer(self, params: op.UiActionParams) -> None:
        async def job() -> None:
            try:
                if params.action == "clear":
                    element = await self._pointer.clear()
                else:
                    values = or_default(params.values, {})
                    expected = values["expectedGeneration"], int(values["expectedRevision"])
                    element = await self._pointer.publish(values["text"], expected, new_task_id=str(uuid4()))
            except PointerError as error:
                # What stands now, with the code: the person sees both and decides again.
                element = pointer_element(await self._services.on_pointers(self._read_pointer), error.code)
            # Told in any case, also when it is as it was: the element's next revision is the answer.
            await self.actor.commit(PresentationUpdated(element=element))

        await self.actor.do(job)

    def _read_pointer(self):
        try:
            return self._services.pointers.read(self.actor.id)
        except PointerError:
            return None

    # --- processes ---

    async def shell(self, call: RequestContext, params: op.ShellParams) -> op.ShellResult:
        """Start a person's command as a process of the session, with a tool card in the transcript."""
        cwd = None if params.cwd is UNSET else checked_folder(str(params.cwd), "params.cwd")
        size = params.pty if isinstance(params.pty, op.PtySize) else None

        async def job() -> op.ShellResult:
            if self.actor.state.header.state == "closed":
                raise ProtocolError("unavailable", "session: it is closed")
            await call.reserve()
            try:
                row = await self._panel.start(
                    params.command,
                    cwd=cwd,
                    title=None,
                    pty=(size.columns, size.rows) if size else None,
                    beside=lambda row: [ToolUpdated(tool=self._card(row))],
                )
            except ProcessError as error:
                raise invalid(f"command: {error}") from error
            if params.share is True:
                self._shared.append(row.id)
            return op.ShellResult(process=row.id)

        return await self.actor.do(job)

    def _card(self, row: ProcessRow) -> ToolEntry:
        """The card of a person's own command. It belongs to no run: a turn that ends does not end it."""
        stamp = self.actor.stamp()
        stamp["run"] = UNSET
        return ToolEntry(
            **stamp,
            name="shell",
            category="execute",
            title=label(row.command),
            state="running",
            started_at=row.started_at,
            content=[ToolProcess(process=row.id)],
        )

    @staticmethod
    def _is_card(entry: object, process: str) -> bool:
        return (
            isinstance(entry, ToolEntry)
            and entry.name == "shell"
            and or_default(entry.content, []) == [ToolProcess(process=process)]
        )

    def _card_of(self, process: str) -> ToolEntry | None:
        """The running card of a person's own command."""
        for entry in self.actor.state.entries:
            if isinstance(entry, ToolEntry) and entry.state == "running" and self._is_card(entry, process):
                return entry
        return None

    async def _end_cards(self) -> None:
        """The cards of commands whose end an earlier host stored, and no more. Inside a job."""
        for row in list(self.actor.state.processes.values()):
            if row.state in ("exited", "signalled") and (card := self._card_of(row.id)) is not None:
                await self.actor.commit(ToolUpdated(tool=ended_card(card, row)))

    def _process_ended(self, row: ProcessRow) -> None:
        async def job() -> None:
            if (card := self._card_of(row.id)) is not None:
                await self.actor.commit(ToolUpdated(tool=ended_card(card, row)))

        self.actor.later(job, "a process that ended")

    async def process_changed(self, record: ProcessRecord) -> None:
        """The process table saw a change of one of this session's. Inside a job."""
        await self._panel.changed(record)

    def check_process(self, process: str) -> None:
        """Raises ``not_found`` when the session has no such process."""
        self._panel.known(process)

    async def _context(self) -> str:
        """What a person shared with the agent since its last turn."""
        pieces: list[str] = []
        shared, self._shared = self._shared, []
        for process in shared:
            row = self.actor.state.processes[process]
            try:
                output = await self._panel.tail(process, self._services.limits.shared_bytes)
            except (ProcessError, OSError) as error:
                output = f"(it cannot be read: {error})"
            pieces.append(f"The person ran `{row.command}` ({row.state}). Its output:\n\n{output}")
        return "\n\n".join(pieces)


def no_such_entry() -> ProtocolError:
    """The refusal of an ``entry`` that is not on the captured branch."""
    return ProtocolError("not_found", "entry: there is none with this id")


def ended_card(card: ToolEntry, row: ProcessRow) -> ToolEntry:
    """The card of a command that has ended."""
    stopped = row.stopped is True
    good = row.state == "exited" and row.exit_code == 0 and not stopped
    reason: Maybe[str] = "stopped" if stopped else UNSET
    if row.state != "exited" and not stopped:
        reason = str(row.signal or row.state)
    return msgspec.structs.replace(
        card,
        state="completed" if good else "failed" if row.state == "exited" and not stopped else "interrupted",
        ended_at=row.ended_at or card.started_at,
        details=ToolDetails(exit_code=row.exit_code, reason=reason),
    )


def operations_of(backend: Backend) -> list[str]:
    """The catalogue's operations of a session with this backend: what it cannot do is not among them."""
    return sorted((*ALWAYS, *backend.abilities.operations()))
