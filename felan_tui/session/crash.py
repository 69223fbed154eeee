"""A fault of ours: a report in a file that is the user's alone, and a line that says where it is."""

import os
import time
import traceback
from pathlib import Path

from felan_core.files.private import open_private


def report(error: BaseException, folder: Path) -> str:
    """Write the report of ``error`` into ``folder`` (0600) and give what to say on the plain terminal.

    Where the file cannot be written, the words hold the report itself. The caller makes them safe.
    """
    from felan_tui.text.safe import safe

    # A person looks at it in a terminal, and an exception may repeat what an agent sent.
    text = safe("".join(traceback.format_exception(error)))
    stem = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    path = folder / f"{stem}.txt"
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        return f"felan ended by a fault of its own ({path} cannot be written: {reason}):\n{text}"
    return f"felan ended by a fault of its own; the report is in {path}\nfelan -c brings the session back."
