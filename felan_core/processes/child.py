"""One child process from start to end: its gate, its state, its output and its stop."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from io import FileIO

from felan_core.processes.drain import Drain
from felan_core.processes.kernel import Member
from felan_core.processes.records import ProcessState, StopSignal
from felan_core.processes.spawn import Spawned, spawn
from felan_core.processes.tree import KILL_SECONDS, ProcessTree
from felan_core.processes.watch import ExitStatus, ExitWatch

SESSION_VARIABLE = "FELAN_SESSION_ID"
ID_VARIABLE = "FELAN_PROCESS_ID"
MARKER_VARIABLE = "FELAN_PROCESS_FOLDER"
"""What a process and all that it starts carry in their environment: the folder of its spool, which no other
process has, of whatever host.
"""
# How long output of background processes is still recorded after the child itself exited.
LINGER_SECONDS = 0.5
# What an ended piped child left in its session has so long between TERM and KILL.
SESSION_GRACE_SECONDS = 0.3


class ChildProcess:
    """A child of this host. `on_output` gets its bytes; `on_change` is called at its exit, at the end of its
    output, and when what it left running is known.

    The state comes from the kernel's word alone. The child waits behind its gate until `release`. Standard
    output and error are one stream, as on a terminal, and standard input is empty (on a pty: the terminal,
    into which nobody types); a `piped` child is `PipedProcess`.
    """

    def __init__(
        self,
        spawned: Spawned,
        tree: ProcessTree,
        on_output: Callable[[bytes], None],
        on_change: Callable[[], None],
    ) -> None:
        self.state: ProcessState = "running"
        self.exit_code: int | None = None
        self.signal: str | None = None
        self.left: list[Member] = []
        """What runs on after the child's exit, as of the last look."""
        self._spawned = spawned
        self._gate: int | None = spawned.gate
        self._on_change = on_change
        self._exited = asyncio.Event()
        self._holds = 0
        self._epilogue: asyncio.Task[None] | None = None
        self.tree = tree
        self.tree.held = True
        self.drain = Drain(spawned.output if spawned.errors is None else spawned.errors, on_output, on_change)
        self._watch = ExitWatch(spawned.pid, self._leader_exited)

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        environ: Mapping[str, str],
        marker: str,
        before: Collection[int],
        pty: tuple[int, int] | None = None,
        piped: bool = False,
        on_output: Callable[[bytes], None],
        on_change: Callable[[], None],
    ) -> "ChildProcess":
        """Start `argv` in `cwd` with `environ` and `FELAN_PROCESS_FOLDER=marker`; `pty` is (columns, rows),
        `before` as in `ProcessTree`.

        Raises SpawnFailed or one of its kinds. Must be called in a running loop.
        """
        spawned = spawn(argv, cwd=cwd, environ={**environ, MARKER_VARIABLE: marker}, pty=pty, piped=piped)
        tree = ProcessTree(spawned.pid, f"{MARKER_VARIABLE}={marker}", before=before)
        return cls(spawned, tree, on_output, on_change)

    @property
    def pid(self) -> int:
        """For the private identity file of this room alone."""
        return self._spawned.pid

    def pipes(self) -> tuple[FileIO, FileIO]:
        """The output and the input of a piped child, whose owner the caller is from now on."""
        return FileIO(self._spawned.output, "rb"), FileIO(self._spawned.gate, "wb")

    @property
    def output_ended(self) -> bool:
        """Nothing will be added to the output any more."""
        return not self.drain.recording

    @property
    def leaves_someone(self) -> bool:
        """Whether anybody of the tree may be alive: the child itself, or what it left in the background."""
        return self.state == "running" or self.leaves_group or self.drain.open

    @property
    def leaves_group(self) -> bool:
        """Whether the child has exited and something of its tree may be alive, seen or not."""
        return self.state != "running" and (bool(self.left) or self.tree.held)

    def release(self) -> None:
        """Open the gate: the child runs on. A piped child keeps its input."""
        if self._gate is None:
            return
        # A child that was stopped behind its gate reads nothing any more.
        with contextlib.suppress(OSError):
            os.write(self._gate, b"\n")
        if self._spawned.errors is None:
            os.close(self._gate)
        self._gate = None

    async def stop(self, name: StopSignal = "term", grace: float = 2.0) -> bool:
        """Stop the child and its whole tree (`ProcessTree.stop`); True when nobody is left.

        The state is then what the kernel said. After the child's exit this ends what it left behind.
        """
        with self.hold():
            gone = await self.tree.stop(name, grace)
            if gone:
                self.left = []
                # The kernel has it dead; our own notice of that comes with the next turns of the loop.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.ended(), KILL_SECONDS)
        return gone

    async def look(self) -> bool:
        """Look again what an exited child left running; whether that changed."""
        with self.hold():
            if self._watch.reaped:
                self.tree.held = self._group_exists()
            left = await self.tree.survey()
        changed = left != self.left
        self.left = left
        return changed

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Keep an exited child unreaped, so that its pid stays ours while we look or signal."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._reap()

    async def ended(self) -> None:
        """Wait until the child has exited and what it left is known, or ended where it is piped."""
        await self._exited.wait()
        if self._epilogue is not None:
            await asyncio.shield(self._epilogue)

    async def aclose(self) -> None:
        """Let go of pipes and watch, whatever still runs. The child is reaped if it has exited."""
        if self._epilogue is not None:
            await self._epilogue
        if self._gate is not None:
            if self._spawned.errors is None:
                os.close(self._gate)
            self._gate = None
        self.drain.close()
        self._watch.close()
        self.left = []
        self._reap()

    def _reap(self) -> None:
        # As long as something of its session may be alive the number is kept, and signals to it are safe.
        if self._holds or self.left or not self._watch.seen:
            return
        self._watch.reap()
        self.tree.held = self._group_exists()
        # Popen would look for the status itself, and warn that it never got it.
        self._spawned.handle.returncode = self.exit_code if self.exit_code is not None else -1

    def _group_exists(self) -> bool:
        """Whether the group of a reaped child has members, dead ones too.

        Its number is then still ours: the kernel gives it to nobody while the group has a member. A chain of
        forks, of which no look sees anybody, is known by this alone.
        """
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def _leader_exited(self, status: ExitStatus) -> None:
        self.state = "signalled" if status.signal else "exited"
        self.exit_code = status.code
        self.signal = status.signal
        self._exited.set()
        self.tree.held = not self._watch.reaped
        self.drain.expire(LINGER_SECONDS)
        self._epilogue = asyncio.get_running_loop().create_task(self._after_exit())
        self._on_change()

    async def _after_exit(self) -> None:
        # While the pid is still ours: remember who else is in the tree, so that they can be stopped later.
        with self.hold():
            if self._spawned.errors is not None:
                await self.tree.end_session(SESSION_GRACE_SECONDS)
            await self.look()
        if self.leaves_group:
            self._on_change()
