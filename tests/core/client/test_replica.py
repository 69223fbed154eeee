"""A replica against the plainest model of a session's text: whatever comes, no text is invented or lost."""

from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.client.replica import Missing, SessionReplica
from felan_core.protocol import parse_server_envelope
from felan_core.protocol.entries import Entry, MessageEntry
from felan_core.protocol.operations import HistoryPage
from felan_core.protocol.session import History
from felan_core.protocol.streams import CompletionOnlyStream, StreamPrefix
from tests.core.client.scripted import event, snapshot, text

ENTRY = {
    "kind": "message",
    "id": "m",
    "seq": 1,
    "at": 1,
    "role": "assistant",
    "parts": [{"type": "text", "id": "s0", "text": "done"}],
    "outcome": "completed",
}


def told(revision: int, what: dict[str, Any]) -> Any:
    return parse_server_envelope({"v": 1, "session": "s", "revision": revision, "at": 1, "event": what})


def said(offset: int, piece: str, **more: Any) -> Any:
    return parse_server_envelope(text(offset, piece, **more))


def shown(replica: SessionReplica) -> list[str]:
    return [one.text for parts in replica.live_messages().values() for one in parts]


def test_text_joins_a_prefix_that_a_snapshot_held_and_a_repeat_changes_nothing() -> None:
    prefix = StreamPrefix(message="m", id="s0", kind="assistant", prefix="🙂ab")
    replica = SessionReplica(snapshot(streams=[prefix]))
    assert replica.apply(said(1, "ab")) == "ignored"
    assert replica.apply(said(3, "c")) == "applied"
    assert replica.apply(said(0, "🙂abc")) == "ignored"
    assert shown(replica) == ["🙂abc"]


def test_text_that_does_not_join_is_a_gap_once_and_shows_nothing_false() -> None:
    prefix = StreamPrefix(message="m", id="s0", kind="assistant", prefix="abc")
    for wrong in (said(4, "x"), said(1, "xx"), said(2, "cd"), said(3, "d", kind="thinking")):
        replica = SessionReplica(snapshot(streams=[prefix]))
        assert replica.apply(wrong) == "gap"
        assert replica.apply(wrong) == "ignored"
        assert shown(replica) == ["abc"]


def test_late_text_of_a_completed_or_completion_only_stream_is_ignored() -> None:
    replica = SessionReplica(snapshot())
    replica.apply(said(0, "abc"))
    replica.apply(told(2, {"type": "message.completed", "entry": ENTRY}))
    assert shown(replica) == [] and replica.apply(said(3, "d")) == "ignored"
    replica.apply(said(0, "abc", message="n"))
    stream = {"message": "n", "id": "s0", "kind": "assistant"}
    replica.apply(told(3, {"type": "stream.completion_only", "stream": stream, "reason": "limit"}))
    assert replica.live_messages() == {} and replica.apply(said(3, "d", message="n")) == "ignored"
    held = CompletionOnlyStream(message="o", id="s0", kind="assistant", reason="lost")
    replica = SessionReplica(snapshot(completion_only_streams=[held]))
    assert replica.apply(said(0, "x", message="o")) == "ignored" and replica.live_messages() == {}


def test_revisions_are_taken_one_after_the_other_and_never_twice() -> None:
    replica = SessionReplica(snapshot(5))
    frames = [parse_server_envelope(event(revision, str(revision))) for revision in (5, 4, 7, 6, 6, 7)]
    verdicts = [replica.apply(frame) for frame in frames]  # pyright: ignore[reportArgumentType] events all
    assert verdicts == ["ignored", "ignored", "gap", "applied", "ignored", "applied"]
    assert replica.state.header.name == "7"


