import json
import os
from pathlib import Path

import pytest

from felan_core.pointer import (
    PointerError,
    lifecycle,
    pre_compact,
    prompt_submitted,
    publish,
    publisher,
    read,
    session_started,
)
from tests.core.pointer.support import (
    CLEARED_NULLS,
    NOW_TEXT,
    SESSION,
    TASK,
    as_json,
    gen,
    make_store,
    place_state,
    request_members,
    state_members,
)


def test_a_prompt_fences_off_what_answers_an_earlier_one(tmp_path: Path) -> None:
    root = str(tmp_path)
    first = prompt_submitted(root, SESSION)
    second = prompt_submitted(root, SESSION)
    assert (second.status, second.generation, second.revision) == ("CLEARED", first.generation, 2)
    late = request_members(expected_generation=first.generation, expected_revision=1)
    with pytest.raises(PointerError) as caught:
        publish(root, late)
    assert caught.value.code == "STALE_REVISION"
    assert publish(root, as_json({**late, "expected_revision": 2})).revision == 3


@pytest.mark.parametrize("source", ["startup", "resume", "compact", "fork", "CLEAR", "", "something new"])
def test_a_session_start_other_than_clear_writes_nothing(tmp_path: Path, source: str) -> None:
    root = str(tmp_path / "root")
    assert session_started(root, SESSION, source) is None
    assert not os.path.exists(root)
    path = place_state(root, as_json(state_members()))
    before = os.stat(path)
    state = session_started(root, SESSION, source)
    assert state is not None
    assert (state.status, state.revision) == ("CLEAN", 3)
    assert os.stat(path) == before
    assert os.listdir(os.path.dirname(path)) == ["state.json"]


def test_a_clear_writes_cleared_with_a_new_generation(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members()))
    state = session_started(make_store(tmp_path), SESSION, "clear")
    assert state is not None
    assert (state.status, state.revision, state.task_id, state.pointer_text) == ("CLEARED", 4, None, None)
    assert read(str(tmp_path), SESSION) == state


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_a_compaction_changes_nothing(tmp_path: Path, trigger: str) -> None:
    path = place_state(tmp_path, b"not even a state")
    pre_compact(str(tmp_path), SESSION, trigger)
    assert Path(path).read_bytes() == b"not even a state"


@pytest.mark.parametrize("session_id", ["", "..", "a/b", None, 1, ["a"]])
def test_an_event_without_a_session_id_is_invalid(tmp_path: Path, session_id: object) -> None:
    root = str(tmp_path / "root")
    for act in (
        lambda: prompt_submitted(root, session_id),
        lambda: session_started(root, session_id, "clear"),
        lambda: pre_compact(root, session_id, "auto"),
        lambda: read(root, session_id),
    ):
        with pytest.raises(PointerError) as caught:
            act()
        assert caught.value.code == "HOOK_INVALID"
    assert not os.path.exists(root)


@pytest.mark.parametrize("value", [None, 1, True, ["auto"], {}])
def test_a_trigger_or_source_of_another_type_is_invalid(tmp_path: Path, value: object) -> None:
    root = str(tmp_path / "root")
    for act in (
        lambda: pre_compact(root, SESSION, value),
        lambda: session_started(root, SESSION, value),
    ):
        with pytest.raises(PointerError) as caught:
            act()
        assert caught.value.code == "HOOK_INVALID"
    with pytest.raises(PointerError):
        pre_compact(root, SESSION, "other")
    assert lifecycle.EVENTS == ("UserPromptSubmit", "PreCompact", "SessionStart")


def test_the_answer_to_a_publish_that_won(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    members = request_members(expected_generation="ABSENT", expected_revision=0)
    code, line = publisher.run(store, as_json(members))
    assert code == 0
    assert line == (
        f'{{"ok":true,"session_id":"{SESSION}","generation":"{gen(1)}","revision":1,"status":"CLEAN",'
        f'"task_id":"{TASK}","updated_at":"{NOW_TEXT}"}}'
    )
    cleared = {**members, **CLEARED_NULLS, "expected_generation": gen(1), "expected_revision": 1}
    code, line = publisher.run(store, as_json(cleared))
    assert code == 0
    assert json.loads(line)["task_id"] is None
    assert json.loads(line)["generation"] == gen(2)


def test_the_answer_to_a_stale_publish_says_what_is_current(tmp_path: Path) -> None:
    place_state(tmp_path, as_json(state_members(status="DIRTY")))
    for changes, code in [
        ({"expected_revision": 2}, "STALE_REVISION"),
        ({"expected_generation": gen(7)}, "STALE_GENERATION"),
    ]:
        exit_code, line = publisher.run(str(tmp_path), as_json(request_members(**changes)))
        answer = json.loads(line)
        assert exit_code == 2
        position = {"generation": gen(1), "revision": 3, "status": "DIRTY"}
        task = {"task_id": TASK, "pointer_text": "Goal: finish\nNext: test"}
        message = answer.pop("message")
        assert "Merge your text with this one" in message and "if the status is cleared" in message.lower()
        assert answer == {"ok": False, "code": code, **position, **task}


@pytest.mark.parametrize("status", ["ABSENT", "CLEARED"])
def test_a_stale_answer_without_a_task_has_nulls(tmp_path: Path, status: str) -> None:
    if status == "CLEARED":
        nulls = {"status": "CLEARED", "task_id": None, "pointer_text": None}
        place_state(tmp_path, as_json(state_members(**nulls)))
    answer = json.loads(publisher.run(str(tmp_path), as_json(request_members(expected_revision=9)))[1])
    assert answer["status"] == status
    assert (answer["task_id"], answer["pointer_text"]) == (None, None)


def test_a_stale_answer_is_readable_and_holds_no_control_character(tmp_path: Path) -> None:
    text = "目標: done \x1b[31m \x85 \u2028 \u202e \U000e0001 \U0001f600"
    place_state(tmp_path, as_json(state_members(pointer_text=text)))
    line = publisher.run(str(tmp_path), as_json(request_members(expected_revision=9)))[1]
    assert line.isprintable() and "目標" in line and "\U0001f600" in line
    assert json.loads(line)["pointer_text"] == text


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"x" * 12289, "REQUEST_TOO_LARGE"),
        (b"\xff", "REQUEST_NOT_UTF8"),
        (b"", "REQUEST_NOT_JSON"),
        (b'{"a":1,"a":1}', "REQUEST_DUPLICATE_FIELD"),
        (b"{}", "REQUEST_FIELDS"),
        (as_json(request_members(target_status="DIRTY")), "REQUEST_INVALID"),
        (as_json(request_members()), "STATE_INVALID"),
    ],
)
def test_the_answer_to_any_other_refusal_has_three_members(tmp_path: Path, data: bytes, code: str) -> None:
    path = place_state(tmp_path, b"{}")
    exit_code, line = publisher.run(str(tmp_path), data)
    answer = json.loads(line)
    assert exit_code == 2
    assert list(answer) == ["ok", "code", "message"]
    assert (answer["ok"], answer["code"]) == (False, code)
    assert Path(path).read_bytes() == b"{}"


def test_an_answer_is_one_line_of_ascii(tmp_path: Path) -> None:
    (tmp_path / "é\nü").symlink_to(tmp_path)
    _, line = publisher.run(str(tmp_path / "é\nü"), as_json(request_members()))
    assert json.loads(line)["code"] == "PATH_UNSAFE"
    assert line.isascii()
    assert "\n" not in line
