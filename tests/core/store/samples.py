"""Values to store, as small as they can be, and the store's clock."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.elements import StatusElement
from felan_core.protocol.entries import (
    LocalOrigin,
    MessageEntry,
    NoticeEntry,
    TextPart,
    ToolEntry,
    ToolStateName,
)
from felan_core.protocol.interactions import ConfirmRequest, Interaction, InteractionScope, InteractionState
from felan_core.protocol.records import StoredRequestRecord
from felan_core.protocol.session import (
    AgentInfo,
    ProcessOutput,
    ProcessRow,
    ProcessState,
    Queue,
    QueueItem,
    Run,
    SessionHeader,
    SessionStateName,
)
from felan_core.store.batch import Batch
from felan_core.store.rows import SessionRecord

NOW = 1_800_000_000_000
ORIGIN = LocalOrigin(client="test")
RUN = Run(id="run", started_at=NOW, origin=ORIGIN)
QUEUED = Queue(items=[QueueItem(id="q", text="later", mode="follow_up", at=NOW, origin=ORIGIN)], held=True)


def clock() -> int:
    return NOW


def session(
    id: str = "s",
    *,
    revision: int = 1,
    created_at: int = NOW,
    cwd: str = "/home/me/project",
    name: str | None = None,
    state: SessionStateName = "idle",
    parent: str | None = None,
    queue: Queue | None = None,
    run: Run | None = None,
    settings: JsonObject | None = None,
    memory: JsonObject | None = None,
    instructions: str = "",
    leaf: str | None = None,
    waiting: int = 0,
) -> SessionRecord:
    return SessionRecord(
        id=id,
        root=parent or id,
        parent=parent,
        created_at=created_at,
        updated_at=created_at + revision,
        revision=revision,
        next_seq=revision,
        cwd=cwd,
        name=name,
        header=SessionHeader(
            state=state,
            cwd=cwd,
            agent=AgentInfo(kind="test", name="Test", state="ready", memory=True),
            name=UNSET if name is None else name,
        ),
        queue=queue or Queue(items=[], held=False),
        run=run,
        settings=settings or {},
        memory=memory,
        instructions=instructions,
        policy="default",
        leaf=leaf,
        waiting=waiting,
    )


def message(id: str, seq: int, text: str = "hello", parent: str = "") -> MessageEntry:
    parts: list[Any] = [TextPart(id="t", text=text)]
    return MessageEntry(
        id=id,
        seq=seq,
        at=NOW,
        parent=parent or UNSET,
        role="assistant",
        parts=parts,
        outcome="completed",
    )


def notice(id: str, seq: int, title: str = "a notice", parent: str = "") -> NoticeEntry:
    return NoticeEntry(id=id, seq=seq, at=NOW, parent=parent or UNSET, tone="info", title=title)


def tool(id: str, seq: int, state: ToolStateName = "running", parent: str = "") -> ToolEntry:
    return ToolEntry(
        id=id,
        seq=seq,
        at=NOW,
        parent=parent or UNSET,
        name="bash",
        category="execute",
        title="ls",
        state=state,
        started_at=NOW,
    )


def before(id: str) -> str:
    """The parent of the entry with a numbered id: `n2` of `n3`; none of `n1`."""
    number = int(id[1:]) - 1
    return f"{id[0]}{number}" if number else ""


def question(id: str, state: InteractionState = "waiting", session: str = "s") -> Interaction:
    return Interaction(
        id=id,
        scope=InteractionScope(session=session, root=session),
        request=ConfirmRequest(title="Sure?"),
        created_at=NOW,
        deferrable=True,
        state=state,
    )


def element(id: str, text: str = "fine", revision: int = 1) -> StatusElement:
    return StatusElement(id=id, revision=revision, text=text, tone="info")


def process(id: str, state: ProcessState = "running") -> ProcessRow:
    return ProcessRow(
        id=id,
        title="ls",
        command="ls",
        cwd="/",
        state=state,
        started_at=NOW,
        stdin=False,
        pty=False,
        output=ProcessOutput(start=0, end=0),
    )


def record(id: str, *, session: str | None = "s", retain_until: int = NOW + 1000) -> StoredRequestRecord:
    return StoredRequestRecord(
        id=id,
        principal="me",
        op="session.prompt",
        payload='{"op":"session.prompt"}',
        admitted_at=NOW,
        retain_until=retain_until,
        session=UNSET if session is None else session,
    )


def batch(*fill: Callable[[Batch], None]) -> Batch:
    made = Batch()
    for one in fill:
        one(made)
    return made


def bytes_in(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` and the digest of what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
