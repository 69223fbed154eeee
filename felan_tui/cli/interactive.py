"""Starts the screen: reads the command lines that need no parser, and runs the app under the launcher.

Nothing is imported here that the first paint can do without: click alone takes as long as Python itself.
"""

import os
import sys

from felan_tui.cli.launcher import launch
from felan_tui.terminal.first_frame import SCREEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["ask", "agent", "continue"]
    Plain = tuple[str | None, Kind, dict[str, Any], str | None]
    """Data folder, how the session starts, its extension settings, and its first prompt."""


def has_terminal() -> bool:
    """Whether standard input and output are one."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def read_plain(arguments: "list[str]") -> "Plain | None":
    """`felan [-c | --continue | --agent COMMAND] [--data-dir DIRECTORY]`, each at most once; else None.

    `felan_tui.cli.command` reads every command line, and these in the same way.
    """
    continues = False
    values: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word in ("-c", "--continue") and not continues:
            continues = True
        elif name in ("--agent", "--data-dir") and name not in values:
            values[name] = value if equals else next(words, "")
            if not values[name].strip() or values[name].startswith("-"):
                return None
        else:
            return None
    agent = values.get("--agent")
    data = values.get("--data-dir") or os.environ.get("FELAN_DATA_DIR") or None
    if agent is None:
        return data, "continue" if continues else "ask", {}, None
    if continues or not _is_harmless(agent):
        return None
    return data, "agent", {"agent.backend": "acp", "agent.command": agent}, None


def _is_harmless(command: str) -> bool:
    """Whether an agent's command surely holds no secret; `felan_core.credentials` looks at all others."""
    lowered = command.lower()
    if any(part in lowered for part in ("key", "token", "pass", "secret", "auth", "bearer", "=", ":", "--")):
        return False
    return not any(
        len(word) > 14 or (len(word) > 10 and any(letter.isdigit() for letter in word))
        for word in command.replace("/", " ").split()
    )


def interact(data_dir: "str | None", start: "Kind", settings: "dict[str, Any]", prompt: "str | None") -> int:
    """Run the screen in a child of the launcher; its exit code."""

    def app(alive: int) -> int:
        from pathlib import Path

        from felan_tui.cli.run import run

        data = Path(data_dir) if data_dir is not None else None
        return run(data_dir=data, start=start, settings=settings, prompt=prompt, alive=alive)

    return launch(app, lambda: _draw(data_dir))


def _draw(data_dir: "str | None") -> None:
    try:
        cwd = os.getcwd()
    except OSError:
        return  # the folder is gone: the app says so
    SCREEN.enter(data_dir or state_folder(), cwd)


def state_folder() -> str:
    """The user's folder for what Felan keeps, as platformdirs names it, which would take longer to load."""
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_STATE_HOME", "").strip()
    if not base:
        base = f"{home}/Library/Application Support" if sys.platform == "darwin" else f"{home}/.local/state"
    return f"{base}/felan"
