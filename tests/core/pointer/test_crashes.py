"""SIGKILL and failures at each file operation of a write: the old state or the new one, whole (§1)."""

import errno
import os
import signal
from collections.abc import Callable

import pytest

from felan_core.pointer import FileOps, PointerError, PointerStore, State
from tests.core.pointer.support import (
    SESSION,
    TASK,
    HookedOps,
    as_json,
    die,
    in_child,
    make_store,
    place_state,
    steps_of,
    v2_members,
)

Act = Callable[[PointerStore], State]


def publish(store: PointerStore) -> State:
    now = store.read(SESSION)
    if now is None:
        return store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "new")
    return store.publish(SESSION, now.generation, now.revision, TASK, "CLEAN", "new " * 1000)


def nothing(root: str) -> None:
    pass


def v2_state(root: str) -> None:
    place_state(root, as_json(v2_members()))


def v3_state(root: str) -> None:
    make_store(root).publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "old")


CASES: list[tuple[str, Callable[[str], None], Act]] = [
    ("first-publish", nothing, publish),
    ("publish", v3_state, publish),
    ("upgrade-by-prompt", v2_state, lambda store: store.prompt(SESSION)),
]
each_case = pytest.mark.parametrize(("begin", "act"), [pytest.param(b, a, id=n) for n, b, a in CASES])


def names_in(root: str) -> set[str]:
    try:
        return set(os.listdir(f"{root}/{SESSION}"))
    except FileNotFoundError:
        return set()


def learn(root: str, begin: Callable[[str], None], act: Act) -> tuple[list[str], State | None, State]:
    """The operations of an undisturbed run, and the states before and after it."""
    begin(root)
    before = make_store(root).read(SESSION)
    steps = steps_of(lambda ops: act(make_store(root, ops)))
    after = make_store(root).read(SESSION)
    assert after is not None
    assert {"open", "write", "fsync", "replace", "lock", "unlock"} <= set(steps)
    return steps, before, after


def same(one: State | None, other: State | None) -> bool:
    """Equal but for the generation, which each run draws anew."""
    return (one is None) == (other is None) and (
        one is None
        or other is None
        or (one.revision, one.status, one.pointer_text) == (other.revision, other.status, other.pointer_text)
    )


@each_case
def test_a_kill_at_any_operation_leaves_the_old_state_or_the_new(
    tmp_path: object, begin: Callable[[str], None], act: Act
) -> None:
    steps, before, after = learn(f"{tmp_path}/learn", begin, act)
    replaced = steps.index("replace")
    temps_seen = 0
    # After an operation is before the next one; only the last has none.
    for target, name in enumerate([*steps, "the end"]):
        when = "before" if target < len(steps) else "after"
        target = min(target, len(steps) - 1)
        root = f"{tmp_path}/{when} {target}"
        begin(root)

        def kill(number: int, _name: str, target: int = target) -> None:
            if number == target:
                die()

        ops = HookedOps(**{when: kill})
        status = in_child(lambda root=root, ops=ops: act(make_store(root, ops)))
        assert os.WIFSIGNALED(status), f"{name} was not reached"
        assert os.WTERMSIG(status) == signal.SIGKILL

        now = make_store(root).read(SESSION)
        is_new = target > replaced
        assert same(now, after if is_new else before), f"killed {when} {name} (operation {target})"

        temps = names_in(root) - {"state.json", ".lock"}
        temps_seen += len(temps)
        written = make_store(root).prompt(SESSION)  # the lock went with the process
        assert written.revision == (now.revision if now else 0) + 1
        assert names_in(root) == {"state.json", ".lock"}
    assert temps_seen > 3


def refuse_with(code: int, target: int) -> Callable[[int, str], None]:
    def refuse(number: int, _name: str) -> None:
        if number == target:
            raise OSError(code, os.strerror(code))

    return refuse


