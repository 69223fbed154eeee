"""The sessions of a state root, and what changes in them: a stat of each state now and then, and no more.

A state is only ever replaced whole, so a file that is the same by its inode, times and size is the same
state. Ten looks a second notice a change within 200 ms and cost nothing that can be measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from felan_core.pointer.errors import PointerError
from felan_core.pointer.files import STATE_NAME, refusal
from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_core.pointer.values import is_session_id

INTERVAL = 0.1  # seconds between two looks

_Mark = tuple[int, int, int, int]


@dataclass(frozen=True)
class PointerReading:
    """One reading of a session: its state, or None and the error code where it cannot be read; both are None
    where the session has no state.
    """

    session_id: str
    state: State | None
    code: str | None = None


def sessions(root: str) -> list[str]:
    """The session ids under a state root that have a folder, in order. Raises PointerError."""
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refusal(error, "open the state root") from error
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if is_session_id(entry.name))
    except OSError as error:
        raise refusal(error, "list the state root") from error
    finally:
        os.close(folder)


def look(store: PointerStore, session_id: str) -> PointerReading:
    """One session now; never raises PointerError."""
    try:
        return PointerReading(session_id, store.read(session_id))
    except PointerError as error:
        return PointerReading(session_id, None, error.code)


def look_at_all(store: PointerStore) -> list[PointerReading]:
    """Every session that has a state, the one that changed last first. Raises PointerError."""
    found = [look(store, name) for name in sessions(store.root)]
    there = [one for one in found if one.state is not None or one.code is not None]
    return sorted(there, key=lambda one: one.state.updated_at if one.state else "", reverse=True)


class Watcher:
    """The changes since the last poll: of one session, or of all sessions of a root.

    It blocks for a few system calls at each `poll` and holds nothing open, so a host can ask on its own
    clock.
    """

    def __init__(self, store: PointerStore, session_id: str | None = None) -> None:
        self._store = store
        self._session_id = session_id
        self._names = [session_id] if session_id is not None else []
        self._root_mark: _Mark | None = None
        self._list_again = True
        self._marks: dict[str, _Mark | None] = {}
        self._last: dict[str, PointerReading] = {}

    def poll(self) -> list[PointerReading]:
        """The sessions that stand otherwise than at the last poll; at the first one all that have a state.

        Raises PointerError where the state root itself cannot be listed.
        """
        if self._session_id is None:
            self._list()
        changed: list[PointerReading] = []
        for name in self._names:
            mark = _mark(self._path(name))
            if name in self._marks and self._marks[name] == mark:
                continue
            self._marks[name] = mark
            now = look(self._store, name)
            if now != self._last.get(name, PointerReading(name, None)):
                changed.append(now)
            self._last[name] = now
        return changed

    def moved(self) -> bool:
        """Whether the session's file is another than at the last `poll`: one stat, for a single session."""
        name = self._session_id
        if name is None:
            raise ValueError("a watcher of a whole root has no single file")
        return name not in self._marks or self._marks[name] != _mark(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._store.root}/{name}/{STATE_NAME}"

    def _list(self) -> None:
        """Lists the root where it changed, and once more after that: two folders can come in one tick of
        the file system's clock, with our look between them.
        """
        mark = _mark(self._store.root)
        moved = mark != self._root_mark
        if not moved and not self._list_again:
            return
        self._root_mark, self._list_again = mark, moved
        # One that is gone is looked at once more, which says so.
        self._names = sorted({*sessions(self._store.root), *(n for n, m in self._marks.items() if m)})


def _mark(path: str) -> _Mark | None:
    try:
        seen = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size


def follow(
    watchers: list[Watcher], sleep: Callable[[float], object] = time.sleep, interval: float = INTERVAL
) -> Iterator[PointerReading]:
    """Every change at any of them, for ever. Raises PointerError where a state root cannot be listed."""
    while True:
        for watcher in watchers:
            yield from watcher.poll()
        sleep(interval)


def members(one: PointerReading) -> dict[str, object]:
    """A look as a program reads it: the members of a state, or `status` ABSENT or UNREADABLE and `code`."""
    state = one.state
    if state is None:
        status = "ABSENT" if one.code is None else "UNREADABLE"
        return {"session_id": one.session_id, "status": status, "code": one.code}
    return {
        "schema_version": 2 if state.is_legacy else 3,
        "session_id": state.session_id,
        "generation": state.generation,
        "revision": state.revision,
        "status": state.status,
        "task_id": state.task_id,
        "pointer_text": state.pointer_text,
        "updated_at": state.updated_at,
    }
