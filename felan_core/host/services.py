"""What every session of a host shares: store, clock, processes, pointers, agents, and where faults are
reported.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final, ParamSpec, TypeVar

from felan_core.agents.backend import BackendFactory
from felan_core.agents.settings import AGENT_SETTINGS
from felan_core.host.limits import HostLimits
from felan_core.pointer.store import PointerStore
from felan_core.processes.table import ProcessTable
from felan_core.protocol.base import JsonObject
from felan_core.protocol.configuration import SettingType, TextSetting
from felan_core.protocol.errors import invalid
from felan_core.protocol.problems import nearest, one_of
from felan_core.store.store import Store

P = ParamSpec("P")
R = TypeVar("R")
AGENT_SETTING: Final = "agent.backend"
CLEARS_SETTING: Final = "felan.clears"
"""The session that a new one takes the place of: ``/clear``."""
SETTINGS: Final[dict[str, SettingType]] = {
    AGENT_SETTING: TextSetting(),
    CLEARS_SETTING: TextSetting(),
    **AGENT_SETTINGS,
}
"""The settings of a host whose backends are those of ``felan_core.agents``."""


@dataclass(frozen=True, slots=True)
class Services:
    """``agents``: backend kind → what loads its factory, called when a session first needs it.

    ``lost``: why the data folder is not this host's any more, "" while it is; it blocks. ``publisher``: the
    shell line with which an agent publishes its task pointer; empty where there is none. ``settings``: the
    extension settings that a session may have; a backend with settings of its own adds them.
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
    settings: Mapping[str, SettingType] = field(default_factory=lambda: SETTINGS)
    limits: HostLimits = field(default_factory=HostLimits)
    pointer_threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(32, "felan-pointer")
    )

    async def on_pointers(self, call: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        """Run what may wait for the lock of a task pointer, on threads that nothing else needs.

        A session waits in one thread at a time, for ``LOCK_WAIT`` seconds at most.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pointer_threads, partial(call, *args, **named))

    def agent_kind(self, settings: JsonObject) -> str:
        """The backend that ``settings`` name. Raises ``invalid_request`` for one that is not there."""
        kind = settings.get(AGENT_SETTING, self.default_agent)
        if not isinstance(kind, str) or kind not in self.agents:
            raise invalid(f"extensions.{AGENT_SETTING}: {one_of(sorted(self.agents))}")
        return kind

    def check_settings(self, wanted: JsonObject) -> None:
        """Refuse a setting that no extension has, and a value of another type. Raises ``invalid_request``."""
        for name, value in wanted.items():
            setting = self.settings.get(name)
            if setting is None:
                raise invalid(f"extensions: no setting is named {nearest(name, sorted(self.settings))}")
            if (problem := setting.problem(value)) is not None:
                raise invalid(f"extensions.{name}: {problem}")
