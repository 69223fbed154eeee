"""Whether the data folder is still the one that was opened: by its device and its inode.

A folder that was deleted or replaced takes every further write without an error and keeps none of them.
"""

import os
from pathlib import Path
from typing import Final

Identity = tuple[int, int]
LOOK_SECONDS: Final = 1.0
"""Seconds between two looks, so that a loss is noticed within two."""


class Presence:
    """The folder and the files whose identity counts. ``lost`` names the one that is gone.

    The folder is kept open: its inode cannot become that of a folder that takes its place.
    """

    def __init__(self, folder: Path, *files: Path) -> None:
        """Remember what the paths are now; the caller keeps ``files`` open. Raises ``OSError``."""
        self._folder: int | None = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._known: dict[Path, Identity] = {path: _identity(os.stat(path)) for path in (folder, *files)}

    def close(self) -> None:
        """Close the folder. Twice is no error."""
        folder, self._folder = self._folder, None
        if folder is not None:
            os.close(folder)

    def lost(self) -> str:
        """Why the folder is not the one that was opened, in one sentence; "" while it is. Blocks."""
        for path, known in self._known.items():
            try:
                found = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                return f"{path} was deleted or moved while Felan runs."
            except OSError:
                continue  # a file system that does not answer now may answer later
            if _identity(found) != known:
                return f"{path} was replaced while Felan runs."
        return ""


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
