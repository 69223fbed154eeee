"""Whole hosts with the rehearsal, driven until they are killed: `python -m tests.core.host.victim`.

Forks one for each folder on a line of its standard input, and says its process id. Every frame that the
host's client was told goes into the pipe `told` of the folder as it came, a line each.
"""

import asyncio
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

from felan_core.client.host_client import HostClient
from felan_core.protocol import operations as op
from felan_tui.cli.embed import EmbeddedHost, Folders, claim
from tests.core.agents.rehearsal.fakes import agree

ANSWER_SECONDS = 0.05


class Told:
    """Says what is received before anybody acts on it."""

    def __init__(self, end: Any, told: int) -> None:
        self._end = end
        self._told = told

    async def send(self, data: bytes) -> None:
        await self._end.send(data)

    async def receive(self) -> bytes:
        data = await self._end.receive()
        left = memoryview(data)
        while left:
            left = left[os.write(self._told, left) :]
        return data

    async def close(self) -> None:
        await self._end.close()


async def live(folder: Path) -> None:
    folders = Folders(folder / "data")
    host = await EmbeddedHost.open(folders, claim(folders, terminal="test"))
    end = Told(host.connect(), os.open(folder / "told", os.O_WRONLY))
    client = HostClient(end, op.ClientInfo(kind="headless", name="victim", version="0"))
    await client.connect()
    extensions = {"agent.backend": "rehearsal", "rehearsal.scenario": "tour", "rehearsal.pace": 0}
    params = op.CreateParams(cwd=str(folder / "work"), extensions=extensions)
    session = (await client.sessions_create(params)).session
    replica = await client.attach(session)
    await client.shell(session, op.ShellParams(command="while :; do echo x; sleep 0.03; done"))
    await client.prompt(session, "tour")
    await client.follow_up(session, "ask")
    while True:
        waiting = [one for one in replica.state.interactions.values() if one.state == "waiting"]
        await asyncio.sleep(ANSWER_SECONDS if waiting else 0.002)
        for one in waiting:
            await client.answer(session, one.id, agree(one.request) or {})


def main() -> None:
    preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(live(Path(line.rstrip("\n"))))
        print(child, flush=True)


def preload() -> None:
    """What every host needs, before the fork: it is imported once."""
    for name in ("felan_core.host.host", "felan_core.processes.table", "felan_core.agents.rehearsal.backend"):
        importlib.import_module(name)


if __name__ == "__main__":
    main()
