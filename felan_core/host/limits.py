"""The limits of one host outside the wire contract: a test or an embedding program sets its own."""

from dataclasses import dataclass

from felan_core.files.presence import LOOK_SECONDS
from felan_core.protocol.base import LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLimits:
    """Seconds and bytes. The numbers that a client sees are in ``LIMITS`` (session protocol §1)."""

    unsent_bytes: int = LIMITS.unsent_bytes
    """Queued for one connection; at most the number that ``hello`` advertises."""
    stall_seconds: float = 10.0
    """A client that is behind and reads nothing for so long is disconnected (session protocol §7)."""
    look_seconds: float = LOOK_SECONDS
    """Between two looks whether the data folder is still there."""
    cancel_seconds: float = 15.0
    """A turn that does not end so long after ``cancel`` is ended together with its agent."""
    retry_seconds: float = 1.0
    """After the end of a run could not be stored, until it is tried again."""
    output_seconds: float = 2.0
    """How long the last output of stopped processes is waited for when a session ends."""
    shared_bytes: int = 32 * 1024
    """How much of a shared process's output the agent gets."""
    idle_seconds: float = 30.0
    """A session without an agent that nobody uses for so long is unloaded."""
    agent_idle_seconds: float = 1800.0
    """A session whose agent runs and that nobody uses for so long is unloaded, and its agent ended."""
    purge_seconds: float = 3600.0
    """Between two purges of request records."""
