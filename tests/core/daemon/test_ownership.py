"""One live host a data folder: who comes second is told who was first, and a lock dies with its process."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from felan_core import __version__
from felan_core.daemon.ownership import LOCK_FILE, Held, Holder, LockUnusable, acquire
from tests.house.tree import ROOT

NOW = 1_800_000_000_000

HOLDS = """
import subprocess, sys
from pathlib import Path
from felan_core.daemon.ownership import acquire
owner = acquire(Path(sys.argv[1]), terminal="pts/7 [red]", clock=lambda: 1_700_000_000_000)
child = subprocess.Popen(["sleep", "60"]) if "child" in sys.argv else None
print(child.pid if child else 0, flush=True)
sys.stdin.readline()
"""


def clock() -> int:
    return NOW


@contextmanager
def holding(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Another process that holds the folder, and the pid of a child that it started after that."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder), *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    try:
        yield other, int(other.stdout.readline())
    finally:
        other.kill()
        other.communicate(timeout=30)


def test_who_holds_it_is_in_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    with acquire(tmp_path / "a" / "data", terminal="pts/1", clock=clock) as owner:
        path = tmp_path / "a" / "data" / LOCK_FILE
        assert owner.path == path
        assert msgspec.json.decode(path.read_bytes()) == {
            "pid": os.getpid(),
            "since": NOW,
            "terminal": "pts/1",
            "version": __version__,
        }
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert sorted(path.name for path in path.parent.iterdir()) == [LOCK_FILE]


def test_the_second_is_told_who_was_first_and_since_when(tmp_path: Path) -> None:
    with holding(tmp_path) as (other, _):
        before = (tmp_path / LOCK_FILE).read_bytes()
        with pytest.raises(Held) as raised:
            acquire(tmp_path, terminal="pts/2", clock=clock)
        assert raised.value.holder == Holder(
            pid=other.pid, since=1_700_000_000_000, terminal="pts/7 [red]", version=__version__
        )
        assert str(tmp_path) in str(raised.value)
        assert (tmp_path / LOCK_FILE).read_bytes() == before


def test_the_same_process_is_second_too(tmp_path: Path) -> None:
    with acquire(tmp_path, terminal="pts/1", clock=clock), pytest.raises(Held):
        acquire(tmp_path, terminal="pts/1", clock=clock)


def test_a_released_folder_is_free(tmp_path: Path) -> None:
    owner = acquire(tmp_path, terminal="pts/1", clock=clock)
    assert owner.held
    owner.release()
    owner.release()
    assert not owner.held
    assert (tmp_path / LOCK_FILE).read_bytes() == b""
    acquire(tmp_path, terminal="pts/2", clock=clock).release()


def test_a_killed_holder_holds_nothing_even_while_its_children_live(tmp_path: Path) -> None:
    with holding(tmp_path, "child") as (other, child):
        try:
            os.kill(child, 0)
            other.kill()
            other.wait(30)
            assert b"pts/7" in (tmp_path / LOCK_FILE).read_bytes()
            with acquire(tmp_path, terminal="pts/2", clock=clock) as owner:
                assert msgspec.json.decode((tmp_path / LOCK_FILE).read_bytes())["terminal"] == "pts/2"
                assert owner.held
        finally:
            os.kill(child, 9)


def test_a_fork_does_not_keep_what_its_parent_gives_free(tmp_path: Path) -> None:
    owner = acquire(tmp_path, terminal="pts/1", clock=clock)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, b"held" if owner.held else b"none")
        owner.release()
        os._exit(0)
    try:
        assert os.read(read, 4) == b"none"
        os.waitpid(pid, 0)
        with pytest.raises(Held):
            acquire(tmp_path, terminal="pts/2", clock=clock)
    finally:
        os.close(read)
        os.close(write)
        owner.release()


@pytest.mark.parametrize(
    "said",
    [b"", b"\xff\x00 not json", b'{"pid":1}', b'{"pid":1,"since":1,"terminal":3,"version":""}', b"{" * 9000],
)
def test_a_holder_that_does_not_say_who_it_is_holds_all_the_same(tmp_path: Path, said: bytes) -> None:
    with acquire(tmp_path, terminal="pts/1", clock=clock):
        (tmp_path / LOCK_FILE).write_bytes(said)
        with pytest.raises(Held, match="unknown") as raised:
            acquire(tmp_path, terminal="pts/2", clock=clock)
        assert raised.value.holder is None


def test_what_a_holder_before_left_behind_does_not_stand_for_this_one(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_bytes(b'{"pid":1,"since":1,"terminal":"' + b"x" * 200 + b'","version":"0"}')
    with acquire(tmp_path, terminal="t", clock=clock), pytest.raises(Held) as raised:
        acquire(tmp_path, terminal="pts/2", clock=clock)
    assert raised.value.holder is not None
    assert raised.value.holder.terminal == "t"


def test_a_long_terminal_name_is_cut_and_still_read(tmp_path: Path) -> None:
    with acquire(tmp_path, terminal="é" * 5000, clock=clock), pytest.raises(Held) as raised:
        acquire(tmp_path, terminal="pts/2", clock=clock)
    assert raised.value.holder is not None
    assert raised.value.holder.terminal == "é" * 256


def test_a_symbolic_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / LOCK_FILE).symlink_to(precious)
    with pytest.raises(LockUnusable, match="symbolic link"):
        acquire(tmp_path / "data", terminal="pts/1", clock=clock)
    assert precious.read_text() == "keep me"


def test_another_name_of_a_file_in_its_place_is_not_emptied(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / LOCK_FILE).hardlink_to(precious)
    with pytest.raises(LockUnusable):
        acquire(tmp_path, terminal="pts/1", clock=clock)
    assert precious.read_text() == "keep me"


def test_a_pipe_in_its_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK_FILE)
    with pytest.raises(LockUnusable):
        acquire(tmp_path, terminal="pts/1", clock=clock)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(LockUnusable, match="another data folder"):
        acquire(tmp_path / "data", terminal="pts/1", clock=clock)


NOBODY = 65534


def open_to_all_above(folder: Path) -> None:
    """Let another user reach ``folder``."""
    top = Path(tempfile.gettempdir())
    for above in folder.parents:
        if above.is_relative_to(top) and above != top:
            above.chmod(0o755)


TRIES = """
import os, sys
from pathlib import Path
from felan_core.daemon.ownership import OwnershipError, acquire
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    acquire(Path(sys.argv[1]), terminal="pts/1", clock=lambda: 0)
except OwnershipError as error:
    print(type(error).__name__, error)
