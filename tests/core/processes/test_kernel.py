"""What the kernel is asked: names with brackets, zombies, markers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from felan_core.processes import kernel

NOT_CARRIED = "FELAN_PROCESS_FOLDER=/not/carried"


def test_a_session_is_seen_with_its_members_and_without_its_zombies() -> None:
    code = "sleep 60 & echo $!; exec sleep 60"
    with subprocess.Popen(["sh", "-c", code], start_new_session=True, stdout=subprocess.PIPE) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        found = kernel.relatives(leader.pid, NOT_CARRIED, [])
        assert {member.pid for member in found} == {leader.pid, child}
        assert {member.group for member in found} == {leader.pid}
        leader.kill()
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
        assert {member.pid for member in kernel.relatives(leader.pid, NOT_CARRIED, [])} == {child}
        os.kill(child, 9)


def test_the_start_is_the_same_whenever_we_ask_and_another_for_another_process() -> None:
    assert kernel.member(os.getpid()) == kernel.member(os.getpid())
    with subprocess.Popen(["sleep", "60"]) as other:
        found = kernel.member(other.pid)
        assert found is not None
        assert found.pid == other.pid
        mine = kernel.member(os.getpid())
        assert mine is not None
        assert mine.started != found.started
        other.kill()
    assert kernel.member(other.pid) is None


@pytest.mark.parametrize("name", ["a b", "x) S 1 1 1 (", "\u00fc"])
def test_a_program_may_be_called_anything(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with subprocess.Popen([program, "60"], start_new_session=True) as child:
        found = kernel.relatives(child.pid, NOT_CARRIED, [])
        assert [(member.pid, member.group) for member in found] == [(child.pid, child.pid)]
        child.kill()


def test_a_marker_is_found_whole_or_not_at_all() -> None:
    environment = {"FELAN_PROCESS_ID": "one-7", "PATH": os.environ["PATH"]}
    command = ["sh", "-c", "echo ready; read line"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert kernel.carries(child.pid, "FELAN_PROCESS_ID=one-7")
        assert not kernel.carries(child.pid, "FELAN_PROCESS_ID=one")
        assert not kernel.carries(child.pid, "PROCESS_ID=one-7")
        child.kill()
    assert not kernel.carries(child.pid, "FELAN_PROCESS_ID=one-7")
