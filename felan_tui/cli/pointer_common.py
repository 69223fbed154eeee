"""What the commands of `felan pointer` share: options, where the pointers are, and how a refusal is shown.

Exit codes: 0 done, or nothing to do; 2 a wrong command line, a publish that was refused, a prompt that a hook
held back; 5 the system refused to read or write; 6 what was named is not there; 7 a state, a configuration or
a file is refused as it is; 8 the doctor found something to mend.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

import click

from felan_tui.cli import exits
from felan_tui.text.output import print_error, print_json

if TYPE_CHECKING:
    from felan_core.pointer.store import PointerStore

REFUSED: Final = 7
UNHEALTHY: Final = 8

AGENT_NAMES: Final = ("claude-code", "codex")

STATE_ROOT = click.option(
    "--state-root",
    metavar="DIR",
    help="Where the pointers are (default: FELAN_POINTER_ROOT, else Felan's own and every installed one).",
)
ONE_ROOT = click.option(
    "--state-root",
    metavar="DIR",
    help="Where the pointers are (default: FELAN_POINTER_ROOT, else Felan's own).",
)

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
APPLY = click.option("--apply", "applies", is_flag=True, help="Make the change; without it, only show it.")
HOME = click.option("--home", metavar="DIR", help="The agent's configuration folder, e.g. ~/.codex.")
AGENT = click.option("--agent", "name", type=click.Choice(AGENT_NAMES), help="Which agent.")


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def data_folder() -> str | None:
    """The folder that `felan --data-dir` or FELAN_DATA_DIR names, None for the user's own."""
    named = click.get_current_context().find_root().obj
    return str(named.absolute()) if named is not None else None


def store_of(named: str | None) -> "PointerStore":
    """The store of the state root that is named, else of the default one."""
    from felan_core.pointer.places import state_root
    from felan_core.pointer.store import PointerStore

    return PointerStore(state_root(named, data_folder()))


def stores_of(named: str | None) -> "list[PointerStore]":
    """The stores to look in: the one that is named, else the default one and every installed one."""
    from felan_core.pointer.install.records import roots
    from felan_core.pointer.places import ROOT_VARIABLE, scripts_folder
    from felan_core.pointer.store import PointerStore

    first = store_of(named)
    if named is not None or os.environ.get(ROOT_VARIABLE):
        return [first]
    others = [root for root in roots(scripts_folder(data_folder())) if root != first.root]
    return [first, *map(PointerStore, others)]


def store_with(session: str, named: str | None) -> "PointerStore":
    """The first of the stores that knows the session, one whose state cannot be read too; else the first."""
    from felan_core.pointer.watch import look

    stores = stores_of(named)
    for store in stores:
        found = look(store, session)
        if found.state is not None or found.code is not None:
            return store
    return stores[0]


def fail(as_json: bool, status: int, code: str, message: str, **more: str | None) -> NoReturn:
    """Says why something was refused, and leaves with `status`."""
    from felan_tui.cli.pointer_text import clean

    if as_json:
        print_json({"ok": False, "code": code, "message": message, **more})
    else:
        where = ", ".join(value for value in more.values() if value)
        print_error(clean(f"felan pointer: {where + ': ' if where else ''}{message}"))
    sys.exit(status)


@contextmanager
def failures(as_json: bool) -> Generator[None]:
    """Says in words, or in JSON, why something was refused, and leaves with its code."""
    from felan_core.pointer.errors import IO_ERROR, PointerError
    from felan_core.pointer.install.errors import InstallError
    from felan_core.pointer.migrate import MigrateError
    from felan_core.pointer.upkeep import ABSENT, NO_SESSION, UpkeepError

    try:
        yield
    except PointerError as error:
        fail(as_json, exits.UNWRITABLE if error.code == IO_ERROR else REFUSED, error.code, error.message)
    except UpkeepError as error:
        missing = error.code in (ABSENT, NO_SESSION)
        fail(as_json, exits.NOT_FOUND if missing else REFUSED, error.code, error.message)
    except InstallError as error:
        fail(as_json, REFUSED, "CONFIG_REFUSED", error.message, path=error.path, place=error.place)
    except MigrateError as error:
        fail(as_json, REFUSED, "MANIFEST_REFUSED", str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else None
        fail(as_json, exits.UNWRITABLE, IO_ERROR, f"{error.strerror}.", path=name)
