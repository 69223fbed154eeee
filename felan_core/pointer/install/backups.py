"""What a configuration was before it was changed, and the way back to it byte for byte.

<scripts folder>/backups/<time>-<agent>/manifest.json    the file's path and mode, and whether it was there
<scripts folder>/backups/<time>-<agent>/<file's name>    its bytes, if it was there
"""

import json
import os
import time
from collections.abc import Callable
from typing import Any

from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import private_folder, read_whole, sync_folder, write_whole

MANIFEST = "manifest.json"
_FORMAT = 1
_KIND = "agent configuration"


def save(folder: str, agent: str, path: str, clock: Callable[[], float] = time.time) -> str:
    """Keeps what stands at `path` (no link); the backup's folder."""
    data = read_whole(path)
    backup = new_folder(os.path.join(folder, "backups"), agent, clock)
    manifest = {
        "format": _FORMAT,
        "kind": _KIND,
        "agent": agent,
        "path": path,
        "existed": data is not None,
        "mode": mode_of(path),
        "name": os.path.basename(path),
    }
    if data is not None:
        write_whole(os.path.join(backup, os.path.basename(path)), data, 0o600)
    text = json.dumps(manifest, indent=2) + "\n"
    write_whole(os.path.join(backup, MANIFEST), text.encode("utf-8"), 0o600)
    return backup


def mode_of(path: str, default: int = 0o600) -> int:
    """A file's permissions; `default` where there is none."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return default


def new_folder(parent: str, agent: str, clock: Callable[[], float]) -> str:
    """A folder of its own for one backup, named after the time and what it is for."""
    private_folder(parent)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock()))
    number = 1
    while True:
        name = f"{stamp}-{agent}" if number == 1 else f"{stamp}-{agent}-{number}"
        try:
            os.mkdir(os.path.join(parent, name), 0o700)
        except FileExistsError:
            number += 1
        else:
            return os.path.join(parent, name)


def restore(backup: str, folder: str, clock: Callable[[], float] = time.time) -> tuple[str, str]:
    """(the file that is as it was again, the backup of what stood there until now).

    Raises InstallError where `backup` is none, OSError.
    """
    if os.path.basename(backup) == MANIFEST:
        backup = os.path.dirname(backup)
    backup = os.path.abspath(backup)
    manifest = _manifest(backup)
    path = manifest["path"]
    data = read_whole(os.path.join(backup, manifest["name"])) if manifest["existed"] else None
    if manifest["existed"] and data is None:
        raise InstallError("The backup's copy of the file is gone.", backup, manifest["name"])
    before = save(folder, manifest["agent"], path, clock)
    if data is not None:
        write_whole(path, data, manifest["mode"])
    elif os.path.lexists(path):
        os.unlink(path)
        sync_folder(os.path.dirname(path))
    return path, before


def _manifest(backup: str) -> dict[str, Any]:
    path = os.path.join(backup, MANIFEST)
    raw = read_whole(path) if os.path.isdir(backup) else None
    if raw is None:
        raise InstallError("This is no backup of the installer.", backup)
    try:
        value: Any = json.loads(raw)
        right = (
            value["format"] == _FORMAT
            and value["kind"] == _KIND
            and isinstance(value["path"], str)
            and os.path.isabs(value["path"])
            and isinstance(value["name"], str)
            and os.path.basename(value["name"]) == value["name"] != ""
            and isinstance(value["existed"], bool)
            and type(value["mode"]) is int
            and isinstance(value["agent"], str)
            and os.path.basename(value["agent"]) == value["agent"] != ""
        )
    except (ValueError, LookupError, TypeError):
        right = False
        value = {}
    if not right:
        raise InstallError("The manifest is not one of the installer's.", path)
    return value
