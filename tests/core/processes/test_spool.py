"""Absolute offsets over segment files, whatever the sizes; what is dropped, what a full disk does."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.processes.errors import DuplicateProcess, OffsetPastEnd, SpoolUnavailable
from felan_core.processes.spool import FileOps, Spool


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bytes_come_back_across_segments(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a", segment=10, retain=1000)
    spool.append(b"abcdefghijklmnopqrstuvwxyz")
    assert (spool.start, spool.end) == (0, 26)
    assert spool.read(0, 100) == (0, b"abcdefghijklmnopqrstuvwxyz")
    assert spool.read(8, 4) == (8, b"ijkl")
    assert spool.read(26, 4) == (26, b"")
    assert names(tmp_path / "a") == [f"{at:020d}.out" for at in (0, 10, 20)]


def test_the_oldest_whole_segment_is_dropped_past_the_cap(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a", segment=10, retain=30)
    for letter in b"abcdef":
        spool.append(bytes([letter]) * 7)
    assert (spool.start, spool.end) == (20, 42)
    assert spool.read(0, 100) == (20, b"c" + b"d" * 7 + b"e" * 7 + b"f" * 7)
    assert len(names(tmp_path / "a")) == 3


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_is_refused(tmp_path: Path, offset: int) -> None:
    spool = Spool.create(tmp_path / "a")
    spool.append(b"abc")
    with pytest.raises(OffsetPastEnd):
        spool.read(offset, 1)


def test_nobody_else_may_look_into_it(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "root" / "a")
    spool.append(b"x")
    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "root" / "a").stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "root" / "a").iterdir()] == [0o600]


def test_a_folder_is_never_used_twice(tmp_path: Path) -> None:
    Spool.create(tmp_path / "a").append(b"x")
    with pytest.raises(DuplicateProcess):
        Spool.create(tmp_path / "a")


def test_a_folder_that_cannot_be_made_is_named_as_that(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolUnavailable):
        Spool.create(tmp_path / "file" / "a")


def test_an_old_spool_opens_with_the_offsets_it_had(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a", segment=10, retain=20)
    spool.append(b"0123456789" * 4 + b"end")
    spool.seal()
    again = Spool.open(tmp_path / "a")
    assert (again.start, again.end) == (spool.start, spool.end) == (30, 43)
    assert again.read(0, 100) == (30, b"0123456789end")


def test_a_hole_in_an_old_spool_hides_what_lies_before_it(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a", segment=10, retain=1000)
    spool.append(b"0123456789" * 3)
    (tmp_path / "a" / f"{10:020d}.out").unlink()
    again = Spool.open(tmp_path / "a")
    assert (again.start, again.end) == (20, 30)


def test_a_spool_that_is_gone_counts_as_dropped_whole(tmp_path: Path) -> None:
    again = Spool.open(tmp_path / "none", 17)
    assert (again.start, again.end) == (17, 17)
    assert again.read(3, 10) == (17, b"")


def test_strange_files_in_the_folder_are_not_read(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a")
    spool.append(b"abc")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a" / "00000000000000000003.out").symlink_to(tmp_path / "secret")
    (tmp_path / "a" / "identity.json").write_text("{}")
    (tmp_path / "a" / "x.out").write_text("x")
    assert Spool.open(tmp_path / "a").read(0, 100) == (0, b"abc")


def test_files_taken_away_by_somebody_else_are_skipped_not_fatal(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path / "a", segment=10, retain=1000)
    spool.append(b"0123456789abcdefghij")
    (tmp_path / "a" / f"{0:020d}.out").unlink()
    assert spool.read(2, 100) == (10, b"abcdefghij")
    os.truncate(tmp_path / "a" / f"{10:020d}.out", 0)
    spool.append(b"next")
    assert spool.read(12, 100) == (20, b"next")


class Disk:
    """Takes `room` bytes, then is full."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, fd: int, data: memoryview) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        taken = os.write(fd, data[: self.room])
        self.room -= taken
        return taken


def test_a_full_disk_loses_the_oldest_first_then_says_how_much_it_missed(tmp_path: Path) -> None:
    disk = Disk(25)
    spool = Spool.create(tmp_path / "a", segment=10, retain=1000, files=FileOps(write=disk.write))
    spool.append(b"0123456789abcdefghij")
    spool.append(b"12345" + b"lost")
    assert (spool.start, spool.end) == (20, 25)
    spool.append(b"lost too")
    assert spool.end == 25
    disk.room = 1000
    spool.append(b"again")
    assert spool.read(0, 1000) == (
        20,
        b"12345\r\n[12 bytes of output are missing here: the disk took no more]\r\nagain",
    )


def test_an_error_that_no_room_would_cure_keeps_what_there_is(tmp_path: Path) -> None:
    allowed = [2]

    def open_few(path: str, flags: int, mode: int) -> int:
        if not allowed[0]:
            raise OSError(errno.EMFILE, "too many open files")
        allowed[0] -= 1
        return os.open(path, flags, mode)

    spool = Spool.create(tmp_path / "a", segment=10, retain=1000, files=FileOps(open=open_few))
    spool.append(b"0123456789abcdefghijKLM")
    assert (spool.start, spool.end) == (0, 20)
    allowed[0] = 1000
    spool.append(b"NOP")
    assert spool.read(0, 20) == (0, b"0123456789abcdefghij")
    assert spool.read(20, 1000)[1].endswith(
        b"[3 bytes of output are missing here: the disk took no more]\r\nNOP"
    )


def short_writes(size: int) -> Callable[[int, memoryview], int]:
    return lambda fd, data: os.write(fd, data[:size])


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=20),
    segment=st.integers(1, 16),
    retain=st.integers(1, 80),
    short=st.integers(1, 50),
    reads=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 100)), min_size=1, max_size=8),
)
def test_every_read_is_a_piece_of_all_that_was_written(
    pieces: list[bytes], segment: int, retain: int, short: int, reads: list[tuple[float, int]]
) -> None:
    with TemporaryDirectory() as root:
        folder = Path(root) / "a"
        spool = Spool.create(folder, segment=segment, retain=retain, files=FileOps(write=short_writes(short)))
        written = b""
        for piece in pieces:
            spool.append(piece)
            written += piece
            assert spool.end == len(written)
            assert spool.end - spool.start <= max(retain, segment)
            assert spool.end - spool.start >= min(len(written), retain - segment)
        spool.seal()
        for one in (spool, Spool.open(folder)):
            assert (one.start, one.end) == (spool.start, len(written))
            for share, limit in reads:
                offset = int(share * len(written))
                at, data = one.read(offset, limit)
                assert at == max(offset, one.start)
                assert data == written[at : at + limit]
