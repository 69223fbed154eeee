"""The command line of `felan`, read with click. Every subcommand imports what it needs when it runs."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from felan_core import __version__
from felan_tui.cli import exits
from felan_tui.cli.interactive import has_terminal, interact
from felan_tui.cli.terminal_type import refusal

FURTHER = {"pointer": "felan_tui.cli.pointer", "protocol": "felan_tui.cli.protocol"}
"""Command groups of other modules, each loaded when it is called or listed: name → module."""

Wanted = TypeVar("Wanted", bound=Callable[..., Any])


def _data_dir(envvar: str | None) -> Callable[[Wanted], Wanted]:
    """The option. A command below reads no variable: it would hide what was said before the command."""
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIRECTORY",
        envvar=envvar,
        help="Where sessions are kept (default: the user's state folder).",
    )


class Lazy(click.Group):
    """A group that loads what ``FURTHER`` names when it is needed, so that nothing else pays for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *FURTHER])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in FURTHER:
            return getattr(import_module(FURTHER[cmd_name]), cmd_name)
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A terminal home for coding-agent sessions. Without a command: a session in this folder.",
)
@click.version_option(__version__, "--version", message="felan %(version)s")
@click.option("-c", "--continue", "continues", is_flag=True, help="Continue this folder's last session.")
@click.option("--agent", metavar="COMMAND", help='Talk to an ACP agent, e.g. --agent "opencode acp".')
@_data_dir("FELAN_DATA_DIR")
@click.pass_context
def felan(context: click.Context, continues: bool, agent: str | None, data_dir: Path | None) -> None:
    context.obj = data_dir
    if context.invoked_subcommand is not None:
        if continues or agent is not None:
            option = "--continue" if continues else "--agent"
            raise click.UsageError(
                f"{option} does not go with {context.invoked_subcommand!r}; leave one out."
            )
        return
    if continues and agent is not None:
        raise click.UsageError("--continue keeps the session's own agent; leave out --agent.")
    if agent is not None and not agent.strip():
        raise click.UsageError("--agent needs a command.")
    if agent is not None:
        from felan_core import credentials

        if secret := credentials.refusal(agent):
            raise click.UsageError(secret)
    if agent is not None:
        from felan_core import credentials

        if secret := credentials.refusal(agent):
            raise click.UsageError(secret)
    if continues:
        _interactive(data_dir, start="continue")
    elif agent is not None:
        _interactive(data_dir, start="agent", settings={"agent.backend": "acp", "agent.command": agent})
    else:
        _interactive(data_dir, start="ask")


def _known(context: click.Context, parameter: click.Parameter, scenario: str) -> str:
    """The scenario, if it is one that comes with Felan. Looked up by file: nothing is loaded for it."""
    from felan_tui.cli.embed import scenarios

    known = scenarios()
    if scenario not in known:
        raise click.BadParameter(f"There is no scenario {scenario!r}. There are: {', '.join(known)}.")
    return scenario


def _finite(context: click.Context, parameter: click.Parameter, pace: float | None) -> float | None:
    if pace is not None and pace != pace:
        raise click.BadParameter("Not a number.")
    return pace


class Demo(click.Command):
    """A command whose help says which scenarios there are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from felan_tui.cli.embed import scenarios

        with formatter.section("Scenarios"):
            formatter.write_text(", ".join(scenarios()))


@felan.command(cls=Demo)
@click.argument("scenario", default="tour", callback=_known)
@click.option(
    "--pace",
    type=click.FloatRange(min=0, max=100),
    callback=_finite,
    help="A factor on every wait: 1 is natural, 0 does not wait.",
)
@_data_dir(None)
@click.pass_context
def demo(context: click.Context, scenario: str, pace: float | None, data_dir: Path | None) -> None:
    """Play a rehearsal: a scripted agent that works on this folder with real files and processes."""
    settings: dict[str, Any] = {"agent.backend": "rehearsal"}
    if pace is not None:
        settings["rehearsal.pace"] = pace
    _interactive(data_dir or context.obj, start="agent", settings=settings, prompt=f"/{scenario}")


def _interactive(
    data_dir: Path | None,
    *,
    start: Literal["ask", "agent", "continue"],
    settings: dict[str, Any] | None = None,
    prompt: str | None = None,
) -> None:
    """Run the screen, and leave with its exit code."""
    if not has_terminal():
        raise click.UsageError("felan needs a terminal: standard input and output must be one.")
    if refused := refusal(os.environ.get("TERM")):
        raise click.UsageError(refused)
    sys.exit(interact(data_dir and str(data_dir), start, settings or {}, prompt))


def run(arguments: list[str]) -> int:
    """The exit code of `felan` with these arguments."""
    try:
        felan.main(arguments, prog_name="felan", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return exits.SIGNALLED + 2
    except click.ClickException as error:
        said = StringIO()
        error.show(said)  # it repeats what was typed
        from felan_tui.text.output import print_error

        print_error(said.getvalue())
        return error.exit_code
    return exits.OK
