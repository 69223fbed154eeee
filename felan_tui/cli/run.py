"""Run the screen: own the data, keep descriptor 2 off the screen, say in words why it ended."""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any, Literal

from felan_tui.cli import exits
from felan_tui.cli.embed import EmbeddedHost, Folders, claim
from felan_tui.session.errors import HostUnavailable
from felan_tui.session.start import Start


def run(
    *,
    data_dir: Path | None,
    start: Literal["ask", "agent", "continue"],
    settings: dict[str, Any],
    prompt: str | None,
    alive: int,
) -> int:
    """The exit code of one interactive session. ``alive`` reads as ended when the launcher is gone."""
    folders = Folders(data_dir.absolute() if data_dir is not None else default_folder("state"))
    try:
        owner = claim(folders, terminal=terminal_name())
    except HostUnavailable as error:
        return _say(error.code, error.message)
    stderr = _keep_stderr_off(folders.log)
    config = folders.data if data_dir is not None else default_folder("config")
    begin = Start(kind=start, cwd=os.getcwd(), settings=settings, prompt=prompt)

    async def live() -> tuple[int, str]:
        from felan_tui.app import FelanApp

        opened: list[EmbeddedHost] = []

        async def open_host() -> EmbeddedHost:
            host = await EmbeddedHost.open(folders, owner)
            opened.append(host)
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
        code, farewell = asyncio.run(live())
    finally:
        os.dup2(stderr, 2)
        owner.release()
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
    sys.stderr.write(message.rstrip("\n") + "\n")
    sys.stderr.flush()
    return code


def _keep_stderr_off(log: Path) -> int:
    """Point descriptor 2 at the log, so that nothing can write over the screen; the old one, to be put
    back.
    """
    sys.stderr.flush()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(log, flags, 0o600)
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    return kept
