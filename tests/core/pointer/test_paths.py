"""Where a state root may not be used, or cannot be: the code of the spec, and everything as it was (§1)."""

import os
import socket
import stat
from pathlib import Path

import pytest

from felan_core.pointer import FileOps, PointerError, PointerStore
from felan_core.pointer.store import absolute
from tests.core.pointer.support import (
    SESSION,
    TASK,
    as_json,
    in_child,
    make_store,
    place_state,
    state_members,
)

NOBODY = 65534


def codes(store: PointerStore) -> list[str]:
    """The codes of a read and of each kind of write."""
    found: list[str] = []
    for act in (
        lambda: store.read(SESSION),
        lambda: store.prompt(SESSION),
        lambda: store.clear(SESSION),
        lambda: store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "text"),
    ):
        try:
            act()
        except PointerError as error:
            found.append(error.code)
        else:
            found.append("")
    return found


def test_folders_and_files_are_private(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        make_store(tmp_path / "above" / "root").prompt(SESSION)
    finally:
        os.umask(previous)
    for name in ("above", "above/root", f"above/root/{SESSION}"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    for name in ("state.json", ".lock"):
        assert stat.S_IMODE((tmp_path / "above" / "root" / SESSION / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("tail", ["", "/", "//", "/.", "/./"])
def test_a_symlinked_root_is_refused_however_it_is_spelled(tmp_path: Path, tail: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert codes(make_store(f"{tmp_path}/link{tail}")) == ["PATH_UNSAFE"] * 4
    assert list((tmp_path / "real").iterdir()) == []


def test_a_symlink_above_the_root_is_nobodys_concern(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make_store(tmp_path / "link" / "root").prompt(SESSION)
    assert (tmp_path / "real" / "root" / SESSION / "state.json").is_file()


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symlinked_session_folder_is_refused(tmp_path: Path, dangling: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    if not dangling:
        elsewhere.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / SESSION).symlink_to(elsewhere)
    assert codes(make_store(root)) == ["PATH_UNSAFE"] * 4
    assert not dangling or not elsewhere.exists()
    assert dangling or list(elsewhere.iterdir()) == []


def test_a_dangling_symlink_as_root_is_refused_and_nothing_is_made_behind_it(tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to(tmp_path / "behind")
    assert codes(make_store(tmp_path / "root")) == ["PATH_UNSAFE"] * 4
    assert not (tmp_path / "behind").exists()


def test_a_symlinked_state_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_bytes(as_json(state_members()))
    (tmp_path / "root" / SESSION).mkdir(parents=True)
    link = tmp_path / "root" / SESSION / "state.json"
    link.symlink_to(target)
    assert codes(make_store(tmp_path / "root")) == ["PATH_UNSAFE"] * 4
    assert link.is_symlink()
    assert target.read_bytes() == as_json(state_members())


def place_fifo(path: Path) -> None:
    os.mkfifo(path)


def place_folder(path: Path) -> None:
    path.mkdir()


def place_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


each_kind = pytest.mark.parametrize("place", [place_fifo, place_folder, place_socket])


@each_kind
def test_what_is_no_file_in_the_states_place_is_refused_at_once(tmp_path: Path, place: object) -> None:
    (tmp_path / SESSION).mkdir()
    place(tmp_path / SESSION / "state.json")  # pyright: ignore[reportCallIssue]
    assert codes(make_store(tmp_path)) == ["PATH_UNSAFE"] * 4


@each_kind
def test_what_is_no_file_in_the_locks_place_is_refused_at_once(tmp_path: Path, place: object) -> None:
    path = place_state(tmp_path, as_json(state_members()))
    place(tmp_path / SESSION / ".lock")  # pyright: ignore[reportCallIssue]
    assert codes(make_store(tmp_path)) == ["", "PATH_UNSAFE", "PATH_UNSAFE", "PATH_UNSAFE"]
    assert Path(path).read_bytes() == as_json(state_members())


def test_a_symlinked_lock_is_refused(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    (tmp_path / SESSION / ".lock").symlink_to(tmp_path / "behind")
    assert codes(make_store(tmp_path)) == ["", "PATH_UNSAFE", "PATH_UNSAFE", "PATH_UNSAFE"]
    assert not (tmp_path / "behind").exists()


@pytest.mark.parametrize("where", ["root", f"root/{SESSION}"])
def test_a_file_in_a_folders_place_is_refused(tmp_path: Path, where: str) -> None:
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    assert codes(make_store(tmp_path / "root")) == ["PATH_UNSAFE"] * 4
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_session_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))

    class Foreign(FileOps):
        def fstat(self, descriptor: int) -> os.stat_result:
            found = super().fstat(descriptor)
            fields = list(found)
            fields[stat.ST_UID] = os.geteuid() + 1
            return os.stat_result(fields) if stat.S_ISDIR(found.st_mode) else found

    assert codes(make_store(tmp_path, Foreign())) == ["PATH_UNSAFE"] * 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_session_folder_that_was_given_away_is_refused(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    os.chown(tmp_path / SESSION, NOBODY, NOBODY)
    assert codes(make_store(tmp_path)) == ["PATH_UNSAFE"] * 4


def as_somebody(act: object) -> int:
    """Runs `act` in a process that permissions hold for, also where the tests run as root."""

    def run() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        act()  # pyright: ignore[reportCallIssue]

    return in_child(run)


def test_a_read_only_folder_can_be_read_and_nothing_else(tmp_path: Path) -> None:
    path = Path(place_state(tmp_path, as_json(state_members())))
    if os.geteuid() == 0:
        os.chown(path.parent, NOBODY, NOBODY)
        os.chown(path, NOBODY, NOBODY)
    open_up(tmp_path)
    path.parent.chmod(0o500)

    def act() -> None:
        assert codes(make_store(tmp_path)) == ["", "IO_ERROR", "IO_ERROR", "IO_ERROR"]

    try:
        assert as_somebody(act) == 0
        assert path.read_bytes() == as_json(state_members())
        assert os.listdir(path.parent) == ["state.json"]
    finally:
        path.parent.chmod(0o700)


def test_a_read_only_root_is_an_io_error_and_no_state_is_absent_there(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir(mode=0o500)
    if os.geteuid() == 0:
        os.chown(root, NOBODY, NOBODY)
    open_up(tmp_path)

    def act() -> None:
        assert codes(make_store(root)) == ["", "IO_ERROR", "IO_ERROR", "IO_ERROR"]

    assert as_somebody(act) == 0
    assert list(root.iterdir()) == []


def open_up(path: Path) -> None:
    """Lets another user through to `path`: pytest's folders are private."""
    for folder in (path, *path.parents):
        if folder.owner() == path.owner() and "pytest-" in str(folder):
            folder.chmod(0o755)


def test_a_state_that_cannot_be_read_is_an_io_error(tmp_path: Path) -> None:
    path = Path(place_state(tmp_path, as_json(state_members())))
    if os.geteuid() == 0:
        os.chown(path.parent, NOBODY, NOBODY)
        os.chown(path, NOBODY, NOBODY)
    open_up(tmp_path)
    path.chmod(0)

    def act() -> None:
        assert codes(make_store(tmp_path)) == ["IO_ERROR"] * 4

    assert as_somebody(act) == 0
    if os.geteuid() != 0:
        path.chmod(0o600)
    assert path.read_bytes() == as_json(state_members())


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc", "a/b", "a\0", "a" * 129, "é", "-a"])
def test_a_session_id_that_is_no_folder_name_reaches_no_file(tmp_path: Path, name: str) -> None:
    store = make_store(tmp_path / "root")
    for act in (store.read, store.prompt, store.clear):
        with pytest.raises(PointerError) as caught:
            act(name)
        assert caught.value.code == "PATH_UNSAFE"
    with pytest.raises(PointerError) as caught:
        store.publish(name, "ABSENT", 0, TASK, "CLEAN", "text")
    assert caught.value.code == "REQUEST_INVALID"
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("root", ["a\0b", "\ud800"])
def test_a_root_that_no_file_name_can_be_is_refused(root: str) -> None:
    assert codes(make_store(f"/{root}")) == ["PATH_UNSAFE"] * 4


def test_a_root_without_a_name_is_refused() -> None:
    with pytest.raises(PointerError) as caught:
        PointerStore("")
    assert caught.value.code == "PATH_UNSAFE"


def test_a_relative_root_is_taken_from_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = PointerStore("here/root")
    monkeypatch.chdir("/")
    store.prompt(SESSION)
    assert (tmp_path / "here" / "root" / SESSION / "state.json").is_file()
    assert absolute("/") == "/"
    assert absolute("/a/../b/") == "/a/../b"


def test_a_stale_request_for_a_session_without_a_state_leaves_no_folder(tmp_path: Path) -> None:
    store = make_store(tmp_path / "root")
    for generation in ("LEGACY_V2", f"g-{0:032x}"):
        with pytest.raises(PointerError) as caught:
            store.publish(SESSION, generation, 4, TASK, "CLEAN", "text")
        error = caught.value
        assert (error.code, error.generation, error.revision, error.status) == (
            "STALE_GENERATION",
            "ABSENT",
            0,
            "ABSENT",
        )
    assert not (tmp_path / "root").exists()


def test_an_unusable_state_stays_as_it_is(tmp_path: Path) -> None:
    for data in (b"", b"{}", as_json(state_members(session_id="other")), b"\xff" * 10):
        path = place_state(tmp_path, data)
        assert codes(make_store(tmp_path)) == ["STATE_INVALID"] * 4
        assert Path(path).read_bytes() == data


def test_the_path_is_checked_before_the_generation_and_after_the_values(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    store = make_store(tmp_path / "link")
    with pytest.raises(PointerError) as caught:
        store.publish(SESSION, f"g-{0:032x}", 4, TASK, "CLEAN", "text")
    assert caught.value.code == "PATH_UNSAFE"
    with pytest.raises(PointerError) as caught:
        store.publish(SESSION, "g-", 4, TASK, "CLEAN", "text")
    assert caught.value.code == "REQUEST_INVALID"


def test_a_folder_swapped_for_a_link_after_it_was_opened_changes_nothing(tmp_path: Path) -> None:
    make_store(tmp_path / "root").prompt(SESSION)
    (tmp_path / "victim").mkdir()

    class Swapping(FileOps):
        def lock(self, descriptor: int) -> bool:
            os.rename(tmp_path / "root" / SESSION, tmp_path / "moved")
            (tmp_path / "root" / SESSION).symlink_to(tmp_path / "victim")
            return super().lock(descriptor)

    make_store(tmp_path / "root", Swapping()).prompt(SESSION)
    assert list((tmp_path / "victim").iterdir()) == []
    assert sorted(os.listdir(tmp_path / "moved")) == [".lock", "state.json"]
