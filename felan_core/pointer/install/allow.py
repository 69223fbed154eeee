"""What an agent needs to run the publisher unasked (task pointer §6), added and removed.

Claude Code: the rule `Bash(<publisher>:*)` in `permissions.allow`, with the shell word of the context.
Codex: the state root in `[sandbox_workspace_write] writable_roots` of config.toml.
"""

import re
import tomllib
from typing import Any, cast

from felan_core.pointer.context_text import shell_line
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.jsonfile import Json
from felan_core.pointer.places import publisher_path

TABLE = "sandbox_workspace_write"
ROOTS = "writable_roots"


def rule(folder: str, root: str) -> str:
    """Claude Code's rule for the publisher of a state root."""
    return f"Bash({shell_line([publisher_path(folder, root)])}:*)"


def _rules(config: dict[str, Json], path: str, *, make: bool) -> list[Json] | None:
    permissions = config.setdefault("permissions", {}) if make else config.get("permissions", {})
    if not isinstance(permissions, dict):
        raise InstallError("This is not an object, so the file is left alone.", path, "permissions")
    allow = permissions.setdefault("allow", []) if make else permissions.get("allow")
    if allow is not None and not isinstance(allow, list):
        raise InstallError("This is not an array, so the file is left alone.", path, "permissions.allow")
    return allow


def allow_rule(config: dict[str, Json], folder: str, root: str, path: str) -> None:
    """Adds the rule, unless it is there. Raises InstallError for a wrong type."""
    allow = _rules(config, path, make=True)
    wanted = rule(folder, root)
    if allow is not None and wanted not in allow:
        allow.append(wanted)


def forbid_rules(config: dict[str, Json], folder: str, path: str) -> None:
    """Removes every rule for a publisher of this folder, and what is empty after that."""
    allow = _rules(config, path, make=False)
    if allow is None:
        return
    ours = re.compile(
        r"Bash\(("
        + re.escape(f"{folder}/publish")
        + r"|"
        + re.escape(_opened(folder))
        + r")(-[0-9a-f]{8})?'?:\*\)"
    )
    kept = [one for one in allow if not (isinstance(one, str) and ours.fullmatch(one))]
    if len(kept) == len(allow):
        return
    permissions = cast(dict[str, Json], config["permissions"])
    allow[:] = kept
    if not allow:
        del permissions["allow"]
    if not permissions:
        del config["permissions"]


def _opened(folder: str) -> str:
    """The shell word of a publisher without its last quote."""
    return shell_line([f"{folder}/publish"]).removesuffix("'")


def add_root(data: bytes | None, root: str, path: str) -> bytes:
    """A config.toml in which `root` is writable in the sandbox. Raises InstallError."""
    values = read_toml(data, path)
    if root in writable_roots(values, path):
        return data or b""
    import tomlkit

    document = tomlkit.parse(_text(data, path))
    if TABLE not in document:
        document.add(TABLE, tomlkit.table())
    table: Any = document[TABLE]
    if ROOTS not in table:
        table[ROOTS] = tomlkit.array()
    table[ROOTS].append(root)
    return _checked(document.as_string(), data, path, [*writable_roots(values, path), root])


def remove_root(data: bytes | None, root: str, path: str) -> bytes | None:
    """A config.toml without `root` in the writable folders, and without what is empty after that."""
    values = read_toml(data, path)
    roots = writable_roots(values, path)
    if data is None or root not in roots:
        return data
    import tomlkit

    document = tomlkit.parse(_text(data, path))
    table: Any = document[TABLE]
    table[ROOTS].remove(root)
    left = [one for one in roots if one != root]
    if not left:
        del table[ROOTS]
        if not values[TABLE].keys() - {ROOTS} and "#" not in table.as_string():
            last = [*document][-1] == TABLE
            del document[TABLE]
            text = document.as_string()
            end = "\n" if text.strip() else ""
            return _checked(text.rstrip() + end if last else text, data, path, left)
    return _checked(document.as_string(), data, path, left)


def read_toml(data: bytes | None, path: str) -> dict[str, Any]:
    """The values of a config.toml. Raises InstallError."""
    try:
        return tomllib.loads(_text(data, path))
    except tomllib.TOMLDecodeError as error:
        raise InstallError(f"This is not TOML: {error}.", path) from None


def writable_roots(values: dict[str, Any], path: str) -> list[str]:
    """The writable folders of the sandbox. Raises InstallError for a wrong type."""
    table = values.get(TABLE, {})
    if not isinstance(table, dict):
        raise InstallError("This is not a table, so the file is left alone.", path, TABLE)
    roots = cast(dict[str, Any], table).get(ROOTS, [])
    if not isinstance(roots, list) or not all(isinstance(one, str) for one in cast(list[Any], roots)):
        raise InstallError(
            "This is not an array of strings, so the file is left alone.", path, f"{TABLE}.{ROOTS}"
        )
    return cast(list[str], roots)


def _text(data: bytes | None, path: str) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise InstallError("This is not UTF-8.", path) from None


def _checked(text: str, before: bytes | None, path: str, roots: list[str]) -> bytes:
    """The new file's bytes, if it differs in the writable folders alone."""
    if before is not None and b"\r\n" in before:
        text = re.sub(r"(?<!\r)\n", "\r\n", text)
    data = text.encode("utf-8")
    was, now = read_toml(before, path), read_toml(data, path)
    if writable_roots(now, path) != roots or _others(was) != _others(now):
        raise InstallError("This cannot be changed without changing more of it; do it by hand.", path)
    return data


def _others(values: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in values.items() if name != TABLE}
    table = {name: value for name, value in values.get(TABLE, {}).items() if name != ROOTS}
    return {**others, TABLE: table} if table else others
