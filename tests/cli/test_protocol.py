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
        (json.dumps(REVISION).encode(), 1, ["frame: the stream ends inside this frame, before its LF"]),
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


# --- what follows from the frames before ---


def event(revision: int, session: str = "s", **members: Any) -> dict[str, Any]:
    members = members or {"type": "entry.labelled", "entry": "e", "label": "x"}
    return {"v": 1, "session": session, "revision": revision, "at": 1, "event": members}


def delta(offset: int, text: str, *, message: str = "m", kind: str = "assistant") -> dict[str, Any]:
    stream = {"message": message, "id": "p", "kind": kind, "offset": offset}
    return {"v": 1, "session": "s", "stream": stream, "text": text}


def completed(message: str, text: str) -> dict[str, Any]:
    part = {"type": "text", "id": "p", "text": text}
    entry = {"kind": "message", "id": message, "seq": 1, "at": 1, "role": "assistant"}
    return {"type": "message.completed", "entry": entry | {"outcome": "completed", "parts": [part]}}


def snapshot(revision: int, **members: Any) -> dict[str, Any]:
    return SNAPSHOT | {"session": "s", "root": "s", "revision": revision} | members


def vector(shape: str) -> Any:
    """The input of the first vector of a shape."""
    return json.loads((VECTORS / f"{shape}.jsonl").read_text("utf-8").partition("\n")[0])["input"]


VECTORS = Path(__file__).parents[1] / "vectors"
SNAPSHOT: dict[str, Any] = vector("SessionSnapshot")


def problems(folder: Path, *frames: Any) -> list[tuple[int, str, str]]:
    found = json.loads(run("check", "--json", recorded(folder, *frames)).output)
    return [(one["line"], one["code"], one["message"]) for one in found["problems"]]


def test_a_gap_between_revisions_is_a_problem_once(tmp_path: Path) -> None:
    other = event(7, "t")
    assert problems(tmp_path, event(2), event(3), event(3), other, event(6), event(7), event(9)) == [
        (5, "resync_required", "revision: 6 follows 3; 4 to 5 are missing"),
        (7, "resync_required", "revision: 9 follows 7; 8 is missing"),
    ]
    assert run("check", recorded(tmp_path, event(2), event(4))).exit_code == 1


def test_an_event_that_is_refused_is_no_gap_too(tmp_path: Path) -> None:
    bad = event(3, type="run.ended", run="r", outcome="done")
    assert [line for line, _, _ in problems(tmp_path, event(2), bad, event(4), event(5))] == [2]
    codes = [(line, code) for line, code, _ in problems(tmp_path, event(2), bad | {"revision": 9}, event(10))]
    assert codes == [(2, "invalid_request"), (2, "resync_required")]


def test_revisions_are_counted_from_the_snapshot_of_an_attach(tmp_path: Path) -> None:
    attach = request("attach", {}, session="s")
    reply = {"v": 1, "re": attach["id"], "outcome": "accepted", "result": {"snapshot": snapshot(40)}}
    gap = (3, "resync_required", "revision: 42 follows 40; 41 is missing")
    assert problems(tmp_path, attach, reply, event(42), event(43)) == [gap]
    # The requests may follow the replies.
    assert problems(tmp_path, event(3), reply, event(42), attach) == [gap]
    assert problems(tmp_path, event(3), attach, reply, event(41)) == []
    resync = {"v": 1, "session": "s", "notice": {"type": "resync_required", "session": "s", "reason": "r"}}
    assert problems(tmp_path, event(3), resync, event(9)) == []


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([delta(0, "Good "), delta(5, "evening"), delta(5, "eve")], None),
        ([delta(7, "x")], "stream.offset: 7, but the recording has no text of this stream before it"),
        (
            [delta(0, "H\U0001f600"), delta(3, "x"), delta(9, "y")],
            "stream.offset: 3, but the stream has 2 characters before it",
        ),
        ([delta(0, "abc"), delta(1, "x")], "text: other than the text of this stream at 1"),
        (
            [delta(0, "a"), delta(1, "b", kind="thinking")],
            "stream.kind: thinking, but the stream is assistant",
        ),
        ([delta(0, "a"), event(2, **completed("m", "ab")), delta(1, "b"), delta(9, "z")], None),
        (
            [
                event(2, type="stream.completion_only")
                | {
                    "event": {
                        "type": "stream.completion_only",
                        "stream": {"message": "m", "id": "p", "kind": "assistant"},
                        "reason": "limit",
                    }
                },
                delta(4, "x"),
            ],
            None,
        ),
    ],
    ids=["good", "from nowhere", "beyond", "other text", "other kind", "completed", "completion only"],
)
def test_text_is_checked_against_the_text_before_it(
    tmp_path: Path, frames: list[Any], found: str | None
) -> None:
    seen = problems(tmp_path, *frames)
    assert seen == ([] if found is None else [(seen[0][0], "resync_required", found)])


