"""`felan pointer reset`, `prune` and `adopt`: what a person does to states."""

import os
import re

import click

from felan_tui.cli.pointer_common import (
    APPLY,
    JSON,
    STATE_ROOT,
    examples,
    failures,
    store_with,
    stores_of,
)
from felan_tui.text.output import print_json, print_out

_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}
NOTHING_WRITTEN = "Nothing was written; --apply makes the change."


@click.command(epilog=examples("felan pointer reset SESSION", "felan pointer reset SESSION --apply"))
@click.argument("session")
@STATE_ROOT
@APPLY
@JSON
def reset(session: str, state_root: str | None, applies: bool, as_json: bool) -> None:
    """Move the state of SESSION aside where it cannot be read, so that the next prompt begins anew.

    The file is kept beside it, under a name that is printed. A state that can be read is left alone.
    """
    with failures(as_json):
        from felan_core.pointer import upkeep
        from felan_tui.cli.pointer_text import clean

        store = store_with(session, state_root)
        reason = upkeep.unreadable(store, session)
        kept = upkeep.reset(store, session) if applies else None
        if as_json:
            print_json({"session_id": session, "code": reason.code, "applied": applies, "kept": kept})
            return
        print_out(f"{clean(store.root)}/{clean(session)}: {reason.code}. {clean(reason.message)}")
        print_out(f"Moved to {clean(kept)}" if kept is not None else NOTHING_WRITTEN)


def _age(context: click.Context, parameter: click.Parameter, value: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([hdw])", value)
    if found is None:
        raise click.BadParameter("Not an age such as 12h, 30d or 8w.")
    return int(found[1]) * _UNITS[found[2]]


@click.command(epilog=examples("felan pointer prune", "felan pointer prune --older-than 8w --apply"))
@click.option(
    "--older-than",
    "age",
    metavar="AGE",
    default="30d",
    show_default=True,
    callback=_age,
    help="Hours, days or weeks: 12h, 30d, 8w.",
)
@STATE_ROOT
@APPLY
@JSON
def prune(age: int, state_root: str | None, applies: bool, as_json: bool) -> None:
    """Remove the states of finished tasks (CLEARED) that are older than AGE. No task is removed."""
    with failures(as_json):
        from felan_core.pointer import upkeep
        from felan_tui.cli.pointer_text import clean

        found = [(store, state) for store in stores_of(state_root) for state in upkeep.cleared(store, age)]
        removed = [state for store, state in found if applies and upkeep.prune(store, state)]
        shown = removed if applies else [state for _, state in found]
        if as_json:
            sessions = [state.session_id for state in shown]
            print_json({"applied": applies, "sessions": sessions})
            return
        for state in shown:
            print_out(f"{'Removed' if applies else 'Would remove'} {clean(state.session_id)}")
        if not shown:
            print_out("There is nothing to remove.")
        elif not applies:
            print_out(NOTHING_WRITTEN)


@click.command(epilog=examples("felan pointer adopt OTHER", "felan pointer adopt OTHER --to SESSION --json"))
@click.argument("session")
@click.option(
    "--to",
    "target",
    metavar="SESSION",
    help="The session that takes the task (default: the one of this folder that changed last).",
)
@STATE_ROOT
@JSON
def adopt(session: str, target: str | None, state_root: str | None, as_json: bool) -> None:
    """Publish the task of SESSION under another session, as a new task; SESSION itself stays as it is."""
    with failures(as_json):
        from felan_core.pointer import upkeep
        from felan_core.pointer.publisher import success
        from felan_tui.cli.pointer_text import clean

        store = store_with(session, state_root)
        wanted = target or upkeep.session_here(store, os.getcwd(), session)
        state = upkeep.adopt(store, session, wanted)
        if as_json:
            print_json(success(state))
            return
        print_out(
            f"Published the task of {clean(session)} under {clean(wanted)}: "
            f"generation {state.generation}, revision {state.revision}, task {state.task_id}"
        )
