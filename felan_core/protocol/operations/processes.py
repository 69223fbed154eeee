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
    NonEmpty,
    PageLimit,
    Wire,
)
from felan_core.protocol.operations.common import Image
from felan_core.protocol.session import ExecutionRow, ExecutionState, ProcessRow, ProcessState


class ExecutionsListParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    state: Maybe[ExecutionState] = UNSET


class ExecutionsPage(Wire, frozen=True, kw_only=True):
    items: list[ExecutionRow]
    next_cursor: Maybe[Cursor] = UNSET


class ExecutionReadParams(Wire, frozen=True, kw_only=True):
    execution: Id
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class ExecutionSteerParams(Wire, frozen=True, kw_only=True):
    execution: Id
    text: NonEmpty
    images: Maybe[list[Image]] = UNSET


class ExecutionCancelParams(Wire, frozen=True, kw_only=True):
    execution: Id


class ProcessesPage(Wire, frozen=True, kw_only=True):
    items: list[ProcessRow]
    next_cursor: Maybe[Cursor] = UNSET


class ProcessReadParams(Wire, frozen=True, kw_only=True):
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


class ProcessWriteParams(Wire, frozen=True, kw_only=True):
    process: Id
    data: Base64


class ProcessWriteResult(Wire, frozen=True, kw_only=True):
    written: Count


class ProcessResizeParams(Wire, frozen=True, kw_only=True):
    process: Id
    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]


class ProcessStopParams(Wire, frozen=True, kw_only=True):
    process: Id
    signal: Maybe[Literal["int", "term", "kill"]] = UNSET
    grace_ms: Maybe[Annotated[int, Meta(ge=0, le=60_000)]] = UNSET


class ProcessStopResult(Wire, frozen=True, kw_only=True):
    state: ProcessState
