"""The reducer: an event can be taken back, and rows that ended leave a host's state."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.protocol.entries import NoticeEntry
from felan_core.protocol.events import InteractionUpdated, ProcessUpdated, SessionEvent, parse_plain_event
from felan_core.protocol.reducer import Entries, SessionState
from tests.core.client.scripted import snapshot
from tests.house.tree import ROOT


def _pool() -> list[dict[str, Any]]:
    lines = (ROOT / "tests" / "vectors" / "SessionEvent.jsonl").read_text().splitlines()
    vectors = [json.loads(line) for line in lines]
    return [one["input"] for one in vectors if one["expect"] == "ok"]


POOL = _pool()


def _renamed(value: Any, name: str, seq: int) -> Any:
    """The event about the row ``name``; an entry's place is ``seq``."""
    if isinstance(value, dict):
        members: dict[str, Any] = value
        changed = {key: _renamed(one, name, seq) for key, one in members.items()}
        if "seq" in changed:
            changed["seq"] = seq
        if "id" in changed and changed["id"] == "i1":
            changed["id"] = name
        if changed.get("type") == "presentation.removed":
            changed["element"] = name
        return changed
    return [_renamed(one, name, seq) for one in value] if isinstance(value, list) else value


def counts_what_is_open(state: SessionState) -> bool:
    states = [one.state for one in state.interactions.values()]
    waiting, deferred = states.count("waiting"), states.count("deferred")
    return (state.open_interactions, state.is_waiting) == (waiting + deferred, waiting > 0)


def dumped(state: SessionState) -> str:
    """All of a state, in its order."""
    members = {
        name: list(value) if name == "entries" else list(value.items()) if isinstance(value, dict) else value
        for name, value in vars(state).items()
        if name != "_open"  # of no order, and counted below
    }
    return repr(members)


PLACES = {"a": 1, "b": 2, "c": 3}
"""An entry keeps its place: the host gives it once."""
EVENTS = st.tuples(st.sampled_from(POOL), st.sampled_from(sorted(PLACES)))


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENTS, max_size=12), st.integers(0, 12))
def test_events_that_are_taken_back_leave_nothing(events: list[Any], kept: int) -> None:
    state = SessionState.from_snapshot(snapshot())
    undo = []
    before = ""
    for number, (raw, name) in enumerate(events):
        if number == min(kept, len(events) - 1):
            before, undo = dumped(state), []
        event: SessionEvent = parse_plain_event(_renamed(raw, name, PLACES[name]))
        undo.append(state.undo(event))
        state.apply(event, state.revision + 1)
        assert counts_what_is_open(state)
    while undo:
        undo.pop()()
        assert counts_what_is_open(state)
    assert not events or dumped(state) == before


def test_only_the_newest_rows_that_ended_stay_and_all_that_are_open() -> None:
    state = SessionState.from_snapshot(snapshot())
    question = next(one for one in POOL if one["type"] == "interaction.updated")["interaction"]
    process = next(one for one in POOL if one["type"] == "process.updated")["process"]
    for number in range(20):
        settled = {"state": "waiting"} if number == 3 else {"state": "cancelled", "resolvedAt": 9}
        ended = {"state": "running"} if number == 3 else {"state": "lost", "endedAt": 9}
        for raw in (
            {"type": "interaction.updated", "interaction": {**question, "id": f"q{number}", **settled}},
            {"type": "process.updated", "process": {**process, "id": f"p{number}", **ended}},
        ):
            event = parse_plain_event(raw)
            assert isinstance(event, InteractionUpdated | ProcessUpdated)
            state.apply(event, state.revision + 1)
    state.drop_ended(4)
    assert list(state.interactions) == ["q3", "q16", "q17", "q18", "q19"]
    assert list(state.processes) == ["p3", "p16", "p17", "p18", "p19"]
    assert counts_what_is_open(state)


_PUTS = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(0, 8)), max_size=20)


@given(_PUTS, st.lists(st.integers(1, 8), max_size=4), st.integers(0, 4), st.integers(0, 9))
def test_entries_are_found_by_seq_and_by_the_instant_of_their_beginning(
    puts: list[tuple[int, int, int]], removed: list[int], keep: int, instant: int
) -> None:
    entries, model = Entries(), dict[str, NoticeEntry]()
    for name, seq, at in puts:
        entry = NoticeEntry(id=f"e{name}", seq=seq, at=at, tone="info", title="t")
        entries.put(entry)
        model[entry.id] = entry
    for name in removed:
        if model.pop(f"e{name}", None) is not None:
            entries.remove(f"e{name}")
    if keep:
        entries.drop_oldest(keep)
        for old in sorted(model.values(), key=lambda one: (one.seq, one.id))[:-keep]:
            del model[old.id]
    assert list(entries) == sorted(model.values(), key=lambda one: (one.seq, one.id))
    begun = [one for one in model.values() if one.at <= instant]
    assert entries.begun_by(instant) == max(begun, key=lambda one: (one.at, one.seq, one.id), default=None)
