import re
from pathlib import Path

import click

from felan_tui.cli import exits
from felan_tui.cli.command import felan

MANUAL = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()


def _table(heading: str) -> dict[str, str]:
    section = MANUAL.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {row[0]: " | ".join(row[1:]) for row in rows[2:]}


def _options(command: click.Command, name: str) -> list[str]:
    with click.Context(command, info_name=name, help_option_names=["-h", "--help"]) as context:
        shown = [one.get_help_record(context) for one in command.get_params(context)]
    return [record[0] for record in shown if record is not None and record[0].startswith("-")]


def test_the_manual_has_every_exit_code_and_no_other() -> None:
    codes = {name: value for name, value in vars(exits).items() if name.isupper()}
    written = {row.split("`")[1]: code for code, row in _table("Exit codes").items()}
    expected = {name: "128 + n" if name == "SIGNALLED" else str(value) for name, value in codes.items()}
    assert written == expected


def test_the_manual_has_every_command_and_option_and_no_other() -> None:
    written = " ".join(_table("Commands"))
    with click.Context(felan) as context:
        assert set(felan.list_commands(context)) == set(re.findall(r"`felan ([a-z]+)`", written))
    options = _table("Options")
    named = {flag for option in options for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", option)}
    known: set[str] = set()
    for name, command in (("felan", felan), ("felan demo", felan.commands["demo"])):
        for record in _options(command, name):
            flags = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", record)
            known.update(flags)
            row = next(row for option, row in options.items() if f"`{flags[-1]}" in option)
            assert f"`{name}`" in row or row.startswith("all ")
    assert named == known


def test_the_manual_has_the_variables() -> None:
    assert set(_table("Environment")) == {"`FELAN_DATA_DIR`", "`FELAN_POINTER_ROOT`", "`FELAN_SESSION_ID`"}
    with click.Context(felan) as context:
        variables = {f"`{one.envvar}`" for one in felan.get_params(context) if isinstance(one.envvar, str)}
    assert variables <= set(_table("Environment"))
