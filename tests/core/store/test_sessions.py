"""What is put in comes back: sessions, their lists, and the pages of them."""

import sqlite3
from contextlib import closing
from typing import Any

import msgspec
import pytest

from felan_core.protocol.base import LIMITS
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.entries import Entry, NoticeEntry
from felan_core.protocol.session import ProcessRow
from felan_core.store.batch import Batch
from felan_core.store.errors import InvalidRow, NoSuchEntry, StoreBroken, StoreClosed
from felan_core.store.rows import LoadedSession, SessionRecord, StoredInteraction, UnreadableSession
from felan_core.store.store import Store
from tests.core.store.samples import (
    NOW,
    QUEUED,
    RUN,
    before,
    clock,
    element,
    message,
    notice,
    process,
    question,
    session,
    tool,
)


async def loaded(store: Store, id: str = "s", history_limit: int = 64) -> LoadedSession:
    found = await store.load_session(id, history_limit)
    assert found is not None
    return found


def ids(entries: list[Entry]) -> list[str]:
    return [entry.id for entry in entries]


async def test_a_session_comes_back_whole_after_a_restart(store: Store) -> None:
    record = session(
        revision=7,
        name="Grüße [red]\x1b[0m\x00",
        parent="mother",
        queue=QUEUED,
        run=RUN,
        settings={"agent": {"command": ["x"]}},
        memory={"id": "abc"},
        instructions="be kind",
        leaf="m2",
        waiting=1,
        state="running",
    )
    batch = Batch()
    batch.put_session(record)
    batch.put_entry("s", message("m1", 1, "first\x00\u202e"))
    batch.put_entry("s", message("m2", 2, parent="m1"))
    batch.put_interaction("s", question("i"), {"key": [1]})
    batch.put_element("s", element("e"))
    batch.put_process("s", process("p"))
    await store.write(batch)
    await store.close()

    again = await Store.open(store.path.parent, clock=clock)
    try:
        assert await loaded(again) == LoadedSession(
            record=record,
            entries=[message("m1", 1, "first\x00\u202e"), message("m2", 2, parent="m1")],
            more=False,
            running_tools=[],
            interactions=[StoredInteraction(question("i"), {"key": [1]})],
            elements=[element("e")],
            processes=[process("p")],
        )
    finally:
        await again.close()


async def test_a_session_that_is_not_there_is_none(store: Store) -> None:
    assert await store.load_session("s") is None
    assert await store.session_record("s") is None
    assert not await store.session_exists("s")


async def test_the_latest_record_of_a_session_stands(store: Store) -> None:
    batch = Batch()
    batch.put_session(session(revision=1, instructions="old", queue=QUEUED))
    batch.put_session(session(revision=2, instructions="new", name="named"))
    await store.write(batch)
    assert await store.session_record("s") == session(revision=2, instructions="new", name="named")
    assert await store.session_exists("s")


async def test_an_entry_is_replaced_in_place_and_keeps_its_seq_and_its_parent(store: Store) -> None:
    batch = Batch()
    batch.put_session(session(leaf="b"))
    batch.put_entry("s", tool("a", 1))
    batch.put_entry("s", notice("b", 2, parent="a"))
    await store.write(batch)
    later = Batch()
    later.put_entry("s", tool("a", 9, "completed", parent="b"))
    await store.write(later)
    found = await loaded(store)
    assert found.entries == [tool("a", 1, "completed"), notice("b", 2, parent="a")]
    assert found.running_tools == []


async def test_a_running_tool_is_found_wherever_it_stands(store: Store) -> None:
    batch = Batch()
    batch.put_session(session(leaf="n11"))
    batch.put_entry("s", tool("n1", 1))
    for seq in range(2, 12):
        batch.put_entry("s", notice(f"n{seq}", seq, parent=before(f"n{seq}")))
    await store.write(batch)
    found = await loaded(store, history_limit=3)
    assert ids(found.entries) == ["n9", "n10", "n11"]
    assert found.more
    assert found.running_tools == [tool("n1", 1)]


