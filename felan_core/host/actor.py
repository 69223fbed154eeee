"""SessionActor: one session, one queue, one order. Every change is an event, on disk before anyone is told.

A job runs alone: what it reads cannot change under it. Between sessions nothing waits. A job must not wait
for another job of its own session (``do`` inside a job would wait for itself).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from operator import is_
from typing import Any, Final, TypeVar

import msgspec

from felan_core.host.connection import Connection
from felan_core.host.request_context import RequestContext
from felan_core.host.sanitize import label
from felan_core.host.services import Services
from felan_core.protocol.base import LIMITS, UNSET, JsonObject, or_default
from felan_core.protocol.connection import published_frame
from felan_core.protocol.entries import AnyOrigin, Entry, MessageEntry, NoticeEntry, TextPart
from felan_core.protocol.envelopes import EventFrame, TextFrame
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.events import (
    InteractionUpdated,
    KnownEvent,
    MessageCompleted,
    PresentationRemoved,
    PresentationUpdated,
    ProcessUpdated,
    SessionUpdated,
    ToolUpdated,
)
from felan_core.protocol.reducer import SessionState
from felan_core.protocol.session import Branch, Catalogue, Policy, SessionStateName
from felan_core.protocol.streams import StreamPosition
from felan_core.store.batch import Batch
from felan_core.store.errors import InvalidRow, StoreClosed, StoreError, StoreLost
from felan_core.store.rows import LoadedSession, SessionRecord

R = TypeVar("R")
E = TypeVar("E", bound=Entry)
Job = Callable[[], Awaitable[Any]]
UNPLACED: Final = 0
"""The seq of an entry before it is committed."""
KEPT_ENTRIES: Final = LIMITS.page_entries
_EMPTY: Final = Catalogue(operations=[], commands=[], tools=[], models=[])


class SessionActor:
    """The state of a session, its jobs, its subscribers. What a session *does* is in its parts (``turns``
    …).
    """

    def __init__(self, services: Services, loaded: LoadedSession) -> None:
        self.services = services
        record = loaded.record
        self.id = record.id
        self.root = record.root
        self.cwd = record.cwd
        self.settings = record.settings
        self.instructions = record.instructions
        self.memory = record.memory
        self.next_seq = record.next_seq
        self.floor = _floor_of(loaded)
        self.resumes: dict[str, JsonObject] = _resumes_of(loaded)
        self.state: SessionState = self._state_of(loaded)
        self.streams: Callable[[], list[Any]] = list
        self._stored_bulk: tuple[object, ...] = ()
        self._subscribers: set[Connection] = set()
        self._jobs: asyncio.Queue[tuple[Job, asyncio.Future[Any]]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._working = False

    @staticmethod
    def _state_of(loaded: LoadedSession) -> SessionState:
        record = loaded.record
        return SessionState(
            session=record.id,
            root=record.root,
            parent=record.parent or UNSET,
            created_at=record.created_at,
            revision=record.revision,
            header=record.header,
            queue=record.queue,
            catalogue=_EMPTY,
            policy=Policy(name="acp-strict" if record.policy == "acp-strict" else "default"),
            branch=Branch(leaf=record.leaf or UNSET),
            run=record.run,
            entries=[*loaded.running_tools, *loaded.entries],
            interactions=[one.interaction for one in loaded.interactions],
            processes=loaded.processes,
            presentation=loaded.elements,
        )

    # --- jobs ---

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self._working or not self._jobs.empty()

    def start(self) -> None:
        """Begin to take jobs."""
        self._task = asyncio.create_task(self._work(), name=f"felan-session-{self.id}")

    async def stop(self) -> None:
        """Finish the jobs that wait, then take no more."""
        if self._task is not None:
            # A worker that was cancelled finishes nothing any more.
            joining = asyncio.ensure_future(self._jobs.join())
            await asyncio.wait([joining, self._task], return_when=asyncio.FIRST_COMPLETED)
            joining.cancel()
            self._ended = True
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def do(self, job: Callable[[], Awaitable[R]]) -> "asyncio.Future[R]":
        """Queue ``job``; its outcome. The job runs also when nobody waits for it any more.

        ``unavailable`` after ``stop``: nobody is left who would run it.
        """
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if self._ended:
            done.set_exception(ProtocolError("unavailable", "the host is ending", retryable=True))
            done.exception()  # not everybody who asks waits for the outcome
            return done
        self._jobs.put_nowait((job, done))
        return done

    def later(self, job: Callable[[], Awaitable[None]], what: str) -> None:
        """Queue a job that nobody waits for; a fault in it is reported."""

        async def guarded() -> None:
            try:
                await job()
            except Exception as error:
                self.services.report(error, what)

        self.do(guarded)

    async def _work(self) -> None:
        while True:
            job, done = await self._jobs.get()
            self._working = True
            try:
                result = await job()
            except asyncio.CancelledError:
                done.cancel()
                current = asyncio.current_task()
                if current is None or current.cancelling():
                    raise
                # Something that the job waited for was cancelled; the session goes on.
            except BaseException as error:
                if done.done():
                    # A refusal that nobody waits for any more is no fault of ours.
                    if not isinstance(error, ProtocolError):
                        self.services.report(error, f"session {self.id}")
                else:
                    done.set_exception(error)
                    done.exception()
            else:
                if not done.done():
                    done.set_result(result)
            finally:
                self._working = False
                self._jobs.task_done()

    # --- changes ---

    async def commit(
        self,
        *events: KnownEvent,
        settle: tuple[RequestContext, msgspec.Struct] | None = None,
        resumes: Mapping[str, JsonObject | None] | None = None,
    ) -> None:
        """Take ``events``: next revisions, one transaction, then everybody is told. Inside a job alone.

        ``settle`` puts a request's record and reply into the transaction. ``resumes`` keeps or drops what a
        backend needs to go on after an interaction. Raises ``StoreError``, and ``invalid_request`` for what
        is too large to be stored or told; then nothing has changed.
        """
        undo: list[Callable[[], None]] = [partial(setattr, self, "next_seq", self.next_seq)]
        batch = Batch()
        now = self.services.clock()
        try:
            self._keep_resumes(resumes or {}, undo)
            frames = [self._take(event, batch, now, undo) for event in events]
            header = msgspec.structs.replace(self.state.header, state=self._state_name())
            if header != self.state.header:
                frames.append(self._take(SessionUpdated(header=header), batch, now, undo))
            record = self.record(now)
            bulk = record.bulk
            batch.put_session(record, bulk=not _same(bulk, self._stored_bulk))
            if settle is not None:
                call, result = settle
                call.settle(batch, result)
        except BaseException as error:
            _take_back(undo)
            if isinstance(error, InvalidRow):
                raise invalid(f"{error.table}: {error.problem}") from error
            raise
        try:
            await self.services.store.write(batch)
        except StoreError as error:
            gone = isinstance(error, StoreClosed | StoreLost)
            if gone or not await self._is_stored(self.state.revision):
                _take_back(undo)
                self._stored_bulk = ()
                if not gone:
                    await self._reload()
                raise
        self._stored_bulk = bulk
        self.floor = max(self.floor, self.state.entries.drop_oldest(KEPT_ENTRIES))
        self.state.drop_ended(KEPT_ENTRIES)
        for frame in frames:
            self._tell(frame)

    def _keep_resumes(self, resumes: Mapping[str, JsonObject | None], undo: list[Callable[[], None]]) -> None:
        for interaction, resume in resumes.items():
            undo.append(partial(self._keep_resume, interaction, self.resumes.get(interaction)))
            self._keep_resume(interaction, resume)

    def _keep_resume(self, interaction: str, resume: JsonObject | None) -> None:
        if resume is None:
            self.resumes.pop(interaction, None)
        else:
            self.resumes[interaction] = resume

    def _take(self, event: KnownEvent, batch: Batch, now: int, undo: list[Callable[[], None]]) -> bytes:
        """Apply one event and put its changes into ``batch``; the event's frame. ``undo`` grows by one."""
        revision = self.state.revision + 1
        match event:
            case PresentationUpdated():
                event = PresentationUpdated(element=msgspec.structs.replace(event.element, revision=revision))
            case MessageCompleted():
                event = MessageCompleted(entry=self._placed(event.entry))
            case ToolUpdated():
                event = ToolUpdated(tool=self._placed(event.tool))
            case _:
                pass
        undo.append(self.state.undo(event))
        self.state.apply(event, revision)
        match event:
            case MessageCompleted():
                batch.put_entry(self.id, event.entry)
            case ToolUpdated():
                batch.put_entry(self.id, event.tool)
            case InteractionUpdated():
                batch.put_interaction(self.id, event.interaction, self.resumes.get(event.interaction.id))
            case PresentationUpdated():
                batch.put_element(self.id, event.element)
            case PresentationRemoved():
                batch.remove_element(self.id, event.element)
            case ProcessUpdated():
                batch.put_process(self.id, event.process)
            case _:
                pass
        return published_frame(EventFrame(session=self.id, revision=revision, at=now, event=event))

    def _placed(self, entry: E) -> E:
        """The entry with its seq and parent: a new one follows the leaf, whenever it began."""
        known = self.state.entries.get(entry.id)
        if known is not None:
            return msgspec.structs.replace(entry, seq=known.seq, parent=known.parent)
        seq = self.next_seq
        self.next_seq += 1
        return msgspec.structs.replace(entry, seq=seq, parent=self.state.branch.leaf)

    def _state_name(self) -> SessionStateName:
        if self.state.header.state == "closed":
            return "closed"
        if self.state.is_waiting:
            return "waiting"
        return "running" if self.state.run is not None else "idle"

    async def _is_stored(self, revision: int) -> bool:
        """Whether the write that answered with an error is on disk all the same: its revision says so."""
        try:
            record = await self.services.store.session_record(self.id)
        except StoreError:
            return False
        return record is not None and record.revision == revision

    async def _reload(self) -> None:
        """After a write that failed: what is on disk stands, and every subscriber starts anew.

        Where it cannot even be read, what was there before the write stands.
        """
        try:
            loaded = await self.services.store.load_session(self.id, KEPT_ENTRIES)
        except StoreError as error:
            self.services.report(error, "reading a session again")
            loaded = None
        if loaded is not None:
            kept, self.state = self.state, self._state_of(loaded)
            self.state.catalogue = kept.catalogue
            self.state.completion_only = kept.completion_only
            self.memory = loaded.record.memory
            self.floor = _floor_of(loaded)
            self.next_seq = max(self.next_seq, loaded.record.next_seq)
            self.resumes = _resumes_of(loaded)
        for connection in list(self._subscribers):
            self.unsubscribe(connection)
            connection.attached.discard(self.id)
            connection.resync(self.id, "the host could not store a change")

    def record(self, now: int) -> SessionRecord:
        """The session's row as of now."""
        state = self.state
        return SessionRecord(
            id=self.id,
            root=self.root,
            parent=state.parent or None,
            created_at=state.created_at,
            updated_at=now,
            revision=state.revision,
            next_seq=self.next_seq,
            cwd=self.cwd,
            name=state.header.name or None,
            header=state.header,
            queue=state.queue,
            run=state.run,
            settings=self.settings,
            memory=self.memory,
            instructions=self.instructions,
            policy=state.policy.name,
            leaf=or_default(state.branch.leaf, "") or None,
            waiting=state.open_interactions,
        )

    def stamp(self) -> JsonObject:
        """The members of an entry that begins now: id, instant, run. ``commit`` sets seq and parent."""
        return {
            "id": self.services.new_id(),
            "seq": UNPLACED,
            "at": self.services.clock(),
            "run": self.state.run.id if self.state.run else UNSET,
        }

    # --- subscribers ---

    def subscribe(self, connection: Connection) -> None:
        """From now on ``connection`` gets every event and delta. Attaching again replaces the
        subscription.
        """
        connection.forget(self.id)
        if connection.ended:
            return  # it left while it was attaching, and nobody would take it off the list again
        self._subscribers.add(connection)
        connection.attached.add(self.id)

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody is attached."""
        return bool(self._subscribers)

    def unsubscribe(self, connection: Connection) -> None:
        """Nothing more of this session goes to ``connection``."""
        self._subscribers.discard(connection)

    def tell_text(self, position: StreamPosition, text: str) -> None:
        """Fan out one delta, encoded once."""
        self._tell(published_frame(TextFrame(session=self.id, stream=position, text=text)))

    def _tell(self, frame: bytes) -> None:
        for connection in list(self._subscribers):
            connection.publish(frame, self.id)


def _same(members: tuple[object, ...], stored: tuple[object, ...]) -> bool:
    """Whether they are the very same objects: a change replaces one, and to compare them would cost as much
    as to write them.
    """
    return len(members) == len(stored) and all(map(is_, members, stored))


def _take_back(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()


def _resumes_of(loaded: LoadedSession) -> dict[str, JsonObject]:
    return {one.interaction.id: one.resume for one in loaded.interactions if one.resume is not None}


def _floor_of(loaded: LoadedSession) -> int:
    """The seq from which on every entry is loaded. Running tools may stand before it."""
    return loaded.entries[0].seq if loaded.more and loaded.entries else 0


def notice_entry(
    actor: SessionActor, tone: str, title: str, text: str = "", details: str = ""
) -> MessageCompleted:
    """A host's own word in the transcript, cut where it is too long."""
    entry = NoticeEntry(
        **actor.stamp(),
        tone=tone,  # pyright: ignore[reportArgumentType] the caller's tone is the struct's literal
        title=label(title),
        text=label(text, LIMITS.text_bytes) or UNSET,
        details=label(details, LIMITS.text_bytes) or UNSET,
    )
    return MessageCompleted(entry=entry)


def user_message(actor: SessionActor, text: str, origin: AnyOrigin, run: str) -> MessageCompleted:
    """What a person or a program wrote to the agent, in the turn ``run``."""
    stamp = actor.stamp()
    stamp["run"] = run
    entry = MessageEntry(
        **stamp, role="user", parts=[TextPart(id="s0", text=text)], outcome="completed", origin=origin
    )
    return MessageCompleted(entry=entry)
