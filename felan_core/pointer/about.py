"""Which folder and which agent a session belongs to: `about.json` beside its state (task pointer §3).

It is never part of the state, for `list` and the hand-over alone. A hook that writes a state keeps it; no
prompt waits for it or fails with it.
"""

from __future__ import annotations

import os

from felan_core.pointer.errors import PointerError
from felan_core.pointer.strictjson import dump_text, parse_object
from felan_core.pointer.values import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

ABOUT_NAME = "about.json"
_MAX_BYTES = 16384
_TEMP_NAME = ".about.tmp"  # of two writers at once one gives up, and the next prompt writes it
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class About:
    """`folder` is an absolute path, `agent` a name as `--agent` has it; each None where it is not known."""

    __slots__ = ("agent", "folder")

    def __init__(self, folder: str | None, agent: str | None) -> None:
        self.folder = folder
        self.agent = agent


def remember(root: str, session_id: str, folder: object, agent: str | None) -> None:
    """Writes the session's facts beside its state. Never raises."""
    about = About(folder if _is_folder(folder) else None, agent)
    if about.folder is None and about.agent is None:
        return
    try:
        opened = os.open(f"{root}/{session_id}", _FOLDER)
        try:
            data = _bytes(about)
            if _read(opened) != data:
                _write(opened, data)
        finally:
            os.close(opened)
    except (OSError, ValueError):
        pass


def read_about(root: str, session_id: str) -> About:
    """The stored facts of a session; a damaged file counts as empty."""
    try:
        opened = os.open(f"{root}/{session_id}", _FOLDER)
        try:
            data = _read(opened)
            members = parse_object(data, "ABOUT", _MAX_BYTES) if data else {}
        finally:
            os.close(opened)
    except (OSError, ValueError, PointerError):
        return About(None, None)
    folder, agent = members.get("folder"), members.get("agent")
    return About(
        folder if _is_folder(folder) else None,
        agent if is_session_id(agent) else None,
    )


def _is_folder(value: object) -> TypeGuard[str]:
    return type(value) is str and value.startswith("/") and "\0" not in value and len(value) <= 4096


def _bytes(about: About) -> bytes:
    members = {"folder": about.folder, "agent": about.agent}
    rows = [f'"{name}": {dump_text(value)}' for name, value in members.items() if value is not None]
    return ("{" + ", ".join(rows) + "}\n").encode("utf-8")


def _read(folder: int) -> bytes:
    try:
        opened = os.open(ABOUT_NAME, os.O_RDONLY | _FILE, dir_fd=folder)
    except FileNotFoundError:
        return b""
    try:
        return os.read(opened, _MAX_BYTES + 1)
    finally:
        os.close(opened)


def _write(folder: int, data: bytes) -> None:
    try:  # noqa: SIM105 # contextlib costs more to import than all of this
        os.unlink(_TEMP_NAME, dir_fd=folder)
    except FileNotFoundError:
        pass
    opened = os.open(_TEMP_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
    try:
        os.write(opened, data)
    finally:
        os.close(opened)
    os.replace(_TEMP_NAME, ABOUT_NAME, src_dir_fd=folder, dst_dir_fd=folder)
