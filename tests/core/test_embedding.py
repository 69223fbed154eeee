"""A host in another program: the example of docs/embedding.md, and the end of the block in every case."""

import asyncio
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from felan_core.client.host_client import ConnectionLost
from felan_core.daemon.ownership import Held, acquire
from felan_core.embedding import EmbeddedHost, open_host
from felan_core.host.host import Host
from felan_core.host.limits import HostLimits
from felan_core.protocol.operations import CreateParams, ShellParams
from felan_core.store.errors import StoreError

PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"


def test_the_example_of_the_page_approves_an_edit_and_prints_the_answer(tmp_path: Path) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(example.splitlines()) < 50
    done = subprocess.run(
        [sys.executable, "-c", example, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"agents work in {tmp_path / 'data'}\n")
    assert "I write a scratch file and change one line of it." in done.stdout
    assert done.stdout.count("\n[approved: ") == 3  # it is written, changed and deleted
    assert "is changed on disk" in done.stdout and done.stdout.endswith("[completed]\n")


def test_the_page_names_only_limits_that_exist() -> None:
    assert "`idle_seconds`" in PAGE.read_text("utf-8")
    assert "idle_seconds" in {one.name for one in fields(HostLimits)}


def free(folder: Path) -> None:
    """Fails where ``folder`` is still locked."""
    acquire(folder, terminal="test", clock=lambda: 0).release()


async def running(host: EmbeddedHost, work: Path) -> int:
    """A session with a process that runs; its number."""
    client = await host.connect()
    session = (await client.sessions_create(CreateParams(cwd=str(work)))).session
    replica = await client.attach(session)
    process = await client.shell(
        session, ShellParams(command=f"echo $$ > {work}/pid; mv {work}/pid {work}/began; sleep 600")
    )
    while not (work / "began").exists():
        await asyncio.sleep(0.002)
    assert replica.state.processes[process].state == "running"
    return int((work / "began").read_text())


def assert_gone(pid: int) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_body_that_raises_leaves_no_process_no_task_and_no_lock(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    pid = 0
    with pytest.raises(ZeroDivisionError):
        async with open_host(tmp_path / "data") as host:
            pid = await running(host, tmp_path)
            with pytest.raises(Held):
                async with open_host(tmp_path / "data"):
                    pass
            raise ZeroDivisionError
    assert_gone(pid)
    free(tmp_path / "data")
    assert asyncio.all_tasks() == before
    async with open_host(tmp_path / "data") as host:
        client = await host.connect()
        [row] = (await client.sessions_list()).items
        [process] = (await client.attach(row.id)).state.processes.values()
        assert process.stopped and process.state != "running"
    with pytest.raises(ConnectionLost):
        await client.sessions_list()


async def test_a_cancelled_body_ends_the_host_and_is_cancelled_after_it(tmp_path: Path) -> None:
    began, left, pids = asyncio.Event(), asyncio.Event(), list[int]()

    async def body() -> None:
        async with open_host(tmp_path / "data") as host:
            try:
                pids.append(await running(host, tmp_path))
                began.set()
                await asyncio.Event().wait()
            finally:
                left.set()

    task = asyncio.create_task(body())
    await began.wait()
    task.cancel()
    await left.wait()
    await asyncio.sleep(0)
    task.cancel()  # while the host ends: it ends all the same
    with pytest.raises(asyncio.CancelledError):
        await task
    assert_gone(pids[0])
    free(tmp_path / "data")


@pytest.mark.parametrize("error", [StoreError, asyncio.CancelledError])
async def test_a_host_that_does_not_start_leaves_the_folder_unlocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    async def start(self: Host) -> None:
        raise StoreError(tmp_path, "the disk is full") if error is StoreError else error

    before = asyncio.all_tasks()
    monkeypatch.setattr(Host, "start", start)
    with pytest.raises(error):
        async with open_host(tmp_path / "data"):
            raise AssertionError("it does not start")
    free(tmp_path / "data")
    assert asyncio.all_tasks() == before
