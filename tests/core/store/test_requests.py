"""Request records: reserved once, finished once, counted, and kept until their time (session protocol §8)."""

import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from felan_core.protocol import is_retained
from felan_core.store.batch import Batch
from felan_core.store.errors import AlreadyReserved, InvalidRow, StoreFailure
from felan_core.store.store import Store
from tests.core.store.samples import NOW, message, notice, question, record, session


async def reserve(store: Store, *ids: str, session: str | None = "s", retain_until: int = NOW) -> None:
    batch = Batch()
    for id in ids:
        batch.reserve(record(id, session=session, retain_until=retain_until))
    await store.write(batch)


async def test_a_reserved_request_has_no_reply_until_it_is_finished(store: Store) -> None:
    await reserve(store, "r", retain_until=NOW + 5)
    assert await store.request("r") == record("r", retain_until=NOW + 5)
    assert await store.request("other") is None
    batch = Batch()
    batch.finish("r", {"ok": {"runId": "x"}})
    await store.write(batch)
    found = await store.request("r")
    assert found == replace(record("r", retain_until=NOW + 5), reply={"ok": {"runId": "x"}})


async def test_reservation_effect_and_reply_can_be_one_transaction(store: Store) -> None:
    batch = Batch()
    batch.reserve(record("r", session=None))
    batch.put_session(session(name="renamed"))
    batch.finish("r", {"ok": {}})
    await store.write(batch)
    found = await store.request("r")
    assert found is not None
    assert found.reply == {"ok": {}}
    assert await store.session_exists("s")


async def test_an_id_is_reserved_once_and_the_second_batch_leaves_nothing(store: Store) -> None:
    await reserve(store, "r")
    batch = Batch()
    batch.put_session(session("second"))
    batch.reserve(replace(record("r"), payload="other"))
    with pytest.raises(AlreadyReserved):
        await store.write(batch)
    assert not await store.session_exists("second")
    found = await store.request("r")
    assert found is not None
    assert found.payload == record("r").payload


async def test_finishing_what_was_never_reserved_fails_and_leaves_nothing(store: Store) -> None:
    batch = Batch()
    batch.put_session(session())
    batch.finish("unknown", {"ok": {}})
    with pytest.raises(StoreFailure, match="unknown"):
        await store.write(batch)
    assert not await store.session_exists("s")


async def test_records_are_counted_by_session_and_in_all(store: Store) -> None:
    assert await store.request_counts("a") == (0, 0)
    await reserve(store, "1", "2", session="a")
    await reserve(store, "3", session="b")
    await reserve(store, "4", session=None)
    assert await store.request_counts("a") == (2, 4)
    assert await store.request_counts("b") == (1, 4)
    assert await store.request_counts(None) == (0, 4)
    with pytest.raises(AlreadyReserved):
        await reserve(store, "5", "1", session="a")
    assert await store.request_counts("a") == (2, 4)


async def test_only_records_past_their_time_are_purged(store: Store) -> None:
    await reserve(store, *(f"old{n}" for n in range(4500)), session="a", retain_until=NOW - 1)
    await reserve(store, "edge", session="a", retain_until=NOW)
    await reserve(store, "kept", session="a", retain_until=NOW + 1)
    await reserve(store, "young", session="b", retain_until=NOW + 1)
    assert [is_retained(until, NOW) for until in (NOW - 1, NOW, NOW + 1)] == [False, False, True]
    assert await store.purge_requests(NOW) == 4501
    assert await store.request_counts("a") == (1, 2)
    assert await store.request("kept") is not None
    assert await store.request("edge") is None and await store.request("old0") is None
    assert await store.purge_requests(NOW) == 0
    assert await store.purge_requests(NOW + 2) == 2
    assert await store.request_counts("a") == (0, 0)
    with closing(sqlite3.connect(store.path)) as other:
        assert other.execute("SELECT session, n FROM request_tally").fetchall() == [("", 0)]


def test_a_record_past_its_bounds_is_refused() -> None:
    with pytest.raises(InvalidRow, match="'r'"):
        Batch().reserve(replace(record("r"), principal="x" * 200))


def test_records_winners_and_messages_make_a_batch_durable() -> None:
    def durable(fill: str) -> bool:
        batch = Batch()
        match fill:
            case "session":
                batch.put_session(session())
            case "notice":
                batch.put_entry("s", notice("n", 1))
            case "message":
                batch.put_entry("s", message("m", 1))
            case "waiting" | "deferred" | "resolved" | "cancelled" | "expired":
                batch.put_interaction("s", question("i", fill))
            case "reserve":
                batch.reserve(record("r"))
            case _:
                batch.finish("r", {})
        return batch.durable

    assert [name for name in ("session", "notice", "waiting", "deferred") if durable(name)] == []
    for name in ("message", "resolved", "cancelled", "expired", "reserve", "finish"):
        assert durable(name), name
