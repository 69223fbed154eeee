"""The ways in: what `make` says to a Python that is too old, and where `.ci/run` stops."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        command, cwd=cwd, env=kept | env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


def test_an_old_python_gets_a_plain_message_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "old"
    old.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        script(old / name, '[ "$1" = --version ] && echo "Python 3.9.2" || exit 1')
    done = run("make", "test", cwd=tmp_path, PATH=f"{old}:/usr/bin:/bin")
    assert done.returncode != 0
    assert "Felan needs Python 3.11 or later" in done.stdout
    assert "Python 3.9.2" in done.stdout
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose `make` only writes down what it was asked for, and fails at the target in FAIL_AT."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "make", 'echo "CI=$CI $1" >> made; [ "$1" != "$FAIL_AT" ] || exit 7')
    return tmp_path


def test_ci_runs_the_tests_the_checks_and_the_real_agents_in_ci_mode(checkout: Path) -> None:
    done = run(
        checkout / ".ci" / "run", cwd=checkout.parent, PATH=f"{checkout / 'bin'}:/usr/bin:/bin", FAIL_AT=""
    )
    assert done.returncode == 0, done.stderr
    assert (checkout / "made").read_text().splitlines() == [
        "CI=true test",
        "CI=true check",
        "CI=true test-agents",
    ]


@pytest.mark.parametrize(("target", "reached"), [("test", 1), ("check", 2), ("test-agents", 3)])
def test_ci_stops_at_the_first_failure_with_its_exit_code(checkout: Path, target: str, reached: int) -> None:
    path = f"{checkout / 'bin'}:/usr/bin:/bin"
    done = run(checkout / ".ci" / "run", cwd=checkout.parent, PATH=path, FAIL_AT=target)
    assert done.returncode == 7
    assert "FAILED with exit code 7" in done.stdout.splitlines()[-1]
    assert len((checkout / "made").read_text().splitlines()) == reached


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skipped_test_of_a_real_agent_fails_in_ci_alone(tmp_path: Path, ci: str, code: int) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    agents: real ones\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.agents\ndef test_it():\n    pytest.skip('no agent here')\n"
        "def test_other():\n    pytest.skip('never mind')\n"
    )
    done = run(
        *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-rA", tmp_path),
        cwd=tmp_path,
        CI=ci,
        PYTHONPATH=str(ROOT),
    )
    assert done.returncode == code, done.stdout
    assert "no agent here" in done.stdout
    assert ("1 failed, 1 skipped" in done.stdout) == (code == 1)
