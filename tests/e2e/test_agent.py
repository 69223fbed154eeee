"""/agent: the start card over a session, and the choice that is remembered."""

import tomllib
from pathlib import Path

from felan_tui.composer.pastes import ENTER_SECONDS
from tests.e2e.felan import Felan


def choice(felan: Felan) -> object:
    path = felan.data / "felan.toml"
    return tomllib.loads(path.read_text()).get("agent") if path.exists() else None


def test_another_agent_gets_a_new_session_and_the_old_one_is_kept(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        (old,) = felan.stored("SELECT id FROM sessions")
        felan.enter("/agent")
        felan.see("Which agent should work here?", "Esc back")
        felan.press("esc")
        felan.see("wants to edit", "F2 answer")
        assert felan.stored("SELECT id FROM sessions") == [old]
        felan.enter("/agent")
        felan.see("▌ 1  Rehearsal")
        felan.press("1")
        felan.see("Change the agent now?", "a turn is running", "1 question would be withdrawn")
        felan.press("1")
        felan.see("wants to edit", "F2 answer")
        assert felan.stored("SELECT id FROM sessions") == [old]
        felan.enter("/agent")
        felan.see("▌ 1  Rehearsal")
        felan.press("1")
        felan.see("Change the agent now?")
        felan.press("2")
        felan.see("A new session; the one before is kept.")
        felan.see_not("wants to edit")
        felan.until(lambda: choice(felan) == {"kind": "rehearsal"}, "the choice in felan.toml")
        assert len(felan.stored("SELECT id FROM sessions")) == 2
        felan.enter("/edit")
        felan.see("wants to edit")


def test_an_agent_that_failed_at_once_is_offered_again_and_not_remembered(tmp_path: Path) -> None:
    with Felan(tmp_path) as felan:
        felan.see("2  Another agent")
        felan.press("2")
        felan.see("opencode acp")
        felan.write("sh -c 'exit 3' agent")
        felan.see("sh -c 'exit 3' agent")
        felan.past(ENTER_SECONDS)
        felan.press("enter")
        felan.see("exited with code 3", "/agent chooses another")
        felan.enter("/agent")
        felan.see("Which agent should work here?")
        felan.press("2")
        felan.see("sh -c 'exit 3' agent")
        assert choice(felan) is None
        felan.step("esc")
        felan.press("1")
        felan.see("A new session; the one before is kept.")
        felan.until(lambda: choice(felan) == {"kind": "rehearsal"}, "the choice in felan.toml")
