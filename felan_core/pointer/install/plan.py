"""A change of an agent's configuration: made out first, shown as a diff, and written only when told to."""

import difflib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from felan_core.pointer.errors import PointerError
from felan_core.pointer.install import backups, scripts
from felan_core.pointer.install.agents import AGENTS, Agent, check_types
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import read_whole, write_whole
from felan_core.pointer.install.jsonfile import Json, dump, parse
from felan_core.pointer.install.merge import found, is_mixed, put_in, take_out
from felan_core.pointer.store import absolute

_RECORD = "installs.json"
_REVIEW = (
    "Codex skips a hook that you have not reviewed, without a word: start `codex`, open /hooks and trust the "
    "three hooks."
)


@dataclass
class Plan:
    """What is to change. `path` is as the agent knows it, `target` the file itself behind any link."""

    agent: Agent
    path: str
    target: str
    before: bytes | None
    after: bytes | None
    folder: str
    installs: bool
    scripts: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after or bool(self.scripts)

    def diff(self) -> str:
        """The change of the configuration as a unified diff; empty where nothing changes in it."""
        if self.before == self.after:
            return ""
        before, after = (
            (side or b"").decode("utf-8", "backslashreplace").splitlines()
            for side in (self.before, self.after)
        )
        name = self.path if self.before is not None else "/dev/null"
        return "\n".join(difflib.unified_diff(before, after, name, self.path, lineterm="")) + "\n"


def plan_install(agent: Agent, home: str, folder: str, state_root: str) -> Plan:
    """What an installation would change; `folder` is for the scripts and backups. Writes nothing.

    Raises InstallError for a file that cannot be merged with, OSError for one that cannot be read.
    """
    try:
        root = absolute(state_root)
    except PointerError as error:
        raise InstallError(error.message, state_root) from error
    command = scripts.hook_command(folder, agent.name, root)
    try:
        command.encode("utf-8")
    except UnicodeEncodeError:
        raise InstallError(
            "A path in the command is not UTF-8, which no JSON file can hold.", folder
        ) from None

    def change(config: dict[str, Json]) -> None:
        config.setdefault("hooks", {})
        put_in(config, agent, command)

    plan = _plan(agent, home, folder, change, installs=True)
    plan.scripts = scripts.missing(folder)
    if plan.before != plan.after:
        plan.notes += _after_install(agent)
    return plan


def plan_uninstall(agent: Agent, home: str, folder: str) -> Plan:
    """What taking our hooks out would change. Writes nothing; raises as `plan_install`."""
    return _plan(agent, home, folder, lambda config: take_out(config, agent), installs=False)


def _plan(
    agent: Agent, home: str, folder: str, change: Callable[[dict[str, Json]], None], *, installs: bool
) -> Plan:
    path = os.path.join(home, agent.file)
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        raise InstallError("This is not a regular file.", path)
    before = read_whole(target)
    if before is None and not installs:
        return Plan(agent, path, target, None, None, folder, installs)
    config, layout = parse(before or b"", path)
    check_types(config, agent, path)
    was, _ = parse(before or b"", path)
    mixed = is_mixed(config, agent)
    change(config)
    after = before if before is not None and config == was else dump(config, layout)
    plan = Plan(agent, path, target, before, after, folder, installs)
    if mixed and not installs:
        plan.notes.append(
            "Hooks of others stand in one group with ours and move up; Codex asks to review them again."
        )
    return plan


def _after_install(agent: Agent) -> list[str]:
    if agent.positional:
        return [
            _REVIEW,
            "Running sessions of Codex keep the hooks that they began with.",
        ]
    return ["Running sessions take the hooks up within a few seconds."]


def apply(plan: Plan, clock: Callable[[], float] = time.time) -> str | None:
    """Writes what the plan says; the backup's folder, None where the configuration stays as it is.

    An installation writes the scripts first, a removal takes them away last and only where no other
    configuration of ours is left. Raises InstallError where the file changed since it was read, OSError.
    """
    if plan.installs:
        scripts.write(plan.folder)
    backup = None
    if plan.before != plan.after and plan.after is not None:
        if read_whole(plan.target) != plan.before:
            raise InstallError("The file changed meanwhile; look at the change anew.", plan.path)
        backup = backups.save(plan.folder, plan.agent.name, plan.target, clock)
        write_whole(plan.target, plan.after, backups.mode_of(plan.target))
    record = [one for one in _installs(plan.folder) if one != (plan.agent.name, plan.path)]
    if plan.installs:
        record.append((plan.agent.name, plan.path))
    _record(plan.folder, record)
    if not plan.installs and not any(_is_installed(*one) for one in record):
        scripts.remove(plan.folder)
    return backup


def _is_installed(name: str, path: str) -> bool:
    """Whether a configuration still names our script; one that cannot be read may."""
    agent = AGENTS.get(name)
    if agent is None:
        return False
    try:
        data = read_whole(path)
        if data is None:
            return False
        config, _ = parse(data, path)
        check_types(config, agent, path)
    except (OSError, InstallError):
        return True
    return any(True for _ in found(config, agent))


def _installs(folder: str) -> list[tuple[str, str]]:
    try:
        value = json.loads(read_whole(os.path.join(folder, _RECORD)) or b"[]")
        return [(str(one["agent"]), str(one["path"])) for one in value]
    except (ValueError, LookupError, TypeError):
        return []


def _record(folder: str, installs: list[tuple[str, str]]) -> None:
    if installs == _installs(folder):
        return
    value = [{"agent": agent, "path": path} for agent, path in installs]
    text = json.dumps(value, indent=2) + "\n"
    write_whole(os.path.join(folder, _RECORD), text.encode("utf-8"), 0o600)
