"""`felan pointer …` as it is typed: what it prints, and with which code it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from felan_core.pointer import PointerStore
from felan_core.pointer.about import remember
from felan_tui.cli.command import felan
from felan_tui.cli.pointer import pointer as felan_pointer
from tests.core.pointer.support import (
    SESSION,
    TASK,
    as_json,
    place_state,
    request_members,
    state_members,
    v2_members,
)

FELAN = [sys.executable, "-m", "felan_tui.cli.main", "pointer"]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FELAN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.delenv("FELAN_POINTER_ROOT", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "task-pointers" / "v3"


def said(*arguments: str, code: int = 0) -> Result:
    found = CliRunner().invoke(felan, ["pointer", *arguments])
    assert found.exit_code == code, (found.output, found.exception)
    return found


def said_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(said(*arguments, "--json", code=code).stdout)


def process(*arguments: str, data: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*FELAN, *arguments], input=data, capture_output=True, env={**os.environ, **env}, timeout=60
    )


PROMPT = as_json({"session_id": SESSION, "hook_event_name": "UserPromptSubmit"})


def test_hook_and_publish_are_the_installed_code_without_click(root: Path) -> None:
    done = process("hook", "--agent", "codex", data=PROMPT, PYTHONVERBOSE="1")
    assert done.returncode == 0
    loaded = [line.split()[1] for line in done.stderr.decode().splitlines() if line.startswith("import ")]
    assert "'felan_core.pointer.main'" in loaded
    assert not [name for name in loaded if name.startswith(("'click", "'felan_tui.app", "'textual"))]
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    lines = {name: value for name, _, value in (line.partition(": ") for line in context.splitlines())}
    request = {**json.loads(lines["request"]), "task_id": TASK, "pointer_text": "one"}
    words = shlex.split(lines["publisher"])
    assert os.path.isabs(words[0])
    published = subprocess.run(words, input=as_json(request), capture_output=True, timeout=60)
    assert (published.returncode, json.loads(published.stdout)["revision"]) == (0, 2)
    assert (root / SESSION / "state.json").exists()
    assert (root / ".agents" / "codex").exists()


def test_their_exit_codes_are_those_of_the_table(root: Path) -> None:
    assert process("hook", data=b"{}").returncode == 1
    assert process("hook", "--help", "--agent", "x", data=PROMPT).returncode == 1
    done = process("publish", data=b"{}")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "REQUEST_FIELDS")
    place_state(root, b"")
    done = process("hook", data=PROMPT)
    assert (done.returncode, done.stderr) == (2, b"TASK_POINTER_V2:STATE_INVALID\n")


def test_an_option_of_felan_in_front_says_where_the_pointers_are(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "felan_tui.cli.main",
        "--data-dir",
        str(tmp_path / "other"),
        "pointer",
        "hook",
    ]
    done = subprocess.run(words, input=PROMPT, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "other" / "task-pointers" / "v3" / SESSION / "state.json").exists()


def test_show_gives_the_session_or_the_latest(root: Path) -> None:
    place_state(root, as_json(state_members(pointer_text="Goal: \x1b[31mred\u202e\nNext")))
    place_state(root, as_json(state_members(session_id="newer", updated_at="2026-02-01T00:00:00Z")), "newer")
    text = said("show", SESSION).stdout
    assert "\x1b" not in text and "\u202e" not in text
    assert "CLEAN" in text and "Goal: " in text and "Next" in text
    assert said_json("show")["session_id"] == "newer"
    assert said_json("show", SESSION) == state_members(pointer_text="Goal: \x1b[31mred\u202e\nNext")


def test_what_is_not_there_or_cannot_be_read_has_a_code_of_its_own(root: Path) -> None:
    assert said_json("show", code=6)["code"] == "ABSENT"
    assert said_json("show", "missing", code=6)["code"] == "ABSENT"
    assert said("show", "../x", code=7).stdout == ""
    place_state(root, b"{")
    assert said_json("show", SESSION, code=7)["code"] == "STATE_INVALID"
    assert "STATE_INVALID" in said("list").stdout
    [found] = said_json("list")
    assert (found["session_id"], found["status"], found["code"]) == (SESSION, "UNREADABLE", "STATE_INVALID")
    (root / "file").touch()
    assert said_json("list", "--state-root", str(root / "file"), code=7)["code"] == "PATH_UNSAFE"


def test_list_shows_folder_agent_age_status_and_next_step(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = said("list")
    assert nothing.stdout == "" and nothing.stderr == "No session has a task pointer yet.\n"
    monkeypatch.setenv("COLUMNS", "80")
    text = "Goal: \x1b[31mone\nDone: much\n- Next: two\nlater"
    place_state(root, as_json(state_members(pointer_text=text)))
    remember(str(root), SESSION, "/project/here", "codex")
    members = {"session_id": "old", "updated_at": "2025-01-01T00:00:00Z", "pointer_text": "a\nb\nlast"}
    place_state(root, as_json(v2_members() | members), "old")
    head, body, old, last = said("list").stdout.splitlines()
    assert head.split("  ")[:3] == [SESSION, "CLEAN", "r3"]
    assert head.split("  ")[3].endswith(" d ago")
    assert head.split("  ")[4:] == ["codex", "/project/here"]
    assert body.startswith("  Goal: ") and body.endswith("one · - Next: two") and "\x1b" not in body
    assert (old.split("  ")[0], last) == ("old", "  a · last")
    first, _ = said_json("list")
    assert (first["folder"], first["agent"], first["next_step"]) == ("/project/here", "codex", "- Next: two")
    assert first["state_root"] == str(root)


def test_an_installed_state_root_is_found_without_its_name(tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    other = tmp_path / "other root"
    said("install", "--agent", "claude-code", "--state-root", str(other), "--allow", "--apply")
    PointerStore(str(other)).publish("far", "ABSENT", 0, TASK, "CLEAN", "Goal: far")
    assert [one["session_id"] for one in said_json("list")] == ["far"]
    assert said_json("show", "far")["pointer_text"] == "Goal: far"
    assert said_json("show")["session_id"] == "far"
    place_state(other, b"{", "bad")
    found = said_json("doctor", code=8)
    assert found["agents"][0]["state_root"] == str(other)
    [finding] = found["states"]
    assert finding["mend"] == f"felan pointer reset bad --state-root '{other}' --apply"
    said(*shlex.split(finding["mend"])[2:])
    assert said_json("doctor")["states"] == []


def test_reset_keeps_what_it_moves_and_leaves_what_can_be_read(root: Path) -> None:
    said("reset", SESSION, code=6)
    path = Path(place_state(root, b"{"))
    assert "--apply" in said("reset", SESSION).stdout and path.exists()
    done = said_json("reset", SESSION, "--apply")
    assert Path(done["kept"]).read_bytes() == b"{" and not path.exists()
    assert process("hook", data=PROMPT).returncode == 0
    assert said_json("reset", SESSION, "--apply", code=7)["code"] == "READABLE"


def test_prune_removes_finished_tasks_alone(root: Path) -> None:
    nulls: dict[str, Any] = {"status": "CLEARED", "task_id": None, "pointer_text": None}
    place_state(root, as_json(state_members(session_id="done", **nulls)), "done")
    place_state(root, as_json(state_members()))
    PointerStore(str(root)).clear("fresh")
    assert "Would remove done" in said("prune").stdout
    assert said_json("prune", "--older-than", "8w", "--apply")["sessions"] == ["done"]
    assert sorted(path.name for path in root.iterdir()) == ["fresh", SESSION]
    said("prune", "--older-than", "soon", code=2)


def test_adopt_publishes_the_task_here(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PointerStore(str(root))
    store.publish("old", "ABSENT", 0, TASK, "CLEAN", "Goal: go on")
    said("adopt", "missing", "--to", "new", code=6)
    monkeypatch.chdir(tmp_path)
    said("adopt", "old", code=6)
    store.prompt("new")
    remember(store.root, "new", str(tmp_path), "codex")
    before = store.read("old")
    done = said_json("adopt", "old")
    assert (done["session_id"], done["status"], done["revision"]) == ("new", "CLEAN", 2)
    new = store.read("new")
    assert new is not None and new.pointer_text == "Goal: go on" and new.task_id != TASK
    assert store.read("old") == before
    assert said_json("adopt", "old", "--to", "new", code=7)["code"] == "HAS_TASK"


COMMANDS = ("hook", "publish", "show", "list", "watch", "schema", "migrate", "install", "uninstall", "doctor",
            "reset", "prune", "adopt")  # fmt: skip


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_every_help_is_complete_with_an_example(command: tuple[str, ...]) -> None:
    text = said(*command, "--help").stdout
    assert "Examples:\n  " in text
    if not command:
        assert all(f"\n  {name} " in text for name in COMMANDS)
    parameters = felan_pointer.commands[command[0]].params if command else []
    for parameter in parameters:
        if isinstance(parameter, click.Option):
            assert parameter.help and parameter.opts[0] in text


def test_the_help_of_what_agents_call_reads_no_event(root: Path) -> None:
    for name in ("hook", "publish"):
        done = process(name, "--help", data=PROMPT)
        assert (done.returncode, b"Examples:" in done.stdout) == (0, True)
    assert not root.exists()


def test_watch_says_each_change_and_ends_with_the_signal(root: Path) -> None:
    store = PointerStore(str(root))
    store.prompt(SESSION)
    child = subprocess.Popen([*FELAN, "watch", SESSION, "--json"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert json.loads(child.stdout.readline())["revision"] == 1
        store.prompt(SESSION)
        assert json.loads(child.stdout.readline())["revision"] == 2
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert child.stdout.read() == b""


@pytest.mark.parametrize("name", ["state", "publish-request"])
def test_schema_prints_the_schema(name: str) -> None:
    assert json.loads(said("schema", name).stdout)["$schema"].endswith("2020-12/schema")
    said("schema", "nothing", code=2)


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_install_shows_first_and_comes_back(agent: str, tmp_path: Path) -> None:
    file = tmp_path / ("claude/settings.json" if agent == "claude-code" else "codex/hooks.json")
    file.parent.mkdir()
    file.write_text('{"mine": [1,2]}')
    preview = said("install", "--agent", agent).stdout
    assert "--apply" in preview and "+++" in preview
    assert file.read_text() == '{"mine": [1,2]}'
    assert not (tmp_path / "data").exists()
    done = said_json("install", "--agent", agent, "--apply")
    assert (done["applied"], done["path"]) == (True, str(file))
    assert ("/hooks" in " ".join(done["notes"])) == (agent == "codex")
    again = said_json("install", "--agent", agent, "--apply")
    assert (again["changes"], again["applied"], again["backup"]) == (False, False, None)
    said("install", "--rollback", done["backup"])
    assert file.read_text() == '{"mine": [1,2]}'
    said("install", "--agent", agent, "--apply")
    assert said_json("uninstall", "--agent", agent)["changes"]
    said("uninstall", "--agent", agent, "--apply")
    assert file.read_text() == '{"mine": [1,2]}'
    assert not list((tmp_path / "data" / "pointer").glob("*.py"))
    assert not (tmp_path / "data" / "pointer" / "publish").exists()


def test_the_home_that_is_named_is_the_agents(tmp_path: Path) -> None:
    home = tmp_path / "a b"
    home.mkdir()
    (home / "config.toml").touch()
    said("install", "--agent", "codex", "--home", str(home), "--apply")
    assert (home / "hooks.json").exists()
    assert not (tmp_path / "codex").exists()


@pytest.mark.parametrize("command", ["install", "uninstall", "doctor"])
def test_a_home_that_is_mistyped_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text("{}")
    for home in ("cluade", "claude", "."):
        found = said_json(command, "--agent", "codex", "--home", str(tmp_path / home), code=7)
        assert (found["code"], found["path"]) == ("CONFIG_REFUSED", os.path.normpath(tmp_path / home))
    assert sorted(os.listdir(tmp_path)) == ["claude"]


def test_a_refused_configuration_names_its_place(tmp_path: Path) -> None:
    (tmp_path / "codex").mkdir()
    (tmp_path / "codex" / "hooks.json").write_text('{"hooks": 1}')
    found = said_json("install", "--agent", "codex", "--apply", code=7)
    assert (found["code"], found["place"]) == ("CONFIG_REFUSED", "hooks")
    assert found["path"].endswith("hooks.json")
    words = said("install", "--agent", "codex", code=7).stderr
    assert "hooks.json, hooks: " in words


def test_a_command_line_that_is_wrong_is_2(tmp_path: Path) -> None:
    for arguments in (
        ["install"],
        ["uninstall"],
        ["install", "--agent", "x"],
        ["doctor", "--home", "x"],
        ["x"],
    ):
        said(*arguments, code=2)
    said("install", "--rollback", str(tmp_path), code=7)


def test_the_doctor_says_what_is_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert said("doctor").stdout.count("not installed") == 2
    said("doctor", "--agent", "claude-code", code=8)
    said("install", "--agent", "claude-code", "--apply")
    asked = said("doctor", "--agent", "claude-code", code=8).stdout
    command = asked.partition("mend: felan ")[2].partition("\n")[0]
    assert "--allow" in command
    said(*shlex.split(command)[1:])
    assert "unasked" in said("doctor", "--agent", "claude-code").stdout
    said("install", "--agent", "codex", "--allow", "--apply")
    words = said("doctor", code=8).stdout
    assert "untrusted" in words and "/hooks" in words
    found = {one["agent"]: one for one in said_json("doctor", code=8)["agents"]}
    assert (found["claude-code"]["healthy"], found["codex"]["healthy"]) == (True, False)
    assert found["codex"]["publishes"]


def test_migrate_shows_does_and_goes_back(tmp_path: Path, root: Path) -> None:
    v1 = tmp_path / "data" / "task-pointers" / "v1"
    v1.mkdir(parents=True)
    inner = {"session_id": "a", "task_id": TASK, "status": "CLEAN", "pointer_text": "x"}
    envelope = {"schema_version": 1, "envelope": {**inner, "updated_at": "2026-01-01T00:00:00Z"}}
    (v1 / "a.json").write_bytes(as_json(envelope))
    (v1 / "b.json").write_text("{}")
    assert "would migrate" in said("migrate").stdout
    assert not root.exists()
    done = said_json("migrate", "--apply")
    assert [one["done"] for one in done["outcomes"]] == [True]
    assert [os.path.basename(one["path"]) for one in done["left"]] == ["b.json"]
    assert said_json("show", "a")["revision"] == 1
    said("migrate", "--rollback", done["manifest"])
    assert (v1 / "a.json").read_bytes() == as_json(envelope)
    assert not (root / "a").exists()
    assert said_json("migrate", "--rollback", str(v1 / "b.json"), code=7)["code"] == "MANIFEST_REFUSED"
    assert "nothing to migrate" in said("migrate", "--from", str(tmp_path / "missing")).stdout


def test_a_full_request_is_answered_by_the_command(root: Path) -> None:
    request = request_members(expected_generation="ABSENT", expected_revision=0)
    done = process("publish", "--state-root", str(root), data=as_json(request))
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)
