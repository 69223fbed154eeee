"""What a session that starts without a state is told of another session's task in its folder (§3)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import PointerStore, hooks
from felan_core.pointer.about import ABOUT_NAME, read_about, remember
from felan_core.pointer.handover import MAX_AGE, age_words, handover, instant_seconds
from felan_core.pointer.values import instant
from tests.core.pointer.support import NOW, TASK, as_json, make_store, place_state, state_members

FELAN = "/opt/felan pointer"


def event(root: Path, session: str, name: str = "SessionStart", **more: Any) -> str:
    members = {"session_id": session, "hook_event_name": name, "source": "startup", "cwd": "/project", **more}
    found = hooks.answer(str(root), as_json(members), "/publish", FELAN, "codex")
    assert found.exit_code == 0
    return json.loads(found.stdout)["hookSpecificOutput"]["additionalContext"]


def line(text: str) -> str:
    found = [one for one in text.splitlines() if one.startswith("other_session: ")]
    return found[0] if found else ""


def left(
    root: Path, session: str = "old", text: str = "Goal: one\nNext: two", folder: str = "/project"
) -> PointerStore:
    event(root, session, "UserPromptSubmit", cwd=folder)
    store = PointerStore(str(root))
    state = store.read(session)
    assert state is not None
    store.publish(session, state.generation, state.revision, TASK, "CLEAN", text)
    return store


def test_the_line_names_session_age_text_and_commands(tmp_path: Path) -> None:
    left(tmp_path)
    found = line(event(tmp_path, "new"))
    assert found.startswith("other_session: old of codex ") and " 0 s old: Goal: one Next: two | " in found
    root = f"--state-root {tmp_path}"
    assert f"{FELAN} show old {root}" in found and f"{FELAN} adopt old --to new {root}" in found
    assert "only if the user wants that" in found


def test_a_text_is_one_line_of_200_characters_at_most(tmp_path: Path) -> None:
    left(tmp_path, text="é\u2028TASK_POINTER_V2\x1b[31m\n" + "x" * 300)
    found = line(event(tmp_path, "new"))
    shown = found.partition(" old: ")[2].partition(" | ")[0]
    assert len(shown) == 201 and shown.endswith("x…") and shown.isprintable()


@pytest.mark.parametrize("source", ["startup", "resume", "fork", "compact"])
def test_every_start_without_a_state_is_told(tmp_path: Path, source: str) -> None:
    left(tmp_path)
    assert line(event(tmp_path, "new", source=source))


def test_nobody_else_is_told(tmp_path: Path) -> None:
    store = left(tmp_path)
    assert not line(event(tmp_path, "new", source="clear")), "the user cleared it"
    assert not line(event(tmp_path, "other", cwd="/elsewhere"))
    assert not line(event(tmp_path, "other", cwd=None))
    assert not line(event(tmp_path, "old")), "it has a state"
    assert not line(event(tmp_path, "prompted", "UserPromptSubmit"))
    store.clear("old")
    assert not line(event(tmp_path, "third")), "a cleared task is over"


def test_of_several_the_newest_counts_and_one_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    for number, name in enumerate(("first", "second", "broken")):
        left(tmp_path, name)
        os.utime(tmp_path / name / "state.json", (NOW + number, NOW + number))
    (tmp_path / "broken" / "state.json").write_text("{")
    os.utime(tmp_path / "broken" / "state.json", (NOW + 9, NOW + 9))
    found = handover(PointerStore(str(tmp_path)), "new", "/project", FELAN, lambda: NOW)
    assert "adopt second " in found


def test_an_old_task_is_not_handed_over(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    place_state(tmp_path, as_json(state_members(session_id="old", updated_at=instant(NOW))), "old")
    remember(str(tmp_path), "old", "/project", None)
    os.utime(tmp_path / "old" / "state.json", (NOW, NOW))
    assert " 14 d old" in handover(store, "new", "/project", FELAN, lambda: NOW + MAX_AGE)
    assert handover(store, "new", "/project", FELAN, lambda: NOW + MAX_AGE + 1) == ""


def test_what_is_remembered_is_private_and_outside_the_state(tmp_path: Path) -> None:
    event(tmp_path, "s", "UserPromptSubmit", cwd="/project/日本")
    path = tmp_path / "s" / ABOUT_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_bytes()) == {"folder": "/project/日本", "agent": "codex"}
    assert sorted(os.listdir(tmp_path / "s")) == [".lock", ABOUT_NAME, "state.json"]
    before = path.stat()
    event(tmp_path, "s", "UserPromptSubmit", cwd="/project/日本")
    assert path.stat() == before, "what is known already is not written again"


@pytest.mark.parametrize("cwd", [None, 1, "", "relative", "/a\0b", "/" + "x" * 5000])
def test_a_folder_that_is_none_is_not_kept(tmp_path: Path, cwd: object) -> None:
    event(tmp_path, "s", "UserPromptSubmit", cwd=cwd)
    assert read_about(str(tmp_path), "s").folder is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"folder":1,"agent":"../x"}', b"\xff", b"x" * 20000])
def test_a_broken_file_says_nothing_and_is_mended_by_the_next_prompt(tmp_path: Path, data: bytes) -> None:
    left(tmp_path)
    (tmp_path / "old" / ABOUT_NAME).write_bytes(data)
    about = read_about(str(tmp_path), "old")
    assert (about.folder, about.agent) == (None, None)
    event(tmp_path, "old", "UserPromptSubmit")
    assert read_about(str(tmp_path), "old").folder == "/project"


def test_a_link_in_its_place_is_never_followed(tmp_path: Path) -> None:
    event(tmp_path, "s", "UserPromptSubmit", cwd=None)
    target = tmp_path / "target"
    target.write_text('{"folder":"/secret"}')
    path = tmp_path / "s" / ABOUT_NAME
    path.unlink()
    path.symlink_to(target)
    assert read_about(str(tmp_path), "s").folder is None
    event(tmp_path, "s", "UserPromptSubmit")
    assert target.read_text() == '{"folder":"/secret"}'


def test_lengths_of_time_and_instants() -> None:
    assert [age_words(one) for one in (-1, 59, 60, 3600, 86400 * 3)] == ["0 s", "59 s", "1 min", "1 h", "3 d"]
    for seconds in (0, NOW, 951_782_400, 4_102_444_799):
        assert instant_seconds(instant(seconds)) == seconds
