"""Commands that a platform queued: who is behind them, and what they may ask."""

from typing import Any

import pytest

from felan_core.protocol import ProtocolError, new_uuid7
from felan_core.protocol.entries import AutomationOrigin, ChannelOrigin, WebOrigin
from felan_core.protocol.remote import (
    REMOTE_OPERATIONS,
    RemoteCreateParams,
    parse_remote_command_row,
    parse_remote_operation,
)

ROW: dict[str, Any] = {
    "id": "c1",
    "host": "h1",
    "session": "s1",
    "op": "prompt",
    "params": {"text": "go"},
    "createdAt": 1,
}


def refusal(parser: Any, value: Any) -> str:
    with pytest.raises(ProtocolError) as caught:
        parser(value)
    return caught.value.code


def test_each_provenance_gives_its_origin() -> None:
    assert parse_remote_command_row(ROW | {"requester": "u1"}).origin == WebOrigin(user="u1", command="c1")
    by_rule = parse_remote_command_row(ROW | {"automation": {"source": "nightly"}})
    assert by_rule.origin == AutomationOrigin(source="nightly")
    chat = {"channel": {"provider": "chat_2"}}
    assert parse_remote_command_row(ROW | chat).origin == ChannelOrigin(provider="chat_2", command="c1")
    by_user = parse_remote_command_row(ROW | chat | {"requester": "u1"})
    assert by_user.origin == ChannelOrigin(provider="chat_2", user="u1", command="c1")


@pytest.mark.parametrize(
    "provenance",
    [
        {},
        {"automation": {"source": "a"}, "requester": "u"},
        {"automation": {"source": "a"}, "channel": {"provider": "p"}},
        {"automation": {}},
        {"automation": {"source": ""}},
        {"automation": {"source": "ä" * 129}},
        {"requester": None},
        {"requester": "u", "channel": None},
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_row_has_exactly_one_provenance(provenance: dict[str, Any]) -> None:
    assert refusal(parse_remote_command_row, ROW | provenance) == "invalid_request"


def test_an_automation_source_is_bounded_in_bytes() -> None:
    assert parse_remote_command_row(ROW | {"automation": {"source": "ä" * 128}})


@pytest.mark.parametrize("provider", ["", "Chat", "1a", "a b", "a\n", "é", "a" * 65, "a.b"])
def test_the_whole_provider_matches(provider: str) -> None:
    assert refusal(parse_remote_command_row, ROW | {"channel": {"provider": provider}}) == "invalid_request"


def test_a_provider_of_sixty_four_bytes_is_taken() -> None:
    assert parse_remote_command_row(ROW | {"channel": {"provider": "a" * 64}})


def test_a_row_names_a_session_as_its_operation_says() -> None:
    row = ROW | {"requester": "u"}
    create: dict[str, Any] = {name: value for name, value in row.items() if name != "session"}
    create |= {"op": "sessions.create", "params": {"cwd": "/srv/app"}}
    assert parse_remote_command_row(create).op == "sessions.create"
    assert refusal(parse_remote_command_row, create | {"session": "s"}) == "invalid_request"
    del row["session"]
    assert refusal(parse_remote_command_row, row) == "invalid_request"


def test_the_parameters_of_a_row_are_those_of_its_operation() -> None:
    assert refusal(parse_remote_command_row, ROW | {"requester": "u", "params": {}}) == "invalid_request"


@pytest.mark.parametrize("op", ["shell.execute", "session.delete", "config.set", "hello", "nothing"])
def test_what_cannot_be_asked_remotely_is_unsupported(op: str) -> None:
    assert refusal(parse_remote_operation, {"op": op, "params": {}}) == "unsupported_operation"
    assert refusal(parse_remote_command_row, ROW | {"op": op, "requester": "u"}) == "unsupported_operation"


def test_eight_operations_are_remote() -> None:
    assert len(set(REMOTE_OPERATIONS)) == 8


def test_a_remote_session_may_have_the_id_that_the_platform_chose() -> None:
    chosen = new_uuid7()
    params = parse_remote_operation(
        {"op": "sessions.create", "params": {"cwd": "/srv/app", "sessionId": chosen, "instructions": "x"}}
    ).params
    assert isinstance(params, RemoteCreateParams) and params.session_id == chosen
    for other in (chosen.upper(), chosen[:-1], chosen + "\n", "{" + chosen + "}"):
        command = {"op": "sessions.create", "params": {"cwd": "/srv/app", "sessionId": other}}
        assert refusal(parse_remote_operation, command) == "invalid_request"