"""


def test_a_folder_that_cannot_be_written_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("readonly")
    open_to_all_above(folder)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", TRIES, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
    finally:
        folder.chmod(0o700)
    assert done.stdout.startswith(f"LockUnusable {folder}/{LOCK_FILE} cannot be written"), done
    assert not list(folder.iterdir())


def test_a_folder_of_another_user_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    folder = tmp_path_factory.mktemp("theirs")
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(LockUnusable, match=f"user id {NOBODY}.*another data folder"):
        acquire(folder, terminal="pts/1", clock=clock)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("rights", [0o777, 0o770, 0o722])
def test_a_folder_that_others_can_write_is_refused_and_left(tmp_path: Path, rights: int) -> None:
    tmp_path.chmod(rights)
    with pytest.raises(LockUnusable, match="chmod go-w"):
        acquire(tmp_path, terminal="pts/1", clock=clock)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == rights
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rights", [0o1777, 0o755, 0o750])
def test_the_rights_of_a_folder_that_was_there_stay(tmp_path: Path, rights: int) -> None:
    tmp_path.chmod(rights)
    acquire(tmp_path, terminal="pts/1", clock=clock).release()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == rights


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_what_is_made_is_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    folder = tmp_path / "state" / "felan"
    old = os.umask(mask)
    try:
        acquire(folder, terminal="pts/1", clock=clock).release()
    finally:
        os.umask(old)
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder, folder / LOCK_FILE)}
    assert list(made.values()) == [0o700, 0o700, 0o600]


def test_a_lock_whose_file_was_deleted_or_replaced_is_lost(tmp_path: Path) -> None:
    with acquire(tmp_path, terminal="pts/1", clock=clock) as owner:
        assert owner.lost() == ""
        owner.path.unlink()
        assert "deleted" in owner.lost()
        owner.path.touch()
        assert "replaced" in owner.lost()
