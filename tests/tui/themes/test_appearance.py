"""Which theme the screen has: the chosen one, or what fits the terminal's background."""

import stat
from pathlib import Path

import pytest

from felan_tui.appearance import BACKGROUND_FILE, SYSTEM, Appearance
from felan_tui.preferences import FILE, PreferencesError, read_theme
from felan_tui.terminal.background import guess_dark, is_dark, parse_color


def system_is_dark(appearance: Appearance) -> bool:
    (system,) = (theme for theme in appearance.themes if theme.name == SYSTEM)
    assert system.dark is appearance.dark
    return system.dark


@pytest.mark.parametrize(
    ("answer", "color"),
    [
        ("rgb:ffff/ffff/ffff", (255, 255, 255)),
        ("rgb:1414/1616/1a1a", (20, 22, 26)),
        ("rgb:cd/00/7f", (205, 0, 127)),
        ("rgb:f/0/8", (255, 0, 136)),
        ("rgba:0000/8080/ffff/8000", (0, 128, 255)),
        ("rgb:00000/0/0", None),
        ("rgb:0/0", None),
        ("#ffffff", None),
        ("?", None),
    ],
)
def test_the_answer_of_a_terminal_is_a_colour(answer: str, color: tuple[int, int, int] | None) -> None:
    assert parse_color(answer) == color


def test_dark_and_light() -> None:
    assert is_dark((0, 0, 0)) and is_dark((0, 43, 54)) and is_dark((0, 0, 255))
    assert not is_dark((255, 255, 255)) and not is_dark((253, 246, 227)) and not is_dark((0, 255, 0))


@pytest.mark.parametrize(
    ("value", "dark"),
    [
        ("15;0", True),
        ("0;15", False),
        ("0;default;15", False),
        ("12;8", True),
        ("0;default", None),
        (None, None),
    ],
)
def test_colorfgbg_names_an_entry_of_the_sixteen_colours(value: str | None, dark: bool | None) -> None:
    assert guess_dark(value) is dark


def test_system_follows_the_terminal_and_knows_it_the_next_time(tmp_path: Path) -> None:
    first = Appearance(tmp_path, tmp_path, {})
    assert first.chosen == SYSTEM and system_is_dark(first)
    assert first.reported(False)
    assert not system_is_dark(first)
    assert not first.reported(False)
    kept = tmp_path / BACKGROUND_FILE
    assert kept.read_text() == "light\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not system_is_dark(Appearance(tmp_path, tmp_path, {"COLORFGBG": "15;0"}))


def test_without_a_last_time_the_environment_is_the_guess(tmp_path: Path) -> None:
    assert not system_is_dark(Appearance(tmp_path, tmp_path, {"COLORFGBG": "0;15"}))
    (tmp_path / BACKGROUND_FILE).write_text("nonsense")
    assert system_is_dark(Appearance(tmp_path, tmp_path, {}))


def test_what_was_chosen_is_remembered_and_keeps_the_rest_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text('# mine\n[agent]\nkind = "rehearsal"\n')
    Appearance(tmp_path, tmp_path, {}).choose("felan-light")
    assert read_theme(tmp_path) == "felan-light"
    assert file.read_text() == '# mine\n[agent]\nkind = "rehearsal"\n\n[theme]\nname = "felan-light"\n'
    again = Appearance(tmp_path, tmp_path, {})
    assert again.chosen == "felan-light"
    before = file.stat().st_mtime_ns
    again.choose("felan-light")
    assert file.stat().st_mtime_ns == before
    again.choose(SYSTEM)
    assert read_theme(tmp_path) == SYSTEM


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("theme = 1\n", "theme: not a table"),
        ("[theme]\nname = 3\n", "theme.name: not a string"),
        ("[", "not TOML"),
    ],
)
def test_a_broken_file_is_named_and_left_as_it_is(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    appearance = Appearance(tmp_path, tmp_path, {})
    assert appearance.chosen == SYSTEM
    assert any(says in problem and str(file) in problem for problem in appearance.problems)
    with pytest.raises(PreferencesError):
        appearance.choose("felan-light")
    assert appearance.chosen == "felan-light"
    assert file.read_text() == text


def test_a_theme_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[theme]\nname = "gone"\n')
    appearance = Appearance(tmp_path, tmp_path, {})
    assert appearance.start({theme.name: theme for theme in appearance.themes}) == SYSTEM
    assert appearance.problems == ["There is no theme 'gone'. Felan follows the terminal."]
