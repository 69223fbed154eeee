"""`felan protocol` as a person and a script use it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from felan_core.protocol import OPERATION_CATALOG, new_uuid7
from felan_tui.cli.command import felan

REVISION = {"v": 1, "re": "h1", "outcome": "accepted", "result": {"revision": 3}}


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(felan, ["protocol", *arguments], input=stdin)


def recorded(folder: Path, *frames: Any) -> str:
    path = folder / "stream.jsonl"
    lines = [frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n" for frame in frames]
    path.write_bytes(b"".join(lines))
    return str(path)


def request(op: str, params: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"v": 1, "id": new_uuid7(), "op": op, "params": params} | members


def test_a_good_stream_of_both_directions_has_no_problems(tmp_path: Path) -> None:
    rename = request("session.rename", {"name": "x"}, session="s1")
    event = {"type": "entry.labelled", "entry": "e1", "label": "here"}
    file = recorded(
        tmp_path,
        rename,
        {"v": 1, "session": "s1", "revision": 3, "at": 5, "event": event},
        REVISION | {"re": rename["id"]},
        b"\r\n",
        {
            "v": 1,
            "session": "s1",
            "stream": {"message": "m", "id": "p", "kind": "assistant", "offset": 0},
            "text": "hi",
        },
        {"v": 1, "notice": {"type": "resync_required", "session": "s1", "reason": "slow"}, "session": "s1"},
        {
            "control": 1,
            "id": "c",
            "command": "status",
            "target": {"namespace": "n", "instance": "i", "root": "/r"},
        },
    )
    result = run("check", file)
    assert result.exit_code == 0
    assert "6 frames: 1 requests, 1 replies, 1 events, 1 texts, 1 notices, 1 controls" in result.output
    assert "Problems: none." in result.output


def test_a_problem_says_the_line_the_place_and_the_rule(tmp_path: Path) -> None:
    file = recorded(
        tmp_path,
        request("prompt", {"text": 3}, session="s1"),
        b"{oh\n",
        {"v": 1, "id": "a", "op": "fly", "params": {}},
    )
    result = run("check", file)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0].startswith(f"{file}:1: invalid_request: params.text")
    assert lines[1].startswith(f"{file}:2: invalid_request: frame")
    assert lines[2].startswith(f"{file}:3: unsupported_operation: op")
    assert lines[-1].endswith("Problems: 3.")


def test_a_reply_is_checked_as_the_result_of_its_request(tmp_path: Path) -> None:
    rename = request("session.rename", {"name": "x"}, session="s1")
    file = recorded(
        tmp_path, rename, {"v": 1, "re": rename["id"], "outcome": "accepted", "result": {"revision": 0}}
    )
    result = run("check", file)
    assert result.exit_code == 1
    assert ":2: invalid_request: result.revision" in result.output


def test_a_reply_without_its_request_is_counted_and_its_envelope_checked(tmp_path: Path) -> None:
    result = run("check", recorded(tmp_path, REVISION))
    assert result.exit_code == 0 and "1 replies without their request" in result.output
    refused = {"v": 1, "re": "x", "outcome": "rejected", "error": {"code": "busy"}}
    result = run("check", recorded(tmp_path, REVISION | {"result": 3}, REVISION | {"re": ""}, refused))
    assert result.exit_code == 1 and result.output.count("invalid_request") == 3


def test_a_reply_may_stand_before_its_request(tmp_path: Path) -> None:
    rename = request("session.rename", {"name": "x"}, session="s1")
    good = REVISION | {"re": rename["id"]}
    found = json.loads(run("check", "--json", recorded(tmp_path, good, rename)).output)
    assert found["unmatchedReplies"] == 0 and found["problems"] == []
    found = json.loads(
        run("check", "--json", recorded(tmp_path, good | {"result": {}}, b"x\n", rename)).output
    )
    assert [(one["line"], one["message"].partition(": ")[0]) for one in found["problems"]] == [
        (1, "result.revision"),
        (2, "frame"),
    ]


def test_a_member_named_op_makes_no_request_of_a_host_s_frame(tmp_path: Path) -> None:
    later = {"v": 1, "session": "s", "revision": 2, "at": 1, "event": {"type": "session.closed"}, "op": "x"}
    found = json.loads(run("check", "--json", recorded(tmp_path, later, REVISION | {"op": "close"})).output)
    assert found["problems"] == [] and found["requests"] == 0
    assert found["events"] == found["replies"] == found["unmatchedReplies"] == 1


@pytest.mark.parametrize(
    ("content", "code", "problems"),
    [
        (b"", 0, []),
        (b"\n\r\n \t\n", 0, []),
        (b"\xff\xfe\x00binary\x00\n\x00\n", 1, ["frame: not UTF-8 at byte 0", "frame: not JSON"]),
        (b"\xef\xbb\xbf{}\n", 1, ["frame: a byte order mark"]),
        (b"[1]\nnull\n3\n", 1, ["frame: must be an object"] * 3),
        (json.dumps(REVISION).encode() + b"\r\n", 0, []),
        (json.dumps(REVISION).encode(), 0, []),
    ],
)
def test_odd_files_are_read_to_their_end(
    tmp_path: Path, content: bytes, code: int, problems: list[str]
) -> None:
    result = run("check", "--json", recorded(tmp_path, content))
    assert result.exit_code == code
    assert [one["message"] for one in json.loads(result.output)["problems"]] == problems


def test_what_is_printed_has_no_control_character_of_the_file(tmp_path: Path) -> None:
    odd = {"\x1b]0;x\x07": 2**60, "\u202e": 1}
    bad = request("prompt", {"text": "x", **odd}, session="s1") | {"op": "\x1b[2J"}
    file = recorded(tmp_path, request("prompt", odd, session="s1"), bad, {"v": 1, "\x1b[2J": 2**60})
    result = run("check", file)
    assert result.exit_code == 1 and result.output.count("\n") == 4
    assert all(line.isprintable() for line in result.output.splitlines())


def test_the_reply_to_a_refused_request_is_a_good_frame(tmp_path: Path) -> None:
    bad = request("prompt", {}, session="s1")
    error = {"code": "invalid_request", "message": "params.text: is required"}
    file = recorded(tmp_path, bad, {"v": 1, "re": bad["id"], "outcome": "rejected", "error": error})
    found = json.loads(run("check", "--json", file).output)
    assert [problem["line"] for problem in found["problems"]] == [1]


def test_an_event_of_a_newer_type_is_counted_and_no_problem(tmp_path: Path) -> None:
    file = recorded(
        tmp_path, {"v": 1, "session": "s", "revision": 2, "at": 1, "event": {"type": "moon.risen"}}
    )
    found = json.loads(run("check", "--json", file).output)
    assert found["unknownEvents"] == 1 and found["problems"] == []


def test_a_stream_that_ends_inside_a_frame_says_so(tmp_path: Path) -> None:
    result = run("check", recorded(tmp_path, b'{"v":1,"no'))
    assert result.exit_code == 1 and "ends inside this frame" in result.output


def test_a_line_that_never_ends_is_refused_and_the_next_one_is_read(tmp_path: Path) -> None:
    found = json.loads(run("check", "--json", recorded(tmp_path, b" " * (17 << 20) + b"\n", REVISION)).output)
    assert [problem["line"] for problem in found["problems"]] == [1]
    assert found["frames"] == 2 and found["unmatchedReplies"] == 1


def test_a_stream_can_come_from_a_pipe() -> None:
    result = run("check", "-", stdin=json.dumps(REVISION).encode() + b"\n")
    assert result.exit_code == 0 and "1 frame: " in result.output


@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "/no/such/file"), ("check", "/"), ("schema", "NoSuchShape"), ("fly",)]
)
def test_what_cannot_be_done_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_name_that_is_almost_right_gets_the_nearest_one() -> None:
    assert "did you mean prompt.params?" in run("schema", "promt.params").output


def test_the_catalog_has_every_operation() -> None:
    rows = json.loads(run("catalog", "--json").output)
    assert [row["op"] for row in rows] == list(OPERATION_CATALOG)
    table = run("catalog").output.splitlines()
    assert len(table) == len(OPERATION_CATALOG) + 1
    assert table[0].split() == ["op", "scope", "mutates", "durability", "clients", "params", "result"]


def test_a_schema_is_printed_by_the_name_of_a_shape_or_of_an_operation() -> None:
    for name in ("SessionSnapshot", "prompt.params", "Element", "ServerEnvelope", "Configuration"):
        printed = json.loads(run("schema", name).output)
        assert printed["title"] == name and printed["$schema"]
    names = run("schema", "--list").output.split()
    everything = json.loads(run("schema").output)
    assert {name for name in names if "." not in name} == set(everything["$defs"])
