"""The real agents, one after the other, against the fake model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.acp.fake_model import FakeModel
from tests.harness.acp.real import NAMES, RealAgent, real_agent


@pytest.fixture(scope="session")
def model() -> Iterator[FakeModel]:
    with FakeModel() as served:
        yield served


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home an agent for all tests: the first start in a new one can take an agent half a minute."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(params=NAMES)
def agent(request: pytest.FixtureRequest, model: FakeModel, homes: Path) -> RealAgent:
    found = real_agent(request.param, model.url, homes / request.param)
    if found is None:
        pytest.skip(f"{request.param} was not fetched: `make test-agents` does that")
    return found
