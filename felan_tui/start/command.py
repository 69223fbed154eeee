"""Whether the command of an agent can be started at all: what is wrong is best said where it was typed."""

import os
import shlex
import shutil

from felan_core.credentials import refusal


def unstartable(command: str, cwd: str) -> str:
    """Why ``command`` is not accepted as an agent in the folder ``cwd``; "" where it is.

    It holds a secret, or names no program that could be started. What the program then does is shown in its
    session.
    """
    if secret := refusal(command):
        return secret
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"The agent's command cannot be read: {error}."
    if not words:
        return "The agent's command is empty."
    program = os.path.expanduser(words[0])
    if os.sep in program:
        program = os.path.join(cwd, program)
        found = os.path.isfile(program) and os.access(program, os.X_OK)
        return "" if found else f"{program}: not found."
    return "" if shutil.which(program) else f"{program}: not found on PATH."
