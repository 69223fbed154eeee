"""Every test vector is read by a second implementation, in JavaScript (`tests/agents/vectors`), to the same
outcome.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
RUNNER = Path(__file__).parent / "vectors" / "run.mjs"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(120),
    pytest.mark.skipif(NODE is None, reason="node is not in the PATH; version 20 or later runs this"),
]


def printed(*arguments: str) -> Any:
    command = [str(Path(sys.executable).parent / "felan"), "protocol", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


@pytest.fixture(scope="module")
def contract() -> bytes:
    """What the command line prints for writers of other implementations."""
    return json.dumps({"schemas": printed("schema"), "catalog": printed("catalog", "--json")}).encode()


def read_by_node(folder: Path, contract: bytes) -> tuple[int, Any]:
    assert NODE is not None
    done = subprocess.run([NODE, RUNNER, folder], input=contract, capture_output=True, timeout=90)
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def test_every_line_of_every_file_has_the_same_outcome(contract: bytes) -> None:
    code, report = read_by_node(VECTORS, contract)
    assert report["different"] == [] and report["unknown"] == []
    counts = {path.stem: len(path.read_bytes().splitlines()) for path in VECTORS.glob("*.jsonl")}
    assert report["lines"] == counts and code == 0


def test_a_file_of_an_unknown_shape_fails(contract: bytes, tmp_path: Path) -> None:
    (tmp_path / "Moon.jsonl").write_text('{"name": "n", "input": {}, "expect": "ok", "rule": "§1"}\n')
    code, report = read_by_node(tmp_path, contract)
    assert code == 1 and report["unknown"] == ["Moon"]


@pytest.mark.parametrize("file", ["Admission", "CanonicalPayload", "Stream", "TextDelta", "prompt.params"])
def test_an_outcome_that_is_turned_around_fails(contract: bytes, tmp_path: Path, file: str) -> None:
    lines = [json.loads(line) for line in (VECTORS / f"{file}.jsonl").read_text("utf-8").splitlines()]
    turned = [
        {**one, "expect": {"code": "not_found"} if one["expect"] == "ok" else "ok"}
        for one in lines
        if len(json.dumps(one)) < 5000
    ]
    (tmp_path / f"{file}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in turned), "utf-8")
    code, report = read_by_node(tmp_path, contract)
    assert code == 1 and len(report["different"]) == len(turned)
