"""SessionController: opens the connection of one session, and sends the person's requests on it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, Protocol

from felan_core import __version__
from felan_core.client.host_client import ConnectionLost
from felan_core.client.link import Link
from felan_core.client.operations import Operations
from felan_core.client.replica import Change, SessionReplica
from felan_core.client.session import ClientSession
from felan_core.client.transport import Transport
from felan_core.protocol import UNSET, ProtocolError, RequestIndeterminate
from felan_core.protocol import operations as op
from felan_core.protocol.entries import Entry, MessageEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.operations.processes import StopSignal
from felan_core.protocol.reducer import SessionState
from felan_core.protocol.session import SessionRow
from felan_tui.session.start import Start

NAME = "felan"
Verb = Literal["send", "steer", "follow_up"]
Refusal = (ProtocolError, ConnectionLost)
"""What a request may raise that a person is told about."""


class OpenHost(Protocol):
    """A host that was opened; in this process or elsewhere."""

    def connect(self) -> Transport: ...


class NothingToContinue(Exception):
    """There is no session of this folder that can be opened; ``str()`` says what to do."""

    def __init__(self, cwd: str, unreadable: list[str]) -> None:
        again = "Start a new one with felan, or run felan -c in the folder of the session."
        super().__init__(" ".join([*unreadable, f"There is no session of {cwd} to continue. {again}"]))


class Output(NamedTuple):
    """A piece of a process's output, as the panel reads it."""

    data: bytes
    offset: int
    next_offset: int
    start: int
    end: int
    eof: bool


def words(error: BaseException) -> str:
    """A refusal or a lost connection, for a person."""
    if isinstance(error, ProtocolError):
        return error.message
    return f"the host is gone: {error}"


def is_unknown(error: BaseException) -> bool:
    """Whether nobody knows if the request was done: it may be stored, and is not asked for again."""
    return isinstance(error, RequestIndeterminate) or (isinstance(error, ConnectionLost) and error.sent)


SENT: Final = 64
"""Entries among which ``sent`` looks."""


class SessionController:
    """One attached session. Its methods raise what ``Refusal`` names; nothing typed is lost by that."""

    def __init__(
        self, client: Operations, replica: SessionReplica, settings: Mapping[str, str] | None = None
    ) -> None:
        self.client = client
        self.replica = replica
        self.settings = dict(settings or {})
        """The extension settings that the session was created with; empty for one that was there before."""

    @property
    def state(self) -> SessionState:
        """The session as this client knows it."""
        return self.replica.state

    @property
    def id(self) -> str:
        """The session's id."""
        return self.replica.state.session

    @property
    def me(self) -> str:
        """This client's principal, for "by you"."""
        hello = self.client.hello_result
        return hello.principal.id if hello is not None else ""

    # --- sending ---

    @property
    def verb(self) -> Verb:
        """What Enter does now: send, steer the turn that runs, or queue a follow-up where it cannot be
        steered.
        """
        if self.state.run is None and not self.state.queue.items:
            return "send"
        return "steer" if self.state.run and "steer" in self.state.catalogue.operations else "follow_up"

    async def send(self, text: str, verb: Verb) -> None:
        """Send ``text``. A turn that began meanwhile takes it as a follow-up."""
        if verb == "send":
            try:
                await self.client.prompt(self.id, text)
                return
            except ProtocolError as error:
                if error.code != "busy":
                    raise
        if verb == "steer":
            await self.client.steer(self.id, text)
        else:
            await self.client.follow_up(self.id, text)

    async def cancel(self) -> None:
        """End the turn that runs."""
        await self.client.cancel(self.id)

    async def take_queue_back(self) -> list[str]:
        """Drop what is queued and get its texts."""
        result = await self.client.cancel(self.id, queue=True)
        return [] if result.returned is UNSET else list(result.returned or [])

    async def end(self) -> None:
        """Close the session and follow it no more. It is kept, and its task pointer stays as it is."""
        await self.client.close_session(self.id)
        await self.client.detach(self.id)

    async def release_queue(self) -> bool:
        """Take a held queue up again. False when it is not held."""
        held = self.state.presentation.get("felan.queue")
        if held is None:
            return False
        await self.act(op.UiActionParams(element=held.id, revision=held.revision, action="release"))
        return True

    async def answer(self, interaction: str, answer: dict[str, Any]) -> None:
        """Answer a question."""
        await self.client.answer(self.id, interaction, answer)

    async def act(self, params: op.UiActionParams) -> None:
        """Use an action of an element."""
        await self.client.ui_action(self.id, params)

    def prompt_of(self, interaction: Interaction) -> str | None:
        """What the person had said in the turn that asked, to let it be asked again."""
        if not interaction.scope.run:
            return None
        said = [
            entry
            for entry in self.state.entries
            if isinstance(entry, MessageEntry) and entry.role == "user" and entry.run == interaction.scope.run
        ]
        return said[0].text if said else None

    def sent(self) -> list[tuple[str, int]]:
        """The newest messages of the person, each (text, milliseconds since the epoch)."""
        newest = self.state.entries.newest(SENT)
        return [(one.text, one.at) for one in newest if isinstance(one, MessageEntry) and one.role == "user"]

    def is_past(self, interaction: Interaction) -> bool:
        """Whether something else was said since the turn that asked this."""
        run = interaction.scope.run
        if not run:
            return False
        if self.state.run is not None:
            return self.state.run.id != run
        newest = reversed(self.state.entries.newest(len(self.state.entries)))
        said = (one for one in newest if isinstance(one, MessageEntry) and one.role == "user")
        last = next(said, None)
        return last is not None and last.run != run

    # --- processes and history ---

    async def shell(self, command: str) -> str:
        """Run a shell command as a process of the session; its id."""
        return await self.client.shell(self.id, op.ShellParams(command=command))

    async def stop(self, process: str, signal: StopSignal) -> str:
        """Stop a process; the state that it is in afterwards."""
        params = op.ProcessStopParams(process=process, signal=signal)
        return (await self.client.processes_stop(self.state.root, params)).state

    async def read(self, process_id: str, offset: int, wait_ms: int) -> Output:
        """A piece of a process's output; with ``wait_ms`` it waits for more."""
        from base64 import b64decode

        params = op.ProcessReadParams(process=process_id, offset=offset, wait_ms=wait_ms)
        read = await self.client.processes_read(self.state.root, params)
        return Output(b64decode(read.data), read.offset, read.next_offset, read.start, read.end, read.eof)

    async def older(self) -> list[Entry]:
        """Fetch the page of history before the oldest entry that is known; none where that is the first."""
        cursor = self.replica.cursor
        return [] if cursor is UNSET else await self._page(cursor)

    async def fill(self, before: int) -> list[Entry]:
        """Fetch a page of the history that is missing before the entry with this seq."""
        found = next((one for one in self.replica.missing if one.before == before), None)
        return [] if found is None else await self._page(found.cursor)

    async def _page(self, cursor: str) -> list[Entry]:
        page = await self.client.history(self.id, op.HistoryParams(cursor=cursor))
        return self.replica.take_page(cursor, page)


