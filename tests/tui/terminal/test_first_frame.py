"""The first frame as a function: which colours are believed, and what is written."""

import re
from pathlib import Path

import pytest

from felan_tui.bars.header import header_pieces
from felan_tui.cli.interactive import state_folder
from felan_tui.cli.run import default_folder
from felan_tui.composer.composer import PLACEHOLDER as COMPOSER
from felan_tui.terminal.first_frame import FILE, NAMES, PLACEHOLDER, frame, kind_of_terminal, read

COLORS = {name: "48;2;20;22;26" if name in ("ground", "surface") else "38;5;250" for name in NAMES}


def _kept(folder: Path, colors: dict[str, str], terminal: str = "xterm|||") -> None:
    (folder / FILE).write_text("\n".join([terminal, *(f"{name}={value}" for name, value in colors.items())]))


def test_colours_of_this_terminal_are_read(tmp_path: Path) -> None:
    assert read(str(tmp_path), "xterm|||") is None
    _kept(tmp_path, COLORS)
    assert read(str(tmp_path), "xterm|||") == COLORS
    assert read(str(tmp_path), "xterm|truecolor||") is None


@pytest.mark.parametrize("value", ["", "31m\x1b]52;c;eA==\x07", "38;2;1;2", "red", "3" * 50, "1049h", "٣"])
def test_what_is_no_colour_is_not_written_to_the_terminal(tmp_path: Path, value: str) -> None:
    _kept(tmp_path, {**COLORS, "text": value})
    assert read(str(tmp_path), "xterm|||") is None


def test_a_file_that_is_no_file_of_ours_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert read(str(tmp_path), "") is None
    (tmp_path / FILE).rmdir()
    (tmp_path / FILE).symlink_to("/dev/zero")
    assert read(str(tmp_path), "") is None
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).write_bytes(b"\xff\x00" * 9)
    assert read(str(tmp_path), "") is None


@pytest.mark.parametrize("title", ["project", "x" * 300, "日本語", "a\x1b]0;b\x07", ""])
@pytest.mark.parametrize(("columns", "rows"), [(60, 16), (80, 24), (200, 60)])
def test_a_frame_is_words_of_ours_places_and_colours(title: str, columns: int, rows: int) -> None:
    written = frame(COLORS, columns, rows, title).decode()
    plain = re.sub(r"\x1b\[(\?(1049h|25l|7l)|[0-9;]*[mHJ])", "\n", written)
    assert plain.replace("\n", "").isprintable()
    assert max(map(len, plain.split("\n"))) <= columns
    assert PLACEHOLDER in plain


def test_the_header_is_the_app_s() -> None:
    shown = "".join(one if isinstance(one, str) else one[0] for one in header_pieces("project", [], 60))
    words = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", frame(COLORS, 60, 16, "project").decode()).split("\n")
    assert "".join(words[words.index("felan") :][:3]).startswith(shown.strip())


def test_its_words_and_its_folder_are_the_app_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert PLACEHOLDER == COMPOSER
    for home in ("", str(tmp_path)):
        monkeypatch.setenv("XDG_STATE_HOME", home)
        assert state_folder() == str(default_folder("state"))


def test_the_kind_of_a_terminal_is_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    one = kind_of_terminal()
    monkeypatch.setenv("NO_COLOR", "1")
    assert kind_of_terminal() != one
