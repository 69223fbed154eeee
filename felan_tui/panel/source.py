"""Where the panel reads the output of processes from: what the screen hands to it (session protocol §4)."""

from typing import Protocol


class Piece(Protocol):
    """Some output: `data` begins at `offset`, which is past the one asked for when that was dropped.

    `start` and `end` bound what can be read now, in bytes from the process's beginning; `eof`: ended and read
    to the end.
    """

    @property
    def data(self) -> bytes: ...
    @property
    def offset(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def eof(self) -> bool: ...


class OutputSource(Protocol):
    """Reads output. What it raises is shown to the person, and the read is tried again."""

    async def read(self, process_id: str, offset: int, wait_ms: int) -> Piece:
        """A piece from `offset`; waits up to `wait_ms` for one, or for the end, when there is none yet."""
        ...
