"""`felan pointer …`: the task pointer from the command line (docs/task-pointer.md).

`hook` and `publish` are what an agent waits for, so `felan_tui.cli.main` runs them before it loads click;
they stand here for the help, and for a command line with an option of `felan` in front.

Exit codes: 0 done, or nothing to do; 2 a wrong command line, a publish that was refused, a prompt that a hook
held back; 5 the system refused to read or write; 6 what was named is not there; 7 a state, a configuration or
a file is refused as it is; 8 the doctor found something to mend.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from felan_tui.cli import exits
from felan_tui.text.output import print_error, print_out

if TYPE_CHECKING:
    from felan_core.pointer.install.plan import Plan
    from felan_core.pointer.store import PointerStore

REFUSED: Final = 7
UNHEALTHY: Final = 8

AGENT_NAMES = ("claude-code", "codex")
SCHEMAS = ("state", "publish-request")

STATE_ROOT = click.option(
    "--state-root",
    metavar="DIR",
    help="Where the pointers are (default: FELAN_POINTER_ROOT, else Felan's own).",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Say it as JSON.")
APPLY = click.option("--apply", "applies", is_flag=True, help="Do it; without it, only what would change.")
HOME = click.option("--home", metavar="DIR", help="The agent's configuration folder, e.g. ~/.codex.")
AGENT = click.option("--agent", "name", type=click.Choice(AGENT_NAMES), help="Which agent.")
RAW: dict[str, Any] = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(help="The task pointer: what a coding agent needs to pick a task up again.")
def pointer() -> None:
    pass


@pointer.command(context_settings=RAW, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def hook(arguments: tuple[str, ...]) -> None:
    """Answer one hook event of an agent on standard input: [--agent NAME] [--state-root DIR]."""
    from felan_core.pointer.main import run

    run("hook", _rooted(arguments))


@pointer.command(context_settings=RAW, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def publish(arguments: tuple[str, ...]) -> None:
    """Compare-and-set by one request on standard input: [--state-root DIR]."""
    from felan_core.pointer.main import run

    run("publish", _rooted(arguments))


@pointer.command()
@click.argument("session", required=False)
@STATE_ROOT
@JSON
def show(session: str | None, state_root: str | None, as_json: bool) -> None:
    """Show the pointer of SESSION, or of the session whose pointer changed last."""
    with _failures(as_json):
        from felan_core.pointer.watch import Look, look_at_all

        store = _store(state_root)
        if session is None:
            found = [one for one in look_at_all(store) if one.state is not None]
            one = found[0] if found else None
        else:
            one = Look(session, store.read(session))
        if one is None or one.state is None:
            which = "any session" if session is None else "this session"
            _fail(as_json, exits.NOT_FOUND, "ABSENT", f"There is no task pointer of {which}.")
        _show(one, as_json)


@pointer.command("list")
@STATE_ROOT
@JSON
def list_(state_root: str | None, as_json: bool) -> None:
    """List every session that has a pointer, the one that changed last first."""
    with _failures(as_json):
        from felan_core.pointer.watch import look_at_all, members

        found = look_at_all(_store(state_root))
        if as_json:
            _json([members(one) for one in found])
        from felan_tui.cli.pointer_text import line

        for one in () if as_json else found:
            print_out(line(one))
        if not found and not as_json:
            print_error("No session has a task pointer yet.")


@pointer.command()
@click.argument("session", required=False)
@STATE_ROOT
@JSON
def watch(session: str | None, state_root: str | None, as_json: bool) -> None:
    """Follow SESSION, or all of them: a line for what is there now, and one for every change."""
    with _failures(as_json):
        from json import dumps as as_text

        from felan_core.pointer.values import is_session_id
        from felan_core.pointer.watch import Watcher, follow, members
        from felan_tui.cli.pointer_text import line

        if session is not None and not is_session_id(session):
            raise click.UsageError("SESSION is no session id.")
        for one in follow(Watcher(_store(state_root), session)):
            print_out(as_text(members(one)) if as_json else line(one))
            sys.stdout.flush()


@pointer.command()
@click.argument("which", type=click.Choice(SCHEMAS))
def schema(which: str) -> None:
    """Print a JSON Schema (draft 2020-12)."""
    from felan_core.pointer.schema import SCHEMA_NAMES, schema_text

    print_out(schema_text(next(name for name in SCHEMA_NAMES if name == which)), end="")


@pointer.command()
@click.option("--from", "source", metavar="DIR", help="The folder of v1 envelopes (default: Felan's own).")
@click.option("--rollback", metavar="MANIFEST", help="Put everything back as this migration found it.")
@STATE_ROOT
@APPLY
@JSON
def migrate(
    source: str | None, rollback: str | None, state_root: str | None, applies: bool, as_json: bool
) -> None:
    """Make states of v1 envelopes: first what it would do, and with --apply it does it."""
    with _failures(as_json):
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
            store = _store(state_root)
            found = work.scan(source or v1_folder(_data()), store)
            planned = [one for one in found if one.migrates]
            left = [one for one in found if not one.migrates]
            if applies and planned:
                manifest, outcomes = work.migrate(found, store, f"{scripts_folder(_data())}/backups")
        if as_json:
            _json(
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
                print_out(f"Back again: felan pointer migrate --rollback {clean(manifest)}")
            elif not outcomes and not planned:
                print_out("There is nothing to migrate.")
        if any(not one.done for one in outcomes):
            sys.exit(REFUSED)


@pointer.command()
@AGENT
@HOME
@click.option("--rollback", metavar="BACKUP", help="Restore a configuration byte for byte.")
@STATE_ROOT
@APPLY
@JSON
def install(
    name: str | None,
    home: str | None,
    rollback: str | None,
    state_root: str | None,
    applies: bool,
    as_json: bool,
) -> None:
    """Put the three hooks into an agent's own configuration: shows the change, --apply makes it."""
    with _failures(as_json):
        from felan_core.pointer.install.agents import AGENTS, home_of
        from felan_core.pointer.install.backups import restore
        from felan_core.pointer.install.plan import plan_install
        from felan_core.pointer.places import scripts_folder
        from felan_core.pointer.places import state_root as root_of
        from felan_tui.cli.pointer_text import clean

        folder = scripts_folder(_data())
        if rollback is not None:
            path, before = restore(rollback, folder)
            if as_json:
                _json({"restored": path, "backup": before})
            else:
                print_out(f"Restored {clean(path)}; what stood there is in {clean(before)}")
            return
        if name is None:
            raise click.UsageError("--agent is missing: claude-code or codex.")
        agent = AGENTS[name]
        plan = plan_install(agent, home_of(agent, home), folder, root_of(state_root, _data()))
        _carry_out(plan, applies, as_json)


