"""One agent from its start to its end: its process, the handshake, its one session, and how it ended."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from felan_core import __version__
from felan_core.agents.acp import schema
from felan_core.agents.acp.agent_state import AgentState, Event, after
from felan_core.agents.acp.asking import CANCELLED, Asking, at_once
from felan_core.agents.acp.clip import bounded, label, long_text, readable_json
from felan_core.agents.acp.login import MAX_WAYS, ways
from felan_core.agents.acp.process import argv_of, dying_with_us, how_it_ended
from felan_core.agents.acp.replay import Replay
from felan_core.agents.acp.rpc import Answering, Closed, RpcConnection, RpcError, Trace
from felan_core.agents.acp.tools import Ending, ToolBook
from felan_core.agents.acp.updates import HISTORY, Updates
from felan_core.agents.backend import AgentError, AgentGone, Refused, Session
from felan_core.processes.errors import ProcessError
from felan_core.processes.piped import PipedProcess
from felan_core.protocol.base import Json, JsonObject
from felan_core.protocol.entries import MessageOutcome

EARLY_BYTES = 1024 * 1024
"""Of the updates that come before the session has an id."""
SESSION_ID_BYTES = 4096
"""A longer id of a session is used and not remembered."""
CAPABILITY_BYTES = 64 * 1024
LEFT_RUNNING = "left running by {}"
GONE = "the agent that asked is gone"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds. ``handshake``: for each answer before the first prompt. ``cancel``: for the answer to a prompt
    that was cancelled. ``patience``: before each harder way to end the process. ``drain``: for what a dead
    process left in its pipes.
    """

    handshake: float = 60.0
    cancel: float = 10.0
    patience: float = 1.0
    drain: float = 0.5


