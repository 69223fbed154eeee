import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from felan_core.agents.acp.agent_connection import Times
from felan_core.agents.backend import AgentGone
from tests.core.agents.acp.conftest import HARNESS, Stage
from tests.harness.acp.recorder import Question

ROOT = HARNESS.parents[2]
IMPATIENT = Times(handshake=0.5, cancel=0.3, patience=0.3, drain=0.2)


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while is_there(pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return not is_there(pid)


def pid_of(stage: Stage) -> int:
    life = stage.backend._agent  # pyright: ignore[reportPrivateUsage] - no user sees a pid
    assert life is not None and life._process is not None  # pyright: ignore[reportPrivateUsage]
    return life._process.pid  # pyright: ignore[reportPrivateUsage]


async def test_a_death_in_a_turn_says_how_and_what_the_agent_said_last(stage: Stage) -> None:
    with pytest.raises(AgentGone) as caught:
        await stage.play("partial_line")
    assert caught.value.message == "scripted exited with code 7."
    assert "the disk is on fire" in caught.value.details
    assert "that were no ACP message: 1;" in caught.value.details
    assert stage.session.gone_with is None, "the turn has said it"


async def test_a_kill_names_the_signal(stage: Stage) -> None:
    stage.scripted("silent_on_cancel")
    await stage.backend.start(None)
    turn = asyncio.create_task(stage.take_turn())
    await stage.session.until(stage.session.said)
    os.kill(pid_of(stage), signal.SIGKILL)
    with pytest.raises(AgentGone, match="was ended by SIGKILL"):
        await turn


async def test_a_death_outside_a_turn_is_told_to_the_session_and_withdraws_its_questions(
    stage: Stage,
) -> None:
    def rule(question: Question) -> None:
        if len(stage.session.questions) == 1:
            question.choose("allow_once")

    await stage.play("late", rule)
    await stage.session.until(lambda: stage.session.gone_with)
    error = stage.session.gone_with
    assert error is not None and "exited with code 9" in error.message and "out of memory" in error.details
    assert stage.session.questions[1].withdrawn == "the agent that asked is gone"
    assert [card["state"] for card in stage.session.tools.values()] == ["interrupted", "interrupted"]
    with pytest.raises(AgentGone, match="code 9"):
        await stage.take_turn()


async def test_an_agent_that_ends_right_after_its_answer_completes_the_turn_and_is_told_gone(
    stage: Stage,
) -> None:
    assert await stage.play("answers_and_dies") == "completed"
    await stage.session.until(lambda: stage.session.gone_with)
    assert stage.session.gone_with is not None and "exited with code 0" in stage.session.gone_with.message


async def test_after_a_death_the_next_start_brings_a_new_agent(stage: Stage) -> None:
    await stage.play("answers_and_dies")
    first = pid_of(stage)
    await stage.session.until(lambda: stage.session.gone_with)
    assert await stage.backend.start(None)
    assert pid_of(stage) != first and len(stage.session.named("gone")) == 1
    assert await stage.take_turn() == "completed"


async def test_a_child_that_holds_the_output_open_does_not_hide_the_death_and_is_ended(stage: Stage) -> None:
    with pytest.raises(AgentGone, match="exited with code 4"):
        await stage.play("dies_with_children")
    child = int(stage.session.said().removeprefix("child "))
    assert await gone(child)


async def test_an_agent_that_does_not_end_its_turn_is_ended_itself(stage: Stage) -> None:
    stage.scripted("silent_on_cancel", IMPATIENT)
    await stage.backend.start(None)
    turn = asyncio.create_task(stage.take_turn())
    await stage.session.until(stage.session.said)
    await stage.backend.cancel()
    await stage.backend.cancel()
    with pytest.raises(AgentGone, match=r"did not end its turn within 0\.3 s of a cancel"):
        await turn
    assert len(stage.traffic.sent("session/cancel")) == 1


async def test_a_cancel_between_turns_does_nothing(stage: Stage) -> None:
    stage.scripted("numbers_tools_anew")
    await stage.backend.start(None)
    await stage.backend.cancel()
    assert await stage.take_turn() == "completed"
    await stage.backend.cancel()
    assert await stage.take_turn() == "completed"
    assert not stage.traffic.sent("session/cancel")


@pytest.mark.parametrize(("name", "version"), [("wrong_version", "2"), ("version_as_text", "1")])
async def test_another_version_of_the_protocol_is_named_and_the_agent_ended(
    stage: Stage, name: str, version: str
) -> None:
    stage.scripted(name, IMPATIENT)
    with pytest.raises(AgentGone, match=f"speaks version {version} of the Agent Client Protocol"):
        await stage.backend.start(None)
    assert not children()


async def test_a_handshake_that_is_never_answered_ends_with_its_name(stage: Stage) -> None:
    stage.scripted("hangs_at_new", IMPATIENT)
    with pytest.raises(AgentGone, match=r"did not answer session/new within 0\.5 s"):
        await stage.backend.start(None)
    assert not children()


async def test_megabytes_on_stderr_hold_nothing_up(stage: Stage) -> None:
    assert await stage.play("stderr_flood") == "completed"
    os.kill(pid_of(stage), signal.SIGTERM)
    await stage.session.until(lambda: stage.session.gone_with)
    error = stage.session.gone_with
    assert error is not None and "0049999: a line" in error.details and len(error.details) < 70_000


async def test_an_agent_that_ignores_the_end_of_its_input_and_term_is_killed_and_reaped(stage: Stage) -> None:
    stage.scripted("lives_on", IMPATIENT)
    await stage.backend.start(None)
    await stage.take_turn()
    pid = pid_of(stage)
    await stage.backend.close()
    assert not Path(f"/proc/{pid}").exists(), "not even a zombie is left"
    assert stage.session.gone_with is None


async def test_closing_in_the_middle_of_a_turn_ends_the_turn(stage: Stage) -> None:
    stage.scripted("silent_on_cancel", IMPATIENT)
    await stage.backend.start(None)
    turn = asyncio.create_task(stage.take_turn())
    await stage.session.until(stage.session.said)
    await stage.backend.close()
    with pytest.raises(AgentGone):
        await turn
    assert stage.session.gone_with is None


async def test_closing_does_not_wait_for_a_session_that_takes_nothing_more(stage: Stage) -> None:
    reached = asyncio.Event()

    async def stuck(*_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    stage.scripted("silent_on_cancel", IMPATIENT)
    await stage.backend.start(None)
    stage.session.text = stuck  # type: ignore[method-assign]
    turn = asyncio.create_task(stage.take_turn())
    await asyncio.wait_for(reached.wait(), 10)
    async with asyncio.timeout(5):
        await stage.backend.close()
    with pytest.raises(AgentGone):
        await turn


async def test_what_the_session_raises_reaches_the_turn_and_the_agent_is_ended(stage: Stage) -> None:
    async def broken(*_: object) -> None:
        raise OSError("disk full")

    stage.scripted("silent_on_cancel", IMPATIENT)
    await stage.backend.start(None)
    pid = pid_of(stage)
    stage.session.text = broken  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk full"):
        await stage.take_turn()
    assert await gone(pid)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no-such-agent-anywhere acp", "no-such-agent-anywhere: not found on PATH"),
        ("./not-here", ".*/not-here: not found"),
        ("./plain.txt", "is not a program that this user may run"),
        ("'unbalanced", "cannot be read"),
        ("  ", "No command is configured"),
    ],
)
async def test_a_command_that_cannot_be_started_says_why(stage: Stage, command: str, says: str) -> None:
    Path(stage.session.cwd, "plain.txt").write_text("hello")
    stage.put_up(command)
    with pytest.raises(AgentGone, match=says):
        await stage.backend.start(None)