async def connect(
    host: OpenHost,
    *,
    on_state: Callable[[Link], None],
    on_resync: Callable[[str], None],
    on_session_lost: Callable[[str, str], None],
) -> ClientSession:
    """A client of ``host`` that has said hello, and connects again when a connection ends."""

    async def transport() -> Transport:
        return host.connect()

    info = op.ClientInfo(kind="tui", name=NAME, version=__version__)
    client = ClientSession(
        transport, info, on_state=on_state, on_resync=on_resync, on_session_lost=on_session_lost
    )
    await client.open()
    return client


async def begin_anew(
    client: Operations,
    old: SessionController,
    on_change: Callable[[Change], None],
    settings: Mapping[str, str] | None = None,
) -> SessionController:
    """Create a session of the folder of ``old``, attached; ``old`` does not change.

    ``settings`` choose another agent; without them it has the agent of ``old``, and its task pointer begins
    CLEARED. Where the new one cannot be attached it is closed again.
    """
    extensions: dict[str, Any] = {"felan.clears": old.id} if settings is None else dict(settings)
    created = await client.sessions_create(op.CreateParams(cwd=old.state.header.cwd, extensions=extensions))
    try:
        replica = await client.attach(created.session, on_change=on_change)
        return SessionController(client, replica, settings)
    except ProtocolError:
        with suppress(*Refusal):
            await client.close_session(created.session)
        raise


async def folder_sessions(client: Operations, cwd: str) -> list[SessionRow]:
    """This folder's sessions that are not closed, the one that changed last first; unreadable ones too."""
    params = op.SessionsListParams(limit=16, filter=op.SessionsFilter(cwd=cwd))
    page = await client.sessions_list(params)
    rows = [row for row in page.items if row.state != "closed"]
    return sorted(rows, key=lambda row: row.updated_at, reverse=True)


def unreadable(row: SessionRow, problem: str) -> str:
    """The sentence that names a session that cannot be opened."""
    return f"The session {row.name or row.id} cannot be read and is left as it is ({problem.rstrip('.')})."


async def begin(
    client: Operations,
    start: Start,
    on_change: Callable[[Change], None],
    skipped: Callable[[str], None] = lambda problem: None,
) -> SessionController:
    """Create or continue the session that ``start`` asks for, attached. Raises ``NothingToContinue``.

    ``skipped`` is called with a sentence for each session that is passed over because it cannot be read.
    """
    if start.kind != "continue":
        created = await client.sessions_create(op.CreateParams(cwd=start.cwd, extensions=start.settings))
        replica = await client.attach(created.session, on_change=on_change)
        return SessionController(client, replica, start.settings)
    problems: list[str] = []
    for row in await folder_sessions(client, start.cwd):
        try:
            if row.problem:
                raise ProtocolError("storage_failure", str(row.problem), details={"unreadable": True})
            link = SessionController(client, await client.attach(row.id, on_change=on_change))
        except ProtocolError as error:
            if not (error.details or {}).get("unreadable"):
                raise
            problems.append(unreadable(row, error.message))
        else:
            for problem in problems:
                skipped(problem)
            return link
    raise NothingToContinue(start.cwd, problems)
