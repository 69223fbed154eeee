"""The entry point of `felan`: the commands that an agent waits for, the plain command lines, all others."""

import os
import sys

if sys.argv[1:3] in (["pointer", "hook"], ["pointer", "publish"]) and sys.argv[3:] not in (
    ["-h"],
    ["--help"],
):
    # An agent waits for these two at every prompt: they end the process before anything else is loaded.
    from felan_core.pointer.main import run

    run(sys.argv[2], sys.argv[3:])

from felan_tui.cli.interactive import has_terminal, interact, read_plain
from felan_tui.cli.terminal_type import refusal
from felan_tui.terminal.first_frame import SCREEN


def main() -> None:
    """Run the installed command, and end the process with its exit code."""
    try:
        plain = read_plain(sys.argv[1:])
        if plain is not None and has_terminal() and not refusal(os.environ.get("TERM")):
            code = interact(*plain)
        else:
            from felan_tui.cli.command import run

            code = run(sys.argv[1:])
    except Exception as error:
        # Before there is a data folder to put a report into.
        from traceback import format_exception

        from felan_tui.cli import exits
        from felan_tui.text.output import print_error

        print_error("felan ended by a fault of its own:\n" + "".join(format_exception(error)))
        code = exits.CRASH
    except KeyboardInterrupt:
        code = 130
    finally:
        SCREEN.leave()
    sys.exit(code)


if __name__ == "__main__":
    main()
