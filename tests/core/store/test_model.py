"""Random batches against a dictionary, with restarts, crashes and failing batches in between."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from msgspec.structs import replace

from felan_core.protocol.base import JsonObject
from felan_core.protocol.entries import Entry
from felan_core.protocol.records import StoredRequestRecord
from felan_core.protocol.session import ProcessRow
from felan_core.store.batch import Batch
from felan_core.store.errors import StoreFailure
from felan_core.store.rows import LoadedSession, SessionRecord, StoredInteraction
from felan_core.store.store import Store
from tests.core.store.samples import (
    NOW,
    QUEUED,
    RUN,
    clock,
    element,
    message,
    notice,
    process,
    question,
    record,
    session,
    tool,
)

T = TypeVar("T")
SESSIONS = ("a", "b", "c")
names = st.sampled_from(SESSIONS)
few = st.integers(1, 5)
words = st.text(st.characters(codec="utf-8"), max_size=20)


@dataclass
class Model:
    """What ought to be stored; a dictionary too keeps the place of a key whose value is replaced."""

    sessions: dict[str, SessionRecord] = field(default_factory=dict[str, SessionRecord])
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict[tuple[str, str], Entry])
    interactions: dict[tuple[str, str], StoredInteraction] = field(
        default_factory=dict[tuple[str, str], StoredInteraction]
    )
    elements: dict[tuple[str, str], Any] = field(default_factory=dict[tuple[str, str], Any])
    processes: dict[tuple[str, str], ProcessRow] = field(default_factory=dict[tuple[str, str], ProcessRow])
    requests: dict[str, StoredRequestRecord] = field(default_factory=dict[str, StoredRequestRecord])

    def copy(self) -> "Model":
        return Model(**{name: dict(value) for name, value in vars(self).items()})

    def loaded(self, id: str) -> LoadedSession | None:
        if id not in self.sessions:
            return None
        entries = sorted(
            (entry for (one, _), entry in self.entries.items() if one == id), key=lambda entry: entry.seq
        )
        branch = self.branch(id, self.sessions[id].leaf)
        return LoadedSession(
            record=self.sessions[id],
            entries=branch[-4:],
            more=len(branch) > 4,
            running_tools=[entry for entry in entries if getattr(entry, "state", None) == "running"],  # pyright: ignore[reportArgumentType] - only tools have a state
            interactions=[value for (one, _), value in self.interactions.items() if one == id],
            elements=[value for (one, _), value in self.elements.items() if one == id],
            processes=[value for (one, _), value in self.processes.items() if one == id],
        )

    def branch(self, id: str, leaf: str | None) -> list[Entry]:
        """The entries from the root to the leaf."""
        found: list[Entry] = []
        while leaf is not None and (entry := self.entries.get((id, leaf))) is not None:
            found.insert(0, entry)
            leaf = entry.parent or None
        return found

    def newest(self, id: str) -> Entry | None:
        mine = [entry for (one, _), entry in self.entries.items() if one == id]
        return max(mine, key=lambda entry: entry.seq, default=None)

    def open(self) -> list[str]:
        return sorted(
            id
            for id, one in self.sessions.items()
            if one.header.state != "closed"
            and (
                one.header.state != "idle"
                or one.run
                or one.waiting
                or one.queue.items
                or any(
                    value.interaction.state in ("waiting", "deferred")
                    for (of, _), value in self.interactions.items()
                    if of == id
                )
                or any(value.state == "running" for (of, _), value in self.processes.items() if of == id)
            )
        )


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.top = Path(tempfile.mkdtemp(prefix="felan-store-"))
        self.folder = self.top / "0"
        self.store = self.run(Store.open(self.folder, clock=clock))
        self.stored = Model()
        self.coming = Model()
        self.batch = Batch()
        self.bad = False
        self.seq = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        shutil.rmtree(self.top)

    # what a batch may hold

    @rule(
        id=names,
        revision=few,
        name=st.none() | words,
        state=st.sampled_from(("idle", "closed", "running")),
        busy=st.booleans(),
        created=st.integers(0, 2),
        leaf=st.none() | few,
    )
    def put_session(
        self,
        id: str,
        revision: int,
        name: str | None,
        state: Any,
        busy: bool,
        created: int,
        leaf: int | None,
    ) -> None:
        newest = self.coming.newest(id)
        value = session(
            id,
            revision=revision,
            name=name,
            state=state,
            queue=QUEUED if busy else None,
            run=RUN if busy and revision > 2 else None,
            created_at=NOW + created,
            instructions="x" * revision,
            settings={"name": name},
            # A leaf that is not there has no branch.
            leaf=f"e{leaf}" if leaf else newest and newest.id,
        )
        self.batch.put_session(value)
        self.coming.sessions[id] = value

    @rule(
        id=names,
        which=few,
        kind=st.sampled_from(("message", "notice", "running", "failed")),
        text=words,
        after=st.none() | few,
    )
    def put_entry(self, id: str, which: int, kind: Any, text: str, after: int | None) -> None:
        self.seq += 1
        name = f"e{which}"
        newest = self.coming.newest(id)
        # A parent is any entry that is there; most often the newest.
        parent = f"e{after}" if (id, f"e{after}") in self.coming.entries else newest.id if newest else ""
        match kind:
            case "message":
                value = message(name, self.seq, text, parent)
            case "notice":
                value = notice(name, self.seq, text, parent)
            case _:
                value = tool(name, self.seq, kind, parent)
        self.batch.put_entry(id, value)
        before = self.coming.entries.get((id, name))
        self.coming.entries[id, name] = (
            value if before is None else replace(value, seq=before.seq, parent=before.parent)
        )

    @rule(
        id=names,
        which=few,
        state=st.sampled_from(("waiting", "deferred", "resolved", "cancelled")),
        resume=st.none() | st.dictionaries(words, words, max_size=2),
    )
    def put_interaction(self, id: str, which: int, state: Any, resume: JsonObject | None) -> None:
        value = question(f"i{which}", state, id)
        self.batch.put_interaction(id, value, resume)
        self.coming.interactions[id, value.id] = StoredInteraction(value, resume)

    @rule(id=names, which=few, text=words)
    def put_element(self, id: str, which: int, text: str) -> None:
        value = element(f"x{which}", text)
        self.batch.put_element(id, value)
        self.coming.elements[id, value.id] = value

    @rule(id=names, which=few)
    def remove_element(self, id: str, which: int) -> None:
        self.batch.remove_element(id, f"x{which}")
        self.coming.elements.pop((id, f"x{which}"), None)

    @rule(id=names, which=few, state=st.sampled_from(("running", "exited", "lost")))
    def put_process(self, id: str, which: int, state: Any) -> None:
        value = process(f"p{which}", state)
        self.batch.put_process(id, value)
        self.coming.processes[id, value.id] = value

    @rule(id=st.none() | names, which=few, until=st.integers(0, 3))
    def reserve(self, id: str | None, which: int, until: int) -> None:
        value = record(f"r{which}", session=id, retain_until=NOW + until)
        self.batch.reserve(value)
        self.bad = self.bad or value.id in self.coming.requests
        self.coming.requests.setdefault(value.id, value)

    @rule(which=few, text=words)
    def finish(self, which: int, text: str) -> None:
        self.batch.finish(f"r{which}", {"text": text})
        before = self.coming.requests.get(f"r{which}")
        if before is None:
            self.bad = True
        else:
            self.coming.requests[before.id] = replace(before, reply={"text": text})

    # what becomes of it

    @rule()
    def write(self) -> None:
        if self.bad:
            try:
                self.run(self.store.write(self.batch))
            except StoreFailure:
                self.coming = self.stored.copy()
            else:
                raise AssertionError("the batch ought to have been refused")
        else:
            self.run(self.store.write(self.batch))
            self.stored = self.coming.copy()
        self.batch, self.bad = Batch(), False
        self.run(self.compare())

    @rule()
    def drop(self) -> None:
        self.batch, self.bad, self.coming = Batch(), False, self.stored.copy()

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.store = self.run(Store.open(self.folder, clock=clock))
        self.run(self.compare())

    @rule()
    def crash(self) -> None:
        """What is in the files now is what a kill -9 leaves: go on with a copy of them."""
        after = self.top / str(int(self.folder.name) + 1)
        after.mkdir()
        for name in ("felan.db", "felan.db-wal"):
            if (self.folder / name).exists():
                shutil.copy(self.folder / name, after)
        self.run(self.store.close())
        self.folder = after
        self.store = self.run(Store.open(self.folder, clock=clock))
        self.run(self.compare())

    @precondition(lambda self: not len(self.batch))
    @rule(now=st.integers(0, 3))
    def purge(self, now: int) -> None:
        gone = [id for id, one in self.stored.requests.items() if one.retain_until <= NOW + now]
        assert self.run(self.store.purge_requests(NOW + now)) == len(gone)
        for id in gone:
            del self.stored.requests[id]
        self.coming = self.stored.copy()
        self.run(self.compare())

    # what must hold

    async def compare(self) -> None:
        model = self.stored
        for id in SESSIONS:
            assert await self.store.load_session(id, 4) == model.loaded(id)
            assert await self.store.request_counts(id) == (
                sum(one.session == id for one in model.requests.values()),
                len(model.requests),
            )
        for number in range(1, 6):
            assert await self.store.request(f"r{number}") == model.requests.get(f"r{number}")
        assert await self.store.open_sessions() == model.open()
        newest = sorted(model.sessions.values(), key=lambda one: (one.created_at, one.id), reverse=True)
        assert await self.store.list_sessions(limit=10) == newest


TestStore = StoreMachine.TestCase
# No deadline, and slow is no failure: every step waits for a disk.
TestStore.settings = settings(
    max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