async def test_a_folder_that_is_gone_is_named(stage: Stage) -> None:
    stage.session.cwd = "/no/such/folder"
    stage.put_up(sys.executable)
    with pytest.raises(AgentGone, match="/no/such/folder"):
        await stage.backend.start(None)


async def test_a_program_of_the_folder_is_found_by_its_relative_path(stage: Stage) -> None:
    agent = Path(stage.session.cwd, "my agent")
    agent.write_text("#!/bin/sh\necho no acp here >&2\nexit 5\n")
    agent.chmod(0o755)
    stage.put_up("'./my agent' --flag")
    with pytest.raises(AgentGone, match="exited with code 5") as caught:
        await stage.backend.start(None)
    assert caught.value.details == "no acp here"


HOST = """
import asyncio, sys
from felan_core.agents.acp.backend import AcpBackend
from felan_core.agents.backend import Turn
from tests.harness.acp.recorder import RecordingSession

async def main():
    session = RecordingSession(cwd=sys.argv[1])
    backend = AcpBackend(session, sys.argv[2])
    await backend.start(None)
    turn = asyncio.create_task(backend.turn(Turn(run="r", text="go")))
    await session.until(session.said)
    print(backend._agent._process.pid, flush=True)
    await turn

asyncio.run(main())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("setpriv"), reason="no parent-death signal here"
)
async def test_an_agent_that_minds_no_end_of_input_dies_with_a_host_that_is_killed(tmp_path: Path) -> None:
    agent = f"{sys.executable} -S -E {HARNESS / 'scripted.py'} silent_on_cancel"
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(tmp_path), agent, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert host.stdout is not None
    pid = int(await asyncio.wait_for(host.stdout.readline(), 30))
    assert is_there(pid)
    host.kill()
    await host.wait()
    assert await gone(pid)


def children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that ended meanwhile
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found
