"""The settings that the agents of this package have: the names in ``extensions`` of ``sessions.create``.

A module of its own, so that a host knows them without loading a backend.
"""

from typing import Final

from felan_core.protocol.configuration import NumberSetting, SettingType, TextSetting

AGENT_COMMAND: Final = "agent.command"
"""The command line that starts an ACP agent."""
REHEARSAL_SCENARIO: Final = "rehearsal.scenario"
REHEARSAL_PACE: Final = "rehearsal.pace"
REHEARSAL_FILE: Final = "rehearsal.file"

AGENT_SETTINGS: Final[dict[str, SettingType]] = {
    AGENT_COMMAND: TextSetting(),
    REHEARSAL_SCENARIO: TextSetting(),
    REHEARSAL_PACE: NumberSetting(0, 100),
    REHEARSAL_FILE: TextSetting(),
}
