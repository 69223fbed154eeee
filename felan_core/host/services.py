"""What every session of a host shares: store, clock, processes, pointers, agents, and where faults are
reported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from felan_core.agents.backend import BackendFactory
from felan_core.pointer.store import PointerStore
from felan_core.processes.table import ProcessTable
from felan_core.protocol.base import JsonObject
from felan_core.protocol.errors import ProtocolError
from felan_core.store.store import Store

AGENT_SETTING: Final = "agent.backend"
CLEARS_SETTING: Final = "felan.clears"
"""The session that a new one takes the place of: ``/clear``."""


@dataclass(frozen=True, slots=True)
class Services:
    """``agents``: backend kind → what loads its factory, called when a session first needs it.

    ``lost``: why the data folder is not this host's any more, "" while it is; it blocks. ``publisher``: the
    shell line with which an agent publishes its task pointer; empty where there is none.
    """

    store: Store
    processes: ProcessTable
    pointers: PointerStore
    agents: Mapping[str, Callable[[], BackendFactory]]
    default_agent: str
    publisher: str
    clock: Callable[[], int]
    new_id: Callable[[], str]
    report: Callable[[BaseException, str], None]
    lost: Callable[[], str] = lambda: ""

    def agent_kind(self, settings: JsonObject) -> str:
        """The backend that ``settings`` name. Raises ``invalid_request`` for one that is not there."""
        kind = settings.get(AGENT_SETTING, self.default_agent)
        if not isinstance(kind, str) or kind not in self.agents:
            known = ", ".join(sorted(self.agents))
            raise ProtocolError("invalid_request", f"extensions.{AGENT_SETTING}: known are {known}")
        return kind
