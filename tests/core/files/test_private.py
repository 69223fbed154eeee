"""Private files and folders: rights under any umask, and what is not a plain file of ours is refused."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from felan_core.files.private import Untrusted, make_folder, open_private, own_folder, write_whole

MASKS = (0o000, 0o027, 0o077, 0o777)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", MASKS)
def test_files_and_folders_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        make_folder(tmp_path / "a" / "b")
        own_folder(tmp_path / "a" / "own")
        os.close(open_private(tmp_path / "a" / "log", os.O_WRONLY | os.O_CREAT))
        write_whole(tmp_path / "a" / "draft", b"x")
    finally:
        os.umask(old)
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/own")] == [0o700] * 3
    assert [mode(tmp_path / name) for name in ("a/log", "a/draft")] == [0o600] * 2


def test_a_folder_of_our_own_name_is_sealed_and_another_left(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    (tmp_path / "history").chmod(0o755)
    own_folder(tmp_path / "history")
    assert mode(tmp_path / "history") == 0o700
    tmp_path.chmod(0o755)
    make_folder(tmp_path)
    assert mode(tmp_path) == 0o755


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("kind", [pipe, device, link_to_a_pipe, folder])
@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT])
def test_what_is_no_plain_file_is_refused_and_never_waited_for(
    tmp_path: Path, kind: Callable[[Path], None], flags: int
) -> None:
    path = tmp_path / "felan.log"
    kind(path)
    with pytest.raises(Untrusted, match="not a plain file"):
        os.close(open_private(path, flags))


def test_a_pipe_that_somebody_reads_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "felan.log"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(Untrusted):
        os.close(open_private(path, os.O_WRONLY))
    assert os.read(reader, 1) == b""
    os.close(reader)