@pointer.command()
@AGENT
@HOME
@APPLY
@JSON
def uninstall(name: str | None, home: str | None, applies: bool, as_json: bool) -> None:
    """Take the three hooks out of an agent's configuration again."""
    with _failures(as_json):
        from felan_core.pointer.install.agents import AGENTS, home_of
        from felan_core.pointer.install.plan import plan_uninstall
        from felan_core.pointer.places import scripts_folder

        if name is None:
            raise click.UsageError("--agent is missing: claude-code or codex.")
        agent = AGENTS[name]
        _carry_out(plan_uninstall(agent, home_of(agent, home), scripts_folder(_data())), applies, as_json)


def _carry_out(plan: "Plan", applies: bool, as_json: bool) -> None:
    from felan_core.pointer.install.plan import apply
    from felan_tui.cli.pointer_text import clean, clean_lines

    does = applies and (plan.changes or not plan.installs)
    backup = apply(plan) if does else None
    if as_json:
        _json(
            {
                "agent": plan.agent.name,
                "path": plan.path,
                "changes": plan.changes,
                "applied": does and plan.changes,
                "backup": backup,
                "scripts": plan.scripts,
                "diff": plan.diff(),
                "notes": plan.notes,
            }
        )
        return
    if not plan.changes:
        print_out(f"{clean(plan.path)}: nothing to change.")
        return
    print_out(clean_lines(plan.diff()), end="")
    for script in plan.scripts:
        print_out(f"{'Wrote' if does else 'Would write'} {clean(script)}")
    if not does:
        print_out("Nothing was written; --apply does it.")
        return
    for note in plan.notes:
        print_out(note)
    if backup is not None:
        print_out(f"Back again: felan pointer install --rollback {clean(backup)}")


