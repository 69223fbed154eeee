"""The advice fits the error."""

import errno
import os
from pathlib import Path

import pytest

from felan_core.files.advice import unwritable

FITS = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "quota",
    errno.EROFS: "read-only",
    errno.EACCES: "right to write",
    errno.EPERM: "right to write",
    errno.EEXIST: "move away",
    errno.ENOTDIR: "move away",
    errno.EMFILE: "ulimit -n",
    errno.ENFILE: "ulimit -n",
    errno.EFBIG: "ulimit -f",
    errno.EIO: "check it",
    errno.ELOOP: "symbolic link",
    errno.EDOM: "look at the disk",
}


@pytest.mark.parametrize("number", FITS, ids=lambda number: errno.errorcode[number])
def test_the_advice_fits_the_error(number: int) -> None:
    said = unwritable(Path("/some/data"), OSError(number, os.strerror(number)))
    assert said.startswith(f"/some/data cannot be written ({os.strerror(number)}): ")
    assert FITS[number] in said
    assert number in (errno.EACCES, errno.EPERM) or "right to write" not in said
