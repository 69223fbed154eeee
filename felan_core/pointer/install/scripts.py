"""The two scripts that agents call: a stub of a few lines each, which imports the compiled modules.

They stand in Felan's own folder, so that their path, which an agent's trust may hang on, outlives an upgrade
of the package. A script whose package is gone says nothing and leaves with 0: no agent is held up by what was
taken away.
"""

import contextlib
import os
import sys

from felan_core.pointer.context_text import shell_line
from felan_core.pointer.install.files import read_whole, write_whole

HOOK_SCRIPT = "felan-pointer-hook.py"
PUBLISH_SCRIPT = "felan-pointer-publish.py"

_HOOK = """\
# Written by `felan pointer install`: the task pointer's hook, for {python} -I -S.
import sys

sys.path.append({tree!r})
try:
    from felan_core.pointer.main import run_hook
except ImportError:
    sys.exit(0)
run_hook(sys.argv[1:], [sys.executable, "-I", "-S", {publisher!r}])
"""
_PUBLISH = """\
# Written by `felan pointer install`: the task pointer's publisher, for {python} -I -S.
import sys

sys.path.append({tree!r})
from felan_core.pointer.main import run_publish

run_publish(sys.argv[1:])
"""


def tree() -> str:
    """The folder that holds the package."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(os.path.dirname(here)))


def texts(folder: str) -> dict[str, bytes]:
    """Each script's path and what is to stand in it."""
    publisher = os.path.join(folder, PUBLISH_SCRIPT)
    values = {"python": "python", "tree": tree(), "publisher": publisher}
    return {
        os.path.join(folder, HOOK_SCRIPT): _HOOK.format(**values).encode("utf-8", "surrogateescape"),
        publisher: _PUBLISH.format(**values).encode("utf-8", "surrogateescape"),
    }


def missing(folder: str) -> list[str]:
    """The scripts that are not there, or that an older package wrote."""
    return [path for path, text in texts(folder).items() if read_whole(path) != text]


def write(folder: str) -> list[str]:
    """Writes what is missing, and compiles the modules that the scripts import. The paths written."""
    wanted = texts(folder)
    written = missing(folder)
    for path in written:
        write_whole(path, wanted[path], 0o600)
    _compile()
    return written


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
    """Takes the scripts away; after the configuration that names them, never before."""
    for path in texts(folder):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def hook_command(folder: str, agent: str, state_root: str, python: str | None = None) -> str:
    """The shell line for an agent's configuration. A script that is gone is no reason to hold a prompt up."""
    script = os.path.join(folder, HOOK_SCRIPT)
    test = shell_line(["test", "-r", script])
    run = [python or sys.executable, "-I", "-S", script, "--agent", agent, "--state-root", state_root]
    return f"{test} || exit 0; exec {shell_line(run)}"
