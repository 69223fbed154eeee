"""A change of an agent's configuration: made out first, shown as a diff, and written only where asked."""

import difflib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from felan_core.pointer.errors import PointerError
from felan_core.pointer.install import allow, backups, records, scripts
from felan_core.pointer.install.agents import AGENTS, Agent, check_types
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import private_folder, read_whole, write_whole
from felan_core.pointer.install.jsonfile import Json, dump, parse
from felan_core.pointer.install.merge import found, is_mixed, put_in, root_of, take_out
from felan_core.pointer.store import absolute

_REVIEW = (
    "Codex skips a hook that you have not reviewed, without a word: start `codex`, open /hooks and trust the "
    "three hooks."
)


@dataclass
class Change:
    """One file. `path` is as the agent knows it, `target` the file itself behind any link."""

    path: str
    target: str
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff; empty where nothing changes."""
        if not self.changes:
            return ""
        before, after = (
            (side or b"").decode("utf-8", "backslashreplace").splitlines()
            for side in (self.before, self.after)
        )
        name = self.path if self.before is not None else "/dev/null"
        return "\n".join(difflib.unified_diff(before, after, name, self.path, lineterm="")) + "\n"


@dataclass
class Plan:
    """What is to change; the first of the files is the one with the hooks."""

    agent: Agent
    files: list[Change]
    folder: str
    state_root: str
    installs: bool
    scripts: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    offer: str = ""
    """What the publisher still needs, and the option that adds it."""

    @property
    def path(self) -> str:
        """The configuration with the hooks."""
        return self.files[0].path

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return any(one.changes for one in self.files) or bool(self.scripts)

    def diff(self) -> str:
        """The change of every file."""
        return "".join(one.diff() for one in self.files)


def plan_install(agent: Agent, home: str, folder: str, state_root: str, *, allows: bool = False) -> Plan:
    """What an installation would change; `folder` is for the scripts and backups. Writes nothing.

    `allows`: with what the agent needs to run the publisher without a question. Raises InstallError for a
    file that cannot be merged with, OSError for one that cannot be read.
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

    def change(config: dict[str, Json], path: str) -> None:
        put_in(config, agent, command)
        if allows and agent.name == "claude-code":
            allow.allow_rule(config, folder, root, path)

    hooks, _ = _change(agent, home, change)
    plan = Plan(agent, [hooks], folder, root, installs=True)
    if agent.name == "codex":
        config = _toml(home)
        added = allow.add_root(config.before, root, config.path)
        if allows:
            config.after = added
            plan.files.append(config)
        elif added != config.before:
            plan.offer = (
                "Codex's sandbox does not let the agent publish into the state root; --allow adds it to "
                f"writable_roots in {config.path}."
            )
    elif not allows and not _has_rule(hooks, allow.rule(folder, root)):
        plan.offer = (
            f"Claude Code asks before each publish; --allow adds the rule {allow.rule(folder, root)} to "
            "permissions.allow."
        )
    plan.scripts = scripts.missing(folder, root)
    if hooks.changes:
        plan.notes += _after_install(agent)
    return plan


def _has_rule(change: Change, rule: str) -> bool:
    config, _ = parse(change.after or b"", change.path)
    permissions = config.get("permissions")
    rules = permissions.get("allow") if isinstance(permissions, dict) else None
    return isinstance(rules, list) and rule in rules


def plan_uninstall(agent: Agent, home: str, folder: str, state_root: str) -> Plan:
    """What a removal of our hooks would change. Writes nothing; raises as `plan_install`.

    The state root is the one of the installed command, `state_root` where nothing is installed.
    """
    roots: list[str] = []

    def change(config: dict[str, Json], path: str) -> None:
        roots.extend(root for root in (root_of(one[3]) for one in found(config, agent)) if root)
        take_out(config, agent)
        if agent.name == "claude-code":
            allow.forbid_rules(config, folder, path)

    hooks, mixed = _change(agent, home, change)
    plan = Plan(agent, [hooks], folder, roots[0] if roots else state_root, installs=False)
    if agent.name == "codex":
        config = _toml(home)
        for root in dict.fromkeys(roots):
            config.after = allow.remove_root(config.after, root, config.path)
        if config.changes:
            plan.files.append(config)
    if mixed:
        plan.notes.append(
            "Hooks of others are in one group with ours and move up; Codex asks to review them again."
        )
    return plan


def _change(agent: Agent, home: str, change: Callable[[dict[str, Json], str], None]) -> tuple[Change, bool]:
    """Return the change of the hooks file, and whether it moves the hooks of others."""
    one = _file(home, agent.file)
    config, layout = parse(one.before or b"", one.path)
    check_types(config, agent, one.path)
    mixed = is_mixed(config, agent)
    change(config, one.path)
    was, _ = parse(one.before or b"", one.path)
    if config != was:
        one.after = dump(config, layout)
    return one, mixed


def _file(home: str, name: str) -> Change:
    path = os.path.join(home, name)
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        raise InstallError("This is not a regular file.", path)
    before = read_whole(target)
    return Change(path, target, before, before)


def _toml(home: str) -> Change:
    return _file(home, "config.toml")


def _after_install(agent: Agent) -> list[str]:
    if agent.positional:
        return [_REVIEW, "Running sessions of Codex keep the hooks that they began with."]
    return ["Running sessions pick the hooks up within a few seconds."]


def apply(plan: Plan, clock: Callable[[], float] = time.time) -> str | None:
    """Writes what the plan says; the backup's folder, None where every configuration stays as it is.

    An installation writes the scripts and the state root first; a removal takes the scripts away last, and
    only where no other configuration of ours is left. Raises InstallError where a file changed since it was
    read, OSError.
    """
    if plan.installs:
        scripts.write(plan.folder, plan.state_root)
        if not os.path.lexists(plan.state_root):  # a sandbox makes nothing writable that is not there
            private_folder(plan.state_root)
    changed = [one for one in plan.files if one.changes]
    for one in changed:
        if read_whole(one.target) != one.before:
            raise InstallError("The file changed meanwhile; look at the change anew.", one.path)
    backup = None
    if changed:
        backup = backups.save(plan.folder, plan.agent.name, [one.target for one in changed], clock)
        _write(changed)
    record = [
        one for one in records.read(plan.folder) if (one.agent, one.path) != (plan.agent.name, plan.path)
    ]
    if plan.installs:
        record.append(records.Install(plan.agent.name, plan.path, plan.state_root))
    records.write(plan.folder, record)
    if not plan.installs and not any(_is_installed(one) for one in record):
        scripts.remove(plan.folder)
    return backup


def _write(changed: list[Change]) -> None:
    """All of them, or none."""
    done: list[tuple[Change, int]] = []
    try:
        for one in changed:
            mode = backups.mode_of(one.target)
            done.append((one, mode))
            write_whole(one.target, one.after or b"", mode)
    except OSError:
        for one, mode in done[:-1]:
            backups.put_back(one.target, one.before, mode)
        raise


def _is_installed(one: records.Install) -> bool:
    """Whether a configuration still names our script; one that cannot be read may."""
    agent = AGENTS.get(one.agent)
    if agent is None:
        return False
    try:
        data = read_whole(one.path)
        if data is None:
            return False
        config, _ = parse(data, one.path)
        check_types(config, agent, one.path)
    except (OSError, InstallError):
        return True
    return any(True for _ in found(config, agent))
