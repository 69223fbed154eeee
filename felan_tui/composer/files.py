"""Where the composer keeps what was typed, and how a file is written whole or not at all."""

import contextlib
import os
import re
from pathlib import Path


def project_key(cwd: str) -> str:
    """A file name for a folder: its last part to be recognised by, and a digest to be told apart by."""
    from hashlib import sha256

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", cwd.rstrip("/").rpartition("/")[2])[:40].strip(".-") or "root"
    return f"{name}-{sha256(cwd.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file, with 0600: a reader sees the old one or the new one. OSError."""
    import tempfile  # it loads much that a start has no use for

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
