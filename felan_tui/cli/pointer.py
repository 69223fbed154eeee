"""`felan pointer …`: the task pointer from the command line (docs/task-pointer.md).

`hook` and `publish` are what an agent waits for, so `felan_tui.cli.main` runs them before it loads click;
they are here for the help, and for a command line with an option of `felan` in front.
"""

import sys
from typing import TYPE_CHECKING, Any

import click

from felan_tui.cli import exits
from felan_tui.cli.pointer_common import (
    APPLY,
    JSON,
    ONE_ROOT,
    REFUSED,
    STATE_ROOT,
    data_folder,
    examples,
    fail,
    failures,
    store_of,
    store_with,
    stores_of,
)
from felan_tui.cli.pointer_install import doctor, install, uninstall
from felan_tui.cli.pointer_upkeep import adopt, prune, reset
from felan_tui.text.output import print_error, print_json, print_out

if TYPE_CHECKING:
    from felan_core.pointer.store import PointerStore
    from felan_core.pointer.watch import PointerReading

SCHEMAS = ("state", "publish-request")
RAW: dict[str, Any] = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(
    help="The task pointer: what a coding agent needs to resume a task.",
    epilog=examples(
        "felan pointer install --agent claude-code",
        "felan pointer doctor",
        "felan pointer list",
    ),
)
def pointer() -> None:
    pass


for _command in (install, uninstall, doctor, reset, prune, adopt):
    pointer.add_command(_command)


@pointer.command(
    context_settings=RAW,
    options_metavar="[--agent NAME] [--state-root DIR]",
    epilog=examples(
        """printf '{"session_id":"s1","hook_event_name":"UserPromptSubmit"}' | felan pointer hook""",
    ),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="")
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one hook event of an agent on standard input.

    The event is JSON as Claude Code and Codex send it: UserPromptSubmit, PreCompact or SessionStart, at most
    16 MiB. --agent is the name that `list` shows. The answer is the context for the agent. Exit 2 holds the
    prompt back.
    """
    from felan_core.pointer.main import run

    run("hook", _rooted(arguments))


@pointer.command(
    context_settings=RAW,
    options_metavar="[--state-root DIR]",
    epilog=examples(
        """printf '%s' '{"schema_version":3,"session_id":"s1",…}' | felan pointer publish""",
        "felan pointer schema publish-request",
    ),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="")
def publish(arguments: tuple[str, ...]) -> None:
    """Publish a pointer: one request as JSON on standard input, one JSON answer on standard output.

    The request names the generation and the revision that it was made from. Where the pointer has another
    one meanwhile, the answer is STALE_GENERATION or STALE_REVISION with the current text, and exit 2.
    """
    from felan_core.pointer.main import run

    run("publish", _rooted(arguments))


def _rooted(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with the state root of `felan --data-dir`, where they name none."""
    from felan_core.pointer.places import state_root

    if any(word.partition("=")[0] == "--state-root" for word in arguments):
        return arguments
    return (*arguments, "--state-root", state_root(None, data_folder()))


@pointer.command(epilog=examples("felan pointer show", "felan pointer show SESSION --json"))
@click.argument("session", required=False)
@STATE_ROOT
@JSON
def show(session: str | None, state_root: str | None, as_json: bool) -> None:
    """Show the pointer of SESSION, or the one that changed last."""
    with failures(as_json):
        from felan_core.pointer.watch import PointerReading, members
        from felan_tui.cli.pointer_text import whole

        if session is None:
            readable = [one for _, one in _all(state_root) if one.state is not None]
            one = readable[0] if readable else None
        else:
            store = store_with(session, state_root)
            one = PointerReading(session, store.read(session))
        if one is None or one.state is None:
            which = "any session" if session is None else "this session"
            fail(as_json, exits.NOT_FOUND, "ABSENT", f"There is no task pointer of {which}.")
        if as_json:
            print_json(members(one))
        else:
            print_out(whole(one))


def _all(state_root: str | None) -> "list[tuple[PointerStore, PointerReading]]":
    """Every session of every store, the one that changed last first."""
    from felan_core.pointer.watch import look_at_all

    found = [(store, one) for store in stores_of(state_root) for one in look_at_all(store)]
    return sorted(found, key=lambda pair: pair[1].state.updated_at if pair[1].state else "", reverse=True)


