"""A host in a process of its own, to be killed: starts the commands that it is given and tells the rows."""

import asyncio
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from felan_core.processes.table import ProcessTable


async def main(root: str, cwd: str, commands: list[str]) -> None:
    table = ProcessTable(Path(root), clock=lambda: time.time_ns() // 1_000_000, on_change=lambda _: None)
    for number, command in enumerate(commands):
        id = f"old-{number}"
        await table.start(id=id, owner="sess", command=command, cwd=cwd)
        # Each writes one line when it is ready.
        while not (await table.read(id, 0, wait_ms=1000)).data.endswith(b"\n"):
            pass
    print(json.dumps([asdict(record) for record in table.list()]), flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
