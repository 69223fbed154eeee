"""Which configurations were installed into, and with which state root: `installs.json` beside the scripts."""

import json
import os
from dataclasses import dataclass
from typing import Any

from felan_core.pointer.install.files import read_whole, write_whole

_NAME = "installs.json"


@dataclass(frozen=True)
class Install:
    """`path` is the configuration as the agent knows it; `state_root` is None in a record before 0.2."""

    agent: str
    path: str
    state_root: str | None = None


def read(folder: str) -> list[Install]:
    """What is recorded; nothing where the record cannot be read."""
    try:
        value: Any = json.loads(read_whole(os.path.join(folder, _NAME)) or b"[]")
        return [Install(str(one["agent"]), str(one["path"]), _root(one.get("state_root"))) for one in value]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _root(value: object) -> str | None:
    return value if isinstance(value, str) and os.path.isabs(value) else None


def write(folder: str, installs: list[Install]) -> None:
    """Records them, unless they are recorded already. Raises OSError."""
    if installs == read(folder):
        return
    value = [{"agent": one.agent, "path": one.path, "state_root": one.state_root} for one in installs]
    text = json.dumps(value, indent=2) + "\n"
    write_whole(os.path.join(folder, _NAME), text.encode("utf-8"), 0o600)


def roots(folder: str) -> list[str]:
    """The state roots of the installations, each once."""
    found = [one.state_root for one in read(folder) if one.state_root is not None]
    return list(dict.fromkeys(found))
