"""An open store in a folder of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from felan_core.store.store import Store
from tests.core.store.samples import clock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "data", clock=clock)
    yield opened
    await opened.close()
