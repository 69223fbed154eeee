"""What is on the disk after a kill -9, and after the disk was full."""

import re
import subprocess
import sys
from pathlib import Path

from felan_core.store.store import Store
from tests.core.store.samples import clock, element, record
from tests.core.store.victim import WRITERS, numbered
from tests.house.tree import ROOT


async def test_every_acknowledged_write_survives_kill_9_and_no_batch_is_there_by_half(tmp_path: Path) -> None:
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.core.store.victim", "write", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert victim.stdout is not None
    told: list[int] = []
    try:
        for line in victim.stdout:
            told.append(int(line))
            if len(told) == 3000:
                break
    finally:
        victim.kill()
    told += [int(line) for line in victim.stdout if line.endswith(b"\n")]
    victim.stdout.close()
    assert victim.wait(30) == -9
    assert len(told) >= 3000
    assert (tmp_path / "felan.db-wal").stat().st_size > 0

    store = await Store.open(tmp_path, clock=clock)
    try:
        for first in range(1, WRITERS + 1):
            mine = [number for number in told if number % WRITERS == first % WRITERS]
            name = f"s{first % WRITERS}"
            found = await store.load_session(name)
            assert found is not None
            last = found.record.revision
            assert last >= max(mine)
            assert found.elements == [element("e", str(last))]
            seqs: list[int] = []
            oldest = ""
            more = True
            while more:
                entries, more = await store.history(name, f"n{last}", before=oldest, limit=256)
                seqs = [entry.seq for entry in entries] + seqs
                oldest = entries[0].id
            assert seqs == list(range(first, last + 1, WRITERS))
            reserved = [number for number in seqs if number % 3 == 0]
            assert (await store.request_counts(name))[0] == len(reserved)
            assert await store.request(f"r{reserved[-1]}") == record(f"r{reserved[-1]}", session=name)
            await store.write(numbered(last + WRITERS))
    finally:
        await store.close()


async def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.store.victim", "full", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    failed, then, stands, works = done.stdout.splitlines()
    found = re.match(r"failed at (\d+) (.*)", failed)
    assert found is not None
    number = int(found[1])
    assert number > 5
    assert f"{tmp_path}/felan.db" in found[2]
    assert "disk" in found[2]
    assert "StoreFailure" in then
    assert stands == f"stands at {number - 1} m{number - 1}"
    assert works == "works again"
    store = await Store.open(tmp_path, clock=clock)
    entries, _ = await store.history("s", f"m{number}", limit=256)
    assert [entry.seq for entry in entries] == list(range(1, number + 1))
    await store.close()
