"""What lets an agent publish unasked: in and out of its files, and nothing else changed (§6)."""

import json
import os
import shlex
import tomllib
from pathlib import Path

import pytest

from felan_core.pointer.install import allow, backups
from felan_core.pointer.install.agents import CLAUDE_CODE, CODEX
from felan_core.pointer.install.errors import InstallError
from felan_core.pointer.places import publisher_path
from tests.core.pointer.test_doctor import look, words
from tests.core.pointer.test_install import Place

CONFIG = """\
# mine
model = "x"   # a comment

[sandbox_workspace_write]  # the sandbox
network_access = true
writable_roots = [
    "/a",  # the first
    "/b",
]

[hooks.state."/x:session_start:0:0"]
trusted_hash = "sha256:1"
"""


def codex(folder: Path, text: str | None = None) -> Place:
    place = Place(folder, CODEX)
    place.home.mkdir()
    if text is not None:
        (place.home / "config.toml").write_bytes(text.encode())
    return place


def config_of(place: Place) -> str:
    return (place.home / "config.toml").read_bytes().decode()


def test_plain_install_offers_it_and_does_not_do_it(tmp_path: Path) -> None:
    for agent in (CLAUDE_CODE, CODEX):
        place = Place(tmp_path / agent.name, agent)
        place.home.mkdir(parents=True)
        assert "--allow" in place.plan().offer
        place.install()
        assert "permissions" not in json.loads(place.path.read_bytes())
        assert not (place.home / "config.toml").exists()
        place.install(allows=True)
        assert place.plan().offer == ""


def test_the_rule_of_claude_code_is_the_shell_word_of_the_context(tmp_path: Path) -> None:
    place = Place(tmp_path / "it's here", CLAUDE_CODE)
    place.home.mkdir(parents=True)
    place.write('{"permissions": {"allow": ["Read"], "deny": ["WebFetch"]}}')
    plan = place.plan(allows=True)
    assert "permissions" in plan.diff() and "Bash(" in plan.diff()
    place.install(allows=True)
    [read, rule] = json.loads(place.path.read_bytes())["permissions"]["allow"]
    assert read == "Read"
    assert shlex.split(rule.removeprefix("Bash(").removesuffix(":*)")) == [
        publisher_path(place.folder, place.root)
    ]
    assert not place.plan(allows=True).changes
    place.uninstall()
    assert place.path.read_text() == '{"permissions": {"allow": ["Read"], "deny": ["WebFetch"]}}'


