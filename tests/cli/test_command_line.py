"""The plain command lines mean to the quick reader what they mean to click; it leaves all others to click."""

from pathlib import Path
from typing import Any

import pytest

from felan_tui.cli import command
from felan_tui.cli.interactive import read_plain
from tests.core.test_credentials import LONG, SECRET, VALUE

PLAIN: list[list[str]] = [
    [],
    ["-c"],
    ["--continue"],
    ["--agent", "opencode acp"],
    ["--agent=opencode acp"],
    ["--agent", "python3 /opt/agents/hostile cmds257"],
    ["--agent", "a", "--data-dir", "there"],
    ["--data-dir", "/there", "--agent=a"],
    ["--data-dir=there", "-c"],
    ["--data-dir", "a=b"],
    ["--data-dir", "ü ber"],
    ["--agent", " a "],
]

OTHERS: list[list[str]] = [
    ["-h"],
    ["--version"],
    ["demo"],
    ["demo", "--data-dir", "x"],
    ["-c", "--agent", "a"],
    ["--agent"],
    ["--agent", ""],
    ["--agent", "  "],
    ["--agent="],
    ["--agent", "a --x=y"],
    ["--agent", "--data-dir", "x"],
    ["--data-dir", ""],
    ["--data-dir", "-c"],
    ["-c", "-c"],
    ["--agent", "a", "--agent", "b"],
    ["--continue=yes"],
    ["--cont"],
    ["-cc"],
    ["-x"],
    ["--", "-c"],
    ["pointer", "list"],
]


class Reached(Exception):
    pass


def read_by_click(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    found: list[object] = []

    def interact(*wanted: Any) -> int:
        found.append(wanted)
        return 0

    monkeypatch.setattr(command, "has_terminal", lambda: True)
    monkeypatch.setattr(command, "interact", interact)
    with pytest.raises(SystemExit):
        command.run(arguments)
    return found[0]


@pytest.mark.parametrize("variable", [None, "", "/from/the/environment"])
@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_a_plain_line_means_what_it_means_to_click(
    arguments: list[str], variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is None:
        monkeypatch.delenv("FELAN_DATA_DIR", raising=False)
    else:
        monkeypatch.setenv("FELAN_DATA_DIR", variable)
    plain = read_plain(arguments)
    assert plain is not None
    assert plain == read_by_click(arguments, monkeypatch)


@pytest.mark.parametrize("arguments", OTHERS, ids=" ".join)
def test_every_other_line_is_left_to_click(arguments: list[str]) -> None:
    assert read_plain(arguments) is None


@pytest.mark.parametrize("command", SECRET)
def test_a_command_that_may_hold_a_secret_is_left_to_click(command: str) -> None:
    assert read_plain(["--agent", command.replace("VALUE", VALUE).replace("LONG", LONG)]) is None


def test_a_data_folder_stays_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = read_plain(["--data-dir", "there"])
    assert plain is not None
    assert plain[0] is not None
    assert Path(plain[0]) == Path("there")
