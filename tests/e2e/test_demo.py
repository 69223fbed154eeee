import subprocess
from pathlib import Path

from felan_tui.cli.embed import scenarios
from felan_tui.composer.pastes import ENTER_SECONDS
from tests.e2e.felan import COMMAND, Felan


def test_the_tour_plays_through_with_every_question_answered_by_keys(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "--pace", "0", columns=100, rows=30) as felan:
        note = felan.project / "rehearsal.md"
        felan.go_to_card("wants to edit")
        felan.press("1")
        felan.go_to_card("wants to edit")
        assert "[x]" not in note.read_text()
        felan.press("1")
        felan.go_to_card("wants to run")
        assert "[x] write a file" in note.read_text()
        felan.press("1")
        felan.go_to_card("Is the text on this screen easy to read?")
        felan.press("y")
        felan.go_to_card("What would you like an agent to do for you?")
        felan.press("1")
        felan.see("☑ 1")
        felan.press("4")
        felan.see("☑ 4")
        felan.press("enter")
        felan.go_to_card("What shall I call you?")
        felan.write("Ada")
        felan.see("█   Ada")
        felan.past(ENTER_SECONDS)
        felan.press("enter")
        felan.go_to_card("How a session should look")
        felan.step()
        felan.press("2")
        felan.see("● 2 No")
        felan.step()
        felan.step()
        felan.step()
        felan.press("enter")
        felan.see("wants to delete")
        # What was answered stands above, on one page or two: that depends on what is shown below it.
        for answer in ("My first session", "Ada", "Fix bugs, Do the chores"):
            felan.page_up_to(answer)
        felan.press("f7")
        felan.go_to_card("wants to delete")
        assert note.exists()
        felan.press("1")
        felan.see("That was the tour")
        assert not note.exists()
        assert felan.quit() == 0


def test_a_turn_is_steered_and_then_cancelled(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "--pace", "0", rows=40) as felan:
        felan.see("wants to edit")
        felan.enter("skip")
        felan.see("On to the next part.", "wants to run")
        assert list(felan.project.iterdir()) == []
        felan.press("esc")
        felan.see("– stopped", "cancelled with the turn")
        felan.enter("/fail")
        felan.see("The rehearsal refused, as it was asked to.")
        assert felan.quit() == 0


def test_the_help_says_which_scenarios_there_are() -> None:
    said = subprocess.run([COMMAND, "demo", "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert ", ".join(scenarios()) in " ".join(said.stdout.split())
