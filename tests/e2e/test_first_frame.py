"""The launcher's first frame: drawn before the app, drawn over by it, gone where no app comes."""

import sys
from collections.abc import Iterable
from pathlib import Path

import pyte
import pytest

from felan_tui.cli import exits
from felan_tui.terminal.first_frame import FILE, PLACEHOLDER
from tests.e2e.felan import COMMAND, WAIT, Felan

BREAK = """
import sys, importlib.abc
class Broken(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "felan_tui.app":
            raise RuntimeError("injected")
sys.meta_path.insert(0, Broken())
from felan_tui.cli.main import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a session was shown before."""
    with Felan(tmp_path, "demo", "read", "--pace", "0") as felan:
        felan.ready()
        felan.until(lambda: (felan.data / FILE).exists() and (felan.data / FILE).read_text(), "the colours")
        assert b"\x1b[2J" not in felan.output  # the first time there are none
        assert felan.quit() == 0
    assert (felan.data / FILE).stat().st_mode & 0o777 == 0o600
    return tmp_path


def _cells(screen: pyte.Screen, row: int, columns: Iterable[int]) -> list[tuple[str, str, str]]:
    return [(cell.data, cell.fg, cell.bg) for cell in (screen.buffer[row][x] for x in columns)]


@pytest.mark.parametrize(("columns", "rows"), [(60, 16), (120, 40)])
def test_it_is_part_of_the_app_s_own_frame_and_drawn_over(folder: Path, columns: int, rows: int) -> None:
    with Felan(folder, "-c", columns=columns, rows=rows) as felan:
        felan.see("type a message")
        begun = bytes(felan.output)
        felan.ready()
        assert begun.startswith(b"\x1b[?1049h\x1b[?25l\x1b[?7l")
        whole = begun[: begun.index(PLACEHOLDER.encode()) + len(PLACEHOLDER.encode())]
        first = pyte.Screen(columns, rows)
        pyte.ByteStream(first).feed(whole)
        # All but the cursor's cell, and what a session adds.
        title = range(1, 1 + len("felan  project"))
        for row, where in ((0, title), (rows - 3, range(1)), (rows - 2, [*range(3), *range(4, columns)])):
            assert _cells(first, row, where) == _cells(felan.screen, row, where)
        assert {first.buffer[5][x].bg for x in range(columns)} == {"14161a"}
        # One switch to the alternate screen, cleared once: nothing blank in between.
        assert felan.output.count(b"\x1b[?1049h") == felan.output.count(b"\x1b[2J") == 1
        assert felan.quit() == 0
        felan.assert_whole()
        assert felan.said_at_last() == ""


def test_what_is_typed_before_the_app_is_there_is_in_the_composer(folder: Path) -> None:
    with Felan(folder, "-c") as felan:
        felan.see("type a message")
        felan.write("héx")
        felan.press("backspace")
        felan.write("llo")
        felan.see("› héllo")


def test_words_come_on_the_plain_terminal(folder: Path) -> None:
    with Felan(folder, "-c") as first:
        first.ready()
        with Felan(folder, "-c") as second:
            assert second.ended(WAIT) == exits.HELD
            assert second.output.startswith(b"\x1b[?1049h")
            assert "--data-dir" in second.said_at_last().replace("\n", " ")
            second.assert_whole()


def test_a_fault_before_the_app_s_first_frame_leaves_nothing_behind(folder: Path) -> None:
    command = [sys.executable, "-c", BREAK, "--data-dir", str(folder / "data"), "-c"]
    with Felan(folder, command=command) as felan:
        assert felan.ended(WAIT) == exits.CRASH
        assert felan.output.startswith(b"\x1b[?1049h")
        felan.assert_whole()
        (report,) = felan.data.glob("crash-*.txt")
        assert str(report) in felan.said_at_last().replace("\n", "")


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (("--help",), {}),
        (("--version",), {}),
        (("pointer", "list"), {}),
        (("-c",), {"TERM": "dumb"}),
        (("-c",), {"TERM": ""}),
    ],
)
def test_where_no_screen_comes_it_is_not_drawn(
    folder: Path, args: tuple[str, ...], env: dict[str, str]
) -> None:
    command = [COMMAND, "--data-dir", str(folder / "data"), *args]
    with Felan(folder, command=command, env=env) as felan:
        felan.ended(WAIT)
        assert b"\x1b[?1049h" not in felan.output and felan.output
        felan.assert_whole()


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"COLORTERM": ""}, {"TERM": "screen-256color"}])
def test_another_kind_of_terminal_gets_no_colours_of_this_one(folder: Path, env: dict[str, str]) -> None:
    with Felan(folder, "-c", env=env) as felan:
        felan.ready()
        assert b"\x1b[2J" not in felan.output
        assert felan.quit() == 0
        felan.assert_whole()
