"""What the pointer's tests share: known values, foreseeable generations, file operations that can fail."""

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from felan_core.pointer import FileOps, PointerStore, State
from felan_core.pointer.values import instant

TASK = "8d3f0c1e-2b4a-4c5d-9e6f-0123456789ab"
OTHER_TASK = "0b0b0b0b-1c1c-4d4d-8e8e-2f2f2f2f2f2f"
SESSION = "session-example"
NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
NOW_TEXT = "2026-01-01T00:00:00Z"


def gen(number: int) -> str:
    return f"g-{number:032x}"


class Generations:
    """g1, g2, … in the order in which they are drawn."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self) -> str:
        self.drawn += 1
        return gen(self.drawn)


def make_store(root: object, ops: FileOps | None = None, **more: Any) -> PointerStore:
    more.setdefault("clock", lambda: NOW)
    more.setdefault("new_generation", Generations())
    return PointerStore(str(root), ops=ops or FileOps(), **more)


def state_members(**changes: object) -> dict[str, object]:
    members: dict[str, object] = {
        "schema_version": 3,
        "session_id": SESSION,
        "generation": gen(1),
        "revision": 3,
        "status": "CLEAN",
        "task_id": TASK,
        "pointer_text": "Goal: finish\nNext: test",
        "updated_at": NOW_TEXT,
    }
    return {**members, **changes}


def request_members(**changes: object) -> dict[str, object]:
    members: dict[str, object] = {
        "schema_version": 3,
        "session_id": SESSION,
        "expected_generation": gen(1),
        "expected_revision": 2,
        "task_id": TASK,
        "target_status": "CLEAN",
        "pointer_text": "Goal: finish\nNext: test",
    }
    return {**members, **changes}


CLEARED_NULLS: dict[str, object] = {"target_status": "CLEARED", "task_id": None, "pointer_text": None}


def as_json(members: object) -> bytes:
    return json.dumps(members, ensure_ascii=False).encode()


def place_state(root: object, data: bytes, session_id: str = SESSION) -> str:
    """Writes bytes where the session's state is read, and gives the path."""
    folder = f"{root}/{session_id}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = f"{folder}/state.json"
    with open(path, "wb") as file:
        file.write(data)
    return path


def v2_members(status: str = "CLEAN", revision: int = 7) -> dict[str, object]:
    members = state_members(schema_version=2, revision=revision, status=status)
    del members["generation"]
    if status == "CLEARED":
        members.update(task_id=None, pointer_text=None)
    return members


def make_state(status: str = "CLEAN", *, generation: str = gen(1), revision: int = 3) -> State:
    task = status != "CLEARED"
    return State(
        SESSION, generation, revision, status, TASK if task else None, "text" if task else None, instant(0)
    )


OPERATIONS = (
    "open",
    "close",
    "read",
    "write",
    "fsync",
    "fstat",
    "stat",
    "mkdir",
    "listdir",
    "unlink",
    "replace",
    "lock",
    "unlock",
)


class HookedOps(FileOps):
    """Calls `before` and `after` around each operation with its number, counted from 0, and its name."""

    def __init__(
        self,
        before: Callable[[int, str], None] = lambda number, name: None,
        after: Callable[[int, str], None] = lambda number, name: None,
    ) -> None:
        self.before = before
        self.after = after
        self.names: list[str] = []


def _hooked(name: str) -> Callable[..., Any]:
    plain = getattr(FileOps, name)

    def operation(self: HookedOps, *arguments: Any) -> Any:
        number = len(self.names)
        self.names.append(name)
        self.before(number, name)
        try:
            return plain(self, *arguments)
        finally:
            self.after(number, name)  # also where the system refused, as it does to open what is not there

    return operation


for _name in OPERATIONS:
    setattr(HookedOps, _name, _hooked(_name))


def steps_of(act: Callable[[FileOps], object]) -> list[str]:
    """The operations that `act` goes through, in order."""
    ops = HookedOps()
    act(ops)
    return ops.names


def in_child(act: Callable[[], object]) -> int:
    """Runs `act` in a forked process; its wait status, so that a signal shows."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(70)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
