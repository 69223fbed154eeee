"""Run the screen: own the data, keep descriptor 2 off the screen, say in words why it ended."""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from felan_core.daemon.ownership import Held, OwnershipError
from felan_tui.cli import exits
from felan_tui.cli.embed import EmbeddedHost, Folders, claim, now_ms


def run(
    *, data_dir: Path | None, start: str, settings: dict[str, Any], prompt: str | None, alive: int
) -> int:
    """The exit code of one interactive session. ``alive`` reads as ended when the launcher is gone."""
    folders = Folders(data_dir.absolute() if data_dir is not None else default_data())
    try:
        owner = claim(folders, terminal=terminal_name())
    except Held as error:
        return _say(exits.HELD, held_message(error, now_ms()))
    except OwnershipError as error:
        return _say(exits.UNWRITABLE, str(error))
    stderr = _keep_stderr_off(folders.log)
    try:
        from felan_tui.app import FelanApp, Start

        app = FelanApp(
            lambda: EmbeddedHost.open(folders, owner),
            Start(kind=start, cwd=os.getcwd(), settings=settings, prompt=prompt),
            data=folders.data,
            launcher=alive,
        )
        app.run()
        code, message = app.return_code or exits.OK, app.farewell
    finally:
        os.dup2(stderr, 2)
        owner.release()
    return _say(code, message) if message else code


def default_data() -> Path:
    """The user's state folder for Felan."""
    from platformdirs import user_state_path

    return user_state_path("felan", appauthor=False)


def terminal_name() -> str:
    """The terminal that this process is on, for whoever asks who has the data."""
    try:
        return os.ttyname(0)
    except OSError:
        return "no terminal"


def held_message(error: Held, now: int) -> str:
    """Who has the data folder, since when, and where."""
    holder = error.holder
    if holder is None:
        return (
            f"Another felan has {error.path.parent}. Leave it first, or name another folder with --data-dir."
        )
    minutes = max(0, now - holder.since) // 60_000
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(holder.since / 1000))
    return (
        f"Another felan (process {holder.pid}) has {error.path.parent}\n"
        f"since {since} ({minutes} min ago) on {_plain(holder.terminal)}.\n"
        "Go on there, or name another folder with --data-dir."
    )


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _say(code: int, message: str) -> int:
    sys.stderr.write(message.rstrip("\n") + "\n")
    sys.stderr.flush()
    return code


def _keep_stderr_off(log: Path) -> int:
    """Point descriptor 2 at the log, so that nothing can write over the screen; the old one, to be put
    back.
    """
    sys.stderr.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    return kept
