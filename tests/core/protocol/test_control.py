"""Managing a host of another version, and saying which host is meant."""

import json
from typing import Any

import pytest

from felan_core.protocol import ProtocolError, encode_frame
from felan_core.protocol.control import (
    NamespaceTarget,
    ProductionTarget,
    is_control,
    parse_bootstrap_hello,
    parse_control_request,
    parse_control_response,
    parse_daemon_target,
    require_target,
    same_target,
)
from felan_core.protocol.operations import Target

TARGET = {"namespace": "production", "instance": "i1", "root": "/home/a/felan"}
REQUEST: dict[str, Any] = {"control": 1, "id": "c1", "command": "stop", "mode": "drain", "target": TARGET}
RESPONSE: dict[str, Any] = {
    "control": 1,
    "re": "c1",
    "outcome": "accepted",
    "protocolVersions": [2, 3],
    "binary": {"name": "felan", "version": "9.0"},
    "root": "/home/a/felan",
    "instance": "i1",
    "lifecycle": "draining",
}


def code_of(parser: Any, value: Any) -> str:
    with pytest.raises(ProtocolError) as refusal:
        parser(value)
    return refusal.value.code


def test_the_bootstrap_of_any_version_is_read_and_the_rest_is_stripped() -> None:
    frame = {
        "v": 7,
        "id": "h1",
        "op": "hello",
        "future": {"x": 1},
        "params": {
            "protocolVersions": [7, 8],
            "client": {"kind": "k", "name": "n", "version": "1"},
            "new": 1,
        },
    }
    hello = parse_bootstrap_hello(frame)
    assert (hello.v, hello.protocol_versions) == (7, [7, 8])
    assert json.loads(encode_frame(hello)) == {
        "v": 7,
        "id": "h1",
        "protocolVersions": [7, 8],
        "client": {"kind": "k", "name": "n", "version": "1"},
    }


@pytest.mark.parametrize(
    "versions", [[], [0], [True], list(range(1, 18)), None, [1.5], ["1"]], ids=lambda one: str(one)[:20]
)
def test_one_to_sixteen_positive_versions_are_offered(versions: Any) -> None:
    frame = {"v": 1, "id": "h1", "op": "hello", "params": {"protocolVersions": versions}}
    assert code_of(parse_bootstrap_hello, frame) == "invalid_request"
    assert code_of(parse_control_response, RESPONSE | {"protocolVersions": versions}) == "invalid_request"


@pytest.mark.parametrize("extra", ["env", "environment", "session", "params", "prompt", "v", "op"])
def test_work_or_an_environment_in_a_control_request_is_refused(extra: str) -> None:
    assert code_of(parse_control_request, REQUEST | {extra: {}}) == "invalid_request"
    assert code_of(parse_control_request, REQUEST | {"target": TARGET | {extra: "x"}}) == "invalid_request"


def test_a_control_request_says_which_command_and_which_host() -> None:
    request = parse_control_request(REQUEST)
    assert (request.command, request.mode, request.target.instance) == ("stop", "drain", "i1")
    for missing in ("id", "command", "target"):
        short = {name: value for name, value in REQUEST.items() if name != missing}
        assert code_of(parse_control_request, short) == "invalid_request"
    assert code_of(parse_control_request, REQUEST | {"command": "status"}) == "invalid_request"
    assert code_of(parse_control_request, REQUEST | {"command": "prompt"}) == "invalid_request"


@pytest.mark.parametrize(
    ("version", "code"), [(2, "protocol_mismatch"), (0, "invalid_request"), (True, "invalid_request")]
)
def test_another_control_version_is_a_mismatch(version: Any, code: str) -> None:
    assert code_of(parse_control_request, REQUEST | {"control": version}) == code
    assert code_of(parse_control_response, RESPONSE | {"control": version}) == code


def test_a_response_may_have_added_members_and_other_versions() -> None:
    response = parse_control_response(
        RESPONSE | {"sockets": ["a"], "binary": {"name": "f", "version": "1", "x": 1}}
    )
    assert response.protocol_versions == [2, 3]
    assert "sockets" not in json.loads(encode_frame(response))


def test_an_error_goes_with_every_outcome_but_accepted() -> None:
    error = {"code": "target_mismatch", "message": "another host"}
    assert parse_control_response(RESPONSE | {"outcome": "rejected", "error": error}).outcome == "rejected"
    assert code_of(parse_control_response, RESPONSE | {"outcome": "rejected"}) == "invalid_request"
    assert code_of(parse_control_response, RESPONSE | {"error": error}) == "invalid_request"


def test_a_target_is_compared_whole_after_its_path_is_made_canonical() -> None:
    mine = Target(namespace="production", instance="i1", root="/data")
    assert same_target(mine, mine)
    for other in (
        Target(namespace="other", instance="i1", root="/data"),
        Target(namespace="production", instance="i2", root="/data"),
        Target(namespace="production", instance="i1", root="/data/"),
    ):
        with pytest.raises(ProtocolError, match="target_mismatch"):
            require_target(other, mine)
    slash = Target(namespace="production", instance="i1", root="/data/")
    require_target(slash, mine, canonical=lambda path: path.rstrip("/"))


def test_a_daemon_is_production_or_a_named_namespace() -> None:
    assert parse_daemon_target({"kind": "production", "added": 1}) == ProductionTarget()
    assert parse_daemon_target({"kind": "namespace", "name": "ci-2"}) == NamespaceTarget(name="ci-2")


@pytest.mark.parametrize("name", ["", "production", "A", "-a", "a/b", "..", "a\n", "a" * 65, 3, None])
def test_a_namespace_is_a_plain_name(name: Any) -> None:
    assert code_of(parse_daemon_target, {"kind": "namespace", "name": name}) == "invalid_request"


def test_an_unknown_kind_of_daemon_is_refused() -> None:
    for value in ({}, {"kind": "staging"}, [], "production", None, {"kind": ["production"]}):
        assert code_of(parse_daemon_target, value) == "invalid_request"


def test_control_frames_are_told_apart_before_they_are_parsed() -> None:
    assert is_control(REQUEST) and is_control(RESPONSE)
    assert not is_control({"v": 1}) and not is_control([])
