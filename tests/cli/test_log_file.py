"""The log of the app: private, on descriptor 2, and a new file when one is full."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from felan_tui.cli.log_file import RotatingHandler, write_to


@pytest.fixture
def descriptor_2() -> Iterator[None]:
    kept = os.dup(2)
    yield
    os.dup2(kept, 2)
    os.close(kept)


@pytest.mark.usefixtures("descriptor_2")
def test_a_full_log_begins_anew_and_one_file_before_it_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "felan.log"
    write_to(log, 100)
    with open(2, "w", closefd=False) as stream:
        handler = RotatingHandler(log, 100)
        handler.setStream(stream)
        for number in range(12):
            handler.emit(logging.makeLogRecord({"msg": f"record {number:2} " + "x" * 30}))
        os.write(2, b"and what a library writes\n")
    kept = [path.name for path in sorted(tmp_path.iterdir())]
    assert kept == ["felan.log", "felan.log.1"]
    assert log.read_text() == "and what a library writes\n"
    assert [line.split(" x")[0] for line in (tmp_path / "felan.log.1").read_text().splitlines()] == [
        "record  9", "record 10", "record 11",
    ]  # fmt: skip
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("descriptor_2")
def test_a_start_begins_a_full_log_anew_and_goes_on_in_one_that_is_not(tmp_path: Path) -> None:
    log = tmp_path / "felan.log"
    for expected in (b"ab", b"abab", b"ab"):
        write_to(log, 4)
        os.write(2, b"ab")
        assert log.read_bytes() == expected
    assert (tmp_path / "felan.log.1").read_bytes() == b"abab"
