"""What configurations were before they were changed, and the way back to them byte for byte.

<scripts folder>/backups/<time>-<agent>/manifest.json    each file's path and mode, and whether it was there
<scripts folder>/backups/<time>-<agent>/<file's name>    its bytes, if it was there
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.files import private_folder, read_whole, sync_folder, write_whole

MANIFEST = "manifest.json"
_FORMAT = 2
_KIND = "agent configuration"


def save(folder: str, agent: str, paths: Sequence[str], clock: Callable[[], float] = time.time) -> str:
    """Keeps what is at the paths (no links, no two of one name) now; the backup's folder."""
    backup = new_folder(os.path.join(folder, "backups"), agent, clock)
    files: list[dict[str, Any]] = []
    for path in paths:
        data = read_whole(path)
        name = os.path.basename(path)
        files.append({"path": path, "existed": data is not None, "mode": mode_of(path), "name": name})
        if data is not None:
            write_whole(os.path.join(backup, name), data, 0o600)
    manifest = {"format": _FORMAT, "kind": _KIND, "agent": agent, "files": files}
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


def restore(backup: str, folder: str, clock: Callable[[], float] = time.time) -> tuple[list[str], str]:
    """(the files that are as they were again, the backup of what was there until now).

    Raises InstallError where `backup` is none, OSError.
    """
    if os.path.basename(backup) == MANIFEST:
        backup = os.path.dirname(backup)
    backup = os.path.abspath(backup)
    agent, files = _manifest(backup)
    whole: list[tuple[dict[str, Any], bytes | None]] = []
    for one in files:
        data = read_whole(os.path.join(backup, one["name"])) if one["existed"] else None
        if one["existed"] and data is None:
            raise InstallError("The backup's copy of the file is gone.", backup, one["name"])
        whole.append((one, data))
    before = save(folder, agent, [one["path"] for one in files], clock)
    for one, data in whole:
        put_back(one["path"], data, one["mode"])
    return [one["path"] for one in files], before


def put_back(path: str, data: bytes | None, mode: int) -> None:
    """Makes a file what it was; `data` None where there was none. Raises OSError."""
    if data is not None:
        write_whole(path, data, mode)
    elif os.path.lexists(path):
        os.unlink(path)
        sync_folder(os.path.dirname(path))


def _manifest(backup: str) -> tuple[Any, Any]:
    """(the agent's name, the files) of a backup; the first format had one file."""
    path = os.path.join(backup, MANIFEST)
    raw = read_whole(path) if os.path.isdir(backup) else None
    if raw is None:
        raise InstallError("This is no backup of the installer.", backup)
    agent: Any = ""
    files: Any = []
    try:
        value: Any = json.loads(raw)
        agent = value["agent"]
        files = value["files"] if value["format"] == _FORMAT else [value]
        right = (
            value["format"] in (1, _FORMAT)
            and value["kind"] == _KIND
            and isinstance(agent, str)
            and os.path.basename(agent) == agent != ""
            and _are_files(files)
        )
    except (ValueError, LookupError, TypeError):
        right = False
    if not right:
        raise InstallError("The manifest is not one of the installer's.", path)
    return agent, files


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(_is_file(one) for one in cast(list[Any], value))


def _is_file(value: Any) -> bool:
    return (
        isinstance(value["path"], str)
        and os.path.isabs(value["path"])
        and isinstance(value["name"], str)
        and os.path.basename(value["name"]) == value["name"] != ""
        and isinstance(value["existed"], bool)
        and type(value["mode"]) is int
    )
