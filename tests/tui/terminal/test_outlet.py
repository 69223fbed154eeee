import io
import signal
from collections.abc import Iterator

import pytest

from felan_tui.terminal.outlet import Outlet


class Gone(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise OSError(5, "Input/output error")


@pytest.fixture
def hangups() -> Iterator[list[int]]:
    seen: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGHUP, before)


def test_what_is_written_to_a_terminal_that_is_gone_is_dropped_and_said_once(hangups: list[int]) -> None:
    gone = Gone()
    outlet = Outlet(gone)
    for _ in range(100):
        outlet.write("a frame")
        outlet.flush()
    assert gone.tries == 1
    assert hangups == [signal.SIGHUP]
