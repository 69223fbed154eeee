"""How a child is started: shell, environment, terminal, and why one was not."""

import os
import sys
from pathlib import Path

import pytest

from felan_core.processes.errors import (
    CommandNotFound,
    DuplicateProcess,
    FolderMissing,
    NotPermitted,
    SpawnFailed,
    TableClosed,
)
from felan_core.processes.spawn import shell_of
from tests.core.processes.conftest import Desk


async def test_the_record_says_what_was_started(desk: Desk) -> None:
    desk.now = 77
    record = await desk.table.start(
        id="a", owner="sess", command="sleep 60", cwd=str(desk.cwd), title="A nap"
    )
    assert (record.id, record.owner, record.title, record.command) == ("a", "sess", "A nap", "sleep 60")
    assert (record.state, record.started_at, record.ended_at) == ("running", 77, None)
    assert (record.exit_code, record.signal, record.stdin, record.pty) == (None, None, False, False)
    assert record.cwd == str(desk.cwd)
    assert "pid" not in dir(record)


@pytest.mark.parametrize("code", [0, 1, 42, 255])
async def test_the_exit_code_is_the_one_of_the_child(desk: Desk, code: int) -> None:
    id = await desk.run(f"until test -e go; do sleep 0.01; done; exit {code}")
    desk.now = 2_000
    (desk.cwd / "go").touch()
    record = await desk.ended(id)
    assert (record.state, record.exit_code, record.signal, record.ended_at) == ("exited", code, None, 2_000)
    assert desk.changes[-1] == record


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
async def test_a_signal_is_told_by_its_name(desk: Desk, name: str) -> None:
    id = await desk.run(f"kill -{name.removeprefix('SIG')} $$")
    record = await desk.ended(id)
    assert (record.state, record.exit_code, record.signal) == ("signalled", None, name)


async def test_the_child_knows_its_session_and_inherits_the_rest(desk: Desk) -> None:
    await desk.table.start(
        id="a",
        owner="session-9",
        command="echo $FELAN_SESSION_ID,$FELAN_PROCESS_ID,$HOME",
        cwd=str(desk.cwd),
    )
    assert await desk.read_all("a") == f"session-9,a,{os.environ.get('HOME', '')}\n".encode()


async def test_the_child_runs_in_its_folder_with_an_empty_input(desk: Desk) -> None:
    id = await desk.run("pwd -P; cat; echo end")
    assert await desk.read_all(id) == f"{desk.cwd.resolve()}\nend\n".encode()


async def test_the_child_leads_a_session_of_its_own_and_inherits_no_descriptor(desk: Desk) -> None:
    id = await desk.python(
        "import os\n"
        "def is_open(fd):\n"
        "    try: os.fstat(fd)\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print(os.getsid(0) == os.getpid() == os.getpgrp(), [fd for fd in range(3, 500) if is_open(fd)])"
    )
    assert await desk.read_all(id) == b"True []\n"


async def test_argv_goes_past_the_shell(desk: Desk) -> None:
    await desk.table.start(
        id="a", owner="s", command="shown", argv=["printf", "%s", "$HOME; `ls` *"], cwd=str(desk.cwd)
    )
    assert await desk.read_all("a") == b"$HOME; `ls` *"
    assert desk.table.get("a").command == desk.table.get("a").title == "shown"


@pytest.mark.parametrize("pty", [None, (80, 24)])
@pytest.mark.parametrize("program", ["no-such-program-here", "./no-such-file", "/no/such/file"])
async def test_a_program_that_is_not_there(desk: Desk, program: str, pty: tuple[int, int] | None) -> None:
    with pytest.raises(CommandNotFound, match=program):
        await desk.run("x", argv=[program, "arg"], pty=pty)
    assert desk.table.list() == []
    assert list(desk.root.iterdir()) == []


@pytest.mark.parametrize("pty", [None, (80, 24)])
async def test_a_file_that_may_not_be_run(desk: Desk, pty: tuple[int, int] | None) -> None:
    (desk.cwd / "plain.txt").write_text("hello")
    with pytest.raises(NotPermitted, match=r"plain\.txt"):
        await desk.run("x", argv=["./plain.txt"], pty=pty)


