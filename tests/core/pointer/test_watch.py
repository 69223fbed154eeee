"""Following changes: what is said, and what it costs where nothing changes (§6)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from felan_core.pointer import PointerError, PointerStore
from felan_core.pointer import watch as module
from felan_core.pointer.watch import INTERVAL, PointerReading, Watcher, follow, look_at_all, members, sessions
from tests.core.pointer.support import NOW, TASK, as_json, make_store, place_state, v2_members


@pytest.fixture
def store(tmp_path: Path) -> PointerStore:
    return PointerStore(str(tmp_path / "root"))


def said(looks: list[PointerReading]) -> list[tuple[str, str]]:
    return [
        (one.session_id, f"{one.state.status} {one.state.revision}" if one.state else one.code or "ABSENT")
        for one in looks
    ]


def test_one_session_from_nothing_to_gone(store: PointerStore) -> None:
    watcher = Watcher(store, "s")
    assert watcher.poll() == []
    store.prompt("s")
    store.prompt("other")
    assert said(watcher.poll()) == [("s", "CLEARED 1")]
    assert watcher.poll() == []
    store.prompt("s")
    store.prompt("s")
    assert said(watcher.poll()) == [("s", "CLEARED 3")]
    place_state(store.root, b"{", "s")
    assert said(watcher.poll()) == [("s", "STATE_INVALID")]
    os.unlink(f"{store.root}/s/state.json")
    assert said(watcher.poll()) == [("s", "ABSENT")]
    assert watcher.poll() == []


def test_a_file_that_moved_is_known_by_one_stat_until_the_next_poll(store: PointerStore) -> None:
    watcher = Watcher(store, "s")
    assert watcher.moved()  # nothing is known before the first poll
    watcher.poll()
    assert not watcher.moved()
    store.prompt("s")
    assert watcher.moved() and watcher.moved()
    watcher.poll()
    assert not watcher.moved()


def test_all_sessions_and_the_new_ones(store: PointerStore) -> None:
    watcher = Watcher(store)
    assert watcher.poll() == []
    store.prompt("b")
    store.prompt("a")
    assert said(watcher.poll()) == [("a", "CLEARED 1"), ("b", "CLEARED 1")]
    store.publish("b", *at(store, "b"), TASK, "CLEAN", "x")
    os.mkdir(f"{store.root}/c")
    assert said(watcher.poll()) == [("b", "CLEAN 2")]
    place_state(store.root, b"", "c")
    os.mkdir(f"{store.root}/.agents")
    assert said(watcher.poll()) == [("c", "STATE_INVALID")]


def at(store: PointerStore, session: str) -> tuple[str, int]:
    state = store.read(session)
    assert state is not None
    return state.generation, state.revision


def test_a_folder_that_is_gone_is_said_once(store: PointerStore) -> None:
    watcher = Watcher(store)
    store.prompt("a")
    watcher.poll()
    for name in ("state.json", ".lock"):
        os.unlink(f"{store.root}/a/{name}")
    os.rmdir(f"{store.root}/a")
    assert said(watcher.poll()) == [("a", "ABSENT")]
    assert watcher.poll() == watcher.poll() == []


def test_a_change_is_noticed_at_the_next_look_and_looks_are_200_ms_apart_at_most(store: PointerStore) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 50:
            store.prompt("s")

    changes: Iterator[PointerReading] = follow([Watcher(store, "s")], sleep)
    assert said([next(changes)]) == [("s", "CLEARED 1")]
    assert len(waits) == 50
    assert max(waits) == INTERVAL <= 0.2


def test_nothing_is_read_where_nothing_changes(store: PointerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in ("a", "b"):
        store.prompt(session)
    watcher = Watcher(store)
    watcher.poll()
    watcher.poll()
    calls: list[str] = []
    monkeypatch.setattr(module, "look", lambda *_: calls.append("read"))
    monkeypatch.setattr(module, "sessions", lambda *_: calls.append("listed"))
    for _ in range(100):
        assert watcher.poll() == []
    assert calls == []


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(PointerError) as caught:
        Watcher(PointerStore(str(tmp_path / "link"))).poll()
    assert caught.value.code == "PATH_UNSAFE"


def test_the_list_has_the_latest_first_and_what_cannot_be_read(tmp_path: Path) -> None:
    for session, seconds in (("old", 0.0), ("new", 60.0)):
        make_store(tmp_path, clock=lambda s=seconds: NOW + s).prompt(session)
    place_state(tmp_path, b"", "broken")
    os.mkdir(tmp_path / "empty")
    (tmp_path / "no session id!").mkdir()
    assert said(look_at_all(make_store(tmp_path))) == [
        ("new", "CLEARED 1"),
        ("old", "CLEARED 1"),
        ("broken", "STATE_INVALID"),
    ]
    assert sessions(str(tmp_path / "missing")) == []


def test_the_members_are_those_of_the_state(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(v2_members()))
    (found,) = look_at_all(make_store(tmp_path))
    assert members(found) == {**v2_members(), "generation": "LEGACY_V2"}
    assert members(PointerReading("s", None, "IO_ERROR")) == {
        "session_id": "s",
        "status": "UNREADABLE",
        "code": "IO_ERROR",
    }
    assert members(PointerReading("s", None)) == {"session_id": "s", "status": "ABSENT", "code": None}
