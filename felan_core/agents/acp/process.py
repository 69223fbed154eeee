"""The program of an agent: how its command is read, how it is started, how its end is described."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping

from felan_core.agents.backend import AgentGone
from felan_core.processes.piped import PipedProcess

_SHELL_CODES = {126: "a program could not be run", 127: "a program was not found"}
"""What these codes mean by the convention of shells and ``env`` (POSIX 2.8.2)."""


def how_it_ended(process: PipedProcess) -> str:
    """In words: "exited with code 3", "was ended by SIGKILL"."""
    if process.running:
        return "closed its output and still runs"
    if process.signal is not None:
        return f"was ended by {process.signal}"
    code = process.exit_code
    if code in _SHELL_CODES:
        return f"exited with code {code}: {_SHELL_CODES[code]}"
    return f"exited with code {'?' if code is None else code}"


def argv_of(command: str, cwd: str, environ: Mapping[str, str]) -> list[str]:
    """The words of ``command``, the program as an absolute path.

    Raises ``AgentGone`` that says what is wrong.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AgentGone(f"The agent's command cannot be read: {error}.", command) from None
    if not words:
        raise AgentGone("No command is configured for the agent.")
    program = os.path.expanduser(words[0])
    if os.sep in program:
        # The child starts in the session's folder, and that is where a relative path is meant from.
        program = os.path.join(cwd, program)
        if not os.path.exists(program):
            raise _not_found(f"{program}: not found.", command)
        if os.path.isdir(program) or not os.access(program, os.X_OK):
            raise AgentGone(f"{program} is not a program that this user may run.", command)
        return [program, *words[1:]]
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is None:
        raise _not_found(f"{program}: not found on PATH.", command)
    return [os.path.abspath(found), *words[1:]]


def _not_found(message: str, command: str) -> AgentGone:
    return AgentGone(
        message,
        command,
        title="The agent's program was not found",
        advice="Install it, or start Felan with the command of an agent that is installed.",
    )


def dying_with_us(argv: list[str]) -> list[str]:
    """``argv`` so that the agent gets a TERM when this program dies, also by a SIGKILL.

    Some agents do not mind the end of their input: one that nobody ends would go on with its turn, beside the
    one that the next host starts. ``setpriv`` sets the kernel's parent-death signal and becomes the agent;
    Python could do that between fork and exec alone, which is not safe in a program with threads.
    """
    guard = shutil.which("setpriv", path="/usr/bin:/bin") if sys.platform == "linux" else None
    if guard is None or os.path.basename(os.path.realpath(guard)) != "setpriv":  # busybox' has no such option
        return argv
    return [guard, "--pdeathsig", "TERM", "--", *argv]
