"""The two commands that an agent waits for, as whole processes: `hook` and `publish`.

They are reached by the installed scripts (`python -I -S SCRIPT …`) and by `felan pointer hook|publish`. No
argument parser and nothing that is not needed: a parser leaves with 2 of its own accord, which would hold
back every prompt, and every import is waited for.
"""

from __future__ import annotations

import os
import sys

from felan_core.pointer.errors import IO_ERROR, REQUEST, PointerError
from felan_core.pointer.places import publisher_path, scripts_folder, state_root
from felan_core.pointer.strictjson import dump_object, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_CHUNK = 1 << 16
_LONG_CHUNK = 1 << 20


def run_hook(
    arguments: Sequence[str],
    publisher: Sequence[str],
    folder: str | None = None,
    felan: Sequence[str] | None = None,
) -> NoReturn:
    """One hook event from descriptor 0; ends the process.

    `arguments` are `--agent NAME` and `--state-root DIR`; `publisher` begins the publisher's command, and
    `--state-root DIR` is added to it where `folder`, the one of the scripts, has no executable for that
    root. `felan` begins the command `felan pointer`. A script of an older version has neither.
    """
    from felan_core.pointer.hooks import EXIT_FAILED, MAX_HOOK_BYTES, answer, failed, is_agent_name, mark_seen

    try:
        options = _options(arguments, ("--agent", "--state-root"), "HOOK")
        agent = options.get("--agent")
        if agent is not None and not is_agent_name(agent):
            raise invalid("HOOK", "--agent is no name.")
        root = _absolute(state_root(options.get("--state-root")))
        data = _read(MAX_HOOK_BYTES)
        line = _publisher_line(publisher, root, folder)
        said = answer(root, data, line, _line([*(felan or ("felan",)), "pointer"]), agent)
        if said.wrote and agent is not None:
            mark_seen(root, agent)
    except PointerError as error:
        said = failed(error.code)
    except (Exception, KeyboardInterrupt):
        # Whatever it is, it is no reason to hold a prompt back by an exit code of Python's own.
        said = failed(IO_ERROR)
    code = said.exit_code
    if said.stderr:
        _write(2, said.stderr + "\n")
    if said.stdout and not _write(1, said.stdout):
        code = EXIT_FAILED if code == 0 else code
    os._exit(code)


def run_publish(arguments: Sequence[str]) -> NoReturn:
    """One request from descriptor 0, one JSON object on descriptor 1; ends the process with 0 or 2."""
    from felan_core.pointer.publisher import EXIT_REFUSED, EXIT_UNHEARD, failure, run
    from felan_core.pointer.request import MAX_REQUEST_BYTES

    try:
        options = _options(arguments, ("--state-root",), REQUEST)
        code, line = run(_absolute(state_root(options.get("--state-root"))), _read(MAX_REQUEST_BYTES))
    except PointerError as error:
        code, line = EXIT_REFUSED, dump_object(failure(error))
    except Exception as error:
        refused = PointerError(IO_ERROR, f"The publisher failed: {type(error).__name__}.")
        code, line = EXIT_REFUSED, dump_object(failure(refused))
    # Not 2 where nobody took the answer: that would say that the state is what it was.
    os._exit(code if _write(1, line + "\n") else EXIT_UNHEARD)


def run(command: str, arguments: Sequence[str]) -> NoReturn:
    """`felan pointer hook` and `felan pointer publish`; ends the process."""
    if command == "publish":
        run_publish(arguments)
    publisher = [*felan_command(), "pointer", "publish"]
    run_hook(arguments, publisher, scripts_folder(), felan_command())


def felan_command() -> list[str]:
    """`felan` by an absolute path, as this process was started."""
    own = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(own) == "felan" and os.access(own, os.X_OK):
        return [own]
    return [sys.executable, "-m", "felan_tui.cli.main"]


def _options(arguments: Sequence[str], known: tuple[str, ...], kind: str) -> dict[str, str]:
    """`--name VALUE` and `--name=VALUE`; raises PointerError `<kind>_INVALID` for everything else."""
    found: dict[str, str] = {}
    waiting = ""
    for word in arguments:
        if waiting:
            found[waiting] = word
            waiting = ""
            continue
        name, equals, value = word.partition("=")
        if name not in known or name in found:
            raise invalid(kind, f"The arguments are not {' VALUE and '.join(known)} VALUE.")
        if equals:
            found[name] = value
        else:
            waiting = name
    if waiting:
        raise invalid(kind, f"{waiting} has no value.")
    return found


def _absolute(root: str) -> str:
    from felan_core.pointer.store import absolute

    return absolute(root)


def _publisher_line(publisher: Sequence[str], root: str, folder: str | None) -> str:
    if folder is not None:
        path = publisher_path(folder, root)
        if os.access(path, os.X_OK):
            return _line([path])
    return _line([*publisher, "--state-root", root])


def _line(words: Sequence[str]) -> str:
    from felan_core.pointer.context_text import shell_line

    return shell_line(words)


def _read(limit: int) -> bytes:
    """Descriptor 0 to its end, at most `limit` + 1 bytes; never opened by name, since it may be a socket."""
    parts: list[bytes] = []
    left = limit + 1
    size = _CHUNK
    while left > 0:
        try:
            part = os.read(0, min(size, left))
        except OSError as error:
            raise PointerError(IO_ERROR, "Standard input cannot be read.") from error
        if not part:
            break
        parts.append(part)
        left -= len(part)
        if len(part) == size:
            size = _LONG_CHUNK
    return b"".join(parts)


def _write(descriptor: int, text: str) -> bool:
    """True if all of it was written."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return False
    return True
