"""A fresh host for each test; a fault that the host reports fails the test that caused it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.core.host.rig import Rig, Stagehand, rig


@pytest.fixture
def hand() -> Stagehand:
    return Stagehand()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
async def host(tmp_path: Path, hand: Stagehand) -> AsyncIterator[Rig]:
    async with rig(tmp_path / "data", hand) as opened:
        yield opened
    assert opened.faults == []
