import os
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from felan_tui.cli import exits
from tests.e2e.felan import COMMAND, WAIT, Felan, alive, children


def test_a_signal_ends_it_in_order(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        with Felan(tmp_path / number.name, "demo", "edit", "--pace", "0") as felan:
            felan.see("wants to edit")
            app = felan.app
            felan.signal(number)
            assert felan.ended(WAIT) == exits.SIGNALLED + number
            felan.assert_whole()
            assert not alive(app)
            assert felan.said_at_last() == ""


def test_the_launcher_gives_the_terminal_back_when_the_app_is_killed(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        os.kill(felan.app, signal.SIGKILL)
        assert felan.ended(WAIT) == exits.SIGNALLED + signal.SIGKILL
        felan.assert_whole()
        assert felan.said_at_last() == "felan was ended by SIGKILL. felan -c brings the session back."


FAULTS = {
    "a widget": "felan_tui.bars.PointerBar.show_counts",
    "the input thread": "felan_tui.terminal.driver.Input.timeout",
    "what takes the frames": "felan_tui.session.view.SessionView.take",
    "the opening of the host": "felan_tui.cli.embed.EmbeddedHost.connect",
    "the opening of the session": "felan_tui.session.controller.begin",
}
BREAK = """
import importlib, sys
where, _, name = sys.argv.pop(1).rpartition(".")
try:
    owner = importlib.import_module(where)
except ModuleNotFoundError:
    module, _, kind = where.rpartition(".")
    owner = getattr(importlib.import_module(module), kind)
def broken(*_, **__):
    raise RuntimeError("injected \\x1b]52;c;eA==\\x07 here")
setattr(owner, name, broken)
from felan_tui.cli.main import main
main()
"""


@pytest.mark.parametrize("place", FAULTS)
def test_a_fault_of_ours_is_a_report_in_a_file_and_one_line(tmp_path: Path, place: str) -> None:
    command = [sys.executable, "-c", BREAK, FAULTS[place], "--data-dir", str(tmp_path / "data"), "demo"]
    with Felan(tmp_path, command=command) as felan:
        assert felan.ended(WAIT) == exits.CRASH
        felan.assert_whole()
        (report,) = felan.data.glob("crash-*.txt")
        assert stat.S_IMODE(report.stat().st_mode) == 0o600
        assert "RuntimeError: injected" in report.read_text()
        said = felan.said_at_last()
        assert str(report) in said.replace("\n", "") and len(said.splitlines()) <= 4
        assert "Traceback" not in said


def _shell(folder: Path) -> Felan:
    shell = Felan(
        folder,
        command=["bash", "--noprofile", "--norc", "--noediting", "-i"],
        env={"PS1": "ready$ ", "HISTFILE": ""},
    )
    shell.see("ready$")
    return shell


def test_ctrl_z_goes_to_the_shell_and_fg_comes_back(tmp_path: Path) -> None:
    with _shell(tmp_path) as shell:
        shell.write(f"{COMMAND} --data-dir {shell.data} demo edit --pace 0\r")
        shell.see("wants to edit")
        shell.write("kept")
        shell.see("› kept")
        shell.press("ctrl+z")
        shell.see("Stopped", "ready$")
        assert bytes(shell.output).rfind(b"\x1b[?1049l") > bytes(shell.output).rfind(b"\x1b[?1049h")
        shell.write("fg\r")
        shell.see("wants to edit", "› kept")
        shell.write(" on")
        shell.see("› kept on")
        shell.press("ctrl+c")
        shell.see_not("kept on")
        shell.press("ctrl+d")
        shell.see("Quit now?")
        shell.press("2")
        shell.see("ready$")
        shell.write("echo code=$?\r")
        shell.see("code=0")
        shell.write("exit\r")
        shell.ended(WAIT)
        shell.assert_whole()


def test_however_often_it_is_continued_it_reads_the_terminal_once(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        felan.settle()
        tasks = Path(f"/proc/{felan.app}/task")
        before = len(list(tasks.iterdir()))
        for _ in range(6):
            os.kill(felan.app, signal.SIGCONT)
            felan.settle(0.1)
        felan.write("heard")
        felan.see("› heard")
        assert len(list(tasks.iterdir())) < before + 6, "threads of the driver are left over"


@pytest.mark.parametrize("stopped", [True, False])
def test_a_window_that_is_closed_ends_it_also_where_it_was_stopped(tmp_path: Path, stopped: bool) -> None:
    with _shell(tmp_path) as shell:
        shell.write(f"{COMMAND} --data-dir {shell.data} demo edit --pace 0\r")
        shell.see("wants to edit")
        (launcher,) = children(shell.pid)
        (app,) = children(launcher)
        if stopped:
            shell.press("ctrl+z")
            shell.see("Stopped", "ready$")
        shell.hang_up()
        try:
            shell.until_gone(launcher, app)
        finally:
            for process in (launcher, app):
                if alive(process):
                    os.kill(process, signal.SIGKILL)
        assert not list(shell.data.glob("*-wal")), "the database was not closed"
        assert not list(shell.data.glob("crash-*"))


def test_the_app_ends_in_order_when_the_launcher_is_killed(tmp_path: Path) -> None:
    with _shell(tmp_path) as shell:
        shell.write(f"{COMMAND} --data-dir {shell.data} demo edit --pace 0\r")
        shell.see("wants to edit")
        (launcher,) = children(shell.pid)
        (app,) = children(launcher)
        os.kill(launcher, signal.SIGKILL)
        shell.until(lambda: not alive(app), "the end of the app")
        shell.settle()
        shell.write("exit\r")
        shell.ended(WAIT)
        shell.assert_whole()
        assert not list(shell.data.glob("*-wal")), "the database was not closed"


def test_ctrl_c_held_down_ends_with_0_whatever_moment_the_last_one_meets(tmp_path: Path) -> None:
    with Felan(tmp_path) as felan:
        felan.see("2  Another agent")
        while felan.poll() is None:
            with suppress(OSError):
                felan.press("ctrl+c")
            felan.pump(0.004)
        assert felan.ended(WAIT) == exits.OK
        felan.assert_whole()


def test_ctrl_d_and_ctrl_c_leave_the_start_card_too(tmp_path: Path) -> None:
    for keys in (("ctrl+d",), ("ctrl+c", "ctrl+c")):
        with Felan(tmp_path / keys[0]) as felan:
            felan.see("2  Another agent")
            felan.press(*keys)
            assert felan.ended(WAIT) == exits.OK
            felan.assert_whole()
