"""What is installed in each agent, and whether a pointer is kept and published there; writes nothing.

Every finding names the command that mends it.
"""

import os
import shlex
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from felan_core.pointer.errors import PointerError
from felan_core.pointer.handover import age_words, instant_seconds
from felan_core.pointer.hooks import AGENTS_FOLDER
from felan_core.pointer.install import allow, probe, scripts
from felan_core.pointer.install.agents import EVENTS, Agent, check_types, home_of
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import read_whole
from felan_core.pointer.install.jsonfile import Json, parse
from felan_core.pointer.install.merge import found
from felan_core.pointer.install.trust import CodexSettings, definition_hash, file_name, key
from felan_core.pointer.places import publisher_path
from felan_core.pointer.store import PointerStore
from felan_core.pointer.values import instant
from felan_core.pointer.watch import look, sessions


@dataclass(frozen=True)
class Finding:
    """`problem` is a sentence; `mend` is the command, or the step in the agent, that mends it."""

    problem: str
    mend: str


@dataclass
class Report:
    """One agent. `events` is for each of the three: missing, installed, or for Codex trusted, untrusted,
    modified or disabled. `version` is that of the command on PATH. `last_seen` is when a hook last wrote a
    state (an instant), None if none ever did.
    """

    agent: str
    path: str
    installed: bool = False
    version: str | None = None
    events: dict[str, str] = field(default_factory=dict[str, str])
    state_root: str | None = None
    state_root_writable: bool = False
    publishes: bool = False
    """Whether the agent may run the publisher unasked, and it may write there."""
    last_seen: str | None = None
    problems: list[Finding] = field(default_factory=list[Finding])

    @property
    def healthy(self) -> bool:
        """Whether the agent runs all three hooks and a pointer can be kept and published."""
        return self.installed and not self.problems


class _Case:
    """The report of one agent while it is made."""

    def __init__(self, agent: Agent, home: str, named: bool, folder: str, env: Mapping[str, str]) -> None:
        self.agent = agent
        self.home = home
        self.folder = folder
        self.env = env
        path = os.path.join(home, agent.file)
        self.report = Report(agent.name, path, events=dict.fromkeys(EVENTS, "missing"))
        where = f" --home {shlex.quote(home)}" if named else ""
        self.install = f"felan pointer install --agent {agent.name}{where}"

    def problem(self, text: str, mend: str) -> None:
        self.report.problems.append(Finding(text, mend))


def examine(
    agent: Agent, home: str | None, folder: str, state_root: str, env: Mapping[str, str] = os.environ
) -> Report:
    """Looks at one agent. `state_root` is looked at where nothing is installed that names another."""
    case = _Case(agent, home_of(agent, home, env), home is not None, folder, env)
    report = case.report
    config, ours = _configuration(case)
    settings = CodexSettings(case.home) if agent.positional else None
    command = ""
    for event, group, index, handler in ours:
        if event not in EVENTS:
            continue
        command = str(handler["command"])
        report.events[event] = "installed"
        if settings is not None:
            matcher = _matcher(config, event, group)
            name = key(file_name(case.home, env), event, group, index)
            report.events[event] = settings.trust(name, definition_hash(event, handler, matcher))
    report.installed = "missing" not in report.events.values()
    report.state_root = state_root
    if command:
        if not report.installed:
            case.problem("Some of the three hooks are missing.", f"{case.install} --apply")
        _version(case)
        _command(case, command)
        _switches(case, config, settings)
        if settings is not None:
            _codex_sandbox(case, settings)
        else:
            _claude_permissions(case, config)
    elif settings is not None and settings.fault is not None:
        case.problem(f"config.toml cannot be read: {settings.fault}", "correct config.toml by hand")
    _root(case)
    return report


def _configuration(case: _Case) -> tuple[dict[str, Json], list[tuple[str, int, int, dict[str, Json]]]]:
    path = case.report.path
    try:
        config, _ = parse(read_whole(path) or b"", path)
        check_types(config, case.agent, path)
        return config, list(found(config, case.agent))
    except (OSError, InstallError) as error:
        case.problem(str(error), f"correct {path} by hand")
        return {}, []


def _matcher(config: dict[str, Json], event: str, group: int) -> Json:
    hooks = config["hooks"]
    groups = hooks[event] if isinstance(hooks, dict) else None
    one = groups[group] if isinstance(groups, list) else None
    return one.get("matcher") if isinstance(one, dict) else None


def _version(case: _Case) -> None:
    found = probe.version(case.agent, case.env)
    if found is None:
        return
    case.report.version = ".".join(map(str, found))
    first = case.agent.first_version
    if found < first:
        wanted = ".".join(map(str, first))
        case.problem(
            f"{case.agent.title} {case.report.version} does not fire the three hooks; {wanted} is the first "
            "version that does.",
            f"update {case.agent.title}",
        )


def _command(case: _Case, command: str) -> None:
    again = f"{case.install} --apply"
    try:
        words = shlex.split(command)
        run = words[words.index("exec") + 1 :]
        python, script = run[0], words[words.index("-r") + 1]
        root = words[words.index("--state-root") + 1]
    except (ValueError, IndexError):
        case.problem("The installed command is not the installer's.", again)
        return
    case.report.state_root = root
    again = f"{case.install} --state-root {shlex.quote(root)} --apply"
    publisher = publisher_path(os.path.dirname(script), root)
    if not os.access(python, os.X_OK):
        case.problem(f"The interpreter is gone, so the hooks do nothing: {python}", again)
    elif not os.path.exists(script):
        case.problem(f"The script is gone, so the hooks do nothing: {script}", again)
    elif os.path.dirname(script) == case.folder and scripts.missing(case.folder, root):
        case.problem("The scripts are of another version of felan than this one.", again)
    elif not probe.hook_answers(run, case.env):
        case.problem(f"The hook gives no answer: {script}", again)
    elif not os.access(publisher, os.X_OK) or not probe.publisher_answers(publisher, case.env):
        case.problem(f"The publisher gives no answer: {publisher}", again)


