"""What agents call: two stubs of a few lines, which import the compiled modules, and an executable a root.

They are in Felan's own folder, so that their paths, which an agent's trust and its rules depend on, outlive
an upgrade of the package. A hook whose interpreter, script or package is gone says nothing and leaves with 0:
no agent is held up by what was removed. A publisher whose package is gone answers with IO_ERROR.

    <folder>/felan-pointer-hook.py       the hook, under python -I -S
    <folder>/felan-pointer-publish.py    the publisher, under python -I -S
    <folder>/publish[-<digits>]          the executable that the context names: the publisher with its root
"""

import contextlib
import os
import sys
from collections.abc import Sequence

from felan_core.pointer.context_text import shell_line
from felan_core.pointer.install.files import read_whole, write_whole
from felan_core.pointer.main import felan_command
from felan_core.pointer.places import publisher_path

HOOK_SCRIPT = "felan-pointer-hook.py"
PUBLISH_SCRIPT = "felan-pointer-publish.py"

_HOOK = """\
# Written by `felan pointer install`: the task pointer's hook, for python -I -S.
import sys

sys.path.append({tree!r})
try:
    from felan_core.pointer.main import run_hook
except ImportError:
    sys.exit(0)
run_hook(sys.argv[1:], [sys.executable, "-I", "-S", {publisher!r}], {folder!r}, {felan!r})
"""
_GONE = '{"ok":false,"code":"IO_ERROR","message":"Felan is gone: run felan pointer install again."}'
_PUBLISH = """\
# Written by `felan pointer install`: the task pointer's publisher, for python -I -S.
import sys

sys.path.append({tree!r})
try:
    from felan_core.pointer.main import run_publish
except ImportError:
    print({gone!r})
    sys.exit(2)
run_publish(sys.argv[1:])
"""
# No argument is passed on: agents allow this path with any arguments.
_EXECUTABLE = """\
#!/bin/sh
# Written by `felan pointer install`: publishes the task pointer that is on standard input.
{guard} || {{
    echo '{gone}'
    exit 2
}}
exec {run}
"""


def tree() -> str:
    """The folder that holds the package."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(os.path.dirname(here)))


def texts(folder: str, root: str, felan: Sequence[str] | None = None) -> dict[str, tuple[bytes, int]]:
    """Each file's path, with its bytes and its mode; `felan` begins the command line of `felan`."""
    script = os.path.join(folder, PUBLISH_SCRIPT)
    hook = _HOOK.format(tree=tree(), publisher=script, folder=folder, felan=[*(felan or felan_command())])
    publish = _PUBLISH.format(tree=tree(), gone=_GONE)
    run = shell_line([sys.executable, "-I", "-S", script, "--state-root", root])
    executable = _EXECUTABLE.format(guard=_guard(sys.executable, script), gone=_GONE, run=run)
    return {
        os.path.join(folder, HOOK_SCRIPT): (_bytes(hook), 0o600),
        script: (_bytes(publish), 0o600),
        publisher_path(folder, root): (_bytes(executable), 0o700),
    }


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _guard(python: str, script: str) -> str:
    return f"{shell_line(['test', '-x', python])} && {shell_line(['test', '-r', script])}"


def missing(folder: str, root: str) -> list[str]:
    """The files that are not there, or that an older package wrote.

    The command of `felan` in the hook's script may be another one: it is for messages alone.
    """
    found: list[str] = []
    for path, (text, mode) in texts(folder, root).items():
        if _same(read_whole(path), text) and (mode != 0o700 or os.access(path, os.X_OK)):
            continue
        found.append(path)
    return found


def _same(now: bytes | None, wanted: bytes) -> bool:
    return now is not None and _without_felan(now) == _without_felan(wanted)


def _without_felan(script: bytes) -> bytes:
    return b"\n".join(line for line in script.split(b"\n") if not line.startswith(b"run_hook("))


def write(folder: str, root: str) -> list[str]:
    """Writes what is missing, and compiles the modules that the scripts import. The paths written."""
    wanted = texts(folder, root)
    written = missing(folder, root)
    for path in written:
        write_whole(path, *wanted[path])
    _compile()
    return written


def publisher(folder: str, root: str) -> str:
    """The shell line of the publisher for a state root; its files are written where they are missing.

    Where the folder cannot be written the line is the command's own.
    """
    path = publisher_path(folder, root)
    try:
        wanted = texts(folder, root)
        for each in missing(folder, root):
            if not each.endswith(HOOK_SCRIPT):
                write_whole(each, *wanted[each])
    except OSError:
        return shell_line([*felan_command(), "pointer", "publish", "--state-root", root])
    return shell_line([path])


def _compile() -> None:
    """Byte code beside the modules, where the folder can be written; without it every call compiles anew."""
    import py_compile

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sources = [os.path.join(os.path.dirname(package), "__init__.py")]
    sources += [os.path.join(package, name) for name in os.listdir(package) if name.endswith(".py")]
    for source in sources:
        try:
            py_compile.compile(source, quiet=2)
        except OSError:
            return


def remove(folder: str) -> None:
    """Removes the scripts and every publisher; after the configuration that names them, never before."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name in (HOOK_SCRIPT, PUBLISH_SCRIPT) or name.partition("-")[0] == "publish":
                os.unlink(os.path.join(folder, name))


def hook_command(folder: str, agent: str, state_root: str, python: str | None = None) -> str:
    """The shell line for an agent's configuration; it ends well where interpreter or script are gone."""
    script = os.path.join(folder, HOOK_SCRIPT)
    python = python or sys.executable
    run = [python, "-I", "-S", script, "--agent", agent, "--state-root", state_root]
    return f"{_guard(python, script)} || exit 0; exec {shell_line(run)}"
