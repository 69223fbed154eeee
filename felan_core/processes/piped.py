"""A child that speaks on pipes: its input and output are streams, the end of its errors is kept as text."""

import asyncio
import contextlib
import signal
from collections.abc import Callable

from felan_core.processes.child import ChildProcess

ERRORS_BYTES = 64 * 1024
READ_LIMIT = 512 * 1024


class PipedProcess:
    """Made by `ProcessTable.spawn`. `reader` and `writer` are its output and its input.

    When it exits by itself, what it left in its session is ended; what is in a session of its own runs on
    (`left`) until it is stopped.
    """

    def __init__(
        self, title: str, start: Callable[[Callable[[bytes], None], Callable[[], None]], ChildProcess]
    ) -> None:
        """`start` makes the child from what takes its errors and what hears of its changes."""
        self.title = title
        """What a person calls the processes that it leaves running."""
        self.reader = asyncio.StreamReader(limit=READ_LIMIT)
        self.writer: asyncio.StreamWriter
        self._errors = bytearray()
        self._errors_ended = asyncio.Event()
        self._pipes: list[asyncio.BaseTransport] = []
        self.child = start(self._add_errors, self._changed)

    async def connect(self) -> None:
        """Connect the streams; once, before the gate opens."""
        loop = asyncio.get_running_loop()
        from_child, into_child = self.child.pipes()
        output, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self.reader), from_child
        )
        self._pipes.append(output)
        to_child, flow = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            into_child,
        )
        self._pipes.append(to_child)
        self.writer = asyncio.StreamWriter(to_child, flow, None, loop)

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def running(self) -> bool:
        """Whether it has not exited."""
        return self.child.state == "running"

    @property
    def exit_code(self) -> int | None:
        return self.child.exit_code

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it."""
        return self.child.signal

    async def ended(self) -> None:
        """Wait until it has exited and what it left in its session is ended."""
        await self.child.ended()

    def errors(self, lines: int = 40) -> str:
        """The last lines that it wrote to standard error."""
        text = self._errors.decode("utf-8", "replace").rstrip()
        return "\n".join(text.splitlines()[-lines:])

    async def errors_complete(self, seconds: float) -> None:
        """Wait until its errors are read to their end; a grandchild may have them open for longer."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._errors_ended.wait(), seconds)

    def kill(self) -> None:
        """Kill its group at once."""
        self.child.tree.signal_leader(signal.SIGKILL)

    async def stop(self, patience: float) -> bool:
        """End it and all that it started: the end of its input, then TERM, then KILL, with `patience` seconds
        before each. True when nobody is left.
        """
        self.close_streams()
        # Who ends by itself at the end of its input is not signalled.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.ended(), patience)
        return await self.child.stop("term", patience)

    def close_streams(self) -> None:
        """Read and write no more, whatever still runs."""
        for pipe in self._pipes:
            pipe.close()

    def _add_errors(self, data: bytes) -> None:
        self._errors += data
        if len(self._errors) > ERRORS_BYTES:
            del self._errors[:-ERRORS_BYTES]

    def _changed(self) -> None:
        if self.child.output_ended:
            self._errors_ended.set()
