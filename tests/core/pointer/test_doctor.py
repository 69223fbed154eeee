"""What the doctor says of each agent (§6)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from felan_core.pointer.hooks import mark_seen
from felan_core.pointer.install import scripts
from felan_core.pointer.install.agents import CLAUDE_CODE, CODEX, EVENTS
from felan_core.pointer.install.doctor import Report, age, examine
from felan_core.pointer.install.trust import definition_hash, file_name, key
from felan_core.pointer.values import instant
from tests.core.pointer.test_install import BOTH, Place, place

__all__ = ["place"]


def look(place: Place, env: dict[str, str] | None = None) -> Report:
    return examine(place.agent, str(place.home), place.folder, place.root, env or {})


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
    (place.home / "config.toml").write_text("\n".join(rows) + "\n")


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
    place.install()
    found = look(place)
    assert found.healthy
    assert found.events == dict.fromkeys(EVENTS, "installed")
    assert (found.state_root, found.last_seen) == (place.root, None)


def test_the_last_hook_that_wrote_is_seen(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install()
    os.mkdir(place.root)
    mark_seen(place.root, "claude-code")
    os.utime(f"{place.root}/.agents/claude-code", (1000, 1000))
    assert look(place).last_seen == instant(1000)


def test_the_root_of_the_installed_command_is_the_one_looked_at(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install(root=f"{tmp_path}/it's another")
    assert look(place).state_root == f"{tmp_path}/it's another"


def test_codex_runs_what_was_reviewed_and_nothing_else(tmp_path: Path) -> None:
    place = Place(tmp_path, CODEX)
    place.install()
    assert set(look(place).events.values()) == {"untrusted"}
    trust(place)
    assert set(look(place).events.values()) == {"trusted"}
    assert look(place).healthy
    trust(place, enabled=False)
    assert set(look(place).events.values()) == {"disabled"}
    assert not look(place).healthy
    trust(place)
    place.install(root=place.root + "-2")
    assert set(look(place).events.values()) == {"modified"}
    assert "/hooks" in " ".join(look(place).problems)


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
    place.install()
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
    assert "line 2" in look(place).problems[0]


def test_what_keeps_hooks_from_running_is_said(tmp_path: Path) -> None:
    claude = Place(tmp_path / "1", CLAUDE_CODE)
    claude.home.parent.mkdir()
    claude.install()
    config = json.loads(claude.path.read_bytes())
    claude.write(json.dumps({**config, "disableAllHooks": True}))
    assert "disableAllHooks" in look(claude).problems[0]
    codex = Place(tmp_path / "2", CODEX)
    codex.home.parent.mkdir()
    codex.install()
    trust(codex)
    with open(codex.home / "config.toml", "a") as file:
        file.write("[features]\nhooks = false\n")
    assert "features.hooks" in " ".join(look(codex).problems)
    (codex.home / "config.toml").write_text("[")
    assert "config.toml" in " ".join(look(codex).problems)


def test_a_script_that_is_gone_or_old_is_said(tmp_path: Path) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install()
    script = Path(place.folder, scripts.HOOK_SCRIPT)
    script.write_text("old")
    assert "another felan" in look(place).problems[0]
    script.unlink()
    assert "gone" in look(place).problems[0]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_root_that_cannot_be_used_is_said(tmp_path: Path, kind: str) -> None:
    place = Place(tmp_path, CLAUDE_CODE)
    place.install()
    if kind == "file":
        Path(place.root).touch()
    else:
        os.symlink(tmp_path, place.root)
    found = look(place)
    assert not found.state_root_writable
    assert not found.healthy


def test_an_age_in_words() -> None:
    assert [age(instant(0), lambda now=now: now) for now in (5, 120, 7200, 200_000)] == [
        "5 s ago",
        "2 min ago",
        "2 h ago",
        "2 d ago",
    ]
