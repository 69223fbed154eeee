"""Exit codes of the `felan` command: stable, and documented in docs/cli.md."""

from typing import Final

OK: Final = 0
CRASH: Final = 1
USAGE: Final = 2
HELD: Final = 3
"""Another felan has the data folder."""
STORE: Final = 4
"""The database is broken, or newer than this felan; it is left untouched."""
UNWRITABLE: Final = 5
"""A folder cannot be made or written."""
NOT_FOUND: Final = 6
"""`felan -c` without a session to continue."""
SIGNALLED: Final = 128
"""Plus the signal's number."""