class AgentConnection:
    """Begins with ``begin``, ends by itself or with ``stop``, and is never begun again."""

    def __init__(
        self,
        session: Session,
        times: Times,
        number: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = "the agent"
        self.agent_session: str | None = None
        self.capabilities: JsonObject = {}
        self._session = session
        self._times = times
        self._auth_methods: list[JsonObject] = []
        tools = ToolBook(f"{number}.")
        self._tools = tools
        self.updates = Updates(session, tools)
        self.asking = Asking(session, tools, self.updates)
        self._early: list[tuple[str, JsonObject]] = []
        self._early_room = EARLY_BYTES
        self._replay = Replay(clock, sleep)
        self._command = ""
        self._unremembered: JsonObject | None = None
        """The memory of a session that took the place of one that could not be loaded, until a turn of it is
        over.
        """
        self._process: PipedProcess | None = None
        self._rpc: RpcConnection | None = None
        self._rpc_closed = asyncio.Event()
        self._state = AgentState.STARTING
        self._watching: asyncio.Task[None] | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._end: AgentGone | None = None
        """How the agent ended, once that is known."""
        self._ended_because = ""
        """Why we ended it."""
        self._session_error: BaseException | None = None
        """What the session raised at something that the agent sent."""
        self._cancelled = False
        self._cancel_timer: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        return self._state in (AgentState.LOST, AgentState.ENDED, AgentState.STOPPED)

    def _on(self, event: Event) -> None:
        """Take ``event``; one that means nothing in this state changes nothing."""
        before = self._state
        self._state = after(before, event)
        if self._state is AgentState.ENDED and before is not AgentState.ENDED:
            report = self._report_end()
            self._reporting = asyncio.get_running_loop().create_task(report, name="acp-end")

    # --- the handshake ---

    async def begin(self, command: str, environ: Mapping[str, str], trace: Trace | None) -> None:
        """Start the process and agree on the version. Raises ``AgentGone``."""
        self._command = command
        self.name = label(command.split()[0].rpartition("/")[2]) if command.split() else self.name
        argv = argv_of(command, self._session.cwd, environ)
        try:
            process = await self._session.spawn(
                dying_with_us(argv), environ, title=LEFT_RUNNING.format(self.name)
            )
        except ProcessError as error:
            raise AgentGone(str(error), command) from error
        self._process = process
        self._rpc = RpcConnection(process.reader, process.writer, self, trace)
        self._rpc.start()
        self._watching = asyncio.get_running_loop().create_task(
            self._watch(process, self._rpc), name="acp-watch"
        )
        answer = schema.an_object(
            await self._handshake(
                "initialize",
                {
                    "protocolVersion": schema.PROTOCOL_VERSION,
                    "clientCapabilities": schema.CLIENT_CAPABILITIES,
                    "clientInfo": {"name": "felan", "title": "Felan", "version": __version__},
                },
            )
        )
        version = answer.get("protocolVersion")
        info = schema.an_object(answer.get("agentInfo"))
        self.updates.modes.identify(*map(schema.a_string, (info.get("name"), info.get("title"))), command)
        self.name = (
            label(schema.a_string(info.get("title")) or schema.a_string(info.get("name"))) or self.name
        )
        process.title = LEFT_RUNNING.format(self.name)
        if type(version) is not int or version != schema.PROTOCOL_VERSION:
            theirs = readable_json(bounded(version, 200))
            raise AgentGone(
                f"{self.name} speaks version {theirs} of the Agent Client Protocol,"
                f" and Felan speaks version {schema.PROTOCOL_VERSION}."
            )
        self.capabilities = schema.an_object(bounded(answer.get("agentCapabilities"), CAPABILITY_BYTES))
        methods = schema.objects(answer.get("authMethods"))[:MAX_WAYS]
        self._auth_methods = schema.objects(bounded(methods, CAPABILITY_BYTES))

    async def open(self, memory: JsonObject | None) -> bool:
        """Resume, load or make the agent's session; whether it remembers.

        Raises ``AgentGone`` or ``AgentError``.
        """
        place: JsonObject = {"cwd": self._session.cwd, "mcpServers": []}
        known = [
            name
            for member in ("sessionId", "earlier")
            if (name := schema.a_string((memory or {}).get(member)))
        ]
        for name in known:
            if await self._restore(name, place):
                return True
        result = schema.an_object(await self._handshake("session/new", place))
        made = result.get("sessionId")
        if not isinstance(made, str) or not made:
            raise AgentError(f"{self.name} answered session/new without the id of a session.")
        await self._adopt(made)
        await self.updates.modes.opened(result)
        if len(made.encode("utf-8", "replace")) > SESSION_ID_BYTES:
            await self.updates.left_out("the id of the agent's session", "It is too long to be remembered.")
        elif known:
            # What cannot be loaded now may be there again: an empty session does not take its place.
            self._unremembered = {"sessionId": made, "earlier": known[-1]}
        else:
            await self._session.remember({"sessionId": made})
        return memory is None

    def ready(self) -> None:
        """The start is over. An end that came meanwhile is reported now."""
        self._on("ready")

    async def _restore(self, known: str, place: JsonObject) -> bool:
        for method, can in (
            ("session/resume", schema.offers(self.capabilities, "sessionCapabilities", "resume")),
            ("session/load", schema.offers(self.capabilities, "loadSession")),
        ):
            if not can:
                continue
            self.agent_session = known
            self._replay.begin()
            restored = False
            try:
                result = await self._handshake(method, {"sessionId": known, **place})
                restored = True
            except _RequestRefused as error:
                # Not known any more, or not by this agent. Each says so with an error code of its own.
                self.agent_session = None
                await self._session.notice(
                    "warning",
                    label(f"{self.name} could not take up its earlier session"),
                    long_text(error.message),
                    long_text(error.details),
                )
            else:
                await self.updates.modes.opened(schema.an_object(result))
                return True
            finally:
                self._replay.answered(replays=restored and method == "session/load")
        return False

    async def _adopt(self, made: str) -> None:
        # What came for this session before its id did is shown first; the reader adds to the list meanwhile.
        while self._early:
            session, update = self._early.pop(0)
            if session == made:
                await self.updates.take(update)
        self.agent_session = made

    async def _handshake(self, method: str, params: JsonObject) -> Json:
        try:
            async with asyncio.timeout(self._times.handshake):
                return await self.call(method, params)
        except TimeoutError:
            self._ended_because = f"did not answer {method} within {self._times.handshake:g} s"
            raise await self._end_error() from None
        except RpcError as error:
            raise self._refusal(method, error) from None

    # --- turns ---

    def begin_turn(self) -> None:
        """From now on ``cancel`` is for this turn."""
        self._on("turn")
        self._tools.turn += 1
        self._cancelled = False

    async def prompt(self, blocks: list[JsonObject]) -> str:
        """One prompt to its end; the stop reason.

        Raises ``AgentGone``, ``AgentError``, or what the session raised meanwhile.
        """
        ending: Ending = "lost"
        said: MessageOutcome = "failed"
        try:
            await self._replay.over()
            if self._cancelled:
                return "cancelled"
            result = await self.call("session/prompt", {"sessionId": self.agent_session, "prompt": blocks})
            stop = schema.a_string(schema.an_object(result).get("stopReason"))
            if self._cancelled or stop == "cancelled":
                ending, stop, said = "cancelled", "cancelled", "cancelled"
            else:
                said = "completed"
            if self._unremembered is not None:
                memory, self._unremembered = self._unremembered, None
                await self._session.remember(memory)
            return stop
        except asyncio.CancelledError:
            # The session gave the turn up; the agent would go on with it, and answer no other prompt.
            said = "interrupted"
            if self._rpc is not None:
                self._rpc.notify("session/cancel", {"sessionId": self.agent_session})
            raise
        except RpcError as error:
            if self._cancelled:
                ending, said = "cancelled", "cancelled"
                return "cancelled"
            raise self._refusal("session/prompt", error) from None
        finally:
            if self._cancel_timer is not None:
                self._cancel_timer.cancel()
                self._cancel_timer = None
            if self._session_error is not None:
                # The session could not take something; it is not asked to take more.
                await self.stop()
            else:
                await self.asking.settle(GONE if self.over else "the turn is over")
                await self.updates.end_turn(ending, said)
            self._cancelled = False
            self._on("rest")

    def cancel(self) -> None:
        """Ask the agent to end its turn; one that does not is ended itself after a while."""
        if self._cancelled or self._rpc is None or self.agent_session is None:
            return
        self._cancelled = True
        self._rpc.notify("session/cancel", {"sessionId": self.agent_session})
        self.asking.withdraw("the turn was cancelled")
        self._cancel_timer = asyncio.get_running_loop().call_later(self._times.cancel, self._end_uncancelled)

    def _end_uncancelled(self) -> None:
        self._ended_because = (
            f"did not end its turn within {self._times.cancel:g} s of a cancel, and was ended"
        )
        if self._process is not None:
            self._process.kill()

    async def call(self, method: str, params: JsonObject) -> Json:
        """A request and its answer.

        Raises ``RpcError``, ``AgentGone``, or what the session raised meanwhile.
        """
        connection = self._rpc
        if connection is None:
            raise AgentGone(f"{self.name} is not running.")
        try:
            return await connection.request(method, params)
        except Closed:
            raise await self._end_error() from None

    # --- what the agent sends ---

    async def notified(self, method: str, params: JsonObject, size: int) -> None:
        if method != "session/update":
            return
        session = schema.a_string(params.get("sessionId"))
        update = schema.an_object(params.get("update"))
        if self.agent_session is None:
            await self._keep_early(session, update, size)
        elif session == self.agent_session:
            if update.get("sessionUpdate") in HISTORY and self._replay.heard():
                return
            await self.updates.take(update)
            if self.updates.compactions.refusal is not None:
                if self._state is AgentState.IN_TURN:
                    self.cancel()
                else:
                    await self.updates.compactions.complain()

    async def _keep_early(self, session: str, update: JsonObject, size: int) -> None:
        if size <= self._early_room:
            self._early_room -= size
            self._early.append((session, update))
        else:
            await self.updates.left_out(
                "updates that came before the session",
                f"More than {EARLY_BYTES:,} bytes of them are not kept.",
            )

    async def dropped(self, what: str) -> None:
        await self.updates.left_out(what)

    async def requested(self, method: str, params: JsonObject) -> Answering:
        try:
            return await self._accepted(method, params)
        except Refused as error:
            await self.updates.left_out("a question of the agent", str(error))
            raise RpcError(schema.INTERNAL_ERROR, str(error)) from None

    async def _accepted(self, method: str, params: JsonObject) -> Answering:
        match method:
            case "session/request_permission":
                if self._cancelled:
                    return at_once(CANCELLED)
                return await self.asking.permission(params)
            case "elicitation/create":
                if self._cancelled:
                    return at_once({"action": "cancel"})
                return await self.asking.elicitation(params, self.name)
            case _:
                raise RpcError(schema.METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})

    def ended(self, fault: BaseException | None) -> None:
        self._session_error = fault
        self._rpc_closed.set()
        self._on("closed")

    # --- the end ---

    async def stop(self) -> None:
        """End the agent and whatever it started. Never raises."""
        await self._close()
        if self._process is not None:
            await self._process.stop(self._times.patience)
        reporting = self._reporting
        if reporting is not None and reporting is not asyncio.current_task() and not reporting.done():
            reporting.cancel()
            await asyncio.wait([reporting])

    async def _close(self) -> None:
        self._on("stop")
        if self._cancel_timer is not None:
            self._cancel_timer.cancel()
        if self._rpc is not None:
            await self._rpc.close()
        if self._watching is not None:
            self._watching.cancel()

    async def _end_error(self) -> AgentGone:
        """The error that says how the agent ended. Ends its process where that still runs; what an ended one
        left running in a session of its own is the session's to show.
        """
        process, connection = self._process, self._rpc
        if process is None or connection is None:
            return AgentGone(f"{self.name} is not running.")
        if not self._ended_because:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._times.patience):
                    await process.ended()
        how = how_it_ended(process)
        await process.errors_complete(self._times.drain)
        details = [process.errors()]
        if connection.garbage:
            details.append(
                f"Lines of its output that were no ACP message: {connection.garbage}; the last:\n"
                + "\n".join(connection.garbage_lines)
            )
        error = AgentGone(
            f"{self.name} {self._ended_because or how}.",
            long_text("\n\n".join(part for part in details if part)),
        )
        self._end = error
        if process.running:
            await self.stop()
        else:
            await self._close()
            process.close_streams()
        return error

    async def _watch(self, process: PipedProcess, connection: RpcConnection) -> None:
        """A child of the agent may hold its output open after its end; then there is no end of file."""
        await process.ended()
        while not self._rpc_closed.is_set():
            before = connection.received
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._times.drain):
                    await self._rpc_closed.wait()
            if connection.reading and connection.received == before:
                connection.break_off()

    async def ended_with(self) -> AgentGone:
        """Wait until an end outside a turn is reported, and say again how it ended."""
        if self._reporting is not None:
            await asyncio.wait([self._reporting])
        return self._end or AgentGone(f"{self.name} is not running.")

    async def _report_end(self) -> None:
        """The agent ended outside any turn: tell the session."""
        error = await self._end_error()
        if self._session_error is not None:
            why = "the session could not take what it sent"
            error = AgentGone(f"{self.name} was ended: {why}.", repr(self._session_error))
        else:
            # Whatever the session answers to these, the end is reported.
            with contextlib.suppress(Exception):
                await self.asking.settle(GONE)
                await self.updates.end_turn("lost", "interrupted")
        self._end = error
        self._session.gone(error)

    def _refusal(self, method: str, error: RpcError) -> AgentError:
        details = error.message if error.data is None else f"{error.message}\n{readable_json(error.data)}"
        if error.code == schema.AUTH_REQUIRED:
            return AgentError(
                label(f"{self.name} requires a login."),
                long_text(details),
                title="Login required",
                advice=long_text(
                    ways(self._auth_methods, self._command, bounded(error.data, CAPABILITY_BYTES))
                ),
            )
        return _RequestRefused(label(f"{self.name} refused {method}: {error.message}"), long_text(details))


class _RequestRefused(AgentError):
    """The agent answered with an error that is not about logging in."""
