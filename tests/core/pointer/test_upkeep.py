"""Reset, prune and adopt, also beside other processes."""

import os
from pathlib import Path

import pytest

from felan_core.pointer import PointerError, PointerStore, upkeep
from tests.core.pointer.support import (
    SESSION,
    TASK,
    HookedOps,
    as_json,
    make_store,
    place_state,
    request_members,
    state_members,
)


def test_a_state_that_is_reset_begins_anew_with_another_generation(tmp_path: Path) -> None:
    store = PointerStore(str(tmp_path))
    path = Path(place_state(tmp_path, as_json(state_members(revision=True))))
    kept = upkeep.reset(store, SESSION)
    assert Path(kept).parent == path.parent and not path.exists()
    with pytest.raises(PointerError) as caught:
        store.publish(SESSION, "g-" + "0" * 32, 3, TASK, "CLEAN", "late")
    assert caught.value.code == "STALE_GENERATION"
    assert store.prompt(SESSION).revision == 1


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_is_in_a_states_place_is_moved_whole(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    path = Path(place_state(root, b""))
    path.unlink()
    target = tmp_path / "target"
    target.write_text("x")
    if kind == "link":
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    kept = upkeep.reset(PointerStore(str(root)), SESSION)
    assert os.path.lexists(kept) and target.read_text() == "x"
    assert PointerStore(str(root)).prompt(SESSION).status == "CLEARED"


def test_a_sessions_folder_that_is_a_link_is_moved_and_not_followed(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
    (root / SESSION).symlink_to(other)
    kept = upkeep.reset(PointerStore(str(root)), SESSION)
    assert os.path.islink(kept) and os.listdir(other) == []
    assert PointerStore(str(root)).prompt(SESSION).revision == 1


def test_a_state_that_moved_on_is_not_pruned(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    old = store.clear(SESSION)
    store.publish(SESSION, old.generation, old.revision, TASK, "CLEAN", "a task")
    assert not upkeep.prune(store, old)
    assert store.read(SESSION) is not None


def test_a_folder_with_something_kept_in_it_stays(tmp_path: Path) -> None:
    store = PointerStore(str(tmp_path))
    place_state(tmp_path, b"{")
    kept = upkeep.reset(store, SESSION)
    assert upkeep.prune(store, store.clear(SESSION))
    assert os.listdir(tmp_path / SESSION) == [os.path.basename(kept)]


def test_a_prompt_beside_a_prune_opens_the_folder_anew(tmp_path: Path) -> None:
    plain = make_store(tmp_path)
    old = plain.clear(SESSION)

    def before(number: int, name: str) -> None:
        if ops.names.count("fstat") == 1 and name == "open":  # the folder is open, the lock is next
            upkeep.prune(PointerStore(str(tmp_path)), old)

    ops = HookedOps(before)
    state = make_store(tmp_path, ops).prompt(SESSION)
    assert (state.status, state.revision) == ("CLEARED", 1)
    assert plain.read(SESSION) == state


def test_a_late_publish_of_a_pruned_session_is_stale(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    old = store.clear(SESSION)
    assert upkeep.prune(store, old)
    with pytest.raises(PointerError) as caught:
        store.publish(SESSION, old.generation, old.revision, TASK, "CLEAN", "late")
    assert (caught.value.code, caught.value.generation) == ("STALE_GENERATION", "ABSENT")
    assert not (tmp_path / SESSION).exists()


def test_a_task_is_adopted_into_a_fenced_or_a_new_session(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.publish("old", "ABSENT", 0, TASK, "CLEAN", "Goal: go on")
    store.prompt("fenced")
    for session, revision in (("fenced", 2), ("new", 1)):
        state = upkeep.adopt(store, "old", session)
        assert (state.status, state.revision, state.pointer_text) == ("CLEAN", revision, "Goal: go on")
        assert state.task_id != TASK
    assert request_members()["task_id"] == TASK


@pytest.mark.parametrize(("other", "target", "code"), [
    ("missing", "new", "ABSENT"), ("cleared", "new", "NO_TASK"), ("old", "old", "HAS_TASK"),
])  # fmt: skip
def test_what_cannot_be_adopted_is_refused(tmp_path: Path, other: str, target: str, code: str) -> None:
    store = make_store(tmp_path)
    store.publish("old", "ABSENT", 0, TASK, "CLEAN", "x")
    store.clear("cleared")
    with pytest.raises(upkeep.UpkeepError) as caught:
        upkeep.adopt(store, other, target)
    assert caught.value.code == code
    assert store.read("new") is None
