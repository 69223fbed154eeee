"""The log of the app: descriptor 2, whoever writes to it, and a new file when it is full."""

import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from felan_core.files.private import open_private

LOG_BYTES: Final = 4 * 1024 * 1024
"""A file of this size becomes ``felan.log.1``, in the place of the one before."""


def write_to(log: Path, limit: int = LOG_BYTES) -> None:
    """Let descriptor 2 write to ``log`` from now on; a full one begins anew. Raises ``OSError``."""
    with suppress(FileNotFoundError):
        found = log.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_size >= limit:
            log.replace(log.with_name(f"{log.name}.1"))
    target = open_private(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 2)
    os.close(target)


class RotatingHandler(logging.StreamHandler[TextIO]):
    """Writes records to descriptor 2, and looks after each whether its file is full."""

    def __init__(self, log: Path, limit: int = LOG_BYTES) -> None:
        super().__init__(sys.stderr)
        self._log = log
        self._limit = limit

    def emit(self, record: logging.LogRecord) -> None:
        """Write it. A log that cannot begin anew goes on as it is."""
        super().emit(record)
        with suppress(OSError):
            if os.fstat(2).st_size >= self._limit:
                write_to(self._log, self._limit)
