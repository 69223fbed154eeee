"""Our hooks in a parsed configuration: put in, found again, and taken out; all else stays where it is.

What is ours is known by its command, wherever it stands. In a file whose hooks are trusted by their position
nothing is ever moved: ours come last, are replaced in place, and leave an empty group where a later one would
move up.
"""

import shlex
from collections.abc import Iterator
from typing import cast

from felan_core.pointer.install.agents import EVENTS, Agent
from felan_core.pointer.install.jsonfile import Json, Number
from felan_core.pointer.install.scripts import HOOK_SCRIPT

TIMEOUT = "10"  # seconds: the lock waits for 5 at most


def handler(command: str) -> dict[str, Json]:
    """The one hook that stands under each event."""
    return {"type": "command", "command": command, "timeout": Number(TIMEOUT)}


def is_ours(value: Json, agent: Agent) -> bool:
    """Whether a handler is one that an installer of ours wrote for this agent."""
    if not isinstance(value, dict):
        return False
    command = value.get("command")
    return (
        isinstance(command, str)
        and command.startswith(("test -x ", "test -r "))  # the second is what versions before 0.2 wrote
        and HOOK_SCRIPT in command
        and f" --agent {agent.name} " in command
    )


def _events(config: dict[str, Json]) -> dict[str, Json]:
    return cast(dict[str, Json], config.get("hooks", {}))


def _groups(config: dict[str, Json], event: str) -> list[dict[str, Json]]:
    return cast(list[dict[str, Json]], _events(config).get(event, []))


def _handlers(group: dict[str, Json]) -> list[Json]:
    return cast(list[Json], group.get("hooks", []))


def found(config: dict[str, Json], agent: Agent) -> Iterator[tuple[str, int, int, dict[str, Json]]]:
    """Every hook of ours: (event, group index, handler index, handler). The types were checked."""
    for event in _events(config):
        for group_index, group in enumerate(_groups(config, event)):
            for index, one in enumerate(_handlers(group)):
                if is_ours(one, agent):
                    yield event, group_index, index, cast(dict[str, Json], one)


def root_of(handler: dict[str, Json]) -> str | None:
    """The state root in the command of a hook of ours; None where the command is not the installer's."""
    try:
        words = shlex.split(str(handler["command"]))
        return words[words.index("--state-root") + 1]
    except (ValueError, IndexError):
        return None


def is_mixed(config: dict[str, Json], agent: Agent) -> bool:
    """Whether a hook of somebody else follows one of ours in the same group, where the position counts."""
    return agent.positional and any(
        index < len(_handlers(_groups(config, event)[group])) - 1
        for event, group, index, _ in found(config, agent)
    )


def put_in(config: dict[str, Json], agent: Agent, command: str) -> None:
    """One hook of ours under each event, in place where there is one; more than one becomes one."""
    wanted = handler(command)
    for event in EVENTS:
        first = next((one for one in found(config, agent) if one[0] == event), None)
        hooks = cast(dict[str, Json], config.setdefault("hooks", {}))
        groups = cast(list[Json], hooks.setdefault(event, []))
        if first is None:
            groups.append({"hooks": [dict(wanted)]})
            continue
        _, group, index, now = first
        if now != wanted:
            _handlers(_groups(config, event)[group])[index] = dict(wanted)
        _take_out(config, agent, event, keep=(group, index))
    for event in [event for event, _, _, _ in found(config, agent) if event not in EVENTS]:
        _take_out(config, agent, event)


def take_out(config: dict[str, Json], agent: Agent) -> None:
    """Every hook of ours goes, with the group, the event and the `hooks` that held nothing else."""
    for event in list(_events(config)):
        _take_out(config, agent, event)
    if config.get("hooks") == {}:
        del config["hooks"]


def _take_out(config: dict[str, Json], agent: Agent, event: str, keep: tuple[int, int] | None = None) -> None:
    groups = _groups(config, event)
    emptied: set[int] = set()
    for number, group in enumerate(groups):
        handlers = _handlers(group)
        kept = [one for i, one in enumerate(handlers) if (number, i) == keep or not is_ours(one, agent)]
        if len(kept) != len(handlers):
            group["hooks"] = kept
            if not kept:
                emptied.add(number)
    if not emptied:
        return
    for number in sorted(emptied, reverse=True):
        if number == len(groups) - 1 or not agent.positional:
            del groups[number]
        else:
            groups[number] = {"hooks": []}
    if not groups:
        del _events(config)[event]
