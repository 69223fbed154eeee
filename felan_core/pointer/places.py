"""Where Felan keeps its pointers, and the scripts that agents call (task pointer §1).

The folders are those of platformdirs, written out: the two commands that every prompt waits for run without
site-packages, and a test holds the two together.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT_VARIABLE = "FELAN_POINTER_ROOT"
DATA_VARIABLE = "FELAN_DATA_DIR"


def data_folder(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    """Felan's own folder: `FELAN_DATA_DIR`, else the user's state folder."""
    named = env.get(DATA_VARIABLE)
    if named:
        return os.path.abspath(named)
    if platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/felan")
    base = env.get("XDG_STATE_HOME", "")
    return f"{base if base.strip() else os.path.expanduser('~/.local/state')}/felan"


def state_root(named: str | None, data: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """The state root: the one that is named, else `FELAN_POINTER_ROOT`, else the one in Felan's folder."""
    if named is not None:
        return named
    return env.get(ROOT_VARIABLE) or f"{data or data_folder(env)}/task-pointers/v3"


def v1_folder(data: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """Where envelopes of schema v1 are looked for."""
    return f"{data or data_folder(env)}/task-pointers/v1"


def publisher_path(folder: str, root: str) -> str:
    """The executable that publishes into `root`; `folder` is the one of the scripts.

    Agents allow it by its path, so it is short, and each state root has its own.
    """
    if root == f"{os.path.dirname(folder)}/task-pointers/v3":
        return f"{folder}/publish"
    from binascii import crc32

    return f"{folder}/publish-{crc32(os.fsencode(root)):08x}"


def scripts_folder(data: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """Where the installer puts the scripts that agents call, and its backups."""
    return f"{data or data_folder(env)}/pointer"