@settings(max_examples=150, deadline=None)
@given(
    whole=st.text(max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=8),
    noise=st.lists(st.tuples(st.integers(0, 30), st.text(min_size=1, max_size=4)), max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_whatever_comes_in_between_the_text_shown_is_a_prefix_of_what_was_said(
    whole: str, cuts: list[int], noise: list[tuple[int, str]], order: Any
) -> None:
    points = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    deltas = [(a, whole[a:b]) for a, b in pairwise(points)]
    replica = SessionReplica(snapshot())
    for delta in deltas:
        for offset, piece in order.sample(noise, len(noise)):
            if offset:  # a false start cannot be told from a true one
                before = shown(replica)
                verdict = replica.apply(said(offset, piece))
                if verdict == "applied":
                    # Only what begins where the text ends is taken; the host says such a thing once.
                    assert before and offset == len(before[0])
                    replica = SessionReplica(
                        snapshot(
                            streams=[StreamPrefix(message="m", id="s0", kind="assistant", prefix=before[0])]
                        )
                    )
        assert replica.apply(said(*delta)) == "applied"
        assert shown(replica) == [whole[: delta[0] + len(delta[1])]]


def test_a_fresh_snapshot_takes_the_place_of_all_that_was_there() -> None:
    replica = SessionReplica(snapshot())
    replica.apply(said(0, "old"))
    replica.apply(told(2, {"type": "message.completed", "entry": {**ENTRY, "id": "x"}}))
    fresh = snapshot(9)
    replica.reset(fresh)
    assert replica.live_messages() == {} and list(replica.state.entries) == []
    assert replica.state.revision == 9
    assert replica.cursor is msgspec.UNSET


def entries(*seqs: int) -> list[Entry]:
    return [
        MessageEntry(id=f"e{seq}", seq=seq, at=seq, role="user", outcome="completed", parts=[])
        for seq in seqs
    ]


def seqs(replica: SessionReplica) -> list[int]:
    return [one.seq for one in replica.state.entries]


def test_entries_that_are_missing_after_a_fresh_snapshot_are_known_and_filled_by_pages() -> None:
    replica = SessionReplica(snapshot(history=History(entries=entries(5, 6), cursor="top")))
    assert replica.cursor == "top"
    # The new history overlaps: nothing is missing in between.
    replica.reset(snapshot(9, history=History(entries=entries(6, 7), cursor="before6")))
    assert seqs(replica) == [5, 6, 7] and replica.missing == [Missing(0, 5, "top")]
    # It begins later: 8 to 11 are missing.
    replica.reset(snapshot(20, history=History(entries=entries(12, 13), cursor="before12")))
    assert seqs(replica) == [5, 6, 7, 12, 13]
    assert replica.missing == [Missing(0, 5, "top"), Missing(7, 12, "before12")]
    assert replica.cursor == "top"
    page = HistoryPage(items=entries(10, 11), next_cursor="before10")
    assert [one.seq for one in replica.take_page("before12", page)] == [10, 11]
    assert replica.missing[1] == Missing(7, 10, "before10")
    assert replica.take_page("before12", page) == []
    new = replica.take_page("before10", HistoryPage(items=entries(7, 8, 9), next_cursor="before7"))
    assert [one.seq for one in new] == [8, 9]
    assert seqs(replica) == [*range(5, 14)] and replica.missing == [Missing(0, 5, "top")]
    replica.take_page("top", HistoryPage(items=entries(1, 2, 3, 4)))
    assert replica.missing == [] and replica.cursor is msgspec.UNSET


def test_a_snapshot_without_entries_leads_to_its_history_all_the_same() -> None:
    replica = SessionReplica(snapshot(history=History(entries=[], cursor="c")))
    assert replica.cursor == "c"
    replica.apply(told(2, {"type": "message.completed", "entry": {**ENTRY, "seq": 9}}))
    replica.reset(snapshot(revision=5, history=History(entries=[], cursor="d")))
    assert replica.cursor == "d" and list(replica.state.entries) == []
    page = HistoryPage(items=[msgspec.convert({**ENTRY, "seq": 3}, MessageEntry)])
    assert [entry.seq for entry in replica.take_page("d", page)] == [3]
    assert replica.cursor is msgspec.UNSET