async def test_a_folder_that_is_not_there(desk: Desk) -> None:
    for cwd in (str(desk.cwd / "none"), "relative", str(desk.cwd / "file")):
        (desk.cwd / "file").touch()
        with pytest.raises(FolderMissing):
            await desk.table.start(id="a", owner="s", command="true", cwd=cwd)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
async def test_a_folder_that_may_not_be_entered(desk: Desk) -> None:
    (desk.cwd / "shut").mkdir(mode=0)
    with pytest.raises(NotPermitted):
        await desk.table.start(id="a", owner="s", command="true", cwd=str(desk.cwd / "shut"))


@pytest.mark.parametrize(
    "argv", [["printf", "a\0b"], ["printf", "\ud800x"], ["printf", "x" * 3_000_000], [], [""]]
)
async def test_what_no_system_call_takes_is_an_error_of_its_own(desk: Desk, argv: list[str]) -> None:
    with pytest.raises(SpawnFailed):
        await desk.run("x", argv=argv)
    assert list(desk.root.iterdir()) == []


async def test_an_id_is_taken_once_and_may_be_any_text(desk: Desk) -> None:
    for id in ("../../etc", "a/b", "A", "a", "ü" * 64, "."):
        await desk.table.start(id=id, owner="s", command="printf x", cwd=str(desk.cwd))
        assert await desk.read_all(id) == b"x"
        with pytest.raises(DuplicateProcess):
            await desk.table.start(id=id, owner="s", command="printf x", cwd=str(desk.cwd))
    assert len(list(desk.root.iterdir())) == 6
    assert {path.parent for path in desk.root.iterdir()} == {desk.root}


async def test_after_the_close_nothing_starts(desk: Desk) -> None:
    await desk.table.close()
    with pytest.raises(TableClosed):
        await desk.run("true")


async def test_on_a_pty_the_child_has_a_terminal_of_the_asked_size(desk: Desk) -> None:
    id = await desk.python(
        "import os, sys\n"
        "tty = os.open('/dev/tty', os.O_RDWR)\n"
        "print(all(os.isatty(fd) for fd in (0, 1, 2, tty)), tuple(os.get_terminal_size(1)))\n"
        "print(os.tcgetpgrp(tty) == os.getpgrp(), os.getsid(0) == os.getpid(), os.environ['TERM'])",
        pty=(101, 33),
    )
    assert desk.table.get(id).pty
    assert await desk.read_all(id) == b"True (101, 33)\r\nTrue True xterm-256color\r\n"
    assert (await desk.ended(id)).exit_code == 0


async def test_on_a_pty_the_whole_output_is_there_after_the_exit(desk: Desk) -> None:
    ids = [await desk.run(f"seq 1 {count}", pty=(80, 24)) for count in (1, 10, 3_000) for _ in range(5)]
    for id, count in zip(ids, [1] * 5 + [10] * 5 + [3_000] * 5, strict=True):
        assert await desk.read_all(id) == b"".join(b"%d\r\n" % n for n in range(1, count + 1))


async def test_on_a_pty_a_shell_command_gets_its_exit_code_and_quotes_right(desk: Desk) -> None:
    id = await desk.run("printf '%s' \"it's\"; exit 9", pty=(80, 24))
    assert await desk.read_all(id) == b"it's"
    assert (await desk.ended(id)).exit_code == 9


async def test_a_terminal_of_an_impossible_size_is_refused(desk: Desk) -> None:
    with pytest.raises(SpawnFailed):
        await desk.run("true", pty=(-1, 24))


@pytest.mark.parametrize(
    ("shell", "taken"),
    [
        ("fish", True),
        ("zsh", True),
        ("dash", True),
        ("ksh", True),
        ("tcsh", False),
        ("nu", False),
        ("x", False),
    ],
)
def test_only_a_shell_with_a_posix_option_c_is_taken(tmp_path: Path, shell: str, taken: bool) -> None:
    path = tmp_path / shell
    path.symlink_to("/bin/sh")
    assert shell_of({"SHELL": str(path)}) == (str(path) if taken else "/bin/sh")


@pytest.mark.parametrize("shell", ["", "bash", "/no/such/bash", sys.executable])
def test_a_shell_that_cannot_be_used_is_replaced(shell: str) -> None:
    assert shell_of({"SHELL": shell}) == "/bin/sh"
