"""A table with real children, a clock that is set by hand, and waits that end on a condition."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from felan_core.processes.records import ProcessRecord, ReadResult
from felan_core.processes.table import ProcessTable

PATIENCE = 10.0


class Desk:
    def __init__(self, root: Path, cwd: Path) -> None:
        self.root = root
        self.cwd = cwd
        self.now = 1_000
        self.changes: list[ProcessRecord] = []
        self.table = self.new_table()
        self._count = 0

    def new_table(self, **more: float) -> ProcessTable:
        return ProcessTable(self.root, clock=lambda: self.now, on_change=self.changes.append, **more)  # pyright: ignore[reportArgumentType]

    async def run(
        self, command: str, *, argv: list[str] | None = None, pty: tuple[int, int] | None = None
    ) -> str:
        self._count += 1
        id = f"proc-{self._count}"
        await self.table.start(id=id, owner="sess", command=command, argv=argv, cwd=str(self.cwd), pty=pty)
        return id

    async def python(self, code: str, *, pty: tuple[int, int] | None = None) -> str:
        return await self.run("python", argv=[sys.executable, "-u", "-S", "-c", code], pty=pty)

    async def until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, "waited in vain"
            await asyncio.sleep(0.005)

    async def ended(self, id: str) -> ProcessRecord:
        await self.until(lambda: self.table.get(id).state != "running" and self.table.get(id).output_ended)
        return self.table.get(id)

    async def read_all(self, id: str, offset: int = 0) -> bytes:
        data = bytearray()
        while True:
            piece = await self.table.read(id, offset, wait_ms=10_000)
            data += piece.data
            offset = piece.next_offset
            if piece.eof:
                return bytes(data)

    async def read_until(self, id: str, what: bytes) -> bytes:
        data = bytearray()
        offset = 0
        while what not in data:
            piece: ReadResult = await self.table.read(id, offset, wait_ms=10_000)
            assert not piece.eof, f"ended without {what!r}: {bytes(data)!r}"
            data += piece.data
            offset = piece.next_offset
        return bytes(data)

    async def pids(self, id: str, count: int) -> list[int]:
        """The numbers that the children printed as `pid N`, one a line."""
        data = bytearray()
        while data.count(b"\n") < count:
            piece = await self.table.read(id, len(data), wait_ms=10_000)
            data += piece.data
            assert not piece.eof or data.count(b"\n") >= count, bytes(data)
        return [int(line.split()[1]) for line in data.splitlines() if line.startswith(b"pid ")]


def process_state(pid: int) -> str:
    """One of psutil's `STATUS_…`, empty when there is no such process."""
    try:
        return psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return ""


def is_alive(pid: int) -> bool:
    return process_state(pid) not in ("", psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


@pytest.fixture
def alive() -> Callable[[int], bool]:
    return is_alive


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    cwd = tmp_path / "project"
    cwd.mkdir()
    desk = Desk(tmp_path / "spools", cwd)
    before = _children()
    yield desk
    await desk.table.close(grace_ms=100)
    # Whatever a test did: nothing of it may be left, as a zombie neither.
    assert _children() <= before


def _children() -> set[tuple[int, float]]:
    """The children of this process, zombies too. Another test's may be among them."""
    return {(child.pid, child.create_time()) for child in psutil.Process().children()}
