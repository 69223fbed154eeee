"""A fault of ours: a report in a file that is the user's alone, and a line that says where it is."""

import os
import time
import traceback
from pathlib import Path


def report(error: BaseException, folder: Path) -> str:
    """Write the report of ``error`` into ``folder`` (0600) and give what to say on the plain terminal.

    Where the file cannot be written, what is said holds the report itself, harmlessly.
    """
    text = "".join(traceback.format_exception(error))
    stem = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    path = folder / f"{stem}.txt"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as problem:
        from felan_tui.text.safe import safe

        reason = problem.strerror or str(problem)
        return f"felan ended by a fault of its own ({path} cannot be written: {reason}):\n{safe(text)}"
    return f"felan ended by a fault of its own; the report is in {path}\n`felan -c` goes on."
