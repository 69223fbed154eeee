"""Which way the arrows of the house run: every import of the product, by its syntax, against one table."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.house.tree import ROOT, SourceFile, python_files

OURS = ("felan_core", "felan_tui")


@dataclass(frozen=True)
class Room:
    """What the modules under `name` may import; a longer name overrules a shorter one.

    `ours` are names in our own packages (what is below them too), `others` third-party packages; the standard
    library is free but for `shut`.
    """

    name: str
    why: str
    ours: frozenset[str] = field(default_factory=frozenset[str])
    others: frozenset[str] = field(default_factory=frozenset[str])
    shut: frozenset[str] = field(default_factory=frozenset[str])


def room(name: str, why: str, *, ours: str = "", others: str = "", shut: str = "") -> Room:
    return Room(name, why, frozenset(ours.split()), frozenset(others.split()), frozenset(shut.split()))


IO = "asyncio socket sqlite3 subprocess threading selectors ssl multiprocessing concurrent"

ROOMS = [
    room("felan_core", "the version alone: every start pays for what stands here"),
    room(
        "felan_core.credentials",
        "secrets in a command: asked by the command line before anything else is loaded",
        ours="felan_core.credentials",
        shut=IO,
    ),
    room(
        "felan_core.files",
        "private files and folders: every room that writes one may use it, so it knows none of them",
        ours="felan_core.files",
        shut="asyncio sqlite3",
    ),
    room(
        "felan_core.protocol",
        "the wire contract is sans-IO, so that any client can use it: bytes in, typed structs out",
        ours="felan_core.protocol",
        others="msgspec rfc8785 markdown_it",
        shut=IO,
    ),
    room(
        "felan_core.pointer",
        "a hook of any agent runs it on every prompt: the standard library and nothing of the rest",
        ours="felan_core.pointer",
        shut="asyncio sqlite3",
    ),
    room(
        "felan_core.pointer.install",
        "the installer, which no hook loads: a library keeps the comments of somebody else's TOML",
        ours="felan_core.pointer",
        others="tomlkit",
        shut="asyncio sqlite3",
    ),
    room(
        "felan_core.store",
        "rows and files, told what to write in the contract's words; knows no host and no process",
        ours="felan_core.store felan_core.protocol felan_core.files",
        others="msgspec platformdirs",
    ),
    room(
        "felan_core.processes",
        "children and their spools; knows no host and no database",
        ours="felan_core.processes felan_core.protocol felan_core.files",
        others="msgspec platformdirs psutil",
    ),
    room(
        "felan_core.agents",
        "an agent is reached through one interface, so a backend knows neither the host nor the store",
        ours="felan_core.agents felan_core.processes felan_core.protocol felan_core.__version__",
        others="msgspec platformdirs",
        shut="sqlite3",
    ),
    room(
        "felan_core.host",
        "the host puts the other rooms together, and nothing in it knows a client",
        ours="felan_core.host felan_core.store felan_core.processes felan_core.pointer felan_core.agents"
        " felan_core.credentials felan_core.files felan_core.protocol felan_core.__version__",
        others="msgspec platformdirs",
        shut="sqlite3",
    ),
    room(
        "felan_core.daemon",
        "serves a host on a socket",
        ours="felan_core.daemon felan_core.host felan_core.protocol felan_core.__version__ felan_core.files",
        others="msgspec platformdirs",
        shut="sqlite3",
    ),
    room(
        "felan_core.client",
        "a client knows the contract and never the host's insides, so that the host can be anywhere",
        ours="felan_core.client felan_core.protocol felan_core.__version__",
        others="msgspec",
        shut="sqlite3",
    ),
    room(
        "felan_core.embedding",
        "a host and its clients in another program: the one module of the core that knows both sides",
        ours="felan_core.client felan_core.daemon felan_core.host felan_core.protocol felan_core.__version__",
        shut="sqlite3",
    ),
    room(
        "felan_tui",
        "the screen is a client like any other: it reaches the host over frames alone",
        ours="felan_tui felan_core.client felan_core.protocol felan_core.__version__"
        " felan_core.credentials felan_core.files",
        others="textual rich msgspec platformdirs markdown_it pygments tomlkit",
        shut="sqlite3",
    ),
    room(
        "felan_tui.cli",
        "the command, whose pointer subcommands have no host to ask",
        ours="felan_tui felan_core.client felan_core.protocol felan_core.pointer felan_core.__version__"
        " felan_core.credentials felan_core.files",
        others="click msgspec platformdirs rich textual",
        shut="sqlite3",
    ),
    room(
        "felan_tui.cli.embed",
        "the composition root: the one place that puts a host into the app's own process",
        ours="felan_tui felan_core",
        others="click msgspec platformdirs textual",
        shut="sqlite3",
    ),
]

# Who alone may import a module of ours that the table above leaves open to the rest of its package.
RESERVED = {"felan_tui.cli.embed": "felan_tui.cli"}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def room_of(module: str) -> Room | None:
    """The room with the longest name that the module is in; a package of felan_core needs one of its own."""
    found = max((r for r in ROOMS if within(module, r.name)), key=lambda r: len(r.name), default=None)
    if found is not None and found.name == "felan_core" and module != "felan_core":
        return None
    return found


def imports(file: SourceFile) -> Iterator[tuple[int, list[str]]]:
    """Each import as (line, the names that it may be allowed by): `from a import b` is `a.b`.

    `import_module("a")` and `__import__("a")` count when the name is written out, and so does what only a
    type checker runs: an arrow in the types is an arrow.
    """
    for node in ast.walk(file.syntax):
        match node:
            case ast.Import():
                yield from ((node.lineno, [alias.name]) for alias in node.names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield from ((node.lineno, [f"{module}.{alias.name}"]) for alias in node.names)
            case ast.ImportFrom():
                yield node.lineno, []
            case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                called = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if called in ("import_module", "__import__"):
                    yield node.lineno, [name]
            case _:
                pass


def wrong_imports(file: SourceFile) -> list[str]:
    """What the table forbids in this file, each as `path:line: …`."""
    found: list[str] = []
    here = room_of(file.module)
    if here is None:
        return [f"{file.path}:1: {file.module} is in no room of the table"]
    for line, names in imports(file):
        where = f"{file.path}:{line}:"
        if not names:
            found.append(f"{where} a relative import")
        for name in names:
            top = name.partition(".")[0]
            if top in OURS:
                allowed = any(within(name, ours) for ours in here.ours)
                keeper = next((k for reserved, k in RESERVED.items() if within(name, reserved)), file.module)
                allowed = allowed and within(file.module, keeper)
            elif top in sys.stdlib_module_names:
                allowed = not any(within(name, shut) for shut in here.shut)
            else:
                allowed = top in here.others
            if not allowed:
                found.append(f"{where} {file.module} may not import {name} ({here.name}: {here.why})")
    return found


def test_the_product_imports_only_what_the_table_allows() -> None:
    found = [line for file in python_files(*OURS) for line in wrong_imports(file)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("wall", ["textual", "rich", "click", "felan_tui"])
def test_no_room_of_the_core_lets_in_what_draws(wall: str) -> None:
    core = [r for r in ROOMS if within(r.name, "felan_core")]
    assert len(core) >= 8
    assert not [r.name for r in core if wall in r.others or any(within(wall, ours) for ours in r.ours)]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("felan_core/protocol/x.py", "import asyncio"),
        ("felan_core/protocol/x.py", "from asyncio import streams"),
        ("felan_core/protocol/x.py", "import platformdirs"),
        ("felan_core/protocol/x.py", "from felan_core.store import rows"),
        ("felan_core/protocol/x.py", "from felan_core import __version__"),
        ("felan_core/pointer/x.py", "import msgspec"),
        ("felan_core/pointer/x.py", "from felan_core.protocol import ids"),
        ("felan_core/store/x.py", "from felan_core.processes import spool"),
        ("felan_core/processes/x.py", "from felan_core import host"),
        ("felan_core/agents/acp/x.py", "from felan_core.host import broker"),
        ("felan_core/agents/acp/x.py", "import acp"),
        ("felan_core/host/x.py", "import sqlite3"),
        ("felan_core/host/x.py", "from felan_core.client import HostClient"),
        ("felan_core/host/x.py", "def late():\n    import rich.text"),
        ("felan_core/client/x.py", "from felan_core.host import Host"),
        ("felan_core/client/x.py", "if TYPE_CHECKING:\n    from felan_core.host import Host"),
        ("felan_core/client/x.py", "import importlib\nimportlib.import_module('felan_core.host')"),
        ("felan_core/client/x.py", "import textual"),
        ("felan_core/newroom/x.py", "import os"),
        ("felan_core/loose.py", "import os"),
        ("felan_core/__init__.py", "import felan_core.protocol"),
        ("felan_tui/app.py", "from felan_core.host import Host"),
        ("felan_tui/app.py", "from felan_core import store"),
        ("felan_tui/app.py", "import felan_core"),
        ("felan_tui/app.py", "from felan_tui.cli.embed import start"),
        ("felan_tui/app.py", "from felan_core.pointer import rules"),
        ("felan_tui/app.py", "from . import screens"),
        ("felan_tui/app.py", "import click"),
        ("felan_tui/cli/main.py", "from felan_core.agents import rehearsal"),
        ("felan_tui/cli/embedded.py", "from felan_core.host import Host"),
    ],
)
def test_an_import_against_the_arrows_is_caught(path: str, source: str) -> None:
    assert wrong_imports(SourceFile(path, source))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("felan_core/protocol/x.py", "import json\nimport msgspec\nfrom felan_core.protocol import ids"),
        ("felan_core/host/x.py", "import asyncio\nfrom felan_core.store.rows import Row"),
        ("felan_core/client/__init__.py", "from felan_core.client.memory import pair"),
        ("felan_tui/app.py", "from felan_core import __version__\nfrom felan_core.protocol.ids import ULID"),
        ("felan_tui/cli/pointer.py", "from felan_core.pointer.rules import check\nimport click"),
        ("felan_tui/cli/run.py", "def run():\n    from felan_tui.cli.embed import start"),
        (
            "felan_tui/cli/embed.py",
            "from felan_core.host import Host\nfrom felan_core.agents.acp import AcpBackend",
        ),
        ("felan_tui/cli/embed/__init__.py", "from felan_core.store import Store"),
    ],
)
def test_an_import_along_the_arrows_passes(path: str, source: str) -> None:
    assert wrong_imports(SourceFile(path, source)) == []


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`, which may print and exit with 0."""
    tail = (
        "\nimport json as _json, sys as _sys\n_sys.stderr.write('\\n' + _json.dumps(sorted(_sys.modules)))\n"
    )
    program = "import sys\ntry:\n" + "".join(f"    {line}\n" for line in code.splitlines())
    program += "except SystemExit as _exit:\n    assert not _exit.code, _exit.code\n" + tail
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.rsplit("\n", 1)[-1]))


