import os
import shlex
import signal
import sys
from pathlib import Path

from felan_tui.cards.guard import GRACE
from tests.e2e.felan import Felan, children

HARNESS = Path(__file__).resolve().parents[1] / "harness" / "acp"


def test_a_form_that_a_quit_left_is_answered_later(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "pointer", "--pace", "0") as felan:
        felan.see("The task pointer of this session", "F2 answer")
        assert felan.quit() == 0
    with Felan(tmp_path, "-c") as felan:
        felan.go_to_card("The task pointer of this session")
        felan.fill("Come back", "Go on")
        felan.see("Published: the bar says CLEAN now.", "● CLEAN", "Goal: Come back", "Next: Go on")
        assert felan.quit() == 0


def test_everything_is_killed_and_comes_back(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0", rows=40) as felan:
        felan.go_to_card("wants to edit")
        felan.press("1")
        felan.see("wants to edit", "F2 answer")
        felan.write("next please")
        felan.see("› next please")
        felan.press("ctrl+t")
        felan.see("follow-up · you", "next please")
        felan.write("half a thought")
        felan.see("› half a thought")
        felan.until(lambda: _somewhere(felan.data, b"half a thought"), "the draft on disk")
        felan.kill_all()
    scratch = felan.project / "rehearsal-scratch.py"
    with Felan(tmp_path, "-c", rows=40) as felan:
        felan.see("wants to edit", "F2 answer", "half a thought", "1 held", "next please")
        felan.see("I write a scratch file and change one line of it.")
        felan.see("approved once by you: Write rehearsal-scratch.py")
        assert "Hello, " not in scratch.read_text()
        felan.go_to_card("wants to edit")
        felan.press("1")
        felan.see("is changed on disk.", "wants to delete")
        assert "Hello, " in scratch.read_text()
        felan.go_to_card("wants to delete")
        felan.press("1")
        felan.see("And it is gone again.")
        felan.press("ctrl+c")
        felan.see_not("half a thought")
        if "1 held" in felan.text():
            felan.press("enter")
        felan.see_not("follow-up · you")
        felan.see("▌ next please")
        assert felan.quit() == 0


def _somewhere(folder: Path, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def _agent(tmp_path: Path) -> str:
    return shlex.join([sys.executable, str(HARNESS / "demo_agent.py"), str(tmp_path / "agent.json")])


def test_an_agent_that_dies_while_it_asks_is_asked_again(tmp_path: Path) -> None:
    with Felan(tmp_path, "--agent", _agent(tmp_path), rows=40) as felan:
        felan.ready()
        felan.enter("perm one")
        felan.see("echo hi", "F2 answer")
        (agent,) = children(felan.app)
        os.kill(agent, signal.SIGKILL)
        felan.see("the agent that asked is gone", "SIGKILL")
        _asks_again(felan)
        felan.enter("perm two")
        felan.see("▌ perm two", "F2 answer")
        felan.kill_all()
    with Felan(tmp_path, "-c", rows=40) as felan:
        felan.see("the agent that asked is gone", "echo: one", "perm two", "r ask again")
        assert felan.text().count("r ask again") == 1
        _asks_again(felan, "two")
        assert "without memory" not in felan.text()
        assert felan.quit() == 0


def _asks_again(felan: Felan, word: str = "one") -> None:
    felan.see("r ask again")
    felan.step("f2")
    felan.past(GRACE)
    felan.press("r")
    felan.go_to_card("echo hi")
    felan.see("█ Demo agent wants to run", "1–5 answer")
    felan.press("1")
    felan.see(f"echo: {word}")


def test_an_agent_that_cannot_come_back_starts_without_memory_and_says_so(tmp_path: Path) -> None:
    # High enough for the prompt with all that stands in it, however long the names of the folders are.
    command = shlex.join([sys.executable, str(HARNESS / "scripted.py"), "prompt_blocks"])
    with Felan(tmp_path, "--agent", command, rows=60) as felan:
        felan.ready()
        felan.enter("remember me")
        felan.see_not("Esc stop")
        felan.see("▌ remember me")
        felan.kill_all()
    with Felan(tmp_path, "-c", rows=60) as felan:
        felan.see("▌ remember me")
        felan.ready()
        felan.enter("who am I")
        felan.see("The agent starts without memory")
        assert felan.quit() == 0
