"""The task pointer: its rules, its file, compare-and-set; imports nothing of the rest.

A task pointer is the smallest text that lets a coding agent pick a task up again. One JSON file a session
holds it, and every update is a compare-and-set on (generation, revision). The rooms inside:

    errors      PointerError and its codes
    values      the rules of each field                    strictjson  strict JSON in and flat JSON out
    rules       State, the table of steps, the comparison  request     the publisher's request
    fileops     the file operations, for tests to fail     files       folder, lock, atomic write
    store       PointerStore: all of it under a state root
    lifecycle   the three events, publish and read         context_text the text for the agent
    publisher   bytes in, answer out                       hooks       the same for a hook's event
    main        both as whole processes                    places      where all of it is kept

    schema      the JSON Schemas                           watch       following changes
    migrate     envelopes of schema v1                     install     the hooks in an agent's configuration

The names below come with their module at their first use, so that the package itself costs nothing to import.
A hook and the publisher are what an agent waits for at every prompt: no module of the first group imports
more than `os`, `sys`, `time`, `fcntl`, `stat` and `errno`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from felan_core.pointer.context_text import context, shell_line
    from felan_core.pointer.errors import PointerError
    from felan_core.pointer.fileops import FileOps
    from felan_core.pointer.lifecycle import pre_compact, prompt_submitted, publish, read, session_started
    from felan_core.pointer.request import PublishRequest
    from felan_core.pointer.rules import State
    from felan_core.pointer.schema import load_schema, schema_text
    from felan_core.pointer.store import PointerStore

__all__ = [
    "FileOps",
    "PointerError",
    "PointerStore",
    "PublishRequest",
    "State",
    "context",
    "load_schema",
    "pre_compact",
    "prompt_submitted",
    "publish",
    "read",
    "schema_text",
    "session_started",
    "shell_line",
]

_HOME = {
    "FileOps": "fileops",
    "PointerError": "errors",
    "PointerStore": "store",
    "PublishRequest": "request",
    "State": "rules",
    "context": "context_text",
    "load_schema": "schema",
    "pre_compact": "lifecycle",
    "prompt_submitted": "lifecycle",
    "publish": "lifecycle",
    "read": "lifecycle",
    "schema_text": "schema",
    "session_started": "lifecycle",
    "shell_line": "context_text",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
