"""What the doctor says of each agent (§6)."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer import PointerStore
from felan_core.pointer.hooks import mark_seen
from felan_core.pointer.install import scripts
from felan_core.pointer.install.agents import CLAUDE_CODE, CODEX, EVENTS, Agent
from felan_core.pointer.install.doctor import Report, age, examine, examine_states
from felan_core.pointer.install.trust import definition_hash, file_name, key
from felan_core.pointer.places import publisher_path
from felan_core.pointer.values import instant
from tests.core.pointer.support import place_state
from tests.core.pointer.test_install import BOTH, Place, place

__all__ = ["place"]


NO_AGENT = {"PATH": "/nowhere", "TMPDIR": "/nowhere"}


def look(place: Place, env: dict[str, str] | None = None) -> Report:
    return examine(place.agent, str(place.home), place.folder, place.root, env or NO_AGENT)


def words(report: Report) -> str:
    return "\n".join(f"{one.problem} {one.mend}" for one in report.problems)


def trust(place: Place, **more: Any) -> None:
    """What Codex's own review writes; `more` per hook."""
    rows: list[str] = []
    for event, groups in place.hooks().items():
        for number, group in enumerate(groups):
            for index, handler in enumerate(group["hooks"]):
                hashed = definition_hash(event, parsed(handler), group.get("matcher"))
                rows.append(
                    f"[hooks.state.{json.dumps(key(file_name(str(place.home), {}), event, number, index))}]"
                )
                rows += [f"trusted_hash = {json.dumps(hashed)}"]
                rows += [f"{name} = {json.dumps(value)}" for name, value in more.items()]
    path = place.home / "config.toml"
    kept = path.read_text() if path.exists() else ""
    before = kept.partition("[hooks.state.")[0]
    path.write_text(before + "\n" + "\n".join(rows) + "\n")


def parsed(handler: dict[str, Any]) -> dict[str, Any]:
    from felan_core.pointer.install.jsonfile import parse

    return dict(parse(json.dumps(handler).encode(), "x")[0])


@BOTH
def test_nothing_is_installed_and_nothing_is_wrong(place: Place, tmp_path: Path) -> None:
    found = look(place)
    assert (found.installed, found.healthy, found.problems) == (False, False, [])
    assert found.events == dict.fromkeys(EVENTS, "missing")
    assert found.state_root_writable
    assert not os.listdir(tmp_path)


