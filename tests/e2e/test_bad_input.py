import os
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from felan_tui.cli import exits
from felan_tui.composer.pastes import ENTER_SECONDS
from tests.e2e.felan import COMMAND, WAIT, Felan


def _refused(folder: Path, *args: str) -> tuple[int, str]:
    with Felan(folder, *args) as felan:
        code = felan.ended(WAIT)
        felan.assert_whole()
        said = felan.said_at_last()
        assert b"Traceback" not in felan.output
        assert not list(folder.glob("data/crash-*"))
        return code, said.replace("\n", "")


def test_a_broken_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    database = tmp_path / "data" / "felan.db"
    database.parent.mkdir()
    garbage = b"this is no database\n" * 500
    database.write_bytes(garbage)
    code, said = _refused(tmp_path, "demo")
    assert code == exits.STORE and str(database) in said
    assert database.read_bytes() == garbage
    assert not list(database.parent.glob("felan.db-*"))


def test_a_newer_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    with Felan(tmp_path) as felan:
        felan.see("2  Another agent")
        felan.until(lambda: list(felan.data.glob("felan.db")), "the database")
        felan.until(lambda: felan.stored("SELECT 1 FROM sqlite_master"), "the tables")
        felan.settle()
    database = tmp_path / "data" / "felan.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA user_version = 4711")
    connection.close()
    before = database.read_bytes()
    code, said = _refused(tmp_path, "-c")
    assert code == exits.STORE and str(database) in said and "newer" in said.lower()
    assert database.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file\n")
    code, said = _refused(tmp_path)
    assert code == exits.UNWRITABLE and str(tmp_path / "data") in said
    assert (tmp_path / "data").read_text() == "a file\n"


def test_a_lock_that_is_a_link_is_named_and_its_target_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine\n")
    lock = tmp_path / "data" / "owner.lock"
    lock.parent.mkdir()
    lock.symlink_to(target)
    code, said = _refused(tmp_path)
    assert code == exits.UNWRITABLE and str(lock) in said
    assert target.read_text() == "mine\n"


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    log = tmp_path / "data" / "felan.log"
    log.mkdir(parents=True)
    code, said = _refused(tmp_path)
    assert code == exits.UNWRITABLE and str(log) in said


USAGE = {
    ("demo", "nope"): ("nope", "tour"),
    ("demo", "--pace", "-1"): ("--pace",),
    ("demo", "--pace", "nan"): ("--pace",),
    ("--nope",): ("--nope",),
    ("nope",): ("nope",),
    ("-c", "--agent", "true"): ("--continue", "--agent"),
    ("--agent", " "): ("--agent",),
    ("-c", "demo"): ("--continue",),
    ("--agent", "true", "demo"): ("--agent",),
}


@pytest.mark.parametrize("args", USAGE, ids=" ".join)
def test_what_is_asked_wrongly_is_said_in_words(tmp_path: Path, args: tuple[str, ...]) -> None:
    code, said = _refused(tmp_path, *args)
    assert code == exits.USAGE
    assert all(word in said for word in ("Error: ", *USAGE[args]))
    assert not (tmp_path / "data").exists()


def test_it_needs_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "--data-dir", tmp_path / "data"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT,
    )
    assert done.returncode == exits.USAGE
    assert b"needs a terminal" in done.stderr and not done.stdout
    assert not (tmp_path / "data").exists()


def test_a_size_that_the_environment_says_is_not_believed(tmp_path: Path) -> None:
    with Felan(tmp_path, columns=100, rows=30, env={"COLUMNS": "60", "LINES": "10"}) as felan:
        felan.see("real files", "─" * 50)  # the rule goes through all hundred columns
        assert felan.quit() == 0


