"""Editing a draft in the person's own editor, on their terminal, while the app goes on behind it."""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from textual.app import App, SuspendNotSupported

_FALLBACKS: Final = ("sensible-editor", "editor", "nano", "vi")


class EditorError(Exception):
    """The editor did not run, or its file could not be read. ``str()`` is for people."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The editor by ``VISUAL``, ``EDITOR``, or the first that is installed. Raises ``EditorError``."""
    named = environment.get("VISUAL") or environment.get("EDITOR")
    try:
        words = shlex.split(named) if named else []
    except ValueError as error:
        raise EditorError(f"$EDITOR cannot be read: {error}") from None
    found = words or [name for name in _FALLBACKS if shutil.which(name)][:1]
    if not found:
        raise EditorError("No editor is installed; set $EDITOR to the one to use.")
    if shutil.which(found[0]) is None:
        raise EditorError(f"{found[0]} is not found; set $EDITOR to an editor that is installed.")
    return found


async def edit(app: App[Any], text: str) -> str:
    """``text`` as the person left it. The terminal is the editor's meanwhile; the app draws nothing.

    Raises ``EditorError``; the text is then unchanged.
    """
    command = editor_command(os.environ)
    path = await asyncio.to_thread(_write, text)
    loop = asyncio.get_running_loop()
    # Ctrl+C in the editor reaches this process too.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        with app.batch_update(), app.suspend():
            process = await asyncio.create_subprocess_exec(*command, str(path))
            code = await process.wait()
        if code:
            raise EditorError(f"{command[0]} ended with code {code}; the text is as it was.")
        edited = await asyncio.to_thread(path.read_text, "utf-8", "replace")
    except (OSError, SuspendNotSupported) as error:
        raise EditorError(f"{command[0]} did not run: {error}") from error
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.to_thread(path.unlink, missing_ok=True)
    return edited.removesuffix("\n")


def _write(text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix="felan-", suffix=".md")  # 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return Path(name)
