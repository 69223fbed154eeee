"""The agent's process: starts it in a group of its own, drains its stderr, watches for its end, and ends it.

``asyncio.subprocess`` is not used: there the end of a process that left a grandchild on its pipes can go
unnoticed. Here the end is told by the kernel, and whatever is left of the group is ended with it while the
pid cannot yet belong to a stranger.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

from felan_core.agents.backend import AgentGone

STDERR_BYTES = 64 * 1024
READ_LIMIT = 512 * 1024
_SHELL_CODES = {126: "a program could not be run", 127: "a program was not found"}
"""What these codes mean by the convention of shells and ``env`` (POSIX 2.8.2)."""
GROUP_GRACE_SECONDS = 0.3
"""How long what an agent left behind has between TERM and KILL."""


class AgentProcess:
    """A child that speaks on ``reader`` and ``writer``. Made by ``spawn``."""

    def __init__(
        self,
        handle: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        stderr: asyncio.StreamReader,
        pipes: list[asyncio.BaseTransport],
    ) -> None:
        self.pid = handle.pid
        self.reader = reader
        self.writer = writer
        self._handle = handle
        self._pipes = pipes
        self._log = bytearray()
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._drain_task = loop.create_task(self._drain(stderr), name="acp-stderr")
        threading.Thread(
            target=self._watch, args=(loop,), name=f"acp-watch-{handle.pid}", daemon=True
        ).start()

    @property
    def returncode(self) -> int | None:
        """As ``subprocess`` has it: negative for a signal; None while it runs."""
        return self._handle.returncode if self._ended.is_set() else None

    async def ended(self) -> None:
        """Wait until it has ended and is reaped."""
        await self._ended.wait()

    def how_it_ended(self) -> str:
        """In words: "exited with code 3", "was ended by SIGKILL"."""
        code = self.returncode
        if code is None:
            return "closed its output and still runs"
        if code in _SHELL_CODES:
            return f"exited with code {code}: {_SHELL_CODES[code]}"
        if code >= 0:
            return f"exited with code {code}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    def last_words(self, lines: int = 40) -> str:
        """The last lines that it wrote to stderr."""
        text = self._log.decode("utf-8", "replace").rstrip()
        return "\n".join(text.splitlines()[-lines:])

    async def last_words_complete(self, seconds: float = 0.5) -> None:
        """Wait until stderr is read to its end; a grandchild that holds it open is not waited for long."""
        await asyncio.wait([self._drain_task], timeout=seconds)

    def signal_group(self, number: int) -> None:
        if self._handle.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def stop(self, patience: float) -> None:
        """End it: the end of its input, then TERM, then KILL, with ``patience`` seconds before each."""
        self.writer.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ended_within(patience):
                break
            self.signal_group(number)
        # A process in an uninterruptible wait does not end by KILL either; its thread goes on to reap it.
        await self._ended_within(patience)
        self._release()

    def kill(self) -> None:
        """End it at once."""
        self.signal_group(signal.SIGKILL)

    async def _ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self._ended.is_set()

    def _release(self) -> None:
        self._drain_task.cancel()
        for pipe in self._pipes:
            pipe.close()

    async def _drain(self, stderr: asyncio.StreamReader) -> None:
        # An agent whose stderr nobody reads stops when the pipe is full.
        while chunk := await stderr.read(READ_LIMIT):
            self._log += chunk
            if len(self._log) > STDERR_BYTES:
                del self._log[:-STDERR_BYTES]

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if hasattr(os, "waitid"):
            # Not reaped yet, so the number of the group is still ours.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self._end_group()
        self._handle.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            loop.call_soon_threadsafe(self._ended.set)

    def _end_group(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            if number == signal.SIGTERM and _others_in_group(self.pid):
                time.sleep(GROUP_GRACE_SECONDS)


def _others_in_group(group: int) -> bool:
    """Whether the group has a living member. Where that cannot be seen, yes."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return True
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, _, member_of = file.read().rpartition(b") ")[2].split()[:3]
                if int(member_of) == group and state not in (b"Z", b"X"):
                    return True
    return False


def argv_of(command: str, cwd: str, environ: Mapping[str, str]) -> list[str]:
    """The words of ``command``, the program as an absolute path.

    Raises ``AgentGone`` that says what is wrong.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AgentGone(f"The agent's command cannot be read: {error}.", command) from None
    if not words:
        raise AgentGone("No command is configured for the agent.")
    program = os.path.expanduser(words[0])
    if os.sep in program:
        # The child starts in the session's folder, and that is where a relative path is meant from.
        program = os.path.join(cwd, program)
        if not os.path.exists(program):
            raise _not_found(f"{program}: not found.", command)
        if os.path.isdir(program) or not os.access(program, os.X_OK):
            raise AgentGone(f"{program} is not a program that this user may run.", command)
        return [program, *words[1:]]
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is None:
        raise _not_found(f"{program}: not found on PATH.", command)
    return [os.path.abspath(found), *words[1:]]


def _not_found(message: str, command: str) -> AgentGone:
    return AgentGone(
        message,
        command,
        title="The agent's program was not found",
        advice="Install it, or start Felan with the command of an agent that is installed.",
    )


def _dying_with_us(argv: list[str]) -> list[str]:
    """``argv`` so that the agent gets a TERM when this program dies, also by a SIGKILL.

    Some agents do not mind the end of their input: one that nobody ends would go on with its turn, beside the
    one that the next host starts. ``setpriv`` sets the kernel's parent-death signal and becomes the agent;
    Python could do that between fork and exec alone, which is not safe in a program with threads.
    """
    guard = shutil.which("setpriv", path="/usr/bin:/bin") if sys.platform == "linux" else None
    if guard is None or os.path.basename(os.path.realpath(guard)) != "setpriv":  # busybox' has no such option
        return argv
    return [guard, "--pdeathsig", "TERM", "--", *argv]


def _start(command: str, cwd: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise AgentGone(f"The session's folder is not there: {cwd}.")
    argv = argv_of(command, cwd, environ)
    try:
        return subprocess.Popen(
            _dying_with_us(argv),
            cwd=cwd,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AgentGone(f"{argv[0]} could not be started: {reason}.", command) from error


async def spawn(command: str, cwd: str, environ: Mapping[str, str]) -> AgentProcess:
    """Start the agent. Raises ``AgentGone``."""
    # On this thread: it takes a millisecond or two, and a cancelled wait could leave a child alone.
    handle = _start(command, cwd, environ)
    loop = asyncio.get_running_loop()
    assert handle.stdin is not None and handle.stdout is not None and handle.stderr is not None
    reader = asyncio.StreamReader(limit=READ_LIMIT)
    stderr = asyncio.StreamReader(limit=READ_LIMIT)
    out_pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), handle.stdout)
    err_pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stderr), handle.stderr)
    in_pipe, flow = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), handle.stdin
    )
    writer = asyncio.StreamWriter(in_pipe, flow, None, loop)
    return AgentProcess(handle, reader, writer, stderr, [out_pipe, err_pipe, in_pipe])
