"""What is installed in each agent, and whether the agent will run it; reads and writes nothing."""

import os
import shlex
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from felan_core.pointer.hooks import AGENTS_FOLDER
from felan_core.pointer.install import scripts
from felan_core.pointer.install.agents import EVENTS, Agent, check_types, home_of
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import read_whole
from felan_core.pointer.install.jsonfile import Json, parse
from felan_core.pointer.install.merge import found
from felan_core.pointer.install.trust import CodexSettings, definition_hash, file_name, key
from felan_core.pointer.values import instant


@dataclass
class Report:
    """One agent. `events` says for each of the three: missing, installed, or for Codex trusted, untrusted,
    modified or disabled. `last_seen` is when a hook last wrote a state (an instant), None if none ever did.
    """

    agent: str
    path: str
    installed: bool = False
    events: dict[str, str] = field(default_factory=dict[str, str])
    state_root: str | None = None
    state_root_writable: bool = False
    last_seen: str | None = None
    problems: list[str] = field(default_factory=list[str])

    @property
    def healthy(self) -> bool:
        """Whether the agent runs all three hooks and they can keep a pointer."""
        return self.installed and not self.problems


def examine(
    agent: Agent, home: str | None, folder: str, state_root: str, env: Mapping[str, str] = os.environ
) -> Report:
    """Looks at one agent. `state_root` is looked at where nothing is installed that names another."""
    where = home_of(agent, home, env)
    path = os.path.join(where, agent.file)
    report = Report(agent.name, path, events=dict.fromkeys(EVENTS, "missing"))
    config: dict[str, Json] = {}
    try:
        config, _ = parse(read_whole(path) or b"", path)
        check_types(config, agent, path)
        ours = list(found(config, agent))
    except (OSError, InstallError) as error:
        report.problems.append(str(error))
        ours = []
    command = ""
    settings = CodexSettings(where) if agent.positional else None
    for event, group, index, handler in ours:
        if event not in EVENTS:
            continue
        command = str(handler["command"])
        report.events[event] = "installed"
        if settings is not None:
            matcher = _matcher(config, event, group)
            name = key(file_name(where, env), event, group, index)
            report.events[event] = settings.trust(name, definition_hash(event, handler, matcher))
    report.installed = all(state != "missing" for state in report.events.values())
    if not report.installed and any(state != "missing" for state in report.events.values()):
        report.problems.append("Some of the three hooks are missing; install again.")
    if command:
        _examine_command(report, command, folder)
    _examine_switches(report, config, settings)
    report.state_root = report.state_root or state_root
    _examine_root(report)
    return report


def _matcher(config: dict[str, Json], event: str, group: int) -> Json:
    hooks = config["hooks"]
    groups = hooks[event] if isinstance(hooks, dict) else None
    one = groups[group] if isinstance(groups, list) else None
    return one.get("matcher") if isinstance(one, dict) else None


def _examine_command(report: Report, command: str, folder: str) -> None:
    try:
        words = shlex.split(command)
        python, script = words[words.index("exec") + 1], words[words.index("-r") + 1]
        report.state_root = words[words.index("--state-root") + 1]
    except (ValueError, IndexError):
        report.problems.append("The installed command is not the installer's; install again.")
        return
    if not os.access(python, os.X_OK):
        report.problems.append(f"The interpreter is gone: {python}; install again.")
    if not os.path.exists(script):
        report.problems.append(f"The script is gone, so the hooks do nothing: {script}; install again.")
    elif os.path.dirname(script) == folder and scripts.missing(folder):
        report.problems.append("The script is of another felan than this one; install again.")


def _examine_switches(report: Report, config: dict[str, Json], settings: CodexSettings | None) -> None:
    if config.get("disableAllHooks") is True and report.installed:
        report.problems.append("disableAllHooks is true in this file, so no hook runs.")
    if settings is None:
        return
    if settings.fault is not None:
        report.problems.append(f"config.toml cannot be read: {settings.fault}")
    if settings.off:
        report.problems.append("features.hooks is false in config.toml, so no hook runs.")
    states = set(report.events.values())
    if states & {"untrusted", "modified"}:
        report.problems.append(
            "Codex skips hooks that are not reviewed: start `codex`, open /hooks and trust them."
        )
    if "disabled" in states:
        report.problems.append(
            "A hook is switched off in Codex: start `codex`, open /hooks and switch it on."
        )


def _examine_root(report: Report) -> None:
    root = report.state_root or ""
    report.state_root_writable = _is_writable(root)
    if not report.state_root_writable:
        report.problems.append(f"The state root cannot be used: {root}")
    try:
        mark = os.stat(os.path.join(root, AGENTS_FOLDER, report.agent), follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISREG(mark.st_mode):
        report.last_seen = instant(mark.st_mtime)


def _is_writable(root: str) -> bool:
    """Whether the root is a folder to write in, or can be made."""
    if not os.path.isabs(root):
        return False
    if os.path.lexists(root):
        return not os.path.islink(root) and os.path.isdir(root) and os.access(root, os.W_OK | os.X_OK)
    above = os.path.dirname(root)
    while above != os.path.dirname(above) and not os.path.lexists(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def age(seen: str, clock: Callable[[], float] = time.time) -> str:
    """How long ago an instant was, in words."""
    import calendar

    seconds = max(0, int(clock()) - calendar.timegm(time.strptime(seen, "%Y-%m-%dT%H:%M:%SZ")))
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {word} ago"
    return f"{seconds} s ago"
