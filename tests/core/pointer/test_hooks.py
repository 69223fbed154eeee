"""Every row of the table of errors, and what a hook says where nothing is wrong (§3)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import PointerStore
from felan_core.pointer.hooks import MAX_HOOK_BYTES, Answer, answer, mark_seen
from tests.core.pointer.support import SESSION, TASK, HookedOps, make_store, place_state
from tests.core.pointer.vectors import vectors

PUBLISHER = "/felan pointer publish"
READING = ["startup", "resume", "fork", "a source of next year"]


def event(name: str, **more: object) -> bytes:
    return json.dumps({"session_id": SESSION, "hook_event_name": name, **more}).encode()


PROMPT = event("UserPromptSubmit", prompt="do it")
COMPACT = event("PreCompact", trigger="auto")


def start(source: str) -> bytes:
    return event("SessionStart", source=source)


def said(found: Answer, name: str) -> str:
    """The context of an answer that is exactly one JSON object of exactly this shape."""
    value: Any = json.loads(found.stdout)
    assert list(value) == ["hookSpecificOutput"]
    inner = value["hookSpecificOutput"]
    assert list(inner) == ["hookEventName", "additionalContext"]
    assert inner["hookEventName"] == name
    assert found.stdout == json.dumps(value, separators=(",", ":")), "nothing before, between or after"
    assert (found.exit_code, found.stderr) == (0, "")
    return inner["additionalContext"]


def status(root: object) -> tuple[str, int] | None:
    state = PointerStore(str(root)).read(SESSION)
    return None if state is None else (state.status, state.revision)


def publish(root: object, text: str) -> None:
    store = PointerStore(str(root))
    now = store.read(SESSION)
    expected = ("ABSENT", 0) if now is None else (now.generation, now.revision)
    store.publish(SESSION, *expected, TASK, "CLEAN", text)


def test_a_prompt_without_a_task_sets_the_fence_up_and_gives_the_bootstrap_context(tmp_path: Path) -> None:
    found = answer(str(tmp_path), PROMPT, PUBLISHER)
    assert said(found, "UserPromptSubmit").startswith("TASK_POINTER_V2_BOOTSTRAP\nstatus: CLEARED\n")
    assert found.wrote
    assert status(tmp_path) == ("CLEARED", 1)


def test_a_prompt_with_a_task_makes_it_dirty_and_gives_it(tmp_path: Path) -> None:
    publish(tmp_path, "Goal: \u202eone\u2028two")
    context = said(answer(str(tmp_path), PROMPT, PUBLISHER), "UserPromptSubmit")
    assert context.startswith("TASK_POINTER_V2\nstatus: DIRTY\n")
    assert context.endswith("| Goal: \u202eone\n| two")
    assert f"publisher: {PUBLISHER}\n" in context
    assert status(tmp_path) == ("DIRTY", 2)


@pytest.mark.parametrize("source", [*READING, "compact"])
def test_a_start_reads_and_writes_nothing(tmp_path: Path, source: str) -> None:
    found = answer(str(tmp_path), start(source), PUBLISHER)
    assert said(found, "SessionStart").startswith("TASK_POINTER_V2_BOOTSTRAP\nstatus: ABSENT\n")
    assert not os.listdir(tmp_path)
    publish(tmp_path, "Goal")
    found = answer(str(tmp_path), start(source), PUBLISHER)
    assert said(found, "SessionStart").startswith("TASK_POINTER_V2\nstatus: CLEAN\n")
    assert not found.wrote
    assert status(tmp_path) == ("CLEAN", 1)


def test_a_clear_writes_and_gives_the_bootstrap_context(tmp_path: Path) -> None:
    publish(tmp_path, "Goal")
    found = answer(str(tmp_path), start("clear"), PUBLISHER)
    assert said(found, "SessionStart").startswith("TASK_POINTER_V2_BOOTSTRAP\nstatus: CLEARED\n")
    assert found.wrote
    assert status(tmp_path) == ("CLEARED", 2)


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_a_compaction_prints_nothing_and_changes_nothing(tmp_path: Path, trigger: str) -> None:
    publish(tmp_path, "Goal")
    found = answer(str(tmp_path), event("PreCompact", trigger=trigger), PUBLISHER)
    assert (found.exit_code, found.stdout, found.stderr, found.wrote) == (0, "", "", False)
    assert status(tmp_path) == ("CLEAN", 1)


def broken(root: Path) -> str:
    place_state(root, b"{")
    return "STATE_INVALID"


def unsafe(root: Path) -> str:
    (root / SESSION).symlink_to(root)
    return "PATH_UNSAFE"


@pytest.mark.parametrize("spoil", [broken, unsafe])
def test_a_prompt_is_blocked_where_reading_fails(tmp_path: Path, spoil: Any) -> None:
    code = spoil(tmp_path)
    found = answer(str(tmp_path), PROMPT, PUBLISHER)
    value: Any = json.loads(found.stdout)
    assert list(value) == ["decision", "reason"]
    assert value["decision"] == "block"
    assert code in value["reason"]
    assert (found.exit_code, found.stderr, found.wrote) == (2, f"TASK_POINTER_V2:{code}", False)


def refuse(operation: str) -> HookedOps:
    def before(_: int, name: str) -> None:
        if name == operation:
            raise OSError(28, "No space left on device")

    return HookedOps(before)


@pytest.mark.parametrize("task", [False, True])
def test_a_prompt_is_blocked_where_the_fence_or_the_dirty_write_fails(tmp_path: Path, task: bool) -> None:
    if task:
        publish(tmp_path, "Goal")
    before = status(tmp_path)
    found = answer(make_store(tmp_path, refuse("write")), PROMPT, PUBLISHER)
    assert (found.exit_code, found.stderr) == (2, "TASK_POINTER_V2:IO_ERROR")
    assert status(tmp_path) == before


def test_a_prompt_is_blocked_where_the_lock_is_held(tmp_path: Path) -> None:
    ops = HookedOps()
    ops.lock = lambda descriptor: False
    store = make_store(tmp_path, ops, lock_wait=0.0)
    found = answer(store, PROMPT, PUBLISHER)
    assert (found.exit_code, found.stderr) == (2, "TASK_POINTER_V2:LOCK_TIMEOUT")


@pytest.mark.parametrize("source", READING)
def test_a_start_goes_on_where_reading_fails(tmp_path: Path, source: str) -> None:
    broken(tmp_path)
    assert said(answer(str(tmp_path), start(source), PUBLISHER), "SessionStart") == (
        "UNKNOWN_RECOVERY:STATE_INVALID"
    )


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_a_clear_or_compact_stops_where_reading_or_recovering_fails(tmp_path: Path, source: str) -> None:
    broken(tmp_path)
    found = answer(str(tmp_path), start(source), PUBLISHER)
    reason = "TASK_POINTER_RECOVERY_REQUIRED:STATE_INVALID"
    assert json.loads(found.stdout) == {"continue": False, "stopReason": reason}
    assert (found.exit_code, found.stderr, found.wrote) == (0, reason, False)


def test_a_prompt_is_blocked_as_long_as_a_failed_clear_is_not_mended(tmp_path: Path) -> None:
    broken(tmp_path)
    answer(str(tmp_path), start("clear"), PUBLISHER)
    assert answer(str(tmp_path), PROMPT, PUBLISHER).exit_code == 2
    os.unlink(tmp_path / SESSION / "state.json")
    assert answer(str(tmp_path), PROMPT, PUBLISHER).exit_code == 0


@pytest.mark.parametrize(("data", "code"), vectors("hooks", good=False))
def test_what_is_no_event_fails_with_1_and_writes_nothing(tmp_path: Path, data: bytes, code: str) -> None:
    found = answer(str(tmp_path), data, PUBLISHER)
    assert (found.exit_code, found.stdout, found.stderr) == (1, "", f"TASK_POINTER_V2:{code}")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(("data", "code"), vectors("hooks", good=True))
def test_what_is_an_event_is_answered(tmp_path: Path, data: bytes, code: str) -> None:
    found = answer(str(tmp_path), data, PUBLISHER)
    assert (found.exit_code, found.stderr, code) == (0, "", "OK")
    assert (found.stdout == "") == (b"PreCompact" in data)


def too_long(members: str) -> bytes:
    head = f'{{{members}, "prompt": "'.encode()
    return head + b"a" * (MAX_HOOK_BYTES + 1 - len(head))


HEAD = f'"session_id": "{SESSION}", "hook_event_name": "UserPromptSubmit"'


@pytest.mark.parametrize(
    ("members", "exit_code"),
    [
        (HEAD, 2),
        (f'"x": {{"session_id": 1}}, "y": [1e3, null] , {HEAD}', 2),
        (HEAD.replace("UserPromptSubmit", "PreCompact"), 1),
        (HEAD.replace(SESSION, "../x"), 1),
        ('"hook_event_name": "UserPromptSubmit"', 1),
        (f'{HEAD}, "session_id": "other"', 1),
        (f'"x": {HEAD}', 1),
    ],
)
def test_a_prompt_that_is_too_long_is_blocked_where_it_says_what_it_is(
    tmp_path: Path, members: str, exit_code: int
) -> None:
    found = answer(str(tmp_path), too_long(members), PUBLISHER)
    assert (found.exit_code, found.stderr) == (exit_code, "TASK_POINTER_V2:HOOK_TOO_LARGE")
    assert ("block" in found.stdout) == (exit_code == 2)
    assert not os.listdir(tmp_path)


def test_unknown_fields_and_a_prompt_as_long_as_may_be_are_taken(tmp_path: Path) -> None:
    head = event("UserPromptSubmit", transcript_path=None, more={"a": [1, {"b": 2}]})[:-1] + b',"prompt":"'
    data = head + "é".encode() * ((MAX_HOOK_BYTES - len(head) - 2) // 2) + b'"}'
    assert answer(str(tmp_path), data, PUBLISHER).exit_code == 0


def test_the_mark_is_made_touched_and_never_in_the_way(tmp_path: Path) -> None:
    root = str(tmp_path)
    mark_seen(root, "codex")
    path = tmp_path / ".agents" / "codex"
    os.utime(path, (1, 1))
    mark_seen(root, "codex")
    assert path.stat().st_mtime > 1000
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    outside = tmp_path / "outside"
    outside.touch()
    os.utime(outside, (1, 1))
    (tmp_path / ".agents" / "linked").symlink_to(outside)
    mark_seen(root, "linked")
    assert outside.stat().st_mtime == 1
    os.mkfifo(tmp_path / ".agents" / "fifo")
    mark_seen(root, "fifo")
    mark_seen(f"{root}/missing", "codex")
    assert not (tmp_path / "missing").exists()
