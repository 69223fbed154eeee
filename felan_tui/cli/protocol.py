"""`felan protocol`: the wire contract for people and scripts: its schemas, its operations, a check of what
was recorded.
"""

import sys
from pathlib import Path

import click

from felan_tui.cli import exits
from felan_tui.text.output import print_json, print_out


@click.group()
def protocol() -> None:
    """Show the session protocol, and check recorded streams of it."""


@protocol.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="The names that there are.")
def schema(name: str | None, listed: bool) -> None:
    """Print the JSON Schema of a shape, or of all.

    NAME is one of --list, such as SessionSnapshot or prompt.params. Rules that a schema cannot express are
    in $comment.
    """
    from felan_core.protocol import schemas

    if listed:
        print_out("\n".join([*schemas.schema_names(), *schemas.operation_names()]))
        return
    if name is None:
        print_json(schemas.all_schemas())
        return
    try:
        found = schemas.json_schema(name)
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(name[:64], [*schemas.schema_names(), *schemas.operation_names()], 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise click.UsageError(
            f"there is no shape {name[:64]!r}{meant}; felan protocol schema --list has them all."
        ) from None
    print_json(found)


@protocol.command()
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def check(file: Path, as_json: bool) -> None:
    """Check a recorded stream.

    One frame a line; - is standard input. Both directions may be in one file. A reply is checked against its
    request, an event against the revision before it, a text against the text before it; a name that is near
    to a known member is reported as misspelt. Exit code 1 when there are problems.
    """
    from felan_tui.cli.recording import Recording
    from felan_tui.text.safe import safe_line

    name = "-" if str(file) == "-" else str(file)
    shown = safe_line(name)
    recording = Recording()
    try:
        if name == "-":
            recording.read(sys.stdin.buffer)
        else:
            with file.open("rb") as stream:
                recording.read(stream)
    except OSError as error:
        raise click.UsageError(f"{shown}: {error.strerror or error}") from None
    if as_json:
        print_json({"file": name, **recording.report()})
    else:
        for problem in recording.problems:
            print_out(f"{shown}:{problem.line}: {problem.code}: {safe_line(problem.message)}")
        print_out(recording.summary())
    sys.exit(exits.CRASH if recording.problems else exits.OK)


@protocol.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON array instead of a table.")
def catalog(as_json: bool) -> None:
    """Print the operations.

    Being in the catalogue is neither presence nor permission: hello says what a host has.
    """
    from felan_core.protocol import OPERATION_CATALOG
    from felan_tui.text.cells import pad

    rows = [
        {
            "op": row.name,
            "scope": row.scope,
            "mutates": row.mutates,
            "durability": row.durability,
            "clients": list(row.clients),
            "params": row.params.__name__,
            "result": row.result.__name__,
        }
        for row in OPERATION_CATALOG.values()
    ]
    if as_json:
        print_json(rows)
        return
    table = [("op", "scope", "mutates", "durability", "clients", "params", "result")] + [
        (
            row.name,
            row.scope,
            "yes" if row.mutates else "no",
            row.durability,
            ",".join(row.clients),
            row.params.__name__,
            row.result.__name__,
        )
        for row in OPERATION_CATALOG.values()
    ]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        print_out("  ".join(pad(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip())