def test_a_secret_in_the_agent_s_command_is_refused_and_stored_nowhere(tmp_path: Path) -> None:
    secret = "hunter2A9xq"
    code, said = _refused(tmp_path, "--agent", f"sh --api-key {secret}")
    assert code == exits.USAGE and "environment variable" in said and secret not in said
    with Felan(tmp_path) as felan:
        felan.see("2  Another agent")
        felan.press("2")
        felan.see("opencode acp")
        felan.write(f"sh -c true --token={secret}")
        felan.see(secret)
        felan.past(ENTER_SECONDS)
        felan.press("enter")
        felan.see("environment variable")
        felan.step("esc")
        assert felan.quit() == 0
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert kept == []


EVIL = "repo\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2Jx"


@pytest.mark.parametrize("args", [("-c",), ("nope\x1b[2J",), ("demo", "\x1b]52;c;eA==\x07")])
def test_a_name_that_a_terminal_would_follow_is_harmless_at_the_end(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    with Felan(tmp_path / EVIL, *args) as felan:
        assert felan.ended(WAIT) in (exits.USAGE, exits.NOT_FOUND)
        written = bytes(felan.output)
        assert b"\x1b]52" not in written
        # The screen itself may clear the terminal while it is up; what comes after it may not.
        assert b"\x1b[2J" not in written.rpartition(b"\x1b[?1049l")[2]
        assert felan.said_at_last().strip()


def test_a_log_that_is_a_pipe_is_named_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "felan.log")
    code, said = _refused(tmp_path)
    assert code == exits.UNWRITABLE and "felan.log is not a plain file" in said


@pytest.mark.parametrize("rights", [0o777, 0o775])
def test_a_data_folder_that_others_can_write_is_named_and_left(tmp_path: Path, rights: int) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(rights)
    code, said = _refused(tmp_path)
    assert code == exits.UNWRITABLE and str(data) in said and "chmod go-w" in said
    assert data.stat().st_mode & 0o7777 == rights and not list(data.iterdir())


ESCAPES = (b"\x1b]52", b"\x1b]0;", b"\x1b]8;", b"\x1b[2J", b"\x1b[31m", b"\x1b[6n", b"\x1b[c", b"\x1bP")
# NUL, C1, bidi controls, what has no width, line separators, a tag
UNSEEN = re.compile(
    "[\x00\x80-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff\U000e0041]"
)


def test_hostile_text_reaches_no_terminal(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "hostile", "--pace", "0") as felan:
        felan.see("wants to edit")
        start = len(felan.output)
        for title in ("wants to edit", "wants to delete", "wants to run", "“[red]approval[/x]"):
            felan.go_to_card(title)
            felan.press("1")
        felan.go_to_card("[red]confirm[/x]")
        felan.press("y")
        felan.go_to_card("[red]select[/x]")
        felan.press("1")
        felan.go_to_card("[red]input[/x]")
        felan.press("enter")
        felan.go_to_card("[red]form[/x]")
        for _ in range(4):
            felan.step()
        felan.press("enter")
        felan.see("[red]failed[/x]")
        felan.press("f3")
        felan.see("broken", "exited with code 0")  # the keys of an ended process are not offered
        felan.settle(0.1)
        felan.step("esc")
        felan.press("pageup", "pageup")
        felan.see("F7 ↓")
        felan.press("f7")
        felan.see_not("F7 ↓")
        felan.step("f6")
        felan.step("esc")
        felan.enter("/help")
        felan.see("/tour")
        end = len(felan.output)
        assert felan.quit() == 0
        felan.assert_whole()
        drawn = bytes(felan.output[start:end])
        assert [one for one in ESCAPES if one in drawn] == []
        assert UNSEEN.findall(drawn.decode()) == []


def test_a_disk_that_takes_no_more_in_a_turn_is_said_on_the_screen(tmp_path: Path) -> None:
    felan = [COMMAND, "--data-dir", str(tmp_path / "data"), "demo", "edit", "--pace", "0"]
    limited = ["sh", "-c", 'ulimit -f 400; exec "$@"', "sh", *felan]  # 200 KiB a file
    with Felan(tmp_path, command=limited) as screen:
        screen.see("Not stored")
        assert "completed" not in screen.text()
