"""The installer in a folder of its own: what it writes, what it refuses, and the way back (§6)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer.install import backups, scripts
from felan_core.pointer.install.agents import AGENTS, CLAUDE_CODE, CODEX, EVENTS, Agent, home_of
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.install.plan import Plan, apply, plan_install, plan_uninstall
from felan_core.pointer.places import publisher_path

BOTH = pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
OTHER = {"type": "command", "command": "somebody else's"}


class Place:
    """An agent's home and Felan's folder."""

    def __init__(self, folder: Path, agent: Agent) -> None:
        self.agent = agent
        self.home = folder / "agent 'home'"
        self.folder = str(folder / "felan")
        self.root = str(folder / "root")
        self.path = self.home / agent.file

    def write(self, text: str | bytes) -> None:
        self.home.mkdir(exist_ok=True)
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)

    def plan(self, root: str | None = None, *, allows: bool = False) -> Plan:
        return plan_install(self.agent, str(self.home), self.folder, root or self.root, allows=allows)

    def install(self, root: str | None = None, *, allows: bool = False) -> str | None:
        return apply(self.plan(root, allows=allows))

    def plan_uninstall(self) -> Plan:
        return plan_uninstall(self.agent, str(self.home), self.folder, self.root)

    def uninstall(self) -> str | None:
        return apply(self.plan_uninstall())

    def hooks(self) -> Any:
        return json.loads(self.path.read_bytes())["hooks"]

    def scripts(self) -> list[str]:
        return sorted(
            name for name in os.listdir(self.folder) if name.partition("-")[0] in ("felan", "publish")
        )


@pytest.fixture
def place(tmp_path: Path, agent: Agent) -> Place:
    return Place(tmp_path, agent)


@BOTH
def test_a_preview_writes_nothing(place: Place, tmp_path: Path) -> None:
    plan = place.plan()
    assert plan.changes
    assert place.agent.file in plan.diff()
    assert "+" in plan.diff()
    assert not os.listdir(tmp_path)


@BOTH
def test_all_three_hooks_are_installed_into_nothing(place: Place) -> None:
    place.install()
    command = scripts.hook_command(place.folder, place.agent.name, place.root)
    hook = {"type": "command", "command": command, "timeout": 10}
    assert place.hooks() == {event: [{"hooks": [hook]}] for event in EVENTS}
    publisher = Path(publisher_path(place.folder, place.root))
    assert place.scripts() == [scripts.HOOK_SCRIPT, scripts.PUBLISH_SCRIPT, publisher.name]
    assert publisher.stat().st_mode & 0o777 == 0o700
    assert os.stat(place.root).st_mode & 0o777 == 0o700
    assert place.path.stat().st_mode & 0o777 == 0o600


@BOTH
def test_every_folder_that_is_made_is_private(tmp_path: Path, agent: Agent) -> None:
    place = Place(tmp_path / "a" / "b", agent)
    old = os.umask(0)
    try:
        place.install()
    finally:
        os.umask(old)
    for folder in (tmp_path / "a", place.home, Path(place.folder), Path(place.folder, "backups")):
        assert folder.stat().st_mode & 0o777 == 0o700, folder


@BOTH
def test_doing_it_twice_changes_nothing(place: Place) -> None:
    place.install()
    before, stamp = place.path.read_bytes(), place.path.stat().st_mtime_ns
    assert not place.plan().changes
    assert place.install() is None
    assert (place.path.read_bytes(), place.path.stat().st_mtime_ns) == (before, stamp)


@BOTH
def test_what_else_stands_in_the_file_stays_as_it_is_written(place: Place) -> None:
    text = '{\n\t"z": 1.50e+2,\n\t"hooks": {"Stop": [{"hooks": []}]},\n'
    text += '\t"a": "\\ud800 é \\u2028",\n\t"n": 123456789012345678901\n}'
    place.write(text)
    os.chmod(place.path, 0o640)
    place.install()
    after = place.path.read_text()
    assert '\t"z": 1.50e+2,' in after
    assert '"n": 123456789012345678901' in after
    assert json.loads(after)["a"] == json.loads(text)["a"]
    assert list(json.loads(after)) == ["z", "hooks", "a", "n"]
    assert next(iter(place.hooks())) == "Stop"
    assert not after.endswith("\n")
    assert place.path.stat().st_mode & 0o777 == 0o640


OURS = '{"type": "command", "command": COMMAND, "timeout": 10}'
EXPANDED = """{
@"hooks": {
@@"UserPromptSubmit": [
@@@{
@@@@"hooks": [
@@@@@{
@@@@@@"type": "command",
@@@@@@"command": COMMAND,
@@@@@@"timeout": 10
@@@@@}
@@@@]
@@@}
@@],
"""
FORMS: list[tuple[str, str]] = [
    # A file on one line stays on one line, an empty one gets lines, each in the form of what is beside it.
    ('{"a": [1,2]}', '{"a": [1,2], "hooks": {"UserPromptSubmit": [{"hooks": [' + OURS + "]}], "),
    ('{"a":1,"b" : 2}', '{"a":1,"b" : 2,"hooks": {"UserPromptSubmit": [{"hooks": [' + OURS + "]}], "),
    ("{}", EXPANDED.replace("@", "  ")),
    ('{\n\t"hooks": {}\n}', EXPANDED.replace("@", "\t")),
    ('{\n    "hooks": {\n    }\n}\n', EXPANDED.replace("@", "    ")),
    (
        '{\n  "z": { "y": [ 1.50e2 ] },\n\n  "a": "\\u00e9"\n}\n\n',
        '{\n  "z": { "y": [ 1.50e2 ] },\n\n  "a": "\\u00e9",\n',
    ),
    (
        '{\n  "hooks": {"UserPromptSubmit": [{"hooks": []}]},\n  "a": 1\n}',
        '{\n  "hooks": {"UserPromptSubmit": [{"hooks": []}, {"hooks": [' + OURS + "]}], ",
    ),
    (
        '{\n "hooks": {\n  "UserPromptSubmit": [\n   {"hooks": []}\n  ]\n }\n}',
        '{\n "hooks": {\n  "UserPromptSubmit": [\n   {"hooks": []},\n   {\n    "hooks": [\n',
    ),
]


@BOTH
@pytest.mark.parametrize(("text", "begins"), FORMS)
def test_what_is_added_has_the_form_of_the_file_and_all_else_stays(
    place: Place, text: str, begins: str
) -> None:
    place.write(text)
    place.install()
    command = scripts.hook_command(place.folder, place.agent.name, place.root)
    assert place.path.read_text().startswith(begins.replace("COMMAND", json.dumps(command)))
    place.uninstall()
    no_hooks = json.loads(text) == {"hooks": {}}
    assert place.path.read_text() == ("{}" + text[len(text.rstrip()) :] if no_hooks else text)


@BOTH
def test_line_ends_stay(place: Place) -> None:
    place.write(b'{\r\n  "a": 1\r\n}\r\n')
    place.install()
    raw = place.path.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") > 5


@BOTH
def test_ours_come_last_and_are_replaced_in_place(place: Place) -> None:
    place.write(json.dumps({"hooks": {"SessionStart": [{"matcher": "clear", "hooks": [OTHER]}]}}))
    place.install()
    assert place.hooks()["SessionStart"][0] == {"matcher": "clear", "hooks": [OTHER]}
    later = {"hooks": [{**OTHER, "command": "later"}]}
    config = json.loads(place.path.read_bytes())
    config["hooks"]["SessionStart"].append(later)
    place.write(json.dumps(config))
    place.install(root=place.root + "-2")
    groups = place.hooks()["SessionStart"]
    assert [len(group["hooks"]) for group in groups] == [1, 1, 1]
    assert "-2" in groups[1]["hooks"][0]["command"]
    assert groups[2] == later


@BOTH
def test_more_than_one_of_ours_becomes_one(place: Place) -> None:
    place.install()
    config = json.loads(place.path.read_bytes())
    groups = config["hooks"]["PreCompact"]
    groups.append({"hooks": [OTHER, groups[0]["hooks"][0]]})
    groups.append({"hooks": [groups[0]["hooks"][0]]})
    place.write(json.dumps(config))
    place.install()
    first, second = place.hooks()["PreCompact"]
    assert first == groups[0]
    assert second == {"hooks": [OTHER]}


@BOTH
def test_the_other_agents_hooks_are_not_ours(place: Place) -> None:
    other = CODEX if place.agent is CLAUDE_CODE else CLAUDE_CODE
    command = scripts.hook_command(place.folder, other.name, place.root)
    foreign = {"hooks": [{"type": "command", "command": command}]}
    place.write(json.dumps({"hooks": {"PreCompact": [foreign]}}))
    place.install()
    place.uninstall()
    assert place.hooks() == {"PreCompact": [foreign]}


def test_codex_groups_never_move_up(tmp_path: Path) -> None:
    place = Place(tmp_path, CODEX)
    place.install()
    config = json.loads(place.path.read_bytes())
    later = {"hooks": [OTHER]}
    config["hooks"]["PreCompact"].append(later)
    place.write(json.dumps(config))
    place.uninstall()
    assert place.hooks() == {"PreCompact": [{"hooks": []}, later]}
    place.install()
    assert [len(group["hooks"]) for group in place.hooks()["PreCompact"]] == [0, 1, 1]


def test_claude_code_groups_leave_nothing_behind(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install()
    config = json.loads(place.path.read_bytes())
    config["hooks"]["PreCompact"].append({"hooks": [OTHER]})
    place.write(json.dumps(config))
    place.uninstall()
    assert place.hooks() == {"PreCompact": [{"hooks": [OTHER]}]}


def test_a_hook_that_moves_in_its_group_is_said(tmp_path: Path) -> None:
    place = Place(tmp_path, CODEX)
    place.install()
    config = json.loads(place.path.read_bytes())
    config["hooks"]["PreCompact"][0]["hooks"].append(OTHER)
    place.write(json.dumps(config))
    plan = place.plan_uninstall()
    assert "review" in " ".join(plan.notes)


@BOTH
@pytest.mark.parametrize(
    "text",
    ['{"a": 1,\n\n "b": [1, 2 ]}  ', "", " \n", '{"hooks": {}}', '{"hooks":{"SessionStart":[]}}', None],
    ids=["odd", "empty", "blank", "no hooks", "no groups", "absent"],
)
def test_a_rollback_is_byte_for_byte(place: Place, text: str | None) -> None:
    if text is not None:
        place.write(text)
        os.chmod(place.path, 0o604)
    backup = place.install()
    assert backup is not None
    installed = place.path.read_bytes()
    path, before = backups.restore(backup, place.folder)
    assert path == [str(place.path)]
    if text is None:
        assert not place.path.exists()
    else:
        assert place.path.read_bytes() == text.encode()
        assert place.path.stat().st_mode & 0o777 == 0o604
    backups.restore(before, place.folder)
    assert place.path.read_bytes() == installed


@BOTH
def test_what_is_no_backup_restores_nothing(place: Place, tmp_path: Path) -> None:
    backup = place.install()
    assert backup is not None
    installed = place.path.read_bytes()
    manifest = Path(backup, backups.MANIFEST)
    value = json.loads(manifest.read_bytes())
    [file] = value["files"]
    files = [{**file, "path": "relative"}, {**file, "name": "../x"}, {**file, "existed": True}]
    wrong: list[Any] = [[], {**value, "kind": "x"}, {**value, "agent": "../x"}, {**value, "files": {}}]
    wrong += [{**value, "files": [one]} for one in files]
    for bad in wrong:
        manifest.write_text(json.dumps(bad))
        with pytest.raises(InstallError):
            backups.restore(backup, place.folder)
    for no_backup in (tmp_path / "missing", tmp_path):
        with pytest.raises(InstallError):
            backups.restore(str(no_backup), place.folder)
    assert place.path.read_bytes() == installed


@BOTH
def test_a_link_is_written_through(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "s.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    place.home.mkdir()
    place.path.symlink_to("../dotfiles/s.json")
    backup = place.install()
    assert backup is not None
    assert place.path.is_symlink()
    assert "hooks" in json.loads(real.read_bytes())
    backups.restore(backup, place.folder)
    assert real.read_text() == '{"a": 1}'
    assert place.path.is_symlink()


REFUSED: list[tuple[str, str]] = [
    ("[]", "line 1"),
    ('{"a": 1,\n}', "line 2, column 1"),
    ('{\n"a": 1 // mine\n}', "line 2, column 8"),
    ('{"a": NaN}', ""),
    ('{"x": {"a": 1, "a": 2}}', "x.a"),
    ('{"hooks": []}', "hooks"),
    ('{"hooks": null}', "hooks"),
    ('{"hooks": {"Stop": {}}}', "hooks.Stop"),
    ('{"hooks": {"my event": 1}}', 'hooks["my event"]'),
    ('{"hooks": {"PreCompact": [1]}}', "hooks.PreCompact[0]"),
    ('{"hooks": {"PreCompact": [{}, {"hooks": {}}]}}', "hooks.PreCompact[1].hooks"),
    ('{"hooks": {"PreCompact": [{"hooks": ["x"]}]}}', "hooks.PreCompact[0].hooks[0]"),
]


@BOTH
@pytest.mark.parametrize(("text", "place_in_file"), REFUSED)
def test_a_broken_or_wrong_typed_file_is_left_alone_and_its_place_named(
    place: Place, text: str, place_in_file: str
) -> None:
    place.write(text)
    for act in (place.install, place.uninstall):
        with pytest.raises(InstallError) as caught:
            act()
        assert (caught.value.path, caught.value.place or "") == (str(place.path), place_in_file)
    assert place.path.read_text() == text
    assert not os.path.exists(place.folder)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("timeout", 2.5), ("timeout", "10"), ("timeout", -1), ("type", 1), ("command", None), ("async", 1),
        ("statusMessage", 1), ("additionalContextLimit", "x"), ("commandWindows", []),
    ],
)  # fmt: skip
def test_one_wrong_type_would_stop_every_hook_of_codex(tmp_path: Path, member: str, value: object) -> None:
    config = json.dumps({"hooks": {"Stop": [{"hooks": [{**OTHER, member: value}]}]}})
    place = Place(tmp_path, CODEX)
    place.write(config)
    with pytest.raises(InstallError) as caught:
        place.install()
    assert caught.value.place == f"hooks.Stop[0].hooks[0].{member}"
    other = Place(tmp_path, CLAUDE_CODE)
    other.write(config)
    other.install()


@BOTH
@pytest.mark.parametrize("data", [b"\xff", b'{"a": 1,\n "b": "\xff"}', b"\xef\xbb\xbf{}", b"[" * 100_000])
def test_what_is_not_plain_utf_8_is_left_alone(place: Place, data: bytes) -> None:
    place.write(data)
    with pytest.raises(InstallError):
        place.install()
    assert place.path.read_bytes() == data


@BOTH
def test_a_folder_in_the_files_place_is_refused(place: Place) -> None:
    place.path.mkdir(parents=True)
    with pytest.raises(InstallError):
        place.install()


@BOTH
def test_a_file_that_changed_since_the_preview_is_left_alone(place: Place) -> None:
    place.write("{}")
    plan = place.plan()
    place.write('{"mine": 1}')
    with pytest.raises(InstallError):
        apply(plan)
    assert place.path.read_text() == '{"mine": 1}'


@BOTH
def test_uninstalling_what_is_not_there_makes_nothing(place: Place) -> None:
    place.uninstall()
    assert not place.home.exists()


def test_the_scripts_go_with_the_last_configuration_that_names_them(tmp_path: Path) -> None:
    claude, codex = Place(tmp_path / "1", CLAUDE_CODE), Place(tmp_path / "2", CODEX)
    codex.folder = claude.folder
    for one in (claude, codex):
        one.home.parent.mkdir()
        one.install()
    claude.uninstall()
    assert {scripts.HOOK_SCRIPT, scripts.PUBLISH_SCRIPT} < set(codex.scripts())
    codex.uninstall()
    assert codex.scripts() == []


def test_an_older_script_is_written_anew(tmp_path: Path) -> None:
    place = Place(tmp_path, CODEX)
    place.install()
    script = Path(place.folder, scripts.HOOK_SCRIPT)
    script.write_text("old")
    plan = place.plan()
    assert plan.changes
    assert plan.diff() == ""
    apply(plan)
    assert "run_hook" in script.read_text()


def test_the_home_is_the_one_named_then_the_variables_then_the_default() -> None:
    env = {"CODEX_HOME": "/variable"}
    assert home_of(CODEX, "/named", env) == "/named"
    assert home_of(CODEX, None, env) == "/variable"
    assert home_of(CODEX, None, {}) == os.path.expanduser("~/.codex")
    assert home_of(CLAUDE_CODE, None, {"CLAUDE_CONFIG_DIR": "/c"}) == "/c"
