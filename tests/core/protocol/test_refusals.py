"""What every refusal keeps to: an error of our own, with the place and the rule, and little of the input."""

import copy
import json
from typing import Any

import pytest

from felan_core.protocol import (
    LIMITS,
    ErrorBody,
    ProtocolError,
    canonical_request_payload,
    decode,
    encode_frame,
    parse_bootstrap_hello,
    parse_client_envelope,
    parse_client_frame,
    parse_control_request,
    parse_control_response,
    parse_daemon_target,
    parse_interaction,
    parse_json_value,
    parse_operation_params,
    parse_remote_command_row,
    parse_remote_operation,
    parse_server_envelope,
    parse_session_command,
    parse_session_event,
    parse_session_snapshot,
    parse_stored_event_row,
    parse_stored_request_record,
    request_retain_until,
)
from felan_core.protocol.operations import PromptParams, UiActionParams
from tests.core.protocol.vectors import Vector, expanded, vectors

PARSERS = (
    *(parse_client_envelope, parse_server_envelope, parse_session_command, parse_session_event),
    *(parse_session_snapshot, parse_interaction, parse_stored_event_row, parse_stored_request_record),
    *(parse_bootstrap_hello, parse_control_request, parse_control_response, parse_daemon_target),
    *(parse_remote_command_row, parse_remote_operation),
)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("parse", PARSERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("odd", [None, True, 1, 1.5, float("nan"), "x", b"x", [], (), object(), nested(99)])
def test_what_is_no_object_is_refused_by_every_parser(parse: Any, odd: Any) -> None:
    with pytest.raises(ProtocolError, match=": "):
        parse(odd)


LONG = "\x1b[31mZ" * 3000
ODD: dict[str, Any] = {
    "long": LONG,
    "a name that is long": {LONG: 2**60},
    "a surrogate": "Q\ud800",
    "large": 2**60,
    "NaN": float("nan"),
    "deep": nested(40),
    "a tuple": (1, 2),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(one for name, item in below for one in places(item, (*path, name)))]


WHOLE = [
    # The result of attach is a snapshot, which is there by itself.
    *(one for one in vectors() if one.name == "every optional member" and one.shape != "attach.result"),
]


@pytest.mark.parametrize("vector", WHOLE, ids=lambda one: one.shape)
def test_a_refusal_says_place_and_rule_and_echoes_little(vector: Vector) -> None:
    whole = expanded(vector.input)
    for place in places(whole):
        for odd in ODD.values():
            value = copy.deepcopy(whole)
            holder = value
            for step in place[:-1]:
                holder = holder[step]
            holder[place[-1]] = odd
            before = repr(value)
            try:
                vector._replace(input=value).run()
            except ProtocolError as error:
                where, _, rule = error.message.partition(": ")
                assert where and rule and len(error.message) <= 300 and error.message.isprintable()
                assert error.message.count("Z") <= 40
                assert not {"msgspec", "Expected", "recursion"} & set(error.message.split())
            assert repr(value) == before


def test_a_long_path_is_cut_in_its_middle_and_the_rule_stays_whole() -> None:
    value: Any = [0] * (LIMITS.structured_entries + 1)
    for _ in range(30):
        value = {"n" * 60: value}
    with pytest.raises(ProtocolError, match=r"request: value\.n.*…n.*: more than 1024 entries$"):
        parse_json_value(value)
    for _ in range(3):
        value = {"m" * 60: value}
    with pytest.raises(ProtocolError, match=r"request: value\.m.*…n.*: nested deeper than 32$"):
        parse_json_value(value)


def test_an_error_of_a_peer_is_kept_whole() -> None:
    for text in ("x" * LIMITS.error_message_bytes, "é" * (LIMITS.error_message_bytes // 2)):
        body = ErrorBody(code="moon_full", message=text, details={"a": 1})
        assert ProtocolError.of(body).body == body


def test_an_error_of_our_own_fits_its_bounds() -> None:
    body = ProtocolError("busy", "🙂" * 4000).body
    assert body.message == "🙂" * (LIMITS.error_message_bytes // 4)
    assert decode(ErrorBody, encode_frame(body)) == body


@pytest.mark.parametrize("odd", ["\ud800", object(), nested(100_000)])
def test_what_is_no_json_is_not_encoded(odd: Any) -> None:
    with pytest.raises(ProtocolError, match="request: frame"):
        encode_frame({"x": odd})


def test_only_an_object_is_a_frame() -> None:
    for odd in ([], "x", 1, None):
        with pytest.raises(ProtocolError, match="request: frame: must be an object"):
            encode_frame(odd)


@pytest.mark.parametrize(
    ("odd", "rule"),
    [
        ("\ud800", "params.values.x: a lone surrogate"),
        (float("nan"), "params.values.x: not a finite number"),
        (2**53, "params.values.x: an integer beyond"),
        (object(), "params: not plain JSON"),
    ],
)
def test_parameters_that_no_parser_made_have_no_canonical_form(odd: Any, rule: str) -> None:
    params = UiActionParams(element="e", revision=1, action="a", values={"x": odd})
    with pytest.raises(ProtocolError, match=rule):
        canonical_request_payload("ui.action", "s", params)
    with pytest.raises(ProtocolError, match=r"params\.text: a lone surrogate"):
        canonical_request_payload("prompt", "s", PromptParams(text="\ud800"))


def test_an_expected_revision_of_config_set_is_refused_by_every_way_in() -> None:
    params = {"values": {}, "expectedRevision": 3}
    frame = {"v": 1, "id": "01890a5d-ac96-774b-bcce-b302099a8057", "op": "config.set", "params": params}
    ways: tuple[Any, ...] = (
        lambda: parse_operation_params("config.set", params),
        lambda: canonical_request_payload("config.set", None, params),
        lambda: parse_session_command({"op": "config.set", "params": params}),
        lambda: parse_client_envelope(frame),
        lambda: parse_client_frame(json.dumps(frame).replace("expectedR", "\\u0065xpectedR").encode()),
    )
    for way in ways:
        with pytest.raises(ProtocolError, match=r"request: params\.expectedRevision: "):
            way()


def test_the_depth_of_a_command_is_counted_from_the_command() -> None:
    params = {"interaction": "i", "answer": {"x": nested(29)}}
    assert parse_session_command({"op": "interaction.answer", "params": params})
    params = {"interaction": "i", "answer": {"x": nested(30)}}
    with pytest.raises(ProtocolError, match="nested deeper than 32"):
        parse_session_command({"op": "interaction.answer", "params": params})
    assert parse_operation_params("interaction.answer", params)


def test_how_long_a_record_is_kept_goes_by_the_id_however_it_is_spelt() -> None:
    identity = "01890A5D-AC96-774B-BCCE-B302099A8057"
    assert request_retain_until(identity, 5) == request_retain_until(identity.lower(), 5)
    with pytest.raises(ProtocolError, match="request: id: "):
        request_retain_until("urn:uuid:" + identity, 5)
