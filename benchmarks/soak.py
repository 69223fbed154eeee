"""What a session costs as it gets older: 10,000 turns in one session, through a client and a real host.

A turn has a tool call, a question that the client answers, and a message; every tenth turn runs a process.
Measured after the first hundred turns and at the end: the CPU time of a commit alone (its store takes the
batch and writes nothing), and of a whole turn with its client; and the memory of this process. The client
attaches anew every hundred turns, because its replica keeps the transcript that it has seen: measured is the
host.
"""

import asyncio
import gc
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from felan_core.agents.backend import Abilities, BackendBase, Session, ToolPatch, Turn, TurnOutcome
from felan_core.client.host_client import HostClient
from felan_core.client.replica import Change
from felan_core.client.transport import memory_pair
from felan_core.host.actor import SessionActor
from felan_core.host.assembly import Assembly, open_assembly
from felan_core.protocol import operations as op
from felan_core.protocol.base import JsonObject
from felan_core.protocol.events import InteractionUpdated, RunEnded
from felan_core.protocol.interactions import ConfirmRequest
from felan_core.store.batch import Batch

TURNS = 10_000
FIRST = 100
COMMITS = 500
COMMIT_LIMIT = 1.5
"""How much more a commit may cost at the end."""
MEMORY_LIMIT = 1.3


class _Worker(BackendBase):
    """An agent whose every turn is the same."""

    kind = "soak"
    name = "Soak"
    abilities = Abilities()

    def __init__(self, session: Session, settings: JsonObject) -> None:
        self._session = session
        self._turns = 0

    async def start(self, memory: JsonObject | None) -> bool:
        return True

    async def turn(self, turn: Turn) -> TurnOutcome:
        self._turns += 1
        session, key = self._session, f"t{self._turns}"
        await session.tool(ToolPatch(key=key, name="read", category="read", title=turn.text, state="running"))
        await session.ask(ConfirmRequest(title=f"go on with {turn.text}?"), tool=key)
        if self._turns % 10 == 0:
            await session.process_end(await session.start_process("true"))
        await session.tool(ToolPatch(key=key, state="completed"))
        await session.text("assistant", f"That was {turn.text}.")
        return "completed"

    async def cancel(self) -> None:
        pass

    async def close(self) -> None:
        pass


class _Driver:
    """The client: it answers each question and waits for the end of each turn."""

    def __init__(self, client: HostClient, session: str) -> None:
        self._client = client
        self._session = session
        self._ended = asyncio.Event()
        self._answers: set[asyncio.Task[object]] = set()

    def changed(self, change: Change) -> None:
        match change.event:
            case InteractionUpdated(interaction=asked) if asked.state == "waiting":
                answer = self._client.answer(self._session, asked.id, {"confirmed": True})
                task: asyncio.Task[object] = asyncio.ensure_future(answer)
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)
            case RunEnded():
                self._ended.set()
            case _:
                pass

    async def turns(self, first: int, last: int) -> list[float]:
        """The CPU seconds of each turn."""
        costs: list[float] = []
        for number in range(first, last):
            if number % FIRST == 0:
                await self._client.detach(self._session)  # which forgets the replica
                await self._client.attach(self._session, on_change=self.changed)
            self._ended.clear()
            started = time.process_time()
            await self._client.prompt(self._session, f"turn {number}")
            await self._ended.wait()
            costs.append(time.process_time() - started)
        return costs


async def _nothing(batch: Batch) -> None:
    """The write of a store without a disk."""


async def _commit(assembly: Assembly, actor: SessionActor) -> float:
    """Median CPU microseconds of a commit without its write."""
    costs: list[float] = []

    async def job() -> None:
        for _ in range(COMMITS):
            started = time.thread_time()
            await actor.commit()
            costs.append(time.thread_time() - started)

    store = assembly.services.store
    object.__setattr__(store, "write", _nothing)
    try:
        await actor.do(job)
    finally:
        object.__delattr__(store, "write")
    return 1e6 * median(costs)


def _memory() -> float:
    """MiB that this process has in memory."""
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


async def _run(folder: Path, turns: int) -> list[tuple[str, float, float, float]]:
    def report(error: BaseException, where: str) -> None:
        raise RuntimeError(where) from error

    assembly = await open_assembly(
        folder,
        clock=lambda: time.time_ns() // 1_000_000,
        report=report,
        agents={"soak": lambda: _Worker},
        default_agent="soak",
        namespace="bench",
    )
    ours, theirs = memory_pair()
    assembly.serve(ours, op.Principal(id="bench", kind="local"))
    client = HostClient(theirs, op.ClientInfo(kind="headless", name="bench", version="0"))
    try:
        await client.connect()
        session = (await client.sessions_create(op.CreateParams(cwd=str(folder)))).session
        driver = _Driver(client, session)
        early = await driver.turns(0, FIRST)
        live = assembly.host.sessions.get(session)
        assert live is not None  # it is attached
        actor = live.actor
        first = await _commit(assembly, actor), 1000 * median(early), _memory()
        late = await driver.turns(FIRST, turns)
        last = await _commit(assembly, actor), 1000 * median(late[-FIRST:]), _memory()
    finally:
        await client.close()
        await assembly.close()
    names = ("a commit, µs", "a whole turn, ms", "memory, MiB")
    limits = (COMMIT_LIMIT, COMMIT_LIMIT, MEMORY_LIMIT)
    return list(zip(names, first, last, limits, strict=True))


def measure(turns: int = TURNS) -> str:
    """The report, as text."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(_run(Path(folder), turns))
    lines = [
        f"A session of {turns:,} turns, each with a question and a tool call, every tenth with a process.",
        f"After its first {FIRST} turns, and at its end; medians of {FIRST} turns and of {COMMITS} commits.",
        "",
        f"{'':<18} {'first':>8} {'last':>8} {'ratio':>7} {'limit':>7}",
    ]
    lines += [
        f"{name:<18} {first:8.2f} {last:8.2f} {last / first:7.2f} {limit:7.1f}"
        for name, first, last, limit in rows
    ]
    over = [name.split(",")[0] for name, first, last, limit in rows if last > limit * first]
    lines += ["", f"over the limit: {', '.join(over)}" if over else "all within their limits", ""]
    return "\n".join(lines)
