"""Child executions and processes, which belong to the root session (session protocol §4)."""

from typing import Annotated, Literal

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Base64,
    Count,
    Cursor,
    Id,
    Maybe,
    Page,
    PageLimit,
    Wire,
)
from felan_core.protocol.operations.turns import CancelParams, PromptParams
from felan_core.protocol.problems import Problem
from felan_core.protocol.session import ExecutionRow, ExecutionState, ProcessRow, ProcessState

StopSignal = Literal["int", "term", "kill"]
"""How a process is asked to end, from the gentlest on."""


def decoded_length(data: str) -> int:
    """How many bytes canonical base64 stands for."""
    return len(data) // 4 * 3 - data[-2:].count("=")


class ExecutionsListParams(Wire, frozen=True, kw_only=True):
    """A page of the child executions of a root session."""

    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    state: Maybe[ExecutionState] = UNSET


class ExecutionsPage(Wire, frozen=True, kw_only=True):
    """Child executions, in the order in which they started."""

    items: Annotated[list[ExecutionRow], Page]
    next_cursor: Maybe[Cursor] = UNSET


class ExecutionReadParams(Wire, frozen=True, kw_only=True):
    """A page of the transcript of a child execution."""

    execution: Id
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class ExecutionSteerParams(PromptParams, frozen=True, kw_only=True):
    """A message into the turn of a child execution: as ``steer``."""

    execution: Id


class ExecutionCancelParams(CancelParams, frozen=True, kw_only=True):
    """The child execution to cancel: as ``cancel``."""

    execution: Id


class ProcessesPage(Wire, frozen=True, kw_only=True):
    """Processes of a root session."""

    items: Annotated[list[ProcessRow], Page]
    next_cursor: Maybe[Cursor] = UNSET


class ProcessReadParams(Wire, frozen=True, kw_only=True):
    """Output from ``offset`` on, in decoded bytes; with ``waitMs`` it waits for more."""

    process: Id
    offset: Count
    limit: Maybe[Annotated[int, Meta(ge=1, le=LIMITS.process_read_bytes)]] = UNSET
    wait_ms: Maybe[Annotated[int, Meta(ge=0, le=30_000)]] = UNSET


class ProcessReadResult(Wire, frozen=True, kw_only=True):
    """``data`` begins at ``offset``, which is ``start`` where older output is gone. ``eof``: ended, and all
    read.
    """

    data: Base64
    offset: Count
    next_offset: Count
    start: Count
    end: Count
    eof: bool

    def verify(self) -> None:
        length = decoded_length(self.data)
        if length > LIMITS.process_read_bytes:
            raise Problem(".data", f"more than {LIMITS.process_read_bytes} bytes, decoded")
        if self.next_offset != self.offset + length:
            raise Problem(".nextOffset", "not the offset and the bytes of data together")
        if not self.start <= self.offset <= self.next_offset <= self.end:
            raise Problem(".offset", "not between start and end")


class ProcessWriteParams(Wire, frozen=True, kw_only=True):
    """Bytes for the standard input of a process: 1 to ``processWriteBytes``, decoded."""

    process: Id
    data: Base64

    def verify(self) -> None:
        length = decoded_length(self.data)
        if length == 0:
            raise Problem(".data", "nothing to write")
        if length > LIMITS.process_write_bytes:
            raise Problem(".data", f"more than {LIMITS.process_write_bytes} bytes, decoded")


class ProcessWriteResult(Wire, frozen=True, kw_only=True):
    """How many bytes were taken; it may be less than was sent."""

    written: Count


class ProcessResizeParams(Wire, frozen=True, kw_only=True):
    """The new size of a process's terminal, in cells."""

    process: Id
    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]


class ProcessStopParams(Wire, frozen=True, kw_only=True):
    """The signal to begin with, and how long to wait before the next harder one."""

    process: Id
    signal: Maybe[StopSignal] = UNSET
    grace_ms: Maybe[Annotated[int, Meta(ge=0, le=60_000)]] = UNSET


class ProcessStopResult(Wire, frozen=True, kw_only=True):
    """The state that the process has now."""

    state: ProcessState
