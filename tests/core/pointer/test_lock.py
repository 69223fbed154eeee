import fcntl
import os
import signal
import threading
from pathlib import Path

import pytest

from felan_core.pointer import FileOps, PointerError
from tests.core.pointer.support import SESSION, TASK, as_json, make_store, place_state, state_members


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds


def holder(path: Path) -> tuple[int, int]:
    """A process that holds the lock; its pid, and a pipe whose closing ends it."""
    ready_read, ready_write = os.pipe()
    end_read, end_write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.close(end_write)
        fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
        os.write(ready_write, b"!")
        os.read(end_read, 1)
        os._exit(0)
    assert os.read(ready_read, 1) == b"!"
    for descriptor in (ready_read, ready_write, end_read):
        os.close(descriptor)
    return child, end_write


def test_a_lock_that_another_process_holds_times_out_after_five_seconds(tmp_path: Path) -> None:
    path = place_state(tmp_path, as_json(state_members()))
    child, end = holder(tmp_path / SESSION / ".lock")
    try:
        for act in (
            lambda store: store.prompt(SESSION),
            lambda store: store.clear(SESSION),
            lambda store: store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "text"),
        ):
            time = FakeTime()
            with pytest.raises(PointerError) as caught:
                act(make_store(tmp_path, monotonic=time.monotonic, sleep=time.sleep))
            assert caught.value.code == "LOCK_TIMEOUT"
            assert sum(time.slept) == pytest.approx(5.0)
            assert max(time.slept) <= 0.02
        assert make_store(tmp_path).read(SESSION) is not None  # a reader waits for nobody
    finally:
        os.close(end)
        os.waitpid(child, 0)
    assert Path(path).read_bytes() == as_json(state_members())


def test_the_wait_ends_when_the_holder_lets_go(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    child, end = holder(tmp_path / SESSION / ".lock")
    waiting = threading.Event()
    done: list[int] = []

    class Told(FileOps):
        def lock(self, descriptor: int) -> bool:
            taken = super().lock(descriptor)
            waiting.set()
            return taken

    worker = threading.Thread(
        target=lambda: done.append(make_store(tmp_path, Told()).prompt(SESSION).revision)
    )
    worker.start()
    assert waiting.wait(5)
    assert not done
    os.close(end)
    worker.join(5)
    os.waitpid(child, 0)
    assert done == [4]


def test_the_lock_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    child, end = holder(tmp_path / SESSION / ".lock")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(end)
    assert make_store(tmp_path).prompt(SESSION).revision == 4


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    threads = [threading.Thread(target=store.prompt, args=(SESSION,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = store.read(SESSION)
    assert state is not None
    assert state.revision == 8


def test_a_lock_file_that_was_removed_while_waiting_is_taken_anew(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    lock = tmp_path / SESSION / ".lock"

    class Removing(FileOps):
        removed = 0

        def lock(self, descriptor: int) -> bool:
            if not self.removed:
                Removing.removed += 1
                lock.unlink()
            return super().lock(descriptor)

    assert make_store(tmp_path, Removing()).prompt(SESSION).revision == 4
    assert lock.is_file()


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    store = make_store(tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        store.read(SESSION)
        store.prompt(SESSION)
        store.clear(SESSION)
        with pytest.raises(PointerError):
            store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "text")
        with pytest.raises(PointerError):
            make_store(tmp_path / SESSION / "state.json").prompt(SESSION)
    assert len(os.listdir("/dev/fd")) == before
