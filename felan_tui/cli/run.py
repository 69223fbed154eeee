"""Run the screen: own the data, keep descriptor 2 off the screen, say in words why it ended."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from felan_core.files.advice import unwritable
from felan_tui.cli import exits
from felan_tui.cli.embed import EmbeddedHost, Folders, claim
from felan_tui.cli.garbage import pause, set_aside
from felan_tui.cli.log_file import RotatingHandler, write_to
from felan_tui.session.crash import report
from felan_tui.session.errors import HostUnavailable
from felan_tui.session.start import Start
from felan_tui.text.output import print_error


def run(
    *,
    data_dir: Path | None,
    start: Literal["ask", "agent", "continue"],
    settings: dict[str, Any],
    prompt: str | None,
    alive: int,
) -> int:
    """The exit code of one interactive session. ``alive`` reads as ended when the launcher is gone.

    The garbage collector is off from here to the first paint.
    """
    pause()
    try:
        cwd = os.getcwd()
    except OSError:
        return _say(
            exits.UNWRITABLE, "This folder is not there any more. Go to one that is, and start again."
        )
    folders = Folders(data_dir.absolute() if data_dir is not None else default_folder("state"))
    try:
        owner = claim(folders, terminal=terminal_name())
    except HostUnavailable as error:
        return _say(error.code, error.message)
    for size in ("COLUMNS", "LINES"):
        # An exported size is that of some earlier moment; the terminal itself says what it is now.
        os.environ.pop(size, None)
    config = folders.data if data_dir is not None else default_folder("config")
    begin = Start(kind=start, cwd=cwd, settings=settings, prompt=prompt)

    async def live() -> tuple[int, str]:
        from felan_tui.app import FelanApp

        opened: list[EmbeddedHost] = []

        async def open_host() -> EmbeddedHost:
            host = await EmbeddedHost.open(folders, owner, app.told_refused)
            opened.append(host)
            set_aside()
            return host

        app = FelanApp(open_host, begin, data=folders.data, config=config, launcher=alive)
        try:
            await app.run_async()
        finally:
            # The terminal is whole again by now; what runs is stopped in good order.
            for host in opened:
                await host.close()
        return app.return_code or exits.OK, app.farewell

    try:
        with _own_screen(folders.log):
            code, farewell = asyncio.run(live())
    except HostUnavailable as error:
        code, farewell = error.code, error.message
    except Exception as error:
        code, farewell = exits.CRASH, report(error, folders.data)
    finally:
        owner.release()
        # The interpreter restores the default handlers while it ends: a late Ctrl+C would then end it by the
        # signal. No program that could inherit this is started any more.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _say(code, farewell) if farewell else code


def default_folder(kind: Literal["state", "config"]) -> Path:
    """The user's folder for what Felan keeps, or for what a person sets."""
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("felan", appauthor=False)
    return dirs.user_state_path if kind == "state" else dirs.user_config_path


def terminal_name() -> str:
    """The terminal that this process is on, for whoever asks who has the data."""
    try:
        return os.ttyname(0)
    except OSError:
        return "no terminal"


def _say(code: int, message: str) -> int:
    print_error(message)
    return code


class SafeFormatter(logging.Formatter):
    """A log is read in a terminal: what an agent or a file name brought into a record is made harmless."""

    def format(self, record: logging.LogRecord) -> str:
        from felan_tui.text.safe import safe

        return safe(super().format(record))


@contextmanager
def _own_screen(log: Path) -> Generator[None]:
    """Let the screen alone write to the terminal: what anything writes to descriptor 2 goes to the log.

    Textual draws on ``sys.__stderr__``; it gets a descriptor of its own for the terminal.
    Raises ``HostUnavailable`` where the log cannot be written.
    """
    sys.stderr.flush()
    kept, drawn = os.dup(2), sys.__stderr__
    try:
        write_to(log)
    except OSError as error:
        os.close(kept)
        raise HostUnavailable(exits.UNWRITABLE, unwritable(log, error)) from error
    handler = RotatingHandler(log)
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    terminal = open(os.dup(1), "w", encoding="utf-8", errors="replace")  # noqa: SIM115 closed below
    sys.__stderr__ = terminal  # pyright: ignore[reportConstantRedefinition, reportAttributeAccessIssue] Textual's hold
    try:
        yield
    finally:
        sys.__stderr__ = drawn  # pyright: ignore[reportConstantRedefinition, reportAttributeAccessIssue]
        with suppress(OSError):  # what a terminal that is gone did not take
            terminal.close()
        os.dup2(kept, 2)
        os.close(kept)