def test_claude_code_is_healthy_once_it_is_installed(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    found = look(place)
    assert found.healthy
    assert found.events == dict.fromkeys(EVENTS, "installed")
    assert (found.state_root, found.last_seen) == (place.root, None)


def test_the_last_hook_that_wrote_is_seen(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    mark_seen(place.root, "claude-code")
    os.utime(f"{place.root}/.agents/claude-code", (1000, 1000))
    assert look(place).last_seen == instant(1000)


def test_the_root_of_the_installed_command_is_the_one_looked_at(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(root=f"{tmp_path}/it's another", allows=True)
    assert look(place).state_root == f"{tmp_path}/it's another"


def test_codex_runs_what_was_reviewed_and_nothing_else(tmp_path: Path) -> None:
    place = Place(tmp_path, CODEX)
    place.install(allows=True)
    assert set(look(place).events.values()) == {"untrusted"}
    trust(place)
    assert set(look(place).events.values()) == {"trusted"}
    assert look(place).healthy
    trust(place, enabled=False)
    assert set(look(place).events.values()) == {"disabled"}
    assert not look(place).healthy
    trust(place)
    place.install(root=place.root + "-2", allows=True)
    assert set(look(place).events.values()) == {"modified"}
    assert "/hooks" in words(look(place))


def test_the_hash_is_of_what_codex_minds() -> None:
    handler = parsed({"type": "command", "command": "true", "timeout": 0})
    assert definition_hash("SessionStart", handler) == definition_hash(
        "SessionStart", parsed({"type": "command", "command": "true", "timeout": 1, "unknown": 1})
    )
    assert definition_hash("SessionStart", handler, "clear") != definition_hash("SessionStart", handler)
    assert definition_hash("UserPromptSubmit", handler, "x") == definition_hash("UserPromptSubmit", handler)


def test_the_name_that_codex_gives_its_file(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert file_name(str(link), {"CODEX_HOME": str(link)}) == f"{real}/hooks.json"
    assert file_name(os.path.expanduser("~/.codex"), {}) == os.path.expanduser("~/.codex/hooks.json")
    assert key("/x/hooks.json", "UserPromptSubmit", 1, 2) == "/x/hooks.json:user_prompt_submit:1:2"


@BOTH
def test_a_part_that_is_missing_is_said(place: Place) -> None:
    place.install(allows=True)
    config = json.loads(place.path.read_bytes())
    del config["hooks"]["PreCompact"]
    place.write(json.dumps(config))
    found = look(place)
    assert not found.installed
    assert found.events["PreCompact"] == "missing"
    assert found.problems


@BOTH
def test_a_broken_file_is_said_with_its_place(place: Place) -> None:
    place.write("{\n,}")
    assert "line 2" in look(place).problems[0].problem


def test_what_keeps_hooks_from_running_is_said(tmp_path: Path) -> None:
    claude = Place(tmp_path / "1", CLAUDE_CODE)
    claude.home.parent.mkdir()
    claude.install(allows=True)
    config = json.loads(claude.path.read_bytes())
    claude.write(json.dumps({**config, "disableAllHooks": True}))
    assert "disableAllHooks" in look(claude).problems[0].problem
    codex = Place(tmp_path / "2", CODEX)
    codex.home.parent.mkdir()
    codex.install(allows=True)
    trust(codex)
    with open(codex.home / "config.toml", "a") as file:
        file.write("[features]\nhooks = false\n")
    assert "features.hooks" in words(look(codex))
    (codex.home / "config.toml").write_text("[")
    assert "config.toml" in words(look(codex))


def test_a_script_that_is_gone_or_old_is_said(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    script = Path(place.folder, scripts.HOOK_SCRIPT)
    script.write_text("old")
    assert "another version of felan" in look(place).problems[0].problem
    script.unlink()
    assert "gone" in look(place).problems[0].problem


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_root_that_cannot_be_used_is_said(tmp_path: Path, kind: str) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    os.rmdir(place.root)
    if kind == "file":
        Path(place.root).touch()
    else:
        os.symlink(tmp_path, place.root)
    found = look(place)
    assert not found.state_root_writable
    assert not found.healthy


def test_an_age_in_words() -> None:
    assert [age(instant(0), now) for now in (5, 120, 7200, 200_000)] == [
        "5 s ago",
        "2 min ago",
        "2 h ago",
        "2 d ago",
    ]


def program(folder: Path, name: str, text: str) -> dict[str, str]:
    """An environment in which the agent's command prints `text`."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o700)
    return {"PATH": str(path.parent)}


@pytest.mark.parametrize(
    ("agent", "said", "fires"),
    [
        (CODEX, "codex-cli 0.99.0", False),
        (CODEX, "codex-cli 0.128.0", False),
        (CODEX, "codex-cli 0.129.0", True),
        (CODEX, "codex-cli 1.0.0", True),
        (CLAUDE_CODE, "1.0.61 (Claude Code)", False),
        (CLAUDE_CODE, "2.1.332 (Claude Code)", True),
        (CLAUDE_CODE, "no version", True),
    ],
)
def test_a_version_that_fires_no_hook_is_a_finding(
    tmp_path: Path, agent: Agent, said: str, fires: bool
) -> None:
    place = Place(tmp_path, agent)
    place.install(allows=True)
    found = look(place, program(tmp_path, agent.program, said))
    assert ("does not fire the three hooks" in words(found)) == (not fires)
    if said != "no version":
        assert found.version is not None and found.version in said


def test_the_doctor_runs_what_is_installed(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    publisher = Path(publisher_path(place.folder, place.root))
    publisher.chmod(0o600)
    assert "--apply" in words(look(place))
    place.install(allows=True)
    assert look(place).healthy
    assert os.listdir(place.root) == [], "it wrote nothing"


def test_an_interpreter_that_is_gone_is_said_with_the_command(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(allows=True)
    place.write(place.path.read_text().replace(sys.executable, f"{tmp_path}/gone"))
    [finding] = look(place).problems
    assert f"{tmp_path}/gone" in finding.problem
    assert finding.mend == (
        f"felan pointer install --agent claude-code --home {shlex.quote(str(place.home))} "
        f"--state-root {place.root} --apply"
    )


def test_every_state_is_read(tmp_path: Path) -> None:
    assert examine_states(str(tmp_path / "missing")) == []
    place_state(tmp_path, b"{", "broken")
    PointerStore(str(tmp_path)).prompt("fine")
    [finding] = examine_states(str(tmp_path))
    assert "broken/state.json" in finding.problem and "STATE_INVALID" in finding.problem
    assert finding.mend == f"felan pointer reset broken --state-root {tmp_path} --apply"