@pointer.command()
@AGENT
@HOME
@STATE_ROOT
@JSON
def doctor(name: str | None, home: str | None, state_root: str | None, as_json: bool) -> None:
    """Say for each agent what is installed, whether it will run, and when it was last seen."""
    with _failures(as_json):
        from dataclasses import asdict

        from felan_core.pointer.install.agents import AGENTS
        from felan_core.pointer.install.doctor import examine
        from felan_core.pointer.places import scripts_folder
        from felan_core.pointer.places import state_root as root_of
        from felan_core.pointer.store import absolute
        from felan_tui.cli.pointer_text import report_lines

        if home is not None and name is None:
            raise click.UsageError("--home needs --agent.")
        root = absolute(root_of(state_root, _data()))
        folder = scripts_folder(_data())
        reports = [examine(AGENTS[one], home, folder, root) for one in AGENT_NAMES if name in (None, one)]
        if as_json:
            _json([{**asdict(one), "healthy": one.healthy} for one in reports])
        for one in () if as_json else reports:
            print_out("\n".join(report_lines(one, AGENTS[one.agent].title)))
        # An agent that nothing was installed in is as it should be, unless it was asked for.
        if any(one.problems or (name is not None and not one.installed) for one in reports):
            sys.exit(UNHEALTHY)


def _data() -> str | None:
    """The folder that `felan --data-dir` or FELAN_DATA_DIR names, None for the user's own."""
    named = click.get_current_context().find_root().obj
    return str(named.absolute()) if named is not None else None


def _rooted(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with the state root of `felan --data-dir`, where they name none."""
    from felan_core.pointer.places import state_root

    if any(word.partition("=")[0] == "--state-root" for word in arguments):
        return arguments
    return (*arguments, "--state-root", state_root(None, _data()))


def _store(named: str | None) -> "PointerStore":
    from felan_core.pointer.places import state_root
    from felan_core.pointer.store import PointerStore

    return PointerStore(state_root(named, _data()))


def _show(one: Any, as_json: bool) -> None:
    from felan_core.pointer.watch import members
    from felan_tui.cli.pointer_text import whole

    if as_json:
        _json(members(one))
    else:
        print_out(whole(one))


def _json(value: object) -> None:
    from json import dumps

    print_out(dumps(value))


def _fail(as_json: bool, status: int, code: str, message: str, **more: str | None) -> NoReturn:
    from felan_tui.cli.pointer_text import clean

    if as_json:
        _json({"ok": False, "code": code, "message": message, **more})
    else:
        where = ", ".join(value for value in more.values() if value)
        print_error(clean(f"felan pointer: {where + ': ' if where else ''}{message}"))
    sys.exit(status)


@contextmanager
def _failures(as_json: bool) -> Generator[None]:
    """Say in words, or in JSON, why something was refused, and leave with its code."""
    from felan_core.pointer.errors import IO_ERROR, PointerError
    from felan_core.pointer.install.errors import InstallError
    from felan_core.pointer.migrate import MigrateError

    try:
        yield
    except PointerError as error:
        _fail(as_json, exits.UNWRITABLE if error.code == IO_ERROR else REFUSED, error.code, error.message)
    except InstallError as error:
        _fail(as_json, REFUSED, "CONFIG_REFUSED", error.message, path=error.path, place=error.place)
    except MigrateError as error:
        _fail(as_json, REFUSED, "MANIFEST_REFUSED", str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else None
        _fail(as_json, exits.UNWRITABLE, IO_ERROR, f"{error.strerror}.", path=name)
