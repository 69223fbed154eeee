"""The background of the terminal and that of the theme, cell by cell."""

import re
from pathlib import Path

import pytest

from felan_tui.cli import exits
from tests.e2e.felan import WAIT, Felan

LIGHT = {b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", b"\x1b[c": b"\x1b[?62;c"}
DARK = {b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:0000/0000/0000\x07", b"\x1b[c": b"\x1b[?62;c"}


def grounds(felan: Felan) -> set[str]:
    """The backgrounds of all cells."""
    felan.settle()
    return {felan.screen.buffer[y][x].bg for y in range(felan.rows) for x in range(felan.columns)}


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (160, 48)])
def test_every_cell_has_the_ground_of_the_theme(tmp_path: Path, columns: int, rows: int) -> None:
    with Felan(tmp_path, "demo", "tour", "--pace", "0", columns=columns, rows=rows) as felan:
        felan.see("wants to edit")
        seen = {"session": grounds(felan)}
        for name, key, shown in (
            ("card", b"\x1bOQ", "█ Rehearsal"),
            ("help", b"\x1bOP", "Keys"),
            ("session again", b"\x1bOP", "█ Rehearsal"),
            ("palette", b"\x10", "Search"),
        ):
            felan.send(key)
            felan.see(shown)
            seen[name] = grounds(felan)
        felan.press("esc")
        felan.see_not("Search")
        felan.press("f3")
        felan.see("processes─")
        seen["panel"] = grounds(felan)
        felan.press("f5")
        seen["side pane"] = grounds(felan)
        for name, colors in seen.items():
            assert colors and "default" not in colors, name
            assert "14161a" in colors, name


def test_the_system_theme_follows_the_terminal_and_the_next_start_knows_it(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0", answers=LIGHT) as felan:
        felan.see("wants to edit")
        felan.wait(lambda _: "fbfbf8" in grounds(felan), "the light theme", WAIT)
        assert not {"14161a", "default"} & grounds(felan)
        # The terminal changes to its dark colours and says so.
        felan.answers(DARK)
        felan.send(b"\x1b[?997;1n")
        felan.wait(lambda _: "14161a" in grounds(felan), "the dark theme", WAIT)
        assert not {"fbfbf8", "default"} & grounds(felan)
        felan.answers(LIGHT)
        felan.send(b"\x1b[?997;2n")
        felan.wait(lambda _: "fbfbf8" in grounds(felan), "the light theme again", WAIT)
        assert felan.quit() == 0
    with Felan(tmp_path, "-c") as felan:
        felan.ready()
        assert b"\x1b[48;2;251;251;248m" in felan.output or re.search(rb"48;2;251;251;248", felan.output)
        assert b"48;2;20;22;26" not in felan.output


def test_a_chosen_theme_is_remembered_and_keeps_to_itself(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0", answers=LIGHT) as felan:
        felan.see("wants to edit")
        felan.send(b"\x10")
        felan.see("Search")
        felan.write("theme")
        felan.see("choose another theme")
        felan.press("enter")
        felan.see_not("choose another theme")
        felan.write("felan-dark")
        felan.settle()
        felan.press("enter")
        felan.wait(lambda _: "14161a" in grounds(felan), "the chosen theme", WAIT)
        felan.until(lambda: 'name = "felan-dark"' in (felan.data / "felan.toml").read_text(), "the choice")
        assert (felan.data / "felan.toml").stat().st_mode & 0o777 == 0o600
        assert felan.quit() == 0
    with Felan(tmp_path, "-c", answers=LIGHT) as felan:
        felan.ready()
        assert "14161a" in grounds(felan) and "fbfbf8" not in grounds(felan)


def test_a_dumb_terminal_is_refused_in_one_line(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", env={"TERM": "dumb"}) as felan:
        assert felan.ended(WAIT) == exits.USAGE
        said = bytes(felan.output).decode()
        assert "xterm-256color" in said and "\x1b" not in said and "Traceback" not in said
