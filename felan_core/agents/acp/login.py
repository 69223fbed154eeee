"""What a person can do when an agent requires a login: its own ways, one a line."""

import shlex
from typing import Final

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import label
from felan_core.protocol.base import Json, JsonObject

MAX_WAYS: Final = 16
MAX_NAMES: Final = 8


def ways(methods: list[JsonObject], command: str, data: Json = None) -> str:
    """The ways to log in, as lines of text.

    ``methods``: the agent's ``authMethods``; ``command``: what starts it; ``data``: of its error, where some
    agents repeat their methods (pi, qwen) or name the variables that are missing (codex).
    """
    told = schema.an_object(data)
    lines: list[str] = []
    for way in (methods or schema.objects(told.get("authMethods")))[:MAX_WAYS]:
        name, more = schema.a_string(way.get("name")), schema.a_string(way.get("description"))
        head = name or schema.a_string(way.get("id")) or "a way without a name"
        lines.append(label(f"- {head}: {more}" if more and more != head else f"- {head}"))
        lines += [f"  {label(line)}" for line in _how(way, command)]
    if names := _names(told.get("envVars")):
        lines.append(f"- Set {names} before Felan starts.")
    if lines:
        lines.insert(0, "Ways to log in:")
    else:
        lines.append(
            "The agent names no way to log in: use its own login command, or read its documentation."
        )
    return "\n".join([*lines, "Then send the message again."])


def _how(way: JsonObject, command: str) -> list[str]:
    """The command, the address and the variables of one way, as far as it names them."""
    found: list[str] = []
    meta = schema.an_object(way.get("_meta"))
    if way.get("type") == "terminal":
        found.append(f"run in a terminal: {shlex.join([*_split(command), *_words(way.get('args'))])}")
    elif meta.get("type") == "terminal":
        found.append(f"run in a terminal: {shlex.join([*_split(command), *_words(meta.get('args'))])}")
    elif legacy := schema.an_object(meta.get("terminal-auth")):
        program = schema.a_string(legacy.get("command"))
        if program:
            found.append(f"the agent names the command: {shlex.join([program, *_words(legacy.get('args'))])}")
    names = _names(way.get("vars")) or _names([way.get("varName")])
    if names:
        found.append(f"set {names} before Felan starts")
    for member in ("link", "url"):
        if address := schema.a_string(way.get(member)):
            found.append(f"open {address}")
    return found


def _names(value: Json) -> str:
    """Names of variables, given as texts or as ``{name}``."""
    items: list[Json] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    names = [schema.a_string(one) or schema.a_string(schema.an_object(one).get("name")) for one in items]
    return " or ".join([name for name in names if name][:MAX_NAMES])


def _words(value: Json) -> list[str]:
    items: list[Json] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    return [one for one in items if isinstance(one, str)]


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return [command]
