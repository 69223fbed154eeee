"""The agents that can be installed into: which file each reads, and what types it needs in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.jsonfile import Json, Number, member

EVENTS = ("UserPromptSubmit", "SessionStart", "PreCompact")


@dataclass(frozen=True)
class Agent:
    """`name` is the word of `--agent`; its configuration is `file` in the folder that `variable` names.

    `strict`: one wrong type anywhere stops every hook of the file. `positional`: a hook that moves has to be
    reviewed again. `program` is its command; `first_version` is the first that fires all three hooks.
    `signs`: what a configuration folder of this agent holds, and no other agent's does.
    """

    name: str
    title: str
    variable: str
    folder: str
    file: str
    strict: bool
    positional: bool
    program: str
    first_version: tuple[int, int, int]
    signs: tuple[str, ...]


CLAUDE_CODE = Agent(
    "claude-code",
    "Claude Code",
    "CLAUDE_CONFIG_DIR",
    "~/.claude",
    "settings.json",
    strict=False,
    positional=False,
    program="claude",
    first_version=(1, 0, 62),
    signs=("settings.json", "settings.local.json", ".claude.json", ".credentials.json", "projects"),
)
CODEX = Agent(
    "codex",
    "Codex",
    "CODEX_HOME",
    "~/.codex",
    "hooks.json",
    strict=True,
    positional=True,
    program="codex",
    first_version=(0, 129, 0),
    signs=("config.toml", "hooks.json", "auth.json", "version.json", "installation_id"),
)
AGENTS = {agent.name: agent for agent in (CLAUDE_CODE, CODEX)}


def home_of(agent: Agent, named: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """The agent's configuration folder: the one named, else the agent's variable, else its default."""
    return os.path.abspath(named or env.get(agent.variable) or os.path.expanduser(agent.folder))


def check_home(agent: Agent, home: str) -> None:
    """Raises InstallError where a folder that a person named is not there, or is no home of this agent."""
    if not os.path.isdir(home):
        raise InstallError("There is no such folder.", home)
    if not any(os.path.lexists(os.path.join(home, sign)) for sign in agent.signs):
        advice = f"Start {agent.title} once with it, or name the right folder"
        raise InstallError(f"This is no configuration folder of {agent.title}. {advice}.", home)


def check_types(value: dict[str, Json], agent: Agent, path: str) -> None:
    """Raises InstallError, with the place, for a type that would lose hooks or that cannot be merged with."""
    hooks = value.get("hooks")
    if "hooks" not in value:
        return
    if not isinstance(hooks, dict):
        raise _wrong("an object", path, "hooks")
    for event, groups in hooks.items():
        place = member("hooks", event)
        if not isinstance(groups, list):
            raise _wrong("an array", path, place)
        for index, group in enumerate(groups):
            _check_group(group, agent, path, f"{place}[{index}]")


def _check_group(group: Json, agent: Agent, path: str, place: str) -> None:
    if not isinstance(group, dict):
        raise _wrong("an object", path, place)
    handlers = group.get("hooks", [])
    if not isinstance(handlers, list):
        raise _wrong("an array", path, f"{place}.hooks")
    if agent.strict and not _is_text(group.get("matcher")):
        raise _wrong("a string", path, f"{place}.matcher")
    for index, handler in enumerate(handlers):
        at = f"{place}.hooks[{index}]"
        if not isinstance(handler, dict):
            raise _wrong("an object", path, at)
        if agent.strict:
            _check_handler(handler, path, at)


def _check_handler(handler: dict[str, Json], path: str, place: str) -> None:
    kind = handler.get("type")
    if kind is None or not _is_text(kind):
        raise _wrong("a string", path, f"{place}.type")
    if kind == "command" and (handler.get("command") is None or not _is_text(handler["command"])):
        raise _wrong("a string", path, f"{place}.command")
    for name in ("commandWindows", "statusMessage"):
        if not _is_text(handler.get(name)):
            raise _wrong("a string", path, f"{place}.{name}")
    for name in ("timeout", "additionalContextLimit"):
        number = handler.get(name)
        if number is not None and not (isinstance(number, Number) and number.is_count):
            raise _wrong("an integer from 0 on", path, f"{place}.{name}")
    if not isinstance(handler.get("async", False), bool):
        raise _wrong("true or false", path, f"{place}.async")


def _is_text(value: Json) -> bool:
    return value is None or (isinstance(value, str) and not isinstance(value, Number))


def _wrong(wanted: str, path: str, place: str) -> InstallError:
    return InstallError(f"This is not {wanted}, so the file is left alone.", path, place)
