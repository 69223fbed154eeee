"""One child process from start to end: its state, its output and its stop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Generator, Mapping, Sequence

from felan_core.processes.drain import Drain
from felan_core.processes.errors import InvalidSignal
from felan_core.processes.group import ProcessGroup
from felan_core.processes.records import ProcessState, StopSignal
from felan_core.processes.spawn import Spawned, spawn
from felan_core.processes.watch import ExitStatus, ExitWatch

SESSION_VARIABLE = "FELAN_SESSION_ID"
MARKER_VARIABLE = "FELAN_PROCESS_ID"
# How long output of background processes is still recorded after the child itself exited.
LINGER_SECONDS = 0.5
# How long a process may take to die of SIGKILL: longer only in an uninterruptible call of a driver or file
# system.
KILL_SECONDS = 3.0

SIGNALS: Mapping[str, int] = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}


class ChildProcess:
    """A child of this host. `on_output` gets its bytes; `on_change` is told its exit and the end of output.

    The state comes from the kernel's word alone. Standard output and error are one stream, as on a terminal,
    and standard input is empty (on a pty: the terminal, into which nobody types).
    """

    def __init__(
        self, spawned: Spawned, marker: str, on_output: Callable[[bytes], None], on_change: Callable[[], None]
    ) -> None:
        self.state: ProcessState = "running"
        self.exit_code: int | None = None
        self.signal: str | None = None
        self._handle = spawned.handle
        self._on_change = on_change
        self._exited = asyncio.Event()
        self._holds = 0
        self._epilogue: asyncio.Task[None] | None = None
        self._leftovers = False
        self._group = ProcessGroup(spawned.pid, marker)
        self._group.held = True
        self._drain = Drain(spawned.fd, on_output, on_change)
        self._watch = ExitWatch(spawned.pid, self._leader_exited)

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        environ: Mapping[str, str],
        marker: str,
        pty: tuple[int, int] | None = None,
        on_output: Callable[[bytes], None],
        on_change: Callable[[], None],
    ) -> "ChildProcess":
        """Run `argv` in `cwd` with `environ` and `FELAN_PROCESS_ID=marker`; `pty` is (columns, rows).

        Raises SpawnFailed or one of its kinds. Must be called in a running loop.
        """
        spawned = spawn(argv, cwd=cwd, environ={**environ, MARKER_VARIABLE: marker}, pty=pty)
        return cls(spawned, f"{MARKER_VARIABLE}={marker}", on_output, on_change)

    @property
    def pid(self) -> int:
        """For the private identity file of this room alone."""
        return self._handle.pid

    @property
    def output_ended(self) -> bool:
        """Nothing will be added to the output any more."""
        return not self._drain.recording

    @property
    def leaves_someone(self) -> bool:
        """Whether anybody of the group may be alive: the child itself, or what it left in the background."""
        return self.state == "running" or self._leftovers or self._drain.open

    async def stop(self, name: StopSignal = "term", grace: float = 2.0) -> bool:
        """Stop the child and its whole group; True when nobody is left.

        The state is then what the kernel said.

        `term` gives all of them `grace` seconds and kills the rest; `kill` does not wait; `int` only
        interrupts, and waits up to `grace` seconds for what comes of it. After the child's exit this ends
        what it left behind.
        """
        try:
            number = SIGNALS[name]
        except KeyError:
            raise InvalidSignal(f"A process is stopped with int, term or kill, not with {name!r}.") from None
        with self.hold():
            gone = not await self._group.strike(number)
            if not gone and name != "kill":
                gone = await self._group.gone_within(grace)
            if not gone and name != "int":
                gone = await self._group.gone_within(KILL_SECONDS, again=signal.SIGKILL)
            if gone:
                self._leftovers = False
                # The kernel has it dead; our own notice of that comes with the next turns of the loop.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._exited.wait(), KILL_SECONDS)
        return gone

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Keep an exited child unreaped, so that its pid stays ours while we look or signal."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if self._holds == 0 and self._watch.seen:
                self._group.held = False
                self._watch.reap()
                # Popen would look for the status itself, and warn that it never got it.
                self._handle.returncode = self.exit_code if self.exit_code is not None else -1

    async def aclose(self) -> None:
        """Let go of pipe and watch, whatever still runs. The child is reaped if it has exited."""
        if self._epilogue is not None:
            await self._epilogue
        self._drain.close()
        self._watch.close()

    def _leader_exited(self, status: ExitStatus) -> None:
        self.state = "signalled" if status.signal else "exited"
        self.exit_code = status.code
        self.signal = status.signal
        self._exited.set()
        self._group.held = not self._watch.reaped
        self._drain.expire(LINGER_SECONDS)
        self._epilogue = asyncio.get_running_loop().create_task(self._after_exit())
        self._on_change()

    async def _after_exit(self) -> None:
        # While the pid is still ours: remember who else is in the group, so that they can be stopped later.
        with self.hold():
            self._leftovers = bool(await self._group.survey())