def _switches(case: _Case, config: dict[str, Json], settings: CodexSettings | None) -> None:
    path = case.report.path
    if config.get("disableAllHooks") is True:
        case.problem("disableAllHooks is true, so no hook runs.", f"remove disableAllHooks from {path}")
    if settings is None:
        return
    if settings.fault is not None:
        case.problem(f"config.toml cannot be read: {settings.fault}", "correct config.toml by hand")
    if settings.off:
        case.problem(
            "features.hooks is false in config.toml, so no hook runs.", "codex features enable hooks"
        )
    states = set(case.report.events.values())
    if states & {"untrusted", "modified"}:
        case.problem("Codex skips hooks that are not reviewed.", "codex, then /hooks, then trust them")
    if "disabled" in states:
        case.problem("A hook is switched off in Codex.", "codex, then /hooks, then switch it on")


def _codex_sandbox(case: _Case, settings: CodexSettings) -> None:
    root = case.report.state_root or ""
    mode = settings.values.get("sandbox_mode", "workspace-write")
    if mode == "danger-full-access":
        case.report.publishes = True
        return
    config = os.path.join(case.home, "config.toml")
    if mode == "read-only":
        case.problem(
            "sandbox_mode is read-only, so the agent cannot publish unasked.",
            f'set sandbox_mode = "workspace-write" in {config}',
        )
        return
    try:
        roots = allow.writable_roots(settings.values, config)
    except InstallError as error:
        case.problem(str(error), f"correct {config} by hand")
        return
    if any(_inside(root, one) for one in [*roots, *_temporary(settings.values, case.env)]):
        case.report.publishes = True
        return
    case.problem(
        f"The state root is not writable inside Codex's sandbox: {root}",
        f"{case.install} --state-root {shlex.quote(root)} --allow --apply",
    )


def _temporary(values: dict[str, Any], env: Mapping[str, str]) -> list[str]:
    """The temporary folders that the sandbox leaves writable."""
    table = values.get(allow.TABLE, {})
    found = [] if table.get("exclude_slash_tmp") is True else ["/tmp"]
    if table.get("exclude_tmpdir_env_var") is not True:
        found.append(env.get("TMPDIR") or tempfile.gettempdir())
    return found


def _inside(path: str, folder: str) -> bool:
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _claude_permissions(case: _Case, config: dict[str, Json]) -> None:
    root = case.report.state_root or ""
    wanted = allow.rule(case.folder, root)
    value = config.get("permissions")
    permissions = value if isinstance(value, dict) else {}
    lists = {
        name: rules if isinstance(rules := permissions.get(name), list) else []
        for name in ("allow", "ask", "deny")
    }
    broad = ("Bash", "Bash(*)", wanted)
    for name in ("deny", "ask"):
        if any(rule in lists[name] for rule in broad):
            case.problem(
                f"A rule in permissions.{name} keeps the agent from publishing unasked.",
                f"correct permissions.{name} in {case.report.path}",
            )
            return
    bypass = permissions.get("defaultMode") == "bypassPermissions"
    if not bypass and not any(rule in lists["allow"] for rule in broad):
        case.problem(
            f"Claude Code asks before each publish: the rule {wanted} is missing.",
            f"{case.install} --state-root {shlex.quote(root)} --allow --apply",
        )
        return
    sandbox = config.get("sandbox")
    if isinstance(sandbox, dict) and sandbox.get("enabled") is True and not _claude_writes(sandbox, root):
        case.problem(
            "Claude Code's sandbox is on, and the state root is not in sandbox.filesystem.allowWrite.",
            f"add {root} to sandbox.filesystem.allowWrite in {case.report.path}",
        )
        return
    case.report.publishes = True


def _claude_writes(sandbox: dict[str, Json], root: str) -> bool:
    files = sandbox.get("filesystem")
    allowed = files.get("allowWrite") if isinstance(files, dict) else None
    folders = [one for one in allowed if isinstance(one, str)] if isinstance(allowed, list) else []
    return any(_inside(root, os.path.expanduser(one)) for one in folders)


def _root(case: _Case) -> None:
    report = case.report
    root = report.state_root or ""
    report.state_root_writable = _is_writable(root)
    if not report.state_root_writable:
        case.problem(f"The state root cannot be used: {root}", f"{case.install} --state-root DIR --apply")
    try:
        mark = os.stat(os.path.join(root, AGENTS_FOLDER, report.agent), follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISREG(mark.st_mode):
        report.last_seen = instant(mark.st_mtime)


def examine_states(root: str) -> list[Finding]:
    """Every state of a root that cannot be read, with the command that mends it."""
    try:
        store = PointerStore(root)
        found = [look(store, name) for name in sessions(store.root)]
    except PointerError as error:
        return [Finding(f"{root}: {error.message}", f"ls -la {shlex.quote(os.path.dirname(root))}")]
    named = f"--state-root {shlex.quote(store.root)}"
    return [
        Finding(
            f"{store.root}/{one.session_id}/state.json cannot be read ({one.code}), so its prompts are held "
            "back.",
            f"felan pointer reset {one.session_id} {named} --apply",
        )
        for one in found
        if one.code is not None
    ]


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


def age(seen: str, now: float) -> str:
    """How long ago an instant was, in words."""
    return f"{age_words(now - instant_seconds(seen))} ago"
