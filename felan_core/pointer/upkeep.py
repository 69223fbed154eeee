"""What a person does to states: reset one that cannot be read, prune cleared ones, adopt another's task."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from felan_core.pointer.about import ABOUT_NAME, read_about
from felan_core.pointer.errors import PATH_UNSAFE, PointerError
from felan_core.pointer.fileops import FILE_OPS
from felan_core.pointer.files import (
    LOCK_NAME,
    LOCK_WAIT,
    STATE_NAME,
    lock_session,
    open_session,
    refusal,
    release,
    sweep,
    unlock_session,
)
from felan_core.pointer.handover import instant_seconds
from felan_core.pointer.rules import State, position
from felan_core.pointer.store import PointerStore
from felan_core.pointer.values import CLEAN, CLEARED, new_task_id
from felan_core.pointer.watch import look, sessions

ABSENT = "ABSENT"
READABLE = "READABLE"
HAS_TASK = "HAS_TASK"
NO_TASK = "NO_TASK"
NO_SESSION = "NO_SESSION"


class UpkeepError(Exception):
    """A refusal because of the session's state; `code` is one of this module's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def unreadable(store: PointerStore, session_id: str) -> PointerError:
    """Why a state cannot be read. Raises UpkeepError where it can be, or where there is none."""
    try:
        state = store.read(session_id)
    except PointerError as error:
        return error
    if state is None:
        raise UpkeepError(ABSENT, "There is no task pointer of this session.")
    raise UpkeepError(READABLE, "This task pointer can be read, so there is nothing to reset.")


def reset(store: PointerStore, session_id: str, clock: Callable[[], float] = time.time) -> str:
    """Moves a state that cannot be read aside, so that the next prompt begins anew; where it is kept.

    Where the session's folder itself is not safe, the folder's entry is moved. Raises UpkeepError as
    `unreadable`, PointerError.
    """
    unreadable(store, session_id)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock()))
    try:
        folder = open_session(FILE_OPS, store.root, session_id, create=False)
    except PointerError as error:
        if error.code != PATH_UNSAFE:
            raise
        return _move_folder(store.root, session_id, stamp)
    if folder is None:
        raise UpkeepError(ABSENT, "There is no task pointer of this session.")
    try:
        lock = lock_session(FILE_OPS, folder, wait=LOCK_WAIT, monotonic=time.monotonic, sleep=time.sleep)
        try:
            unreadable(store, session_id)  # another process may have written it meanwhile
            name = f"unreadable-{stamp}-{os.urandom(3).hex()}.json"
            os.rename(STATE_NAME, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
            return f"{store.root}/{session_id}/{name}"
        finally:
            unlock_session(FILE_OPS, lock)
    except OSError as error:
        raise refusal(error, "move the state aside") from error
    finally:
        release(FILE_OPS, folder)


def _move_folder(root: str, session_id: str, stamp: str) -> str:
    name = f".unreadable-{session_id}-{stamp}-{os.urandom(3).hex()}"  # no session id begins with a dot
    try:
        os.rename(f"{root}/{session_id}", f"{root}/{name}")
    except OSError as error:
        raise refusal(error, "move the session's folder aside") from error
    return f"{root}/{name}"


def cleared(store: PointerStore, age: float, clock: Callable[[], float] = time.time) -> list[State]:
    """Every CLEARED state that is older than `age` seconds, the oldest first. Raises PointerError."""
    found = [look(store, name).state for name in sessions(store.root)]
    old = [state for state in found if state is not None and _is_old(state, age, clock())]
    return sorted(old, key=lambda state: (state.updated_at, state.session_id))


def _is_old(state: State, age: float, now: float) -> bool:
    return state.status == CLEARED and now - instant_seconds(state.updated_at) >= age


def prune(store: PointerStore, state: State) -> bool:
    """Removes a CLEARED state with its folder; whether it was still that state. Raises PointerError.

    A request from before it is stale afterwards: it expects a generation, and there is no state.
    """
    folder = open_session(FILE_OPS, store.root, state.session_id, create=False)
    if folder is None:
        return False
    try:
        lock = lock_session(FILE_OPS, folder, wait=LOCK_WAIT, monotonic=time.monotonic, sleep=time.sleep)
        try:
            if store.read(state.session_id) != state:
                return False
            sweep(FILE_OPS, folder)
            for name in (STATE_NAME, ABOUT_NAME, LOCK_NAME):
                _unlink(name, folder)
        finally:
            unlock_session(FILE_OPS, lock)
        try:  # what else is in it, a state that was reset for one, keeps the folder
            os.rmdir(f"{store.root}/{state.session_id}")
        except OSError:
            return True
        return True
    except OSError as error:
        raise refusal(error, "remove the state") from error
    finally:
        release(FILE_OPS, folder)


def _unlink(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def session_here(store: PointerStore, folder: str, other: str) -> str:
    """The session of a working folder that changed last, except `other`. Raises UpkeepError."""
    found: list[tuple[str, str]] = []
    for name in sessions(store.root):
        if name != other and read_about(store.root, name).folder == folder:
            state = look(store, name).state
            if state is not None:
                found.append((state.updated_at, name))
    if not found:
        raise UpkeepError(NO_SESSION, "No other session of this folder is known; name it with --to.")
    return max(found)[1]


def adopt(store: PointerStore, other: str, session_id: str) -> State:
    """Publishes another session's task under `session_id`, as a new task; the other stays as it is.

    Raises UpkeepError where the other has no task or this one has one of its own, PointerError.
    """
    theirs = store.read(other)
    if theirs is None:
        raise UpkeepError(ABSENT, f"There is no task pointer of the session {other}.")
    if theirs.pointer_text is None:
        raise UpkeepError(NO_TASK, f"The session {other} has no task.")
    ours = store.read(session_id)
    if ours is not None and ours.has_task:
        raise UpkeepError(HAS_TASK, f"The session {session_id} has a task of its own; publish instead.")
    generation, revision, _ = position(ours)
    return store.publish(session_id, generation, revision, new_task_id(), CLEAN, theirs.pointer_text)
