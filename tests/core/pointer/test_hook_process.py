"""The installed command and the publisher as whole processes: what an agent really starts."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import PointerStore
from felan_core.pointer.install import scripts
from tests.core.pointer.support import SESSION, TASK, as_json, place_state, request_members
from tests.harness.hooks.lab import TEXTS, Context

PROMPT = as_json({"session_id": SESSION, "hook_event_name": "UserPromptSubmit", "prompt": "x" * 300_000})


class Installed:
    def __init__(self, folder: Path) -> None:
        self.scripts = str(folder / "it's here" / "$HOME")
        self.root = str(folder / "state 'root'")
        scripts.write(self.scripts, self.root)
        self.command = scripts.hook_command(self.scripts, "codex", self.root)

    def hook(self, data: bytes, command: str | None = None) -> subprocess.CompletedProcess[bytes]:
        return run(command or self.command, data)

    def publisher(self, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        script = f"{self.scripts}/{scripts.PUBLISH_SCRIPT}"
        words = [sys.executable, "-I", "-S", script, *(arguments or ("--state-root", self.root))]
        return run(shlex.join(words), data)

    def words(self, script: str) -> list[str]:
        return [sys.executable, "-I", "-S", f"{self.scripts}/{script}", "--state-root", self.root]

    def at(self) -> tuple[str, int] | None:
        state = PointerStore(self.root).read(SESSION)
        return None if state is None else (state.status, state.revision)


def run(command: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", command], input=data, capture_output=True, timeout=60)


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def context(done: subprocess.CompletedProcess[bytes]) -> str:
    assert (done.returncode, done.stderr) == (0, b""), done
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_the_typical_run_by_the_commands_in_the_context(installed: Installed) -> None:
    def publish(text: str, next_step: str) -> dict[str, Any]:
        lines = {name: value for name, _, value in (line.partition(": ") for line in text.splitlines())}
        request = {**json.loads(lines["request"]), "task_id": TASK, "pointer_text": next_step}
        done = run(lines["publisher"], as_json(request))
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)

    first = publish(context(installed.hook(PROMPT)), "one")
    assert (first["status"], first["revision"]) == ("CLEAN", 2)
    dirty = context(installed.hook(PROMPT))
    assert installed.at() == ("DIRTY", 3)
    second = publish(dirty, "two")
    assert (second["status"], second["revision"], second["generation"]) == ("CLEAN", 4, first["generation"])
    clear = {"session_id": SESSION, "hook_event_name": "SessionStart", "source": "clear"}
    assert context(installed.hook(as_json(clear))).startswith("TASK_POINTER_V2_BOOTSTRAP\n")
    assert installed.at() == ("CLEARED", 5)
    assert os.path.exists(f"{installed.root}/.agents/codex")


def test_only_a_hook_that_wrote_leaves_a_mark(installed: Installed) -> None:
    for more in ({"hook_event_name": "PreCompact", "trigger": "auto"},
                 {"hook_event_name": "SessionStart", "source": "startup"}):  # fmt: skip
        assert installed.hook(as_json({"session_id": SESSION, **more})).returncode == 0
    assert not os.path.exists(installed.root)


def test_standard_input_may_be_a_socket(installed: Installed) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = subprocess.Popen(
            ["/bin/sh", "-c", installed.command], stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=2
        )
        theirs.close()
        ours.sendall(PROMPT)
        ours.shutdown(socket.SHUT_WR)
        said = b""
        while part := ours.recv(65536):
            said += part
        assert child.wait(60) == 0
    assert json.loads(said)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"


def test_standard_input_that_is_closed_is_the_general_failure(installed: Installed) -> None:
    done = installed.hook(b"", f"{installed.command} <&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"TASK_POINTER_V2:IO_ERROR\n")
    done = run(f"{shlex.join(installed.words(scripts.PUBLISH_SCRIPT))} <&-", b"")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "IO_ERROR")


def test_a_blocked_prompt_is_2_with_both_outputs(installed: Installed) -> None:
    place_state(installed.root, b"")
    done = installed.hook(PROMPT)
    assert (done.returncode, done.stderr) == (2, b"TASK_POINTER_V2:STATE_INVALID\n")
    assert json.loads(done.stdout)["decision"] == "block"


def test_the_reason_of_a_block_names_the_file_and_the_command_that_mends_it(installed: Installed) -> None:
    path = place_state(installed.root, b"{")
    reason = json.loads(installed.hook(PROMPT).stdout)["reason"]
    assert f"File: {path}." in reason
    done = run(reason.partition("To mend it: ")[2], b"")
    assert done.returncode == 0, done
    assert context(installed.hook(PROMPT)).startswith("TASK_POINTER_V2_BOOTSTRAP\n")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_the_line_of_the_context_publishes_every_text_in_every_shell(
    installed: Installed, shell: str, name: str
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on PATH")
    line = Context(context(installed.hook(PROMPT))).shell(TEXTS[name])
    done = subprocess.run([program, "-c", line], capture_output=True, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)
    state = PointerStore(installed.root).read(SESSION)
    assert state is not None and state.pointer_text == TEXTS[name]


def test_the_publisher_is_one_executable_without_arguments(installed: Installed) -> None:
    [word] = shlex.split(Context(context(installed.hook(PROMPT)))["publisher"])
    assert os.access(word, os.X_OK)
    ignored = run(f"{shlex.quote(word)} --state-root /elsewhere", as_json(request_members()))
    assert json.loads(ignored.stdout)["code"] == "STALE_GENERATION"


def test_a_publisher_whose_interpreter_is_gone_says_so(installed: Installed, tmp_path: Path) -> None:
    [word] = shlex.split(Context(context(installed.hook(PROMPT)))["publisher"])
    script = Path(word)
    script.write_text(script.read_text().replace(sys.executable, str(tmp_path / "no python")))
    done = run(shlex.quote(word), b"{}")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "IO_ERROR")


WRONG = [
    "--agent",
    "--agent ''",
    "--agent ../x",
    "--agent=a --agent=b",
    "--help",
    "--state-root",
    "--state-root ''",
    "x",
]


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_command_line_never_blocks(installed: Installed, arguments: str) -> None:
    script = shlex.quote(f"{installed.scripts}/{scripts.HOOK_SCRIPT}")
    done = installed.hook(PROMPT, f"{shlex.quote(sys.executable)} -I -S {script} {arguments}")
    assert done.returncode == 1
    assert done.stderr.startswith(b"TASK_POINTER_V2:")


def test_a_script_an_interpreter_or_a_package_that_is_gone_is_harmless(
    installed: Installed, tmp_path: Path
) -> None:
    gone = installed.command.replace(shlex.quote(sys.executable), shlex.quote(str(tmp_path / "no python")))
    assert gone != installed.command
    done = installed.hook(PROMPT, gone)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    script = Path(installed.scripts, scripts.HOOK_SCRIPT)
    script.write_text(script.read_text().replace(repr(scripts.tree()), repr(str(tmp_path / "no package"))))
    done = installed.hook(PROMPT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    script.unlink()
    done = installed.hook(PROMPT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_answer_that_nobody_takes_is_no_block(installed: Installed) -> None:
    done = installed.hook(PROMPT, f"{installed.command} >&-")
    assert done.returncode == 1
    publish = [
        sys.executable,
        "-I",
        "-S",
        f"{installed.scripts}/{scripts.PUBLISH_SCRIPT}",
        "--state-root",
        installed.root,
    ]
    request = request_members(session_id="other", expected_generation="ABSENT", expected_revision=0)
    done = run(f"{shlex.join(publish)} >&-", as_json(request))
    assert done.returncode == 1, "2 would say that nothing was written"


def test_the_publisher_answers_with_one_object_and_2(installed: Installed) -> None:
    done = installed.publisher(b"x" * 20_000)
    assert (done.returncode, done.stderr) == (2, b"")
    assert json.loads(done.stdout)["code"] == "REQUEST_TOO_LARGE"
    done = installed.publisher(as_json(request_members()))
    value = json.loads(done.stdout)
    assert (value["code"], value["generation"], value["revision"]) == ("STALE_GENERATION", "ABSENT", 0)
    done = installed.publisher(as_json(request_members()), "--nothing", "x")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "REQUEST_INVALID")
    assert not os.path.exists(installed.root)


def test_of_many_publishers_at_once_one_wins(installed: Installed) -> None:
    context(installed.hook(PROMPT))
    state = PointerStore(installed.root).read(SESSION)
    assert state is not None
    request = as_json(request_members(expected_generation=state.generation, expected_revision=state.revision))
    words = installed.words(scripts.PUBLISH_SCRIPT)
    children = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(16)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(request)
    for child in children:
        assert child.stdin is not None
        child.stdin.close()  # all of them wait for this
    answers: list[Any] = []
    for child in children:
        assert child.stdout is not None
        answers.append(json.loads(child.stdout.read()))
        child.stdout.close()
        assert child.wait(60) == (0 if answers[-1]["ok"] else 2)
    assert sorted(str(one.get("code")) for one in answers) == ["None"] + ["STALE_REVISION"] * 15
    assert {one["revision"] for one in answers} == {2}
    assert installed.at() == ("CLEAN", 2)


def test_the_variable_names_the_root_where_the_command_line_does_not(
    installed: Installed, tmp_path: Path
) -> None:
    words = [sys.executable, "-I", "-S", f"{installed.scripts}/{scripts.HOOK_SCRIPT}"]
    done = run(f"FELAN_POINTER_ROOT={shlex.quote(str(tmp_path / 'named'))} {shlex.join(words)}", PROMPT)
    assert done.returncode == 0
    assert (tmp_path / "named" / SESSION / "state.json").exists()


@pytest.mark.parametrize("what", ["hook", "publish"])
def test_a_process_that_is_killed_before_its_input_is_whole_changes_nothing(
    installed: Installed, what: str
) -> None:
    installed.hook(PROMPT)
    before = Path(installed.root, SESSION, "state.json").read_bytes()
    script = scripts.HOOK_SCRIPT if what == "hook" else scripts.PUBLISH_SCRIPT
    words = [sys.executable, "-I", "-S", f"{installed.scripts}/{script}", "--state-root", installed.root]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert child.stdin is not None
    child.stdin.write(PROMPT[:100])
    child.stdin.flush()
    child.kill()
    assert child.wait(60) == -signal.SIGKILL
    child.stdin.close()
    assert Path(installed.root, SESSION, "state.json").read_bytes() == before


def until(true: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    """Waits without a clock: the child ends by itself after the five seconds of the lock at most."""
    while not true():
        if child.poll() is not None:
            raise AssertionError("the child ended")
        os.sched_yield()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_hook_that_is_killed_while_it_waits_for_the_lock_changes_nothing(installed: Installed) -> None:
    installed.hook(PROMPT)
    folder = f"{installed.root}/{SESSION}"
    before = Path(folder, "state.json").read_bytes()
    with open(f"{folder}/.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [
            sys.executable,
            "-I",
            "-S",
            f"{installed.scripts}/{scripts.HOOK_SCRIPT}",
            "--state-root",
            installed.root,
        ]
        child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert child.stdin is not None
        child.stdin.write(PROMPT)
        child.stdin.close()

        def waits() -> bool:
            fds = f"/proc/{child.pid}/fd"
            for descriptor in os.listdir(fds):
                with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                    if os.readlink(f"{fds}/{descriptor}").endswith("/.lock"):
                        return True
            return False

        until(waits, child)
        child.kill()
        assert child.wait(60) == -signal.SIGKILL
    assert Path(folder, "state.json").read_bytes() == before
    assert installed.hook(PROMPT).returncode == 0
    assert installed.at() == ("CLEARED", 2)


def test_the_scripts_load_no_heavy_module(installed: Installed) -> None:
    heavy = {"argparse", "json", "re", "typing", "dataclasses", "pathlib", "subprocess", "enum", "contextlib"}
    for script, data in ((scripts.HOOK_SCRIPT, PROMPT), (scripts.PUBLISH_SCRIPT, as_json(request_members()))):
        words = [
            sys.executable,
            "-I",
            "-S",
            "-v",
            f"{installed.scripts}/{script}",
            "--state-root",
            installed.root,
        ]
        done = run(shlex.join(words), data)
        loaded = {
            line.split()[1].strip("'")
            for line in done.stderr.decode().splitlines()
            if line.startswith("import ")
        }
        assert "felan_core.pointer.main" in loaded
        assert not loaded & heavy
        assert not any(name.startswith(("click", "felan_tui")) for name in loaded)