def test_a_rule_in_a_file_without_one_leaves_nothing_behind(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.write('{\n  "model": "x"\n}\n')
    place.install(allows=True)
    place.uninstall()
    assert place.path.read_text() == '{\n  "model": "x"\n}\n'


@pytest.mark.parametrize(("text", "where"), [
    ('{"permissions": []}', "permissions"), ('{"permissions": {"allow": {}}}', "permissions.allow"),
])  # fmt: skip
def test_a_wrong_type_is_named_and_left_alone(tmp_path: Path, text: str, where: str) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.write(text)
    with pytest.raises(InstallError) as caught:
        place.install(allows=True)
    assert (caught.value.place, place.path.read_text()) == (where, text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_codex_keeps_its_comments_and_its_form(tmp_path: Path, line_end: str) -> None:
    text = CONFIG.replace("\n", line_end)
    place = codex(tmp_path, text)
    place.install(allows=True)
    now = config_of(place)
    assert tomllib.loads(now)["sandbox_workspace_write"]["writable_roots"] == ["/a", "/b", place.root]
    added = [line for line in now.split(line_end) if line not in text.split(line_end)]
    assert added == [f'    "{place.root}",']
    assert not place.plan(allows=True).changes
    place.uninstall()
    assert config_of(place) == text


@pytest.mark.parametrize("text", [
    None, "", 'model = "x"\n', "[sandbox_workspace_write]\n# mine\nnetwork_access = true\n",
    "sandbox_workspace_write = { network_access = true }\n",
    "sandbox_workspace_write.network_access = true\n",
    '[a]\nb = 1\n\n[hooks.state."k"]\ntrusted_hash = "x"',
])  # fmt: skip
def test_codex_gains_the_one_folder_and_loses_it_again(tmp_path: Path, text: str | None) -> None:
    place = codex(tmp_path, text)
    before = tomllib.loads(text or "")
    backup = place.install(allows=True)
    now = tomllib.loads(config_of(place))
    table = now.pop("sandbox_workspace_write")
    assert table == {
        **before.get("sandbox_workspace_write", {}), "writable_roots": [place.root]
    }  # fmt: skip
    assert now == {name: value for name, value in before.items() if name != "sandbox_workspace_write"}
    place.uninstall()
    assert tomllib.loads(config_of(place)) == before
    if "sandbox_workspace_write" not in before:
        assert config_of(place).rstrip("\n") == (text or "").rstrip("\n")
    assert backup is not None
    backups.restore(backup, place.folder)
    path = place.home / "config.toml"
    assert (path.read_text() if path.exists() else None) == text


@pytest.mark.parametrize("text", ["[", "sandbox_workspace_write = 1",
                                  "[sandbox_workspace_write]\nwritable_roots = 1",
                                  "[sandbox_workspace_write]\nwritable_roots = [1]"])  # fmt: skip
def test_a_config_that_cannot_be_merged_with_stops_all_of_it(tmp_path: Path, text: str) -> None:
    place = codex(tmp_path, text)
    with pytest.raises(InstallError):
        place.install(allows=True)
    assert (config_of(place), place.path.exists(), os.path.exists(place.folder)) == (text, False, False)


def test_both_files_change_or_none(tmp_path: Path) -> None:
    place = codex(tmp_path, "")
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "config.toml"
    (place.home / "config.toml").rename(real)
    (place.home / "config.toml").symlink_to(real)
    plan = place.plan(allows=True)
    real.write_text("# mine")
    from felan_core.pointer.install.plan import apply

    with pytest.raises(InstallError):
        apply(plan)
    assert (real.read_text(), place.path.exists()) == ("# mine", False)
    place.install(allows=True)
    assert place.root in real.read_text() and (place.home / "config.toml").is_symlink()


def test_toml_is_edited_by_a_library_that_only_then_is_imported() -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom felan_core.pointer.install import plan, doctor\nassert 'tomlkit' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(("config", "publishes", "finding"), [
    ("", False, "--allow"),
    ('sandbox_mode = "read-only"', False, "sandbox_mode"),
    ('sandbox_mode = "danger-full-access"', True, ""),
    ('[sandbox_workspace_write]\nwritable_roots = ["ROOT"]', True, ""),
    ('[sandbox_workspace_write]\nwritable_roots = ["ROOT/.."]', True, ""),
    ('[sandbox_workspace_write]\nwritable_roots = ["ROOT/x"]', False, "--allow"),
    ("[sandbox_workspace_write]\nexclude_slash_tmp = true", False, "--allow"),
])  # fmt: skip
def test_the_doctor_knows_what_codex_lets_an_agent_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, publishes: bool, finding: str
) -> None:
    monkeypatch.setattr("felan_core.pointer.install.doctor._temporary", lambda values, env: [])
    place = codex(tmp_path, config.replace("ROOT", f"{tmp_path}/root"))
    place.install()
    found = look(place)
    assert found.publishes == publishes
    assert finding in words(found).replace("/hooks", "")
    assert publishes == ("--allow" not in words(found) and "sandbox_mode" not in words(found))


def test_the_sandbox_leaves_the_temporary_folders_writable() -> None:
    from felan_core.pointer.install.doctor import _temporary  # pyright: ignore[reportPrivateUsage]

    assert _temporary({}, {"TMPDIR": "/t"}) == ["/tmp", "/t"]
    excluded = {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
    assert _temporary({allow.TABLE: excluded}, {"TMPDIR": "/t"}) == []


@pytest.mark.parametrize(("permissions", "publishes", "finding"), [
    ({}, False, "--allow"), ({"allow": ["Bash"]}, True, ""), ({"defaultMode": "bypassPermissions"}, True, ""),
    ({"allow": ["Bash"], "deny": ["Bash"]}, False, "permissions.deny"),
    ({"allow": ["Bash"], "ask": ["Bash(*)"]}, False, "permissions.ask"), ({"allow": [1]}, False, "--allow"),
])  # fmt: skip
def test_the_doctor_knows_what_claude_code_asks(
    tmp_path: Path, permissions: dict[str, object], publishes: bool, finding: str
) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.write(json.dumps({"permissions": permissions}))
    place.install()
    found = look(place)
    assert (found.publishes, found.healthy) == (publishes, publishes)
    assert finding in words(found)


@pytest.mark.parametrize("allowed", [[], ["ROOT"]])
def test_the_doctor_knows_claude_codes_own_sandbox(tmp_path: Path, allowed: list[str]) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    files = {"allowWrite": [one.replace("ROOT", place.root) for one in allowed]}
    place.write(json.dumps({"sandbox": {"enabled": True, "filesystem": files}}))
    place.install(allows=True)
    found = look(place)
    assert found.publishes == bool(allowed)
    assert ("allowWrite" in words(found)) == (not allowed)
