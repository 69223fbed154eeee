"""A host in a process of its own, to be killed: with a child behind its gate, or a peer and a command."""

import asyncio
import json
import sys
import time
from pathlib import Path

import psutil

from felan_core.processes.records import ProcessRecord
from felan_core.processes.table import ProcessTable


async def behind_the_gate(table: ProcessTable, cwd: str, pty: str) -> None:
    async def stored(_: ProcessRecord) -> None:
        (child,) = psutil.Process().children()
        print(child.pid, flush=True)
        await asyncio.Event().wait()

    size = (80, 24) if pty else None
    await table.start(id="a", owner="s", command="touch ran", cwd=cwd, stored=stored, pty=size)


async def with_a_peer(table: ProcessTable, cwd: str, code: str) -> None:
    argv = [sys.executable, "-u", "-S", "-c", code]
    peer = await table.spawn(argv, id="peer", owner="s", title="t", cwd=cwd, environ={})
    await peer.reader.readline()
    await table.start(id="cmd", owner="s", command="exec sleep 60", cwd=cwd)
    (command,) = (one for one in psutil.Process().children() if one.pid != peer.pid)
    print(json.dumps([peer.pid, command.pid]), flush=True)
    await asyncio.Event().wait()


async def main(root: str, cwd: str, what: str, more: str) -> None:
    table = ProcessTable(Path(root), clock=lambda: time.time_ns() // 1_000_000, on_change=lambda _: None)
    await (with_a_peer if what == "peer" else behind_the_gate)(table, cwd, more)


asyncio.run(main(*sys.argv[1:]))
