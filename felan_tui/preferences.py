"""The choices that Felan remembers for a person, in `felan.toml` of the config folder: agent and theme.

The file is the person's. Reading takes the keys that are ours; writing changes those keys alone and leaves
comments, order and foreign keys as they are. A file that cannot be read is never overwritten.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from felan_core.credentials import refusal
from felan_core.files.private import make_folder, write_whole

FILE = "felan.toml"
MAX_BYTES = 1024 * 1024

AgentKind = Literal["rehearsal", "acp"]
KINDS: tuple[str, ...] = get_args(AgentKind)


@dataclass(frozen=True)
class AgentChoice:
    """The agent to start: the built-in rehearsal, or an ACP agent by its command line."""

    kind: AgentKind
    command: str | None = None


class PreferencesError(Exception):
    """`felan.toml` cannot be used: `path`, `line` (from 1; None when it is not about one) and the problem."""

    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.line = line


def read_agent(folder: Path) -> AgentChoice | None:
    """The choice in `folder/felan.toml`; None where none was made. Raises `PreferencesError`."""
    path = folder / FILE
    text = _read(path)
    return _agent(path, text, _parse(path, text))


def write_agent(folder: Path, kind: AgentKind, command: str | None = None) -> None:
    """Remember the choice, with 0600 and in one step. Raises `PreferencesError`; then nothing changed."""
    path = folder / FILE
    if secret := refusal(command or ""):
        raise PreferencesError(path, secret)
    text = _read(path)
    before = _parse(path, text)
    # A table of ours that is wrong inside is the person's to mend, not ours to write over.
    _agent(path, text, before)
    values = {"kind": kind} if command is None else {"kind": kind, "command": command}
    _change(path, text, before, "agent", values, ("kind", "command"))


def read_theme(folder: Path) -> str | None:
    """The theme's name in `folder/felan.toml`; None where none was chosen. Raises `PreferencesError`."""
    path = folder / FILE
    text = _read(path)
    return _theme(path, text, _parse(path, text))


def write_theme(folder: Path, name: str) -> None:
    """Remember the theme, with 0600 and in one step. Raises `PreferencesError`; then nothing changed."""
    path = folder / FILE
    text = _read(path)
    before = _parse(path, text)
    _theme(path, text, before)
    _change(path, text, before, "theme", {"name": name}, ("name",))


def _change(
    path: Path, text: str, before: dict[str, Any], table: str, values: dict[str, str], ours: tuple[str, ...]
) -> None:
    """Write the file with these values in place of our keys of the table."""
    import tomlkit  # only a change pays for it

    kept = {key: value for key, value in before.get(table, {}).items() if key not in ours}
    document: Any = tomlkit.parse(text)
    if table not in document:
        document[table] = tomlkit.table()
    for key in ours:
        if key in values:
            document[table][key] = values[key]
        elif key in document[table]:
            del document[table][key]
    after = tomlkit.dumps(document)
    if _parse(path, after) != {**before, table: {**kept, **values}}:
        raise PreferencesError(path, f"its {table} cannot be changed in the form in which it is written")
    _write(path, after)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise PreferencesError(path, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise PreferencesError(path, f"more than {MAX_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PreferencesError(path, "not UTF-8", data.count(b"\n", 0, error.start) + 1) from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        found = re.search(r" \(at line (\d+), column \d+\)$", said)
        line = int(found[1]) if found else text.count("\n") + 1
        problem = re.sub(r" \(at [^()]*\)$", "", said)
        raise PreferencesError(path, f"not TOML: {problem}", line) from error


def _agent(path: Path, text: str, tables: dict[str, Any]) -> AgentChoice | None:
    agent = tables.get("agent")
    if agent is None:
        return None
    if not isinstance(agent, dict):
        raise PreferencesError(path, "agent: not a table", _line_of(text, "agent"))
    table: dict[str, Any] = agent  # pyright: ignore[reportUnknownVariableType]  # keys of TOML are strings
    kind, command = table.get("kind"), table.get("command")
    if command is not None and not isinstance(command, str):
        raise PreferencesError(path, "agent.command: not a string", _line_of(text, "command"))
    if kind == "rehearsal":
        return AgentChoice("rehearsal", command)
    if kind != "acp":
        raise PreferencesError(path, f"agent.kind: one of {', '.join(KINDS)}", _line_of(text, "kind"))
    if not command or not command.strip():
        raise PreferencesError(path, "agent.command: missing", _line_of(text, "kind"))
    return AgentChoice("acp", command)


def _theme(path: Path, text: str, tables: dict[str, Any]) -> str | None:
    theme = tables.get("theme")
    if theme is None:
        return None
    if not isinstance(theme, dict):
        raise PreferencesError(path, "theme: not a table", _line_of(text, "theme"))
    table: dict[str, Any] = theme  # pyright: ignore[reportUnknownVariableType]  # keys of TOML are strings
    name = table.get("name")
    if name is not None and not isinstance(name, str):
        raise PreferencesError(path, "theme.name: not a string", _line_of(text, "name"))
    return name


def _line_of(text: str, key: str) -> int | None:
    """The line that names the key, as far as a look at its text tells."""
    found = re.search(rf"(?m)^[^#\n]*\b{key}\b", text)
    return text.count("\n", 0, found.end()) + 1 if found else None


def _write(path: Path, text: str) -> None:
    try:
        # Through a link: the file that it names is replaced, and the link stays.
        path = path.resolve()
        make_folder(path.parent)
        write_whole(path, text.encode(), sync=True)
    except (OSError, UnicodeEncodeError) as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise PreferencesError(path, problem) from error


__all__ = [
    "FILE",
    "AgentChoice",
    "AgentKind",
    "PreferencesError",
    "read_agent",
    "read_theme",
    "write_agent",
    "write_theme",
]
