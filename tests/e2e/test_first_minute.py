import os
import re
from pathlib import Path

from felan_tui.cards.guard import GRACE
from felan_tui.composer.pastes import ENTER_SECONDS
from tests.e2e.felan import COMMAND, WAIT, Felan, children


def test_a_choice_at_the_first_sight_of_the_card_opens_one_session(tmp_path: Path) -> None:
    for number in range(4):
        with Felan(tmp_path / str(number)) as felan:
            felan.see("1  Rehearsal")
            felan.press("1")  # before anything is loaded
            felan.ready()
            assert len(felan.stored("SELECT id FROM sessions")) == 1
            assert felan.quit() == 0
            assert felan.said_at_last() == ""


def test_the_first_minute_with_nothing_configured(tmp_path: Path) -> None:
    with Felan(tmp_path) as felan:
        _nothing_runs_before_a_key(felan)
        felan.press("enter")
        felan.ready()
        _a_file_changes_after_the_approval_alone(felan)
        _a_command_of_ones_own_is_followed_live(felan)
        _the_pointer_bar_follows(felan)
        assert felan.quit() == 0
        felan.assert_whole()
        assert felan.said_at_last() == ""


def _nothing_runs_before_a_key(felan: Felan) -> None:
    felan.see("Which agent should work here?", "▌ 1  Rehearsal", "2  Another agent", "/agent")
    felan.until(lambda: list(felan.data.glob("*.db")), "the database")
    felan.until(lambda: felan.stored("SELECT name FROM sqlite_master WHERE name = 'sessions'"), "its tables")
    felan.settle()
    assert felan.stored("SELECT id FROM sessions") == []
    assert children(felan.app) == []
    assert list(felan.project.iterdir()) == []


def _a_file_changes_after_the_approval_alone(felan: Felan) -> None:
    scratch = felan.project / "rehearsal-scratch.py"
    felan.enter("/edit")
    felan.see("wants to edit", "F2 answer")
    felan.press("f2")
    felan.see("█ Rehearsal wants to edit")
    felan.press("1")  # in the first half second, in which a card takes nothing
    felan.past(GRACE)
    felan.see("█ Rehearsal wants to edit")
    assert not scratch.exists()
    felan.press("1")
    felan.until(scratch.exists, "the file")
    felan.go_to_card("wants to edit")
    assert "Hello, " not in scratch.read_text()
    felan.press("1")
    felan.until(lambda: "Hello, " in scratch.read_text(), "the change")
    felan.go_to_card("wants to delete")
    felan.press("3")
    felan.see("stays, and is yours.")
    assert scratch.exists()


def _a_command_of_ones_own_is_followed_live(felan: Felan) -> None:
    gate = felan.project / "gate"
    os.mkfifo(gate)
    felan.enter(r"! printf '\033[31m%s-%s\033[0m\n' live red; read x < gate; printf '%s-%s\n' at last")
    felan.see("live-red")
    assert "at-last" not in felan.text()
    row = next(y for y, line in enumerate(felan.screen.display) if "live-red" in line)
    column = felan.screen.display[row].index("live-red")
    colour = felan.screen.buffer[row][column].fg
    red, green, blue = (int(colour[at : at + 2], 16) for at in (0, 2, 4))
    assert red > green + 40 and red > blue + 40, colour
    gate.write_text("go on\n")
    felan.see("at-last")
    felan.press("f3")
    felan.see("F3 hide")
    felan.press("f3")
    felan.see_not("at-last")


def _the_pointer_bar_follows(felan: Felan) -> None:
    felan.enter("/pointer")
    felan.go_to_card("The task pointer of this session")
    felan.fill("See it work", "Use it")
    felan.see("● CLEAN", "Goal: See it work", "Next: Use it")
    felan.enter("help")
    felan.see("DIRTY")


def test_it_is_whole_without_colours_too(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0", env={"NO_COLOR": "1"}) as felan:
        felan.see("wants to edit")
        felan.press("f3")
        felan.see("No process has run")
        felan.press("f3", "f1")
        felan.see("Keys")
        felan.press("esc")
        felan.see_not("Esc close")
        felan.go_to_card("wants to edit")
        felan.press("o")
        felan.see("Esc close")
        felan.press("esc")
        felan.past(0.5)
        felan.press("esc")
        felan.past(0.5)
        assert felan.quit() == 0
        colour = re.compile(rb"\x1b\[[0-9;]*(?:[34][0-7]|[34]8;[25])[0-9;]*m")
        greys = re.compile(rb"\x1b\[(?:[0-9;]*;)?[34]8;2;(\d+);\1;\1[;m]")
        assert not [one for one in colour.findall(bytes(felan.output)) if not greys.match(one)][:3]


def test_the_data_folder_is_named_before_the_command_too(tmp_path: Path) -> None:
    elsewhere = {"FELAN_DATA_DIR": str(tmp_path / "elsewhere")}
    command = [COMMAND, "--data-dir", str(tmp_path / "data"), "demo", "edit", "--pace", "0"]
    with Felan(tmp_path, command=command, env=elsewhere) as felan:
        felan.see("wants to edit")
        assert list(felan.data.glob("*.db"))
        assert not (tmp_path / "elsewhere").exists()


def test_a_wrong_agent_command_can_be_put_right_where_it_was_typed(tmp_path: Path) -> None:
    with Felan(tmp_path) as felan:
        felan.see("2  Another agent")
        felan.press("2")
        felan.see("opencode acp")
        felan.settle()
        felan.write("nosuchprogram --acp")
        felan.see("nosuchprogram --acp")
        felan.past(ENTER_SECONDS)
        felan.press("enter")
        felan.see("nosuchprogram: not found on PATH")
        assert not (felan.data / "felan.toml").exists()
        felan.press("ctrl+c", "ctrl+c")
        felan.ended(WAIT)
    (felan.data / "felan.toml").write_text('[agent]\nkind = "acp"\ncommand = "gone --acp"\n')
    with Felan(tmp_path) as felan:
        felan.see("Which agent should work here?", "gone: not found on PATH", "1  Rehearsal")
        felan.press("1")
        felan.ready()
        assert felan.quit() == 0
