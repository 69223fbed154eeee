"""The writing thread: groups, their order and their sync, and who waits for whom."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from felan_core.store.batch import Batch
from felan_core.store.errors import AlreadyReserved, StoreFailure
from felan_core.store.store import Store
from felan_core.store.writer import GROUP, Writer
from tests.core.store.samples import before, message, notice, record, session


def revision(number: int) -> Batch:
    batch = Batch()
    batch.put_session(session(revision=number))
    batch.put_entry("s", notice(f"n{number}", number, parent=before(f"n{number}")))
    return batch


async def stored_revision(store: Store) -> int:
    found = await store.session_record("s")
    return 0 if found is None else found.revision


async def stored_entries(store: Store) -> list[int]:
    def read() -> list[int]:
        with closing(sqlite3.connect(store.path)) as other:
            return [seq for (seq,) in other.execute("SELECT seq FROM entries ORDER BY seq")]

    return await asyncio.to_thread(read)


def blocked(store: Store) -> closing[sqlite3.Connection]:
    """Another program that holds the database for writing, until it is closed."""
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return closing(other)


async def test_what_is_asked_for_during_a_commit_goes_into_the_next_one_together(store: Store) -> None:
    with blocked(store):
        writes = [asyncio.create_task(store.write(revision(number))) for number in range(1, 101)]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    # The writer may have taken a few before the others were queued; then all the rest at once.
    assert store.commits.total <= 3
    assert await stored_revision(store) == 100
    entries, more = await store.history("s", "n100", limit=256)
    assert [entry.seq for entry in entries] == list(range(1, 101))
    assert not more


async def test_a_group_has_an_end(store: Store) -> None:
    with blocked(store):
        writes = [asyncio.create_task(store.write(revision(number))) for number in range(1, GROUP * 2 + 2)]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    assert store.commits.total >= 3
    assert await stored_revision(store) == GROUP * 2 + 1


async def test_the_order_of_the_calls_is_the_order_of_the_commits(store: Store) -> None:
    done: list[int] = []

    async def one(number: int) -> None:
        await store.write(revision(number))
        done.append(number)

    await asyncio.gather(*(one(number) for number in range(1, 300)))
    assert done == list(range(1, 300))
    assert await stored_revision(store) == 299


async def test_one_batch_that_fails_takes_no_other_with_it(store: Store) -> None:
    first = Batch()
    first.reserve(record("r"))
    await store.write(first)
    clash = revision(2)
    clash.reserve(record("r"))
    missing = revision(3)
    missing.finish("never reserved", {})
    with blocked(store):
        writes = [asyncio.create_task(store.write(one)) for one in (revision(1), clash, missing, revision(4))]
        await asyncio.sleep(0)
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), AlreadyReserved, StoreFailure, type(None)]
    assert await stored_entries(store) == [1, 4]
    assert await stored_revision(store) == 4


async def test_a_group_with_one_durable_batch_is_synced_and_others_are_not(store: Store) -> None:
    before = store.commits
    for number in range(1, 4):
        await store.write(revision(number))
    assert (store.commits.total - before.total, store.commits.durable - before.durable) == (3, 0)
    durable = revision(4)
    durable.put_entry("s", message("m", 40))
    await store.write(durable)
    assert (store.commits.total - before.total, store.commits.durable - before.durable) == (4, 1)


async def test_one_durable_batch_syncs_its_whole_group(store: Store) -> None:
    durable = revision(2)
    durable.put_entry("s", message("m", 40))
    with blocked(store):
        writes = [asyncio.create_task(store.write(revision(1)))]
        await asyncio.sleep(0)
        while store.queued:  # until the writer has taken it, and waits for the other program
            await asyncio.sleep(0)
        writes += [asyncio.create_task(store.write(batch)) for batch in (durable, revision(3))]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    assert store.commits == (2, 1)


async def test_the_database_is_told_to_sync_for_a_durable_group_alone(tmp_path: Path) -> None:
    told: list[str] = []
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.set_trace_callback(told.append)
    writer = Writer(connection, tmp_path / "x.db", lambda: "")
    levels: list[int] = []

    def level(connection: sqlite3.Connection) -> None:
        levels.extend(connection.execute("PRAGMA synchronous").fetchone())

    for durable in (False, True, True, False):
        await writer.submit(level, durable=durable)
    await asyncio.to_thread(writer.close)
    full, normal = 2, 1
    assert levels == [normal, full, full, normal]
    assert [said for said in told if "synchronous =" in said] == [
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
    ]
    assert told.count("COMMIT") == 4


async def test_reads_and_the_loop_go_on_while_a_write_waits(store: Store) -> None:
    await store.write(revision(1))
    with blocked(store):
        write = asyncio.create_task(store.write(revision(2)))
        for _ in range(20):
            async with asyncio.timeout(5):
                assert await stored_revision(store) == 1
        assert not write.done()
    await write
    assert await stored_revision(store) == 2


async def test_a_write_whose_caller_is_cancelled_is_made_all_the_same(store: Store) -> None:
    with blocked(store):
        write = asyncio.create_task(store.write(revision(1)))
        await asyncio.sleep(0)
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
    await store.write(revision(2))
    assert await stored_entries(store) == [1, 2]


async def test_closing_writes_what_was_asked_for(store: Store) -> None:
    with blocked(store):
        writes = [asyncio.create_task(store.write(revision(number))) for number in range(1, 51)]
        await asyncio.sleep(0)
        closing_down = asyncio.create_task(store.close())
        await asyncio.sleep(0)
    await asyncio.gather(*writes, closing_down)
    with closing(sqlite3.connect(store.path)) as other:
        assert other.execute("SELECT count(*) FROM entries").fetchone() == (50,)
    assert not store.path.with_name("felan.db-wal").exists()


async def test_an_empty_batch_is_no_transaction(store: Store) -> None:
    await store.write(Batch())
    assert store.commits.total == 0


async def test_a_large_and_unchanged_part_is_not_written_again(store: Store) -> None:
    def revised(number: int) -> Batch:
        batch = Batch()
        batch.put_session(session(revision=number, instructions="x" * 16_000, memory={"id": "y" * 16_000}))
        return batch

    await store.write(revised(1))
    before = await store.storage_bytes()
    for number in range(2, 52):
        await store.write(revised(number))
    assert await store.storage_bytes() - before < 50 * 16_000
    assert await stored_revision(store) == 51
