"""Rules that hold for every test."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.harness import clock

clock.install()  # before any of our modules is imported
settings.register_profile("felan", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("felan")


def pytest_collection_finish() -> None:
    """Like the product: what was loaded is no garbage. Looking at it each time took a fifth of the time."""
    from felan_tui.cli.garbage import set_aside

    gc.collect()
    set_aside()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test of a real agent that skips itself has failed: the agent was to be fetched."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and item.get_closest_marker("agents") is not None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"with CI=true a test of a real agent may not be skipped: {reason}"
    return report