async def test_history_goes_back_page_by_page_and_misses_nothing(store: Store) -> None:
    batch = Batch()
    for seq in range(1, 26):
        batch.put_entry("s", notice(f"n{seq}", seq, parent=before(f"n{seq}")))
        batch.put_entry("other", notice(f"n{seq}", seq, parent=before(f"n{seq}")))
    await store.write(batch)
    pages: list[list[str]] = []
    oldest = ""
    more = True
    while more:
        entries, more = await store.history("s", "n25", before=oldest, limit=10)
        pages.insert(0, ids(entries))
        oldest = entries[0].id
    assert [len(page) for page in pages] == [5, 10, 10]
    assert [id for page in pages for id in page] == [f"n{seq}" for seq in range(1, 26)]
    assert await store.history("s", "n25", before="n1", limit=10) == ([], False)


async def test_a_page_can_end_with_an_entry(store: Store) -> None:
    batch = Batch()
    for seq in range(1, 10):
        batch.put_entry("s", notice(f"n{seq}", seq * 3, parent=before(f"n{seq}")))
    await store.write(batch)
    entries, more = await store.history("s", "n9", last="n5", limit=2)
    assert ids(entries) == ["n4", "n5"]
    assert more
    entries, more = await store.history("s", "n9", before="n4", limit=10)
    assert ids(entries) == ["n1", "n2", "n3"]
    assert not more
    for names in (("n9", "unknown"), ("unknown", ""), ("n4", "n5")):  # an id, a leaf, an entry after the leaf
        with pytest.raises(NoSuchEntry) as raised:
            await store.history("s", names[0], last=names[1], limit=2)
        assert raised.value.entry == (names[1] or names[0])


async def test_a_page_goes_from_its_leaf_backwards_over_the_branch_alone(store: Store) -> None:
    batch = Batch()
    for id, seq, parent in (("a", 1, ""), ("b", 2, "a"), ("c", 3, "a"), ("d", 4, "b"), ("e", 5, "c")):
        batch.put_entry("s", notice(id, seq, parent=parent))
    batch.put_session(session(leaf="e"))
    await store.write(batch)
    assert ids((await store.history("s", "d", limit=9))[0]) == ["a", "b", "d"]
    assert ids((await store.history("s", "e", limit=9))[0]) == ["a", "c", "e"]
    entries, more = await store.history("s", "d", before="d", limit=1)
    assert (ids(entries), more) == (["b"], True)
    assert ids((await loaded(store)).entries) == ["a", "c", "e"]


async def test_a_circle_of_parents_in_a_spoiled_database_ends(store: Store) -> None:
    batch = Batch()
    batch.put_session(session(leaf="b"))
    batch.put_entry("s", notice("a", 1))
    batch.put_entry("s", notice("b", 2, parent="a"))
    await store.write(batch)
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("UPDATE entries SET parent = 'b' WHERE id = 'a'")
    assert ids((await loaded(store)).entries) == ["a", "b"]


