"""Which process a folder belongs to, kept in it before the process runs on, so that a later host finds it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from felan_core.processes import kernel
from felan_core.processes.tree import ProcessTree

NAME = "identity.json"
VERSION = 1


def save(folder: Path, pid: int, marker: str) -> None:
    """Write it, mode 0600, whole or not at all.

    A process that has gone already gets none. Blocks for a moment.
    """
    found = kernel.member(pid)
    if found is None:
        return
    content = json.dumps({"version": VERSION, "pid": pid, "started": found.started, "marker": marker})
    fresh = folder / f"{NAME}.new"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(content)
    fresh.replace(folder / NAME)


def load(folder: Path) -> ProcessTree | None:
    """The tree that the file names, still to be proved by a survey; None without a file that makes sense."""
    try:
        raw: object = json.loads((folder / NAME).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict):
        return None
    content = cast("Mapping[str, object]", raw)
    pid, started, marker = content.get("pid"), content.get("started"), content.get("marker")
    if content.get("version") != VERSION or not isinstance(started, str) or not isinstance(marker, str):
        return None
    if type(pid) is not int or pid <= 1 or "=" not in marker:
        return None
    return ProcessTree(pid, marker, [(pid, started)])
