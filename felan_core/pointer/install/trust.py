"""Codex's review of hooks: what it keeps in its config.toml, read and never written.

A hook is trusted by its place (file, event, group, handler) and by a hash of its definition.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Literal

from felan_core.pointer.install.files import read_whole
from felan_core.pointer.install.jsonfile import Json, Number

Trust = Literal["trusted", "untrusted", "modified", "disabled"]


def definition_hash(event: str, handler: Mapping[str, Json], matcher: Json = None) -> str:
    """Codex's hash of a command hook, as its own review writes it."""
    timeout = handler.get("timeout")
    seconds = int(timeout) if isinstance(timeout, Number) else 600
    normal: dict[str, Any] = {
        "type": "command",
        "command": handler["command"],
        "timeout": max(1, seconds),
        "async": handler.get("async", False),
    }
    for name in ("statusMessage", "additionalContextLimit"):
        value = handler.get(name)
        if value is not None and not (name == "additionalContextLimit" and event == "PreCompact"):
            normal[name] = int(value) if isinstance(value, Number) else value
    identity: dict[str, Any] = {"event_name": _snake(event), "hooks": [normal]}
    if matcher is not None and event != "UserPromptSubmit":
        identity["matcher"] = matcher
    raw = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()


def key(path: str, event: str, group: int, index: int) -> str:
    """Under which the review of a hook stands; `path` is the hooks.json as Codex names it."""
    return f"{path}:{_snake(event)}:{group}:{index}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()


def file_name(home: str, env: Mapping[str, str] = os.environ) -> str:
    """The hooks.json as Codex names it: its home resolved, unless it is the default one."""
    default = os.path.expanduser("~/.codex")
    resolved = (
        home if os.path.abspath(home) == default and not env.get("CODEX_HOME") else os.path.realpath(home)
    )
    return os.path.join(resolved, "hooks.json")


class CodexSettings:
    """The parts of config.toml that say whether a hook runs. One that cannot be read trusts nothing."""

    def __init__(self, home: str) -> None:
        self.fault: str | None = None
        value: dict[str, Any] = {}
        try:
            value = tomllib.loads((read_whole(os.path.join(home, "config.toml")) or b"").decode("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.fault = str(error)
        self.values = value
        features = value.get("features")
        hooks = value.get("hooks")
        self.off = isinstance(features, dict) and features.get("hooks") is False  # pyright: ignore[reportUnknownMemberType]
        state: Any = hooks.get("state") if isinstance(hooks, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self._state: dict[str, Any] = state if isinstance(state, dict) else {}

    def trust(self, name: str, wanted: str) -> Trust:
        """What Codex would make of a hook with this key and this hash."""
        entry: Any = self._state.get(name)
        if not isinstance(entry, dict) or "trusted_hash" not in entry:
            return "untrusted"
        if entry["trusted_hash"] != wanted:
            return "modified"
        return "disabled" if entry.get("enabled") is False else "trusted"  # pyright: ignore[reportUnknownMemberType]
