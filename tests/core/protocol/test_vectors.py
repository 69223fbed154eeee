"""The vectors hold, and none is missing: what another implementation is told is what this one does."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from jsonschema import Draft202012Validator

from felan_core.protocol import (
    ERROR_CODES,
    INTERACTION_KINDS,
    LIMITS,
    ProtocolError,
    Unclaimed,
    Wire,
    parse_client_frame,
    parse_server_frame,
)
from felan_core.protocol.configuration import CONFIG_OPTIONS
from felan_core.protocol.control import ControlRequest, DaemonTarget
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import AnyOrigin, AnyPart, AnyToolContent, Entry
from felan_core.protocol.envelopes import Notice
from felan_core.protocol.events import EVENT_TYPES
from felan_core.protocol.forms import FormField
from felan_core.protocol.interactions import InteractionRequest
from felan_core.protocol.remote import REMOTE_OPERATIONS
from felan_core.protocol.schemas import json_schema, operation_names, schema_names, shapes
from tests.core.protocol.vectors import FOLDER, Vector, expanded, vectors

ALL: dict[str, list[Vector]] = defaultdict(list)
for _vector in vectors():
    ALL[_vector.shape].append(_vector)
FILES = sorted(ALL)


def tags(union: Any) -> list[str]:
    """What tells the alternatives of a union apart on the wire."""
    return [str(shape.__struct_config__.tag) for shape in get_args(union)]


ELEMENTS = tags(Element)
FIELDS = tags(FormField)
NAMED: dict[str, tuple[str, Any]] = {
    "DaemonTarget": ("target", DaemonTarget),
    "MessageEntry": ("part", AnyPart),
    "Origin": ("origin", AnyOrigin),
    "ServerEnvelope": ("notice", Notice),
    "ToolEntry": ("content", AnyToolContent),
}
"""Unions whose alternatives the rules of one file name: ``§7 content diff``."""


def verdict(vector: Vector) -> str | None:
    """What is wrong with the outcome of a vector; None when it is as the vector says."""
    before = json.dumps(vector.input)
    try:
        found = vector.run()
    except ProtocolError as error:
        path = error.message.partition(": ")[0]
        if vector.accepted:
            return f"refused: {error}"
        if error.code != vector.expect["code"] or vector.expect.get("path", path) != path:
            return f"refused otherwise: {error}"
        if len(error.message) > 1024:
            return "the refusal echoes its input"
    else:
        if not vector.accepted:
            return "accepted"
        if vector.has_value and found != vector.value:
            return f"read as {found!r}"
    return None if json.dumps(vector.input) == before else "the input was changed"


@pytest.mark.parametrize("file", FILES)
def test_every_vector_is_as_it_says(file: str) -> None:
    wrong = {vector.name: found for vector in ALL[file] if (found := verdict(vector)) is not None}
    assert wrong == {}


@pytest.mark.parametrize("file", FILES)
def test_every_line_has_the_members_that_the_page_names(file: str) -> None:
    seen: set[str] = set()
    for line in (FOLDER / f"{file}.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        assert (
            {"name", "input", "expect", "rule"}
            <= one.keys()
            <= {"name", "input", "expect", "rule", "value", "op"}
        )
        assert one["rule"].startswith("§"), one["name"]
        assert one["expect"] == "ok" or one["expect"]["code"] in ERROR_CODES, one["name"]
        assert one["name"] not in seen, one["name"]
        seen.add(one["name"])


# The input of a BootstrapHello is the whole hello that it is picked out of.
WITH_SCHEMA = [file for file in FILES if file in {*schema_names(), *operation_names()} - {"BootstrapHello"}]


@pytest.mark.parametrize("file", WITH_SCHEMA)
def test_what_is_accepted_is_valid_under_its_schema(file: str) -> None:
    validator = Draft202012Validator(json_schema(file))
    for vector in ALL[file]:
        if vector.accepted:
            problems = [error.message[:200] for error in validator.iter_errors(expanded(vector.input))]
            assert problems == [], vector.name


def outcome(parse: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "ok", msgspec.to_builtins(parse())
    except ProtocolError as error:
        return error.code, error.message


@pytest.mark.parametrize("vector", ALL["ClientEnvelope"], ids=lambda one: one.name)
def test_a_request_gets_the_same_verdict_as_bytes(vector: Vector) -> None:
    line = json.dumps(expanded(vector.input)).encode()
    assert outcome(lambda: parse_client_frame(line)) == outcome(vector.run)


@pytest.mark.parametrize("vector", ALL["ServerEnvelope"], ids=lambda one: one.name)
def test_a_frame_of_a_host_gets_the_same_verdict_as_bytes(vector: Vector) -> None:
    line = json.dumps(expanded(vector.input)).encode()
    if vector.name == "an accepted reply that answers nothing":
        # In bytes it may come back: whose it is nobody can say yet.
        assert isinstance(parse_server_frame(line, lambda _: None), Unclaimed)
    else:
        assert outcome(lambda: parse_server_frame(line, lambda _: vector.op)) == outcome(vector.run)


@pytest.mark.parametrize("file", WITH_SCHEMA)
def test_where_a_schema_takes_what_the_parser_refuses_it_says_that_it_cannot_say(file: str) -> None:
    schema = json_schema(file)
    validator = Draft202012Validator(schema)
    refused = [vector for vector in ALL[file] if not vector.accepted]
    taken = [vector.name for vector in refused if validator.is_valid(expanded(vector.input))]
    assert not taken or "$comment" in json.dumps(schema), taken


def test_every_rule_that_a_shape_has_in_code_is_in_the_comments_of_its_schema() -> None:
    for name, shape in shapes().items():
        if shape.verify is not Wire.verify or shape.weigh is not Wire.weigh:
            assert json_schema(name)["$defs"][name].get("$comment"), name


@pytest.mark.parametrize("file", WITH_SCHEMA)
def test_what_is_accepted_encodes_to_what_parses_to_the_same(file: str) -> None:
    for vector in ALL[file]:
        if vector.accepted:
            once = vector.run()
            again = vector._replace(input=json.loads(msgspec.json.encode(once)))
            assert again.run() == once, vector.name


def sides(covers: Any) -> set[bool]:
    """Which sides the vectors have that ``covers`` holds for: accepted, refused."""
    return {vector.accepted for file in FILES for vector in ALL[file] if covers(vector)}


@pytest.mark.parametrize("limit", list(msgspec.to_builtins(LIMITS)))
def test_every_limit_has_vectors_on_both_sides(limit: str) -> None:
    assert sides(lambda vector: limit in vector.rule.replace(":", " ").split()) == {True, False}


@pytest.mark.parametrize("name", operation_names())
def test_every_operation_has_vectors_on_both_sides(name: str) -> None:
    assert {vector.accepted for vector in ALL[name]} == {True, False}


@pytest.mark.parametrize("kind", list(EVENT_TYPES))
def test_every_event_type_has_vectors_on_both_sides(kind: str) -> None:
    assert {one.accepted for one in ALL["SessionEvent"] if kind in one.rule.split()} == {True, False}


@pytest.mark.parametrize("kind", INTERACTION_KINDS)
def test_every_interaction_kind_has_vectors_on_both_sides(kind: str) -> None:
    for file in ("Interaction", "InteractionAnswer"):
        named = [one for one in ALL[file] if one.name.split(":")[0].split(",")[0].split(" ")[0] == kind]
        assert {one.accepted for one in named} == {True, False}, file


def test_the_kinds_of_interactions_are_those_that_there_are() -> None:
    assert list(INTERACTION_KINDS) == tags(InteractionRequest)


@pytest.mark.parametrize("kind", tags(Entry))
def test_every_entry_kind_has_vectors_on_both_sides(kind: str) -> None:
    assert {one.accepted for one in ALL[f"{kind.title()}Entry"]} == {True, False}


@pytest.mark.parametrize(
    ("file", "named"),
    [(file, f"{word} {tag}") for file, (word, union) in NAMED.items() for tag in tags(union)],
)
def test_every_other_kind_has_vectors_on_both_sides(file: str, named: str) -> None:
    assert {one.accepted for one in ALL[file] if one.rule.partition(" ")[2] == named} == {True, False}


@pytest.mark.parametrize("command", get_args(ControlRequest.__annotations__["command"]))
def test_every_control_command_has_vectors_on_both_sides(command: str) -> None:
    named = [one for one in ALL["ControlRequest"] if one.input.get("command") == command]
    assert {one.accepted for one in named} == {True, False}


@pytest.mark.parametrize("name", REMOTE_OPERATIONS)
def test_every_remote_operation_has_vectors_on_both_sides(name: str) -> None:
    named = [one for one in ALL["RemoteOperation"] if one.input.get("op") == name]
    assert {one.accepted for one in named} == {True, False}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_every_element_kind_has_vectors_on_both_sides(kind: str) -> None:
    assert {one.accepted for one in ALL[f"{kind.title()}Element"]} == {True, False}


@pytest.mark.parametrize("kind", FIELDS)
def test_every_form_field_type_has_vectors_on_both_sides(kind: str) -> None:
    declared = f"{kind.title().replace('_', '')}Field"
    assert {one.accepted for one in ALL[declared]} == {True, False}
    assert {one.accepted for one in ALL["FormValues"] if one.name.startswith(f"{kind}:")} == {True, False}


@pytest.mark.parametrize("code", ERROR_CODES)
def test_every_error_code_has_vectors_on_both_sides(code: str) -> None:
    assert {one.accepted for one in ALL["ErrorBody"] if one.rule.endswith(f" {code}")} == {True, False}


@pytest.mark.parametrize("name", list(CONFIG_OPTIONS))
def test_every_option_has_vectors_on_both_sides(name: str) -> None:
    named = [one for one in ALL["Configuration"] if name in expanded(one.input)]
    assert {one.accepted for one in named} == {True, False}