def test_text_goes_on_from_the_prefix_of_a_snapshot(tmp_path: Path) -> None:
    attach = request("attach", {}, session="s")
    streams = [{"message": "m", "id": "p", "kind": "assistant", "prefix": "Good "}]
    only = [{"message": "n", "id": "p", "kind": "assistant", "reason": "lost"}]
    taken = snapshot(4, streams=streams, completionOnlyStreams=only)
    reply = {"v": 1, "re": attach["id"], "outcome": "accepted", "result": {"snapshot": taken}}
    good = (delta(5, "evening"), delta(3, "x", message="n"))
    assert problems(tmp_path, attach, reply, *good) == []
    assert [line for line, _, _ in problems(tmp_path, attach, reply, delta(6, "x"))] == [3]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            request("sessions.create", {"cwd": "/w", "requirepolicy": "acp-strict"}),
            "params.requirepolicy: no member has this name; the nearest is requirePolicy",
        ),
        (
            request("shell.execute", {"command": "ls", "pty": {"columns": 1, "rows": 1}, "shared": True})
            | {"session": "s"},
            "params.shared: no member has this name; the nearest is share",
        ),
        (
            event(2, type="queue.updated", queue={"items": [], "held": False})
            | {"event": {"type": "entry.labelled", "entry": "e", "lable": "x"}},
            "event.lable: no member has this name; the nearest is label",
        ),
        (
            request("prompt", {"txt": "hello"}, session="s"),
            "params.text: is required ('txt' is near to it)",
        ),
    ],
    ids=["case", "ending", "event", "required"],
)
def test_a_misspelt_member_is_a_problem(tmp_path: Path, frame: Any, message: str) -> None:
    assert [one for _, _, one in problems(tmp_path, frame)] == [message]
    assert run("check", recorded(tmp_path, frame)).exit_code == 1


def test_a_member_of_a_newer_peer_is_counted_and_no_problem(tmp_path: Path) -> None:
    later = request("prompt", {"text": "x", "urgency": 3}, session="s") | {"trace": "t"}
    file = recorded(tmp_path, later)
    assert run("check", file).exit_code == 0 and "2 unknown members" in run("check", file).output
    free = request("sessions.create", {"cwd": "/w", "extensions": {"requirepolicy": 1}})
    found = json.loads(run("check", "--json", recorded(tmp_path, free)).output)
    assert found["unknownMembers"] == 0 and found["problems"] == []


def test_a_last_line_without_its_lf_is_a_problem(tmp_path: Path) -> None:
    good = json.dumps(event(2)).encode()
    rule = "frame: the stream ends inside this frame, before its LF"
    assert problems(tmp_path, good + b"\n") == []
    assert problems(tmp_path, event(1), good) == [(2, "invalid_request", rule)]
    result = run("check", "-", stdin=good)
    assert result.exit_code == 1 and f"-:1: invalid_request: {rule}" in result.output
