"""The task pointers under one state root: reading, and the steps of §2a as locked writes.

All of it blocks.
"""

from __future__ import annotations

import os
import time

from felan_core.pointer.errors import PATH_UNSAFE, PointerError
from felan_core.pointer.fileops import FILE_OPS, FileOps
from felan_core.pointer.files import (
    LOCK_WAIT,
    FolderGone,
    lock_session,
    open_session,
    read_file,
    release,
    unlock_session,
    write_file,
)
from felan_core.pointer.request import PublishRequest, check_request
from felan_core.pointer.rules import (
    CLEAR,
    MAX_STATE_BYTES,
    PROMPT,
    State,
    advance,
    compare,
    read_state,
    state_bytes,
)
from felan_core.pointer.values import ABSENT, is_session_id, new_generation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_OPENINGS = 5  # of a folder that somebody removes each time


class PointerStore:
    """The states of a state root. It keeps nothing open and can be used from several threads and processes.

    `clock` returns seconds since the epoch, `new_generation` a fresh generation, `monotonic` and `sleep` time
    the wait for the lock (`lock_wait` seconds at most). Every method raises PointerError and then has
    changed no state; a session id that is none is PATH_UNSAFE.
    """

    __slots__ = ("_clock", "_lock_wait", "_monotonic", "_new_generation", "_ops", "_sleep", "root")

    def __init__(
        self,
        root: str,
        *,
        clock: Callable[[], float] = time.time,
        new_generation: Callable[[], str] = new_generation,
        ops: FileOps = FILE_OPS,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        lock_wait: float = LOCK_WAIT,
    ) -> None:
        self.root = absolute(root)
        self._clock = clock
        self._new_generation = new_generation
        self._ops = ops
        self._monotonic = monotonic
        self._sleep = sleep
        self._lock_wait = lock_wait

    def read(self, session_id: str) -> State | None:
        """The current state, None where there is none. Needs no lock and writes nothing."""
        _check_name(session_id)
        ops = self._ops
        folder = open_session(ops, self.root, session_id, create=False)
        if folder is None:
            return None
        try:
            data = read_file(ops, folder, MAX_STATE_BYTES)
        finally:
            release(ops, folder)
        return None if data is None else read_state(data, session_id)

    def prompt(self, session_id: str) -> State:
        """A prompt was submitted: the task becomes DIRTY, or the CLEARED fence is set up (§3)."""
        _check_name(session_id)
        return self._write(session_id, lambda state: self._advance(state, PROMPT, session_id), create=True)

    def clear(self, session_id: str) -> State:
        """The conversation was cleared: CLEARED, with a new generation (§3)."""
        _check_name(session_id)
        return self._write(session_id, lambda state: self._advance(state, CLEAR, session_id), create=True)

    def publish(
        self,
        session_id: str,
        expected_generation: str,
        expected_revision: int,
        task_id: str | None,
        target_status: str,
        pointer_text: str | None,
    ) -> State:
        """Compare-and-set (§2); raises also REQUEST_INVALID, STALE_GENERATION and STALE_REVISION."""
        return self.publish_request(
            check_request(
                {
                    "schema_version": 3,
                    "session_id": session_id,
                    "expected_generation": expected_generation,
                    "expected_revision": expected_revision,
                    "task_id": task_id,
                    "target_status": target_status,
                    "pointer_text": pointer_text,
                }
            )
        )

    def publish_request(self, request: PublishRequest) -> State:
        """`publish` of a request that was checked already."""

        def decide(state: State | None) -> State:
            compare(state, request.expected_generation, request.expected_revision)
            return self._advance(
                state,
                request.step,
                request.session_id,
                task_id=request.task_id,
                pointer_text=request.pointer_text,
            )

        # A request that expects a state makes no folder: without one it is stale, whatever happens meanwhile.
        return self._write(request.session_id, decide, create=request.expected_generation == ABSENT)

    def establish(self, state: State) -> None:
        """Writes a state that comes from elsewhere (a migration), where the session has none yet.

        Raises STALE_GENERATION where it has one.
        """
        _check_name(state.session_id)

        def decide(now: State | None) -> State:
            compare(now, ABSENT, 0)
            return state

        self._write(state.session_id, decide, create=True)

    def _advance(
        self,
        state: State | None,
        step: str,
        session_id: str,
        *,
        task_id: str | None = None,
        pointer_text: str | None = None,
    ) -> State:
        return advance(
            state,
            step,
            session_id,
            clock=self._clock,
            new_generation=self._new_generation,
            task_id=task_id,
            pointer_text=pointer_text,
        )

    def _write(self, session_id: str, decide: Callable[[State | None], State], *, create: bool) -> State:
        """Reads again under the session's lock, and writes the state that `decide` returns."""
        for _ in range(_OPENINGS):
            folder = open_session(self._ops, self.root, session_id, create=create)
            if folder is None:
                return decide(None)
            try:
                return self._write_in(folder, session_id, decide)
            except FolderGone:
                continue  # it was pruned between the opening and the lock
            finally:
                release(self._ops, folder)
        raise FolderGone

    def _write_in(self, folder: int, session_id: str, decide: Callable[[State | None], State]) -> State:
        ops = self._ops
        lock = lock_session(ops, folder, wait=self._lock_wait, monotonic=self._monotonic, sleep=self._sleep)
        try:
            previous = read_file(ops, folder, MAX_STATE_BYTES)
            state = decide(None if previous is None else read_state(previous, session_id))
            write_file(
                ops, folder, state_bytes(state), lambda back: read_state(back, session_id) == state, previous
            )
            return state
        finally:
            unlock_session(ops, lock)


def absolute(root: str) -> str:
    """`root` made absolute, without a slash at its end (the system would follow a link there).

    Nothing else is tidied: `a/../b` may lead somewhere else than `b`.
    """
    if not root:
        raise PointerError(PATH_UNSAFE, "The state root has no name.")
    path = root if root.startswith("/") else f"{os.getcwd()}/{root}"
    while len(path) > 1 and path.endswith(("/", "/.")):
        path = path[:-1]
    return path


def _check_name(session_id: str) -> None:
    if not is_session_id(session_id):
        raise PointerError(PATH_UNSAFE, "The session id cannot be the name of a folder.")
