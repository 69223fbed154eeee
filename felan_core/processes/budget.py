"""What the spools of a host may occupy together: the outputs that ended longest ago give way first."""

import os
from collections.abc import Collection
from pathlib import Path

from felan_core.processes.spool import SUFFIX, Spool

SPOOLS_BYTES = 1024 * 1024 * 1024


def over_budget(root: Path, running: Collection[Path], budget: int) -> list[Path]:
    """The folders of ended processes in `root` whose output has to go, the oldest first. Blocks."""
    sizes: dict[Path, tuple[float, int]] = {}
    try:
        folders = [Path(entry.path) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    for folder in folders:
        newest, size = 0.0, 0
        try:
            for entry in os.scandir(folder):
                if entry.name.endswith(SUFFIX):
                    status = entry.stat(follow_symlinks=False)
                    newest, size = max(newest, status.st_mtime), size + status.st_size
        except OSError:
            continue
        sizes[folder] = newest, size
    total = sum(size for _, size in sizes.values())
    gone: list[Path] = []
    for folder in sorted(sizes, key=lambda one: sizes[one][0]):
        if total <= budget:
            break
        if folder not in running and sizes[folder][1]:
            gone.append(folder)
            total -= sizes[folder][1]
    return gone


def drop(folder: Path) -> None:
    """Delete the output in `folder`, of a process that nobody has open. Blocks."""
    Spool.open(folder).drop_output()
