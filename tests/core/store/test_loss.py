"""The data folder goes away under an open store: nothing more is stored, read or reported as stored."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from felan_core.store.batch import Batch
from felan_core.store.errors import StoreLost
from felan_core.store.store import Store
from tests.core.store.samples import clock, session


def revision(number: int) -> Batch:
    batch = Batch()
    batch.put_session(session(revision=number))
    return batch


def deleted(data: Path) -> None:
    shutil.rmtree(data)


def moved(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))


def made_again(data: Path) -> None:
    shutil.rmtree(data)
    data.mkdir(mode=0o700)
    (data / "felan.db").touch()


def database_replaced(data: Path) -> None:
    (data / "felan.db").rename(data / "old.db")
    shutil.copyfile(data / "old.db", data / "felan.db")


@pytest.mark.parametrize("happens", [deleted, moved, made_again, database_replaced])
async def test_after_a_loss_every_write_and_read_is_refused(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    data = tmp_path / "data"
    store = await Store.open(data, clock=clock)
    await store.write(revision(1))
    assert store.lost() == ""
    happens(data)
    with pytest.raises(StoreLost, match="while Felan runs"):
        await store.write(revision(2))
    with pytest.raises(StoreLost):
        await store.session_record("s")
    await store.close()


async def test_what_was_lost_stays_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store = await Store.open(data, clock=clock)
    data.rename(tmp_path / "away")
    why = store.lost()
    assert str(data) in why
    (tmp_path / "away").rename(data)
    assert store.lost() == why
    await store.close()