@pointer.command("list", epilog=examples("felan pointer list", "felan pointer list --json"))
@STATE_ROOT
@JSON
def list_(state_root: str | None, as_json: bool) -> None:
    """List every session that has a pointer, the one that changed last first.

    Each with its status, age, agent and folder, and with the first line of its text beside the line that
    begins with "Next" (else the last one).
    """
    with failures(as_json):
        from time import time

        from felan_core.pointer.about import read_about
        from felan_core.pointer.watch import members
        from felan_tui.cli.pointer_text import entry, next_step

        found = [(store, one, read_about(store.root, one.session_id)) for store, one in _all(state_root)]
        if as_json:
            print_json(
                [
                    {
                        **members(one),
                        "state_root": store.root,
                        "folder": about.folder,
                        "agent": about.agent,
                        "next_step": next_step(one.state.pointer_text) if one.state else None,
                    }
                    for store, one, about in found
                ]
            )
            return
        width = _width()
        for _, one, about in found:
            print_out("\n".join(entry(one, about, time(), width)))
        if not found:
            print_error("No session has a task pointer yet.")


def _width() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size((100, 24)).columns)


@pointer.command(epilog=examples("felan pointer watch", "felan pointer watch SESSION --json"))
@click.argument("session", required=False)
@STATE_ROOT
@JSON
def watch(session: str | None, state_root: str | None, as_json: bool) -> None:
    """Follow SESSION, or every session: a line for what is there now, and one for every change."""
    with failures(as_json):
        from json import dumps as as_text

        from felan_core.pointer.values import is_session_id
        from felan_core.pointer.watch import Watcher, follow, members
        from felan_tui.cli.pointer_text import line

        if session is not None and not is_session_id(session):
            raise click.UsageError("SESSION is no session id.")
        stores = stores_of(state_root) if session is None else [store_with(session, state_root)]
        for one in follow([Watcher(store, session) for store in stores]):
            print_out(as_text(members(one)) if as_json else line(one))
            sys.stdout.flush()


@pointer.command(epilog=examples("felan pointer schema state", "felan pointer schema publish-request"))
@click.argument("which", type=click.Choice(SCHEMAS))
def schema(which: str) -> None:
    """Print a JSON Schema (draft 2020-12): of a state, or of a request to publish."""
    from felan_core.pointer.schema import SCHEMA_NAMES, schema_text

    print_out(schema_text(next(name for name in SCHEMA_NAMES if name == which)), end="")


@pointer.command(
    epilog=examples(
        "felan pointer migrate",
        "felan pointer migrate --from ~/old/task-pointers/v1 --apply",
        "felan pointer migrate --rollback ~/.local/state/felan/pointer/backups/…/manifest.json",
    )
)
@click.option("--from", "source", metavar="DIR", help="The folder of v1 envelopes (default: Felan's own).")
@click.option("--rollback", metavar="MANIFEST", help="Restore everything as it was before this migration.")
@ONE_ROOT
@APPLY
@JSON
def migrate(
    source: str | None, rollback: str | None, state_root: str | None, applies: bool, as_json: bool
) -> None:
    """Make states out of v1 envelopes: show it, or with --apply do it, with a backup and a way back."""
    with failures(as_json):
        from felan_core.pointer import migrate as work
        from felan_core.pointer.places import scripts_folder, v1_folder
        from felan_tui.cli.pointer_text import clean

        outcomes: list[work.Outcome] = []
        manifest: str | None = rollback
        if rollback is not None:
            outcomes = work.rollback(rollback)
            left: list[work.Found] = []
            planned: list[work.Found] = []
        else:
            store = store_of(state_root)
            found = work.scan(source or v1_folder(data_folder()), store)
            planned = [one for one in found if one.migrates]
            left = [one for one in found if not one.migrates]
            if applies and planned:
                manifest, outcomes = work.migrate(found, store, f"{scripts_folder(data_folder())}/backups")
        if as_json:
            print_json(
                {
                    "applied": rollback is not None or (applies and bool(planned)),
                    "manifest": manifest,
                    "planned": [{"path": one.path, "session_id": one.session_id} for one in planned],
                    "left": [{"path": one.path, "reason": one.reason} for one in left],
                    "outcomes": [
                        {
                            "path": one.path,
                            "session_id": one.session_id,
                            "done": one.done,
                            "reason": one.reason,
                        }
                        for one in outcomes
                    ],
                }
            )
        else:
            did = "put back" if rollback is not None else "migrated"
            for one in outcomes:
                print_out(
                    f"{did if one.done else 'left alone'}: {clean(one.path)} {clean(one.reason)}".rstrip()
                )
            for one in planned if not applies else ():
                print_out(f"would migrate: {clean(one.path)}")
            for one in left:
                print_out(f"left alone: {clean(one.path)} {clean(one.reason)}")
            if planned and not applies:
                print_out("Nothing was written; --apply does it.")
            elif manifest is not None and rollback is None:
                print_out(f"To undo it: felan pointer migrate --rollback {clean(manifest)}")
            elif not outcomes and not planned:
                print_out("There is nothing to migrate.")
        if any(not one.done for one in outcomes):
            sys.exit(REFUSED)