async def test_a_page_never_holds_more_than_a_page_may(store: Store) -> None:
    big = "x" * (LIMITS.page_bytes // 2 - 1000)
    batch = Batch()
    batch.put_session(session(leaf="m5"))
    for seq in range(1, 6):
        batch.put_entry("s", message(f"m{seq}", seq, big, before(f"m{seq}")))
    await store.write(batch)
    entries, more = await store.history("s", "m5", limit=64)
    assert ids(entries) == ["m4", "m5"]
    assert more
    assert len(msgspec.json.encode(entries)) <= LIMITS.page_bytes
    found = await loaded(store)
    assert (ids(found.entries), found.more) == (["m4", "m5"], True)


def test_an_entry_that_fits_no_page_is_refused() -> None:
    with pytest.raises(InvalidRow, match="'m'"):
        Batch().put_entry("s", message("m", 1, "x" * LIMITS.page_bytes))


async def test_interactions_hold_all_open_ones_and_the_newest_others(store: Store) -> None:
    batch = Batch()
    batch.put_session(session(waiting=2))
    batch.put_interaction("s", question("first"), {"a": 1})
    for n in range(300):
        batch.put_interaction("s", question(f"done{n}", "resolved"))
    batch.put_interaction("s", question("kept", "deferred"))
    await store.write(batch)
    found = [stored.interaction.id for stored in (await loaded(store)).interactions]
    assert len(found) == LIMITS.page_entries
    assert found == ["first", *(f"done{n}" for n in range(46, 300)), "kept"]


async def test_an_answered_interaction_keeps_its_place_and_gives_up_what_it_was_to_resume(
    store: Store,
) -> None:
    batch = Batch()
    batch.put_session(session())
    batch.put_interaction("s", question("a"), {"resume": True})
    batch.put_interaction("s", question("b"))
    batch.put_interaction("s", question("a", "resolved"))
    await store.write(batch)
    assert (await loaded(store)).interactions == [
        StoredInteraction(question("a", "resolved"), None),
        StoredInteraction(question("b"), None),
    ]


async def test_elements_keep_the_order_they_were_first_shown_in(store: Store) -> None:
    batch = Batch()
    batch.put_session(session())
    for name in ("z", "gone", "a"):
        batch.put_element("s", element(name))
    batch.put_element("s", element("z", "new", 2))
    batch.remove_element("s", "gone")
    batch.remove_element("s", "never there")
    await store.write(batch)
    assert (await loaded(store)).elements == [element("z", "new", 2), element("a")]


async def test_processes_hold_all_that_run_and_the_newest_others(store: Store) -> None:
    batch = Batch()
    batch.put_session(session())
    batch.put_process("s", process("server"))
    for n in range(300):
        batch.put_process("s", process(f"p{n}", "exited"))
    await store.write(batch)
    found: list[ProcessRow] = (await loaded(store)).processes
    assert [row.id for row in found] == ["server", *(f"p{n}" for n in range(45, 300))]


async def test_what_a_restart_must_look_at(store: Store) -> None:
    batch = Batch()
    batch.put_session(session("idle"))
    batch.put_session(session("runs", run=RUN, state="running"))
    batch.put_session(session("queued", queue=QUEUED))
    batch.put_session(session("waits", waiting=1))
    batch.put_session(session("asked"))
    batch.put_interaction("asked", question("i", "deferred"))
    batch.put_session(session("answered"))
    batch.put_interaction("answered", question("i", "resolved"))
    batch.put_session(session("serves"))
    batch.put_process("serves", process("p"))
    batch.put_session(session("served"))
    batch.put_process("served", process("p", "exited"))
    batch.put_session(session("closed", state="closed", queue=QUEUED))
    batch.put_process("closed", process("p"))
    batch.put_interaction("closed", question("i"))
    await store.write(batch)
    assert await store.open_sessions() == ["asked", "queued", "runs", "serves", "waits"]
    assert await store.counts() == (9, 5, 2, 0)
    done = Batch()
    done.put_session(session("runs"))
    await store.write(done)
    assert "runs" not in await store.open_sessions()


async def test_sessions_are_listed_newest_first_and_paged_without_gaps(store: Store) -> None:
    batch = Batch()
    for n in range(50):
        batch.put_session(session(f"s{n:02}", created_at=NOW + n // 7))
    await store.write(batch)
    seen: list[tuple[int, str]] = []
    after: tuple[int, str] | None = None
    while page := await store.list_sessions(after=after, limit=8):
        assert len(page) <= 8
        seen += [(row.created_at, row.id) for row in page]
        after = seen[-1]
    assert len(seen) == 50
    assert seen == sorted(seen, reverse=True)


async def test_sessions_are_filtered(store: Store) -> None:
    batch = Batch()
    batch.put_session(session("a", cwd="/home/me/Felan", name="Straße 100%"))
    batch.put_session(session("b", cwd="/home/me/other", state="closed", parent="a"))
    batch.put_session(session("c", cwd="/home/me/other", created_at=NOW + 1))
    await store.write(batch)

    async def listed(**filters: Any) -> str:
        return "".join(row.id for row in await store.list_sessions(limit=10, **filters))

    assert await listed() == "cba"
    assert await listed(cwd="/home/me/other") == "cb"
    assert await listed(query="fELAN") == "a"
    assert await listed(query="STRASSE") == "a"
    assert await listed(query="0%") == "a"
    assert await listed(query="_") == ""
    assert await listed(state="closed") == "b"
    assert await listed(parent="a") == "b"
    assert await listed(cwd="/home/me/other", state="idle") == "c"


@pytest.mark.parametrize(
    ("table", "id"),
    [
        ("sessions", "s"),
        ("session_bulk", "s"),
        ("entries", "m"),
        ("interactions", "i"),
        ("elements", "e"),
        ("processes", "p"),
    ],
)
async def test_a_row_that_cannot_be_read_is_named(store: Store, table: str, id: str) -> None:
    batch = Batch()
    batch.put_session(session(leaf="m"))
    batch.put_entry("s", message("m", 1))
    batch.put_interaction("s", question("i"))
    batch.put_element("s", element("e"))
    batch.put_process("s", process("p"))
    await store.write(batch)
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute(f"UPDATE {table} SET body = ?", (b'{"kind":"from the future"}',))
    with pytest.raises(StoreBroken, match=f"'{id}' of table {table}") as raised:
        await store.load_session("s")
    assert raised.value.path == store.path


@pytest.mark.parametrize("spoiled", [b'{"kind":"from the future"}', b"\xff\x00", b"", 7, "text"])
async def test_a_spoiled_session_is_listed_as_unreadable_among_the_others(
    store: Store, spoiled: bytes | int | str
) -> None:
    batch = Batch()
    for number, id in enumerate(("a", "b", "c")):
        batch.put_session(session(id, created_at=NOW + number))
    await store.write(batch)
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("UPDATE sessions SET body = ? WHERE id = 'b'", (spoiled,))
        other.execute("UPDATE sessions SET root = CAST(x'ff' AS TEXT), updated_at = 'x' WHERE id = 'b'")
    rows = await store.list_sessions(limit=9)
    assert [row.id for row in rows] == ["c", "b", "a"]
    bad = rows[1]
    assert isinstance(bad, UnreadableSession) and "'b' of table sessions" in bad.problem
    assert (bad.created_at, bad.updated_at, bad.cwd) == (NOW + 1, 0, "/home/me/project")
    assert all(isinstance(row, SessionRecord) for row in (rows[0], rows[2]))


@pytest.mark.parametrize(
    "entry",
    [
        NoticeEntry(id="n", seq=1, at=NOW, tone="info", title="x" * (LIMITS.label_bytes + 1)),
        NoticeEntry(id="n", seq=-1, at=NOW, tone="info", title="x"),
        NoticeEntry(id="n", seq=1, at=NOW, tone="info", title="\ud800"),
        NoticeEntry(id="", seq=1, at=NOW, tone="info", title="x"),
    ],
    ids=["too long", "negative", "lone surrogate", "empty id"],
)
def test_what_could_not_be_read_back_is_refused_before_it_is_written(entry: NoticeEntry) -> None:
    batch = Batch()
    with pytest.raises(InvalidRow):
        batch.put_entry("s", entry)
    assert not len(batch)


def test_settings_that_are_no_json_are_refused() -> None:
    with pytest.raises(InvalidRow, match="'s'"):
        Batch().put_session(session(settings={"x": object()}))


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    await store.close()
    batch = Batch()
    batch.put_session(session())
    with pytest.raises(StoreClosed):
        await store.write(batch)
    with pytest.raises(StoreClosed):
        await store.load_session("s")
    with pytest.raises(StoreClosed):
        await store.purge_requests(NOW)


async def test_the_size_on_disk_is_told_with_the_log(store: Store) -> None:
    before = await store.storage_bytes()
    batch = Batch()
    batch.put_entry("s", message("m", 1, "x" * 1_000_000))
    await store.write(batch)
    assert await store.storage_bytes() >= before + 1_000_000


def test_every_kind_of_element_is_taken() -> None:
    batch = Batch()
    view = {"kind": "view", "id": "v", "revision": 1, "layout": "list", "items": []}
    columns = [{"id": "c", "label": "C", "type": "string"}]
    page = {"index": 0, "size": 10, "hasMore": False}
    batch.put_element("s", msgspec.convert({**view, "columns": columns, "page": page}, ViewElement))
    assert len(batch) == 1