@each_case
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_at_any_operation_leaves_the_state_and_no_temporary_file(
    tmp_path: object, begin: Callable[[str], None], act: Act, when: str
) -> None:
    steps, before, after = learn(f"{tmp_path}/learn", begin, act)
    refused = 0
    for target, name in enumerate(steps):
        root = f"{tmp_path}/{target}"
        begin(root)
        ops = HookedOps(**{when: refuse_with(errno.ENOSPC, target)})
        try:
            act(make_store(root, ops))
        except PointerError as error:
            refused += 1
            assert error.code == "IO_ERROR"
            assert same(make_store(root).read(SESSION), before), f"failed {when} {name} (operation {target})"
        else:
            # Closing what was only read, and giving the lock back, may fail without anybody losing anything.
            assert name in ("close", "unlock", "unlink")
            assert same(make_store(root).read(SESSION), after)
        assert names_in(root) <= {"state.json", ".lock"}
    assert refused > len(steps) // 2


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_disk_that_is_full_midway_is_an_io_error(tmp_path: object, code: int) -> None:
    v3_state(str(tmp_path))
    before = make_store(tmp_path).read(SESSION)

    class FullDisk(FileOps):
        def write(self, descriptor: int, data: bytes) -> int:
            if len(data) < 200:
                raise OSError(code, os.strerror(code))
            return super().write(descriptor, data[:100])

    assert before is not None
    with pytest.raises(PointerError) as caught:
        make_store(tmp_path, FullDisk()).publish(SESSION, before.generation, 1, TASK, "CLEAN", "x" * 500)
    assert caught.value.code == "IO_ERROR"
    assert make_store(tmp_path).read(SESSION) == before
    assert names_in(str(tmp_path)) == {"state.json", ".lock"}


def test_short_writes_are_carried_on(tmp_path: object) -> None:
    class Slow(FileOps):
        def write(self, descriptor: int, data: bytes) -> int:
            return super().write(descriptor, data[:7])

        def read(self, descriptor: int, size: int) -> bytes:
            return super().read(descriptor, min(size, 5))

    store = make_store(tmp_path, Slow())
    state = store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "目标" * 500)
    assert store.read(SESSION) == state


@pytest.mark.parametrize("changed", [b"", b"{}", b"x" * 100000])
def test_what_reads_back_as_something_else_never_becomes_the_state(tmp_path: object, changed: bytes) -> None:
    v3_state(str(tmp_path))
    before = make_store(tmp_path).read(SESSION)

    class Corrupting(FileOps):
        def write(self, descriptor: int, data: bytes) -> int:
            super().write(descriptor, changed)
            return len(data)

    with pytest.raises(PointerError) as caught:
        make_store(tmp_path, Corrupting()).prompt(SESSION)
    assert caught.value.code == "IO_ERROR"
    assert make_store(tmp_path).read(SESSION) == before
    assert names_in(str(tmp_path)) == {"state.json", ".lock"}


def test_a_file_that_only_looks_like_a_temporary_one_stays(tmp_path: object) -> None:
    make_store(tmp_path).prompt(SESSION)
    ours = f"{tmp_path}/{SESSION}/.state-0123456789abcdef.tmp"
    theirs = f"{tmp_path}/{SESSION}/.state-notes.tmp"
    for path in (ours, theirs):
        with open(path, "w", encoding="utf-8") as file:
            file.write("{")
    make_store(tmp_path).prompt(SESSION)
    assert names_in(str(tmp_path)) == {"state.json", ".lock", ".state-notes.tmp"}


def test_a_read_goes_through_no_operation_that_writes(tmp_path: object) -> None:
    v3_state(str(tmp_path))
    steps = steps_of(lambda ops: make_store(tmp_path, ops).read(SESSION))
    assert set(steps) == {"open", "fstat", "read", "close"}
    assert make_store(f"{tmp_path}/none").read(SESSION) is None
    assert not os.path.exists(f"{tmp_path}/none")


def test_the_data_is_on_the_disk_before_the_name_and_the_name_before_the_answer(tmp_path: object) -> None:
    v3_state(str(tmp_path))
    steps = steps_of(lambda ops: make_store(tmp_path, ops).prompt(SESSION))
    order = [name for name in steps if name in ("lock", "write", "fsync", "read", "replace", "unlock")]
    # The first read is that of the current state; each file is read until its end.
    read = ["read", "read"]
    assert order == ["lock", *read, "write", "fsync", *read, "replace", "fsync", "unlock"]


def test_a_new_folder_is_synced_into_the_one_above_it(tmp_path: object) -> None:
    steps = steps_of(lambda ops: make_store(f"{tmp_path}/a/b", ops).prompt(SESSION))
    made = [name for name in steps[: steps.index("lock")] if name in ("mkdir", "fsync")]
    assert made == ["mkdir", "fsync"] * 3
