"""A pointer lock that another program holds delays its own session alone."""

import asyncio
import fcntl
import os
from pathlib import Path

from felan_core.pointer.files import LOCK_WAIT
from felan_core.protocol import operations as op
from tests.core.host.rig import Rig, Stagehand, until


async def test_held_pointer_locks_hold_up_no_read_and_no_kill(host: Rig, hand: Stagehand, work: Path) -> None:
    client = await host.client()
    held = [await host.session(client, work) for _ in range((os.cpu_count() or 1) + 5)]
    other = (await host.session(client, work)).state.session
    process = await client.shell(other, op.ShellParams(command="echo hi; sleep 600"))
    locks: list[int] = []
    for replica in held:
        folder = host.folder / "pointers" / replica.state.session
        folder.mkdir(0o700, parents=True, exist_ok=True)
        folder.parent.chmod(0o700)
        locks.append(os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
    prompts = [asyncio.create_task(client.prompt(one.state.session, "go")) for one in held]
    await until(lambda: len(host.assembly.services.pointer_threads._threads) >= len(held))  # pyright: ignore[reportPrivateUsage]
    read = await client.processes_read(other, op.ProcessReadParams(process=process, offset=0, wait_ms=10))
    stopped = await client.processes_stop(other, op.ProcessStopParams(process=process, signal="kill"))
    assert read.start == 0 and stopped.state == "signalled"
    assert not hand.turns  # all of that while the locks were held
    for lock in locks:
        os.close(lock)
    await asyncio.wait_for(asyncio.gather(*prompts), 2 * LOCK_WAIT)
    await until(lambda: len(hand.turns) == len(held), 2 * LOCK_WAIT)