HEAVY = {
    "textual",
    "rich",
    "sqlite3",
    "asyncio",
    "ssl",
    "pydantic",
    "acp",
    "rfc8785",
    "markdown_it",
    "pygments",
}
HOST_SIDE = {"felan_core.host", "felan_core.store", "felan_core.processes", "felan_core.agents"}


@pytest.mark.parametrize(
    ("code", "never"),
    [
        pytest.param(
            "sys.argv = ['felan', '--version']\nfrom felan_tui.cli.main import main\nsys.exit(main())",
            HEAVY
            | HOST_SIDE
            | {"msgspec", "socket", "felan_core.protocol", "felan_core.client", "felan_tui.app"},
            id="felan --version",
        ),
        pytest.param(
            "sys.argv = ['felan', '-c']\nfrom felan_tui.cli import main, interactive\n"
            "assert interactive.read_plain(['-c'])",
            HEAVY | HOST_SIDE | {"msgspec", "click", "typing", "pathlib", "asyncio", "felan_tui.cli.command"},
            id="felan before it forks",
        ),
        pytest.param(
            "import felan_core.protocol",
            HEAVY
            | HOST_SIDE
            | {"socket", "subprocess", "click", "platformdirs", "felan_core.client", "felan_tui"},
            id="felan_core.protocol",
        ),
        pytest.param(
            "import pkgutil, importlib, felan_core.protocol as room\n"
            "for found in pkgutil.walk_packages(room.__path__, 'felan_core.protocol.'):\n"
            "    importlib.import_module(found.name)",
            HEAVY | HOST_SIDE | {"socket", "subprocess", "click"},
            id="every module of felan_core.protocol",
        ),
        pytest.param(
            "import felan_core.pointer",
            HEAVY | HOST_SIDE | {"msgspec", "click", "felan_core.protocol", "felan_core.client"},
            id="felan_core.pointer",
        ),
        pytest.param(
            "import felan_core.client", (HEAVY - {"asyncio", "ssl"}) | HOST_SIDE, id="felan_core.client"
        ),
        pytest.param(
            "import felan_tui.app",
            HOST_SIDE | {"sqlite3", "pydantic", "acp", "rfc8785", "markdown_it", "pygments", "click"},
            id="felan_tui.app, which paints before any host or agent is loaded",
        ),
    ],
)
def test_a_cold_start_does_not_load_what_it_does_not_use(code: str, never: set[str]) -> None:
    loaded = loaded_by(code)
    assert "sys" in loaded
    assert sorted(never & loaded) == []
