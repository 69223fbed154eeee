"""What the room tells about a process: plain frozen values, no pid and no handle among them."""

from dataclasses import dataclass

from felan_core.protocol.operations.processes import StopSignal
from felan_core.protocol.session import ProcessState

__all__ = ["ProcessRecord", "ProcessState", "ReadResult", "StopSignal"]


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One process as it stands at one moment.

    Instants are milliseconds since the Unix epoch; `start` and `end` are the absolute byte offsets of the
    output that can still be read. `exit_code` belongs to `exited`, `signal` (`"SIGTERM"`) to `signalled`. A
    `lost` process is one of an earlier host: how it ended, or whether it did, is not known; `ended_at` is set
    once it is known to be gone. `stopped`: `stop` or `close` sent it TERM or KILL. `output_ended` says that
    nothing will be added to the output any more. `leftovers`: how many processes run that it left behind; of
    a `spawn`ed process the record is about these alone, so `running` means that some of them run.
    """

    id: str
    owner: str
    title: str
    command: str
    cwd: str
    state: ProcessState
    started_at: int
    ended_at: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    stdin: bool = False
    pty: bool = False
    start: int = 0
    end: int = 0
    output_ended: bool = False
    stopped: bool = False
    leftovers: int = 0


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A piece of output: `data` begins at `offset`, which is past the offset asked for when that was dropped.

    `start` and `end` bound what can be read now; `eof` means ended and read to the end.
    """

    data: bytes
    offset: int
    next_offset: int
    start: int
    end: int
    eof: bool
