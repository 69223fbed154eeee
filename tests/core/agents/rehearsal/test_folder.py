import errno
import os
import stat
from pathlib import Path

import pytest

from felan_core.agents.rehearsal.folder import MAX_BYTES, FileCalls, FileChanged, FileRefused, Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return root


def names(root: Path) -> list[str]:
    return sorted(str(one.relative_to(root)) for one in root.rglob("*"))


def test_a_file_is_written_read_and_deleted(root: Path) -> None:
    folder = Folder(str(root))
    folder.write("sub/a.txt", None, "one\r\n")
    assert (root / "sub/a.txt").read_bytes() == b"one\r\n"
    assert folder.read("sub/a.txt") == "one\r\n"
    folder.write("./sub//a.txt", "one\r\n", "two")
    folder.delete("sub/a.txt", "two")
    assert folder.read("sub/a.txt") is None
    assert folder.read("nowhere/a.txt") is None
    assert names(root) == ["sub"]


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "..",
        "/etc/passwd",
        "",
        ".",
        "sub/",
        "a\0b",
        "sub/..",
    ],
)
def test_no_path_leads_out_of_the_folder(root: Path, path: str) -> None:
    folder = Folder(str(root))
    for work in (
        lambda: folder.read(path),
        lambda: folder.write(path, None, "x"),
        lambda: folder.write(path, "secret", "x"),
        lambda: folder.delete(path, "secret"),
        lambda: folder.free_name(path),
    ):
        with pytest.raises(FileRefused):
            work()
    assert (root.parent / "outside/secret.txt").read_text() == "secret"
    assert names(root) == ["sub"]


@pytest.mark.parametrize("target", ["../outside/secret.txt", "inside.txt"])
def test_no_symbolic_link_is_followed(root: Path, target: str) -> None:
    (root / "inside.txt").write_text("secret")
    (root / "link.txt").symlink_to(target)
    (root / "away").symlink_to("../outside")
    folder = Folder(str(root))
    for path in ("link.txt", "away/secret.txt", "away/new.txt"):
        with pytest.raises(FileRefused, match="symbolic link"):
            folder.read(path)
        for old in (None, "secret"):
            with pytest.raises(FileRefused, match="symbolic link"):
                folder.write(path, old, "x")
        with pytest.raises(FileRefused, match="symbolic link"):
            folder.delete(path, "secret")
    assert (root.parent / "outside/secret.txt").read_text() == "secret"
    assert os.listdir(root.parent / "outside") == ["secret.txt"]


def test_a_session_folder_that_is_itself_a_link_is_used(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    Folder(str(root.parent / "alias")).write("a", None, "x")
    assert (root / "a").read_text() == "x"


def test_a_file_that_changed_is_left_as_it_is(root: Path) -> None:
    folder = Folder(str(root))
    (root / "a").write_text("theirs")
    with pytest.raises(FileChanged, match="changed meanwhile"):
        folder.write("a", "mine", "new")
    with pytest.raises(FileChanged, match="by now"):
        folder.write("a", None, "new")
    with pytest.raises(FileChanged, match="changed meanwhile"):
        folder.delete("a", "mine")
    with pytest.raises(FileChanged, match="is gone"):
        folder.write("b", "mine", "new")
    assert (root / "a").read_text() == "theirs"
    assert names(root) == ["a", "sub"]


def test_a_file_that_appears_in_the_last_moment_is_not_overwritten(root: Path) -> None:
    def late(*args: object, **keywords: object) -> None:
        (root / "a").write_text("theirs")
        os.link(*args, **keywords)  # type: ignore[arg-type]

    with pytest.raises(FileChanged):
        Folder(str(root), FileCalls(link=late)).write("a", None, "mine")
    assert (root / "a").read_text() == "theirs"
    assert names(root) == ["a", "sub"]


def test_a_file_system_without_hard_links_is_written_too(root: Path) -> None:
    def no_links(*args: object, **keywords: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    Folder(str(root), FileCalls(link=no_links)).write("a", None, "mine")
    assert names(root) == ["a", "sub"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_on_the_way_leaves_the_old_file_and_nothing_else(root: Path, failing: str) -> None:
    def full(*args: object, **keywords: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (root / "a").write_text("old")
    with pytest.raises(FileRefused, match="no space left"):
        Folder(str(root), FileCalls(**{failing: full})).write("a", "old", "new")
    assert (root / "a").read_text() == "old"
    assert names(root) == ["a", "sub"]


def test_the_mode_of_a_file_is_kept(root: Path) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o751)
    Folder(str(root)).write("run.sh", "old", "new")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    (root / "run.sh").chmod(0o444)
    with pytest.raises(FileRefused, match="read-only"):
        Folder(str(root)).write("run.sh", "new", "newer")


def test_what_is_no_text_file_is_refused(root: Path) -> None:
    folder = Folder(str(root))
    (root / "binary").write_bytes(b"\xff\xfe")
    (root / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    os.mkfifo(root / "pipe")
    for path, why in (("binary", "UTF-8"), ("large", "larger"), ("pipe", "regular"), ("sub", "a folder")):
        with pytest.raises(FileRefused, match=why):
            folder.read(path)
    with pytest.raises(FileRefused, match="larger"):
        folder.write("new", None, "x" * (MAX_BYTES + 1))


def test_the_next_free_name_counts_before_the_suffix(root: Path) -> None:
    folder = Folder(str(root))
    assert folder.free_name("sub/a.tar.gz") == "sub/a.tar.gz"
    (root / "sub/a.tar.gz").write_text("")
    (root / "sub/a.tar-2.gz").symlink_to("nowhere")
    assert folder.free_name("sub/a.tar.gz") == "sub/a.tar-3.gz"
