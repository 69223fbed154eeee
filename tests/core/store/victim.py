"""A process that writes until it is killed, or until the disk is full: `python -m tests.core.store.victim`.

`write FOLDER`: many writers at once; each says the number of a batch on a line of its own once it is on disk.
`full FOLDER`: its files may not grow past a size; it says what happens before, at and after that.
"""

import asyncio
import os
import resource
import sys
from pathlib import Path

from felan_core.store.batch import Batch
from felan_core.store.errors import StoreFailure
from felan_core.store.store import Store
from tests.core.store.samples import before, clock, element, message, notice, record, session

WRITERS = 20


def numbered(number: int) -> Batch:
    """The batch of a number: every kind of change, so that half a batch would be seen."""
    batch = Batch()
    name = f"s{number % WRITERS}"
    parent = f"n{number - WRITERS}" if number > WRITERS else ""
    batch.put_session(session(name, revision=number, leaf=f"n{number}"))
    batch.put_element(name, element("e", str(number)))
    if number % 3:
        batch.put_entry(name, notice(f"n{number}", number, parent=parent))
    else:
        batch.put_entry(name, message(f"n{number}", number, "text " * (number % 400), parent))
        batch.reserve(record(f"r{number}", session=name))
    return batch


async def write(folder: Path) -> None:
    store = await Store.open(folder, clock=clock)

    async def one(first: int) -> None:
        number = first
        while True:
            await store.write(numbered(number))
            os.write(1, b"%d\n" % number)
            number += WRITERS

    await asyncio.gather(*(one(first) for first in range(1, WRITERS + 1)))


async def full(folder: Path) -> None:
    store = await Store.open(folder, clock=clock)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    number = 0
    try:
        while True:
            number += 1
            batch = Batch()
            batch.put_session(session(revision=number, leaf=f"m{number}"))
            batch.put_entry("s", message(f"m{number}", number, "x" * 20_000, before(f"m{number}")))
            await store.write(batch)
    except StoreFailure as error:
        print("failed at", number, error)
    again = await asyncio.gather(
        *(store.write(numbered(one)) for one in range(100, 200)), return_exceptions=True
    )
    print("then", sorted({type(result).__name__ for result in again}))
    found = await store.load_session("s")
    assert found is not None
    print("stands at", found.record.revision, found.entries[-1].id)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    batch = Batch()
    batch.put_entry("s", message(f"m{number}", number, "x" * 20_000, before(f"m{number}")))
    await store.write(batch)
    await store.close()
    print("works again")


if __name__ == "__main__":
    asyncio.run({"write": write, "full": full}[sys.argv[1]](Path(sys.argv[2])))
