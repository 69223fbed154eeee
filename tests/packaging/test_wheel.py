"""The wheel, installed where nothing else is: the command runs there, and finds what it ships."""

import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from felan_core import __version__
from tests.house.tree import ROOT, tree_files

pytestmark = pytest.mark.timeout(300)  # the first run may have to fetch the dependencies


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel and its dependencies alone, and a home of its own."""

    bin: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        keep = {name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "TMPDIR")}
        return {**keep, "PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "TERM": "xterm-256color"}

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in its home, far from the tree; it has a minute."""
        return subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def python(self, code: str) -> str:
        done = self.run("python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout


def pip(*arguments: str | Path) -> None:
    # The settings of pip that the machine has stay in force: they may say where packages come from.
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True, timeout=60)
    python = folder / "venv" / "bin" / "python"
    pip("--python", python, "install", "-q", "--no-compile", "-c", ROOT / "constraints.txt", wheel)
    home = folder / "home"
    home.mkdir()
    return Installed(python.parent, home)


def shipped(suffix: str = "") -> set[str]:
    """The files of the tree that belong into the wheel, by their names there."""
    names = {file.path for file in tree_files() if file.path.endswith(suffix)}
    packaged = {name for name in names if name.startswith(("felan_core/", "felan_tui/"))}
    return packaged | {f"felan_tui/_{name}" for name in names if name.startswith("themes/")}


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = shipped()
    assert len(wanted) > 20
    assert sorted(wanted - inside) == []


def test_the_wheel_has_nothing_but_the_two_packages(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"felan_core", "felan_tui", f"felan-{__version__}.dist-info"}


def test_the_command_prints_the_version(installed: Installed) -> None:
    done = installed.run("felan", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout.split()


def test_the_tree_is_not_what_runs(installed: Installed) -> None:
    where = installed.python("import felan_core, felan_tui; print(felan_core.__file__, felan_tui.__file__)")
    assert str(ROOT) not in where
    assert where.count(str(installed.bin.parent)) == 2


@pytest.mark.parametrize(
    ("package", "folder", "suffix"),
    [
        ("felan_tui", "_themes", ".toml"),
        ("felan_tui", "", ".tcss"),
        ("felan_core", "agents/rehearsal", ".toml"),
        ("felan_core", "pointer/schemas", ".json"),
    ],
    ids=["themes", "styles", "scenarios", "schemas"],
)
def test_what_is_shipped_is_found(installed: Installed, package: str, folder: str, suffix: str) -> None:
    found = installed.python(
        "from importlib.resources import as_file, files\n"
        f"with as_file(files({package!r})) as root:\n"
        f"    for path in sorted((root / {folder!r}).rglob('*{suffix}')):\n"
        "        print(path.relative_to(root).as_posix())\n"
    ).split()
    assert found
    assert {f"{package}/{path}" for path in found} <= shipped(suffix)


def test_every_module_imports_with_the_declared_dependencies_alone(installed: Installed) -> None:
    modules = {
        file.module for file in tree_files() if file.is_python and file.under("felan_core", "felan_tui")
    }
    modules = {module for module in modules if not module.endswith("__main__")}
    assert len(modules) > 10
    code = (
        "import importlib, sys\n"
        f"for name in {sorted(modules)!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except Exception as error:\n"
        "        print(f'{name}: {error!r}')\n"
    )
    assert installed.python(code).splitlines() == []
