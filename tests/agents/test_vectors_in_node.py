"""Every test vector is read by a second implementation, in JavaScript (`tests/agents/vectors`), to the same
outcome.
"""

import base64
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from felan_core.protocol import JsonLineDecoder, ProtocolError, parse_client_envelope, parse_server_envelope
from tests.core.protocol.test_mutations import CLIENT, HOST, mutated

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


def outcome(read: Callable[[], Any]) -> dict[str, Any]:
    """The members of a vector that say what our reader made of its input."""
    try:
        return {"value": msgspec.to_builtins(read()), "expect": "ok"}
    except ProtocolError as error:
        return {"expect": {"code": error.code}}


def decoded(line: bytes) -> list[Any]:
    decoder = JsonLineDecoder()
    frames = decoder.push(line + b"\n")
    decoder.finish()
    return frames


def untagged(value: Any) -> bool:
    """Whether a tool is somewhere without its ``kind``: no union is there, so that our reader needs none."""
    if isinstance(value, list):
        return any(untagged(one) for one in value)
    if not isinstance(value, dict):
        return False
    tools = [value.get("tool"), *(value["tools"] if isinstance(value.get("tools"), list) else ())]
    return any(isinstance(one, dict) and "kind" not in one for one in tools) or untagged(list(value.values()))


def almost_right(chance: random.Random, count: int) -> dict[str, list[dict[str, Any]]]:
    """Vectors of frames that are almost right, with the outcome of our reader: as bytes and as plain JSON."""
    found: dict[str, list[dict[str, Any]]] = {"Stream": [], "ClientEnvelope": [], "ServerEnvelope": []}
    for number in range(count):
        frame, op = chance.choice(CLIENT if number % 2 else HOST)
        line = mutated(frame, chance)
        data = {"$bytes": base64.b64encode(line + b"\n").decode()}
        read = outcome(lambda line=line: decoded(line))
        found["Stream"].append({"name": f"{number}", "input": [data], **read})
        for value in read.get("value", ()):
            if untagged(value):
                continue
            vector: dict[str, Any] = {"name": f"{number}", "input": value}
            if number % 2:
                vector |= outcome(lambda value=value: parse_client_envelope(value))
                found["ClientEnvelope"].append(vector)
            else:
                vector |= outcome(lambda value=value, op=op: parse_server_envelope(value, op))
                found["ServerEnvelope"].append(vector | ({"op": op} if op else {}))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_frames_that_are_almost_right_have_the_same_outcome(
    contract: bytes, tmp_path: Path, seed: int
) -> None:
    vectors = almost_right(random.Random(seed), 6000)
    for file, lines in vectors.items():
        (tmp_path / f"{file}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
        assert {one["expect"] == "ok" for one in lines} == {True, False}
    _, report = read_by_node(tmp_path, contract)
    assert report["different"] == []
