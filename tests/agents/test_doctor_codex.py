"""The doctor against Codex's own list of hooks: for each of ours both say the same of the same key."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.fetch import program
from tests.harness.hooks.codex_server import CodexServer
from tests.harness.hooks.lab import EVENTS, Lab, codex_configuration
from tests.harness.hooks.model import HookModel

pytestmark = [pytest.mark.agents, pytest.mark.timeout(120)]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    found = program("codex-cli")
    if found is None:
        pytest.skip("codex-cli was not fetched: `make test-agents` does that")
    with HookModel() as model:
        made = Lab("codex", found, tmp_path / "codex it's", model)
        codex_configuration(made, trusted=True)
        yield made


def listed(lab: Lab) -> dict[str, str]:
    """What Codex's own list says of each of our hooks, by the event's name, in the doctor's words."""
    with CodexServer([lab.program, "app-server"], str(lab.project), lab.env) as server:
        (one,) = server.call("hooks/list", {"cwds": [str(lab.project)]})["data"]
    assert one["errors"] == [] and one["warnings"] == [], one
    found: dict[str, str] = dict.fromkeys(EVENTS, "missing")
    for hook in one["hooks"]:
        if "felan-pointer-hook.py" in hook["command"]:
            event = hook["eventName"][0].upper() + hook["eventName"][1:]
            status = hook["trustStatus"]
            found[event] = "disabled" if status == "trusted" and not hook["enabled"] else status
    return found


def hooks_of(lab: Lab) -> dict[str, list[Any]]:
    return json.loads(lab.settings.read_bytes())["hooks"]


def put(lab: Lab, hooks: dict[str, list[Any]]) -> None:
    lab.settings.write_text(json.dumps({"hooks": hooks}))


def as_installed(lab: Lab) -> None:
    pass


def never_reviewed(lab: Lab) -> None:
    codex_configuration(lab, trusted=False)


def reviewed_and_then_changed(lab: Lab) -> None:
    hooks = hooks_of(lab)
    for event in ("SessionStart", "PreCompact"):
        hooks[event][-1]["hooks"][0]["timeout"] = 11
    hooks["UserPromptSubmit"][-1]["hooks"][0]["statusMessage"] = "the pointer is kept …"
    put(lab, hooks)


def with_what_a_review_covers(lab: Lab) -> None:
    hooks = hooks_of(lab)
    for event, members in (
        ("SessionStart", {"statusMessage": "é \u2028 \U0001f600", "additionalContextLimit": 0}),
        ("PreCompact", {"timeout": 600}),
        ("UserPromptSubmit", {"timeout": 1, "async": False}),
    ):
        hooks[event][-1]["hooks"][0] |= members
    put(lab, hooks)
    codex_configuration(lab, trusted=True)


def moved_by_another_hook(lab: Lab) -> None:
    hooks = hooks_of(lab)
    for event in ("SessionStart", "UserPromptSubmit"):
        hooks[event].insert(0, {"hooks": [{"type": "command", "command": "true"}]})
    put(lab, hooks)


def one_switched_off(lab: Lab) -> None:
    path = lab.configuration / "config.toml"
    text = path.read_text()
    place = f"{json.dumps(f'{lab.settings}:session_start:1:0')}]\n"
    assert place in text
    path.write_text(text.replace(place, f"{place}enabled = false\n"))


def behind_a_symlink(lab: Lab) -> None:
    real = lab.folder / "dotfiles.json"
    lab.settings.rename(real)
    lab.settings.symlink_to(real)


def in_the_default_home(lab: Lab) -> None:
    home = Path(lab.env["HOME"]) / ".codex"
    lab.configuration.rename(home)
    lab.configuration, lab.settings = home, home / "hooks.json"
    del lab.env["CODEX_HOME"]
    config = home / "config.toml"
    config.write_text(config.read_text().replace(str(lab.folder / "configuration"), str(home)))


def in_a_home_behind_a_symlink(lab: Lab) -> None:
    link = lab.folder / "link"
    link.symlink_to(lab.configuration)
    lab.env["CODEX_HOME"] = str(link)


def taken_out(lab: Lab) -> None:
    lab.felan("uninstall", "--agent", "codex", "--apply")


SAID: dict[Callable[[Lab], None], set[str]] = {
    as_installed: {"trusted"},
    never_reviewed: {"untrusted"},
    reviewed_and_then_changed: {"modified"},
    with_what_a_review_covers: {"trusted"},
    moved_by_another_hook: {"untrusted", "trusted"},
    one_switched_off: {"trusted", "disabled"},
    behind_a_symlink: {"trusted"},
    in_the_default_home: {"trusted"},
    in_a_home_behind_a_symlink: {"trusted"},
    taken_out: {"missing"},
}


@pytest.mark.parametrize("changed", SAID, ids=lambda change: change.__name__)
def test_the_doctor_says_what_codex_says(lab: Lab, changed: Callable[[Lab], None]) -> None:
    changed(lab)
    theirs = listed(lab)
    doctor = lab.doctor()
    assert doctor["events"] == theirs
    assert set(theirs.values()) == SAID[changed]
    assert doctor["healthy"] == (SAID[changed] == {"trusted"})
