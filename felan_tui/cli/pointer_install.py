"""`felan pointer install`, `uninstall` and `doctor`: the hooks in an agent's own configuration."""

import sys
from typing import TYPE_CHECKING

import click

from felan_tui.cli.pointer_common import (
    AGENT,
    AGENT_NAMES,
    APPLY,
    HOME,
    JSON,
    ONE_ROOT,
    UNHEALTHY,
    data_folder,
    examples,
    failures,
)
from felan_tui.text.output import print_json, print_out

if TYPE_CHECKING:
    from felan_core.pointer.install.agents import Agent
    from felan_core.pointer.install.plan import Plan


@click.command(
    epilog=examples(
        "felan pointer install --agent claude-code",
        "felan pointer install --agent codex --allow --apply",
        "felan pointer install --rollback ~/.local/state/felan/pointer/backups/20260101T000000Z-codex",
    )
)
@AGENT
@HOME
@click.option(
    "--allow",
    "allows",
    is_flag=True,
    help="Also let the agent publish unasked: a permission rule (Claude Code), a writable folder (Codex).",
)
@click.option("--rollback", metavar="BACKUP", help="Restore a configuration byte for byte.")
@ONE_ROOT
@APPLY
@JSON
def install(
    name: str | None,
    home: str | None,
    allows: bool,
    rollback: str | None,
    state_root: str | None,
    applies: bool,
    as_json: bool,
) -> None:
    """Add the three hooks to an agent's own configuration.

    Without --apply it only shows the change. Other hooks stay as they are, a second run changes nothing, and
    every change keeps a backup.
    """
    with failures(as_json):
        from felan_core.pointer.install.backups import restore
        from felan_core.pointer.install.plan import plan_install
        from felan_core.pointer.places import scripts_folder
        from felan_core.pointer.places import state_root as root_of
        from felan_tui.cli.pointer_text import clean

        folder = scripts_folder(data_folder())
        if rollback is not None:
            paths, before = restore(rollback, folder)
            if as_json:
                print_json({"restored": paths, "backup": before})
            else:
                print_out(f"Restored {clean(', '.join(paths))}; what was there is in {clean(before)}")
            return
        agent, where = _agent(name, home)
        plan = plan_install(agent, where, folder, root_of(state_root, data_folder()), allows=allows)
        _carry_out(plan, applies, as_json)


@click.command(
    epilog=examples(
        "felan pointer uninstall --agent claude-code",
        "felan pointer uninstall --agent codex --apply",
    )
)
@AGENT
@HOME
@ONE_ROOT
@APPLY
@JSON
def uninstall(
    name: str | None, home: str | None, state_root: str | None, applies: bool, as_json: bool
) -> None:
    """Remove the three hooks from an agent's configuration, and what --allow added.

    Without --apply it only shows the change. The pointers themselves stay.
    """
    with failures(as_json):
        from felan_core.pointer.install.plan import plan_uninstall
        from felan_core.pointer.places import scripts_folder
        from felan_core.pointer.places import state_root as root_of

        agent, where = _agent(name, home)
        root = root_of(state_root, data_folder())
        _carry_out(plan_uninstall(agent, where, scripts_folder(data_folder()), root), applies, as_json)


def _agent(name: str | None, home: str | None) -> "tuple[Agent, str]":
    """The agent and its configuration folder; one that was named has to be the agent's."""
    from felan_core.pointer.install.agents import AGENTS, check_home, home_of

    if name is None:
        raise click.UsageError("--agent is missing: claude-code or codex.")
    where = home_of(AGENTS[name], home)
    if home is not None:
        check_home(AGENTS[name], where)
    return AGENTS[name], where


def _carry_out(plan: "Plan", applies: bool, as_json: bool) -> None:
    from felan_core.pointer.install.plan import apply
    from felan_tui.cli.pointer_text import clean, clean_lines

    does = applies and (plan.changes or not plan.installs)
    backup = apply(plan) if does else None
    if as_json:
        print_json(
            {
                "agent": plan.agent.name,
                "path": plan.path,
                "paths": [one.path for one in plan.files if one.changes],
                "changes": plan.changes,
                "applied": does and plan.changes,
                "backup": backup,
                "scripts": plan.scripts,
                "diff": plan.diff(),
                "notes": plan.notes,
                "offer": plan.offer or None,
            }
        )
        return
    if not plan.changes:
        print_out(f"{clean(plan.path)}: nothing to change.")
    else:
        print_out(clean_lines(plan.diff()), end="")
        for script in plan.scripts:
            print_out(f"{'Wrote' if does else 'Would write'} {clean(script)}")
    if plan.offer:
        print_out(clean(plan.offer))
    if not plan.changes:
        return
    if not does:
        print_out("Nothing was written; --apply makes the change.")
        return
    for note in plan.notes:
        print_out(note)
    if backup is not None:
        print_out(f"To undo it: felan pointer install --rollback {clean(backup)}")


@click.command(
    epilog=examples(
        "felan pointer doctor",
        "felan pointer doctor --agent codex --home ~/other/.codex --json",
    )
)
@AGENT
@HOME
@ONE_ROOT
@JSON
def doctor(name: str | None, home: str | None, state_root: str | None, as_json: bool) -> None:
    """Check each agent: whether its hooks run, whether it can publish, and whether every state can be read.

    Each finding names the command that mends it. Exit 8 where there is one.
    """
    with failures(as_json):
        from dataclasses import asdict
        from time import time

        from felan_core.pointer.install.agents import AGENTS
        from felan_core.pointer.install.doctor import examine, examine_states
        from felan_core.pointer.places import scripts_folder
        from felan_core.pointer.places import state_root as root_of
        from felan_core.pointer.store import absolute
        from felan_tui.cli.pointer_common import stores_of
        from felan_tui.cli.pointer_text import finding_lines, report_lines

        if home is not None and name is None:
            raise click.UsageError("--home needs --agent.")
        if home is not None:
            _agent(name, home)
        root = absolute(root_of(state_root, data_folder()))
        folder = scripts_folder(data_folder())
        reports = [examine(AGENTS[one], home, folder, root) for one in AGENT_NAMES if name in (None, one)]
        roots = {store.root for store in stores_of(state_root)} | {
            one.state_root for one in reports if one.state_root is not None
        }
        states = [finding for each in sorted(roots) for finding in examine_states(each)]
        if as_json:
            shown = [{**asdict(one), "healthy": one.healthy} for one in reports]
            print_json({"agents": shown, "states": [asdict(one) for one in states]})
        else:
            for one in reports:
                print_out("\n".join(report_lines(one, AGENTS[one.agent].title, time())))
            print_out("\n".join(finding_lines("States", states)))
        # An agent that nothing was installed in is as it should be, unless it was named.
        wrong = any(one.problems or (name is not None and not one.installed) for one in reports)
        if wrong or states:
            sys.exit(UNHEALTHY)
