"""What only a run can show: an agent's version, and whether the hook and the publisher answer."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from felan_core.pointer.install.agents import Agent

_WAIT = 15.0  # seconds; an agent's first start after an update unpacks itself
PROBE_SESSION = "felan-doctor"


def version(agent: Agent, env: Mapping[str, str]) -> tuple[int, int, int] | None:
    """The version of the agent's command on PATH; None where there is none or it says none."""
    program = shutil.which(agent.program, path=env.get("PATH"))
    if program is None:
        return None
    done = _run([program, "--version"], b"", env)
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", done.stdout) if done is not None else None
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def hook_answers(words: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether the installed hook gives a context; the event reads a session that is not there."""
    event = {"session_id": PROBE_SESSION, "hook_event_name": "SessionStart", "source": "startup"}
    done = _run(words, json.dumps(event).encode(), env)
    return done is not None and done.returncode == 0 and b"additionalContext" in done.stdout


def publisher_answers(path: str, env: Mapping[str, str]) -> bool:
    """Whether the publisher refuses an empty request, as it has to."""
    done = _run([path], b"", env)
    return done is not None and b'"REQUEST_NOT_JSON"' in done.stdout


def _run(
    words: Sequence[str], data: bytes, env: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(
            words, input=data, capture_output=True, timeout=_WAIT, env=dict(env) or None, cwd=os.path.sep
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
