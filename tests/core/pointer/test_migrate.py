"""Envelopes of schema v1 become states, and are put back (§5)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import PointerStore
from felan_core.pointer.migrate import MANIFEST, MigrateError, migrate, rollback, scan
from tests.core.pointer.support import NOW_TEXT, TASK, as_json, place_state, state_members


def envelope(session_id: str, **changes: object) -> dict[str, Any]:
    inner: dict[str, object] = {
        "session_id": session_id,
        "task_id": TASK,
        "status": "CLEAN",
        "pointer_text": "Goal\r\nNext",
        "updated_at": NOW_TEXT,
    }
    return {"schema_version": 1, "envelope": {**inner, **changes}}


class Place:
    def __init__(self, folder: Path) -> None:
        self.v1 = folder / "v1"
        self.v1.mkdir()
        self.root = folder / "v3"
        self.backups = str(folder / "backups")
        self.store = PointerStore(str(self.root))
        self.folder = folder

    def put(self, name: str, value: object) -> Path:
        path = self.v1 / name
        path.write_bytes(value if isinstance(value, bytes) else as_json(value))
        return path

    def run(self) -> tuple[str, list[tuple[str, bool]]]:
        manifest, outcomes = migrate(scan(str(self.v1), self.store), self.store, self.backups)
        return manifest, [(one.session_id, one.done) for one in outcomes]

    def tree(self) -> dict[str, bytes]:
        found = [path for top in (self.v1, self.root) for path in top.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_scan_says_what_would_be_done_and_writes_nothing(place: Place) -> None:
    place.put("a.json", envelope("a"))
    found = scan(str(place.v1), place.store)
    assert [(one.session_id, one.migrates, one.reason) for one in found] == [("a", True, "")]
    assert not place.root.exists()
    assert scan(str(place.folder / "missing"), place.store) == []


def test_an_envelope_becomes_a_state_with_all_that_it_held(place: Place) -> None:
    place.put("a.json", envelope("a", status="DIRTY"))
    place.put("b.json", envelope("b", status="CLEARED", task_id=None, pointer_text=None))
    _, outcomes = place.run()
    assert outcomes == [("a", True), ("b", True)]
    state = place.store.read("a")
    assert state is not None
    assert (state.status, state.revision, state.task_id) == ("DIRTY", 1, TASK)
    assert (state.pointer_text, state.updated_at) == ("Goal\nNext", NOW_TEXT)
    other = place.store.read("b")
    assert other is not None
    assert (other.status, other.generation != state.generation) == ("CLEARED", True)
    assert os.listdir(place.v1) == []
    assert scan(str(place.v1), place.store) == []


OTHER_SHAPES: list[tuple[str, object]] = [
    ("a.txt", envelope("a")),
    (".json", envelope("a")),
    ("é.json", envelope("é")),
    ("a.json", envelope("b")),
    ("a.json", b""),
    ("a.json", b"{"),
    ("a.json", []),
    ("a.json", state_members(session_id="a")),
    ("a.json", {**envelope("a"), "more": 1}),
    ("a.json", envelope("a", more=1)),
    ("a.json", {**envelope("a"), "schema_version": 2}),
    ("a.json", {**envelope("a"), "schema_version": True}),
    ("a.json", {"schema_version": 1, "envelope": []}),
    ("a.json", envelope("a", status="ABSENT")),
    ("a.json", envelope("a", status="CLEARED")),
    ("a.json", envelope("a", task_id=TASK.upper())),
    ("a.json", envelope("a", pointer_text=" ")),
    ("a.json", envelope("a", updated_at="yesterday")),
    ("a.json", as_json(envelope("a"))[:-1] + b',"schema_version":1}'),
]


@pytest.mark.parametrize(("name", "value"), OTHER_SHAPES)
def test_a_file_of_any_other_shape_is_reported_and_left_alone(place: Place, name: str, value: object) -> None:
    path = place.put(name, value)
    before = path.read_bytes()
    (found,) = scan(str(place.v1), place.store)
    assert not found.migrates
    assert found.reason
    place.run()
    assert path.read_bytes() == before
    assert not place.root.exists()


def test_what_is_no_file_is_left_alone(place: Place) -> None:
    outside = place.put("b.json", envelope("a")).rename(place.folder / "outside")
    (place.v1 / "a.json").symlink_to(outside)
    (place.v1 / "d.json").mkdir()
    os.mkfifo(place.v1 / "f.json")
    assert [one.migrates for one in scan(str(place.v1), place.store)] == [False] * 3


def test_a_session_that_has_a_state_keeps_it(place: Place) -> None:
    place.put("a.json", envelope("a"))
    found = scan(str(place.v1), place.store)
    place.store.prompt("a")
    before = place.tree()
    _, outcomes = migrate(found, place.store, place.backups)
    assert [one.done for one in outcomes] == [False]
    assert "STALE_GENERATION" in outcomes[0].reason
    assert place.tree() == before
    assert not scan(str(place.v1), place.store)[0].migrates


def test_a_broken_state_is_not_written_over(place: Place) -> None:
    place.put("a.json", envelope("a"))
    place_state(place.root, b"{", "a")
    (found,) = scan(str(place.v1), place.store)
    assert "STATE_INVALID" in found.reason


def test_a_file_that_changed_since_the_scan_is_left_alone(place: Place) -> None:
    place.put("a.json", envelope("a"))
    found = scan(str(place.v1), place.store)
    place.put("a.json", envelope("a", pointer_text="newer"))
    _, outcomes = migrate(found, place.store, place.backups)
    assert [one.done for one in outcomes] == [False]
    assert place.store.read("a") is None


@pytest.mark.parametrize("went_on", [False, True])
def test_a_rollback_puts_all_back_byte_for_byte(place: Place, went_on: bool) -> None:
    os.chmod(place.put("a.json", as_json(envelope("a")) + b" \n"), 0o640)
    place.put("b.json", envelope("b"))
    place.put("notes.txt", b"mine")
    place.store.prompt("other")
    before = place.tree()
    manifest, _ = place.run()
    if went_on:
        place.store.clear("a")
        now = (place.root / "a" / "state.json").read_bytes()
        assert now
    assert all(one.done for one in rollback(manifest))
    assert place.tree() == before
    assert (place.v1 / "a.json").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(place.root)) == ["other"]
    if went_on:
        assert Path(manifest).with_name("replaced").joinpath("a.json").read_bytes() == now
    assert all(one.done for one in rollback(os.path.dirname(manifest)))
    assert place.tree() == before


def test_a_run_that_was_killed_at_any_point_can_be_rolled_back(place: Place) -> None:
    """The manifest is there first; a kill leaves the state alone, or the state without the envelope."""
    path = place.put("a.json", envelope("a"))
    before = place.tree()
    found = scan(str(place.v1), place.store)
    manifest, _ = migrate(found, place.store, place.backups)
    path.write_bytes(found[0].data)  # as if killed between the two steps
    assert all(one.done for one in rollback(manifest))
    assert place.tree() == before


def test_a_rollback_does_not_write_over_what_came_since(place: Place) -> None:
    place.put("a.json", envelope("a"))
    manifest, _ = place.run()
    place.put("a.json", b"somebody else's")
    before = place.tree()
    assert [one.done for one in rollback(manifest)] == [False]
    assert place.tree() == before


@pytest.mark.parametrize(
    "change", [{"kind": "x"}, {"entries": [{}]}, {"state_root": "relative"}, {"format": 2}]
)
def test_what_is_no_manifest_is_refused(place: Place, change: dict[str, object]) -> None:
    place.put("a.json", envelope("a"))
    manifest, _ = place.run()
    value = json.loads(Path(manifest).read_bytes())
    Path(manifest).write_text(json.dumps({**value, **change}))
    before = place.tree()
    for wrong in (manifest, str(place.folder / MANIFEST), str(place.folder)):
        with pytest.raises(MigrateError):
            rollback(wrong)
    assert place.tree() == before
