"""The refusal of an enumeration names its choices, and a newer host's lifecycle is no reason to refuse it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from felan_core.protocol import (
    ProtocolError,
    parse_client_envelope,
    parse_control_request,
    parse_control_response,
    parse_daemon_target,
    parse_interaction,
    parse_operation_result,
    parse_schema,
    parse_server_envelope,
    validate_interaction_answer,
)
from felan_core.protocol.elements import ViewElement
from felan_core.protocol.forms import Form
from tests.core.protocol.vectors import Vector, expanded, vectors


def request(op: str, params: Any, **session: str) -> Any:
    identity = "01890a5d-ac96-774b-bcce-b302099a8057"
    return {"v": 1, "id": identity, "op": op, "params": params} | session


def event(**members: Any) -> Any:
    return {"v": 1, "session": "s", "revision": 2, "at": 1, "event": members}


def refusal(parse: Any, *given: Any) -> str:
    with pytest.raises(ProtocolError) as error:
        parse(*given)
    return error.value.message


FORM = {"title": "t", "submit": {"id": "ok", "label": "OK"}, "cancel": {"id": "no", "label": "No"}}
VIEW = {"id": "v", "revision": 1, "kind": "view", "page": {"index": 0, "size": 1, "hasMore": False}}
COLUMN = {"id": "c", "label": "C", "type": "string"}
FLAG = {"id": "a", "label": "A", "type": "boolean"}


def options(*ids: str) -> list[Any]:
    return [{"id": one, "label": one.upper()} for one in ids]


CHOICE = {"type": "enum", "options": options("a", "b\x1b")}


@pytest.mark.parametrize(
    ("parse", "value", "message"),
    [
        (
            parse_client_envelope,
            request("session.export", {"format": "pdf"}, session="s"),
            "params.format: must be one of html, jsonl, markdown",
        ),
        (
            parse_client_envelope,
            request("sessions.create", {"cwd": "/w", "requirePolicy": "strict"}),
            "params.requirePolicy: must be one of acp-strict, default",
        ),
        (
            parse_server_envelope,
            {"v": 1, "notice": {"type": "must_pause"}},
            "notice.type: must be one of resync_required, protocol_error",
        ),
        (
            parse_server_envelope,
            event(type="run.ended", run="r", outcome="done"),
            "event.outcome: must be one of cancelled, completed, failed, interrupted",
        ),
        (
            parse_server_envelope,
            event(type="presentation.updated", element={"id": "e", "revision": 1, "kind": "chart"}),
            "event.element.kind: must be one of status, progress, document, view",
        ),
        (
            lambda value: parse_schema(Form, value, "form"),
            FORM | {"fields": [FLAG, {"id": "b", "label": "B", "type": "date"}]},
            "form.fields[1].type: must be one of string, boolean, number, enum, multi_select",
        ),
        (
            lambda value: parse_schema(ViewElement, value, "view"),
            VIEW | {"layout": "grid", "columns": [COLUMN], "items": []},
            "view.layout: must be one of list, table",
        ),
        (
            lambda value: parse_schema(ViewElement, value, "view"),
            VIEW | {"layout": "list", "columns": [COLUMN], "items": [{"id": "i", "fields": {"d": "x"}}]},
            "view.items[0].fields.d: no column has this id: it must be c",
        ),
        (
            parse_control_request,
            {"control": 1, "id": "c", "command": "pause", "target": {}},
            "command: must be one of restart, status, stop",
        ),
        (parse_daemon_target, {"kind": "staging"}, "target.kind: must be one of production, namespace"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_the_refusal_of_an_enumeration_names_its_choices(parse: Any, value: Any, message: str) -> None:
    assert refusal(parse, value) == message


@pytest.mark.parametrize(
    ("request_", "answer", "message"),
    [
        (
            {"kind": "select", "title": "t", "options": options("a", "b")},
            {"options": ["A"]},
            "answer.options: each must be one of a, b",
        ),
        (
            {"kind": "approval", "title": "t", "subject": {"category": "other"}}
            | {"options": [{"id": "y", "label": "Y", "effect": "allow_once"}]},
            {"option": "yes"},
            "answer.option: must be y",
        ),
        (
            {"kind": "form", "form": FORM | {"fields": []}},
            {"action": "maybe"},
            "answer.action: must be one of ok, no",
        ),
        (
            {"kind": "form", "form": FORM | {"fields": [FLAG | CHOICE]}},
            {"action": "ok", "values": {"a": "c"}},
            "answer.values.a: choose one of the options: each must be one of a, b\\x1b",
        ),
        (
            {"kind": "form", "form": FORM | {"fields": [FLAG]}},
            {"action": "ok", "values": {"g": True}},
            "answer.values.g: no field has this id: it must be a",
        ),
    ],
    ids=["select", "approval", "form", "enum", "field"],
)  # fmt: skip
def test_the_refusal_of_an_answer_names_what_was_offered(request_: Any, answer: Any, message: str) -> None:
    kept = {"id": "i", "scope": {"session": "s", "root": "s"}, "createdAt": 1, "deferrable": False}
    interaction = parse_interaction(kept | {"state": "waiting", "request": request_})
    assert refusal(validate_interaction_answer, interaction.request, answer) == message


def test_many_choices_are_cut() -> None:
    kept = {"id": "i", "scope": {"session": "s", "root": "s"}, "createdAt": 1, "deferrable": False}
    select = {"kind": "select", "title": "t", "options": options(*(f"o{index}" for index in range(200)))}
    interaction = parse_interaction(kept | {"state": "waiting", "request": select})
    message = refusal(validate_interaction_answer, interaction.request, {"options": ["x"]})
    assert message.endswith("o22, o23 and 176 more") and len(message) < 300


def replaced(value: Any) -> Iterator[Any]:
    """Copies of ``value`` in each of which one string is another."""

    def places(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, inner in pairs:
            if isinstance(inner, str):
                yield (*path, key)
            else:
                yield from places(inner, (*path, key))

    for *path, last in places(value, ()):
        changed = copy.deepcopy(value)
        part = changed
        for key in path:
            part = part[key]
        part[last] = "moon"
        yield changed


SMALL = [one for one in vectors() if one.accepted and len(json.dumps(one.input)) < 800]
FILES = sorted({one.shape for one in SMALL} - {"Configuration", "Stream"})


@pytest.mark.parametrize("file", FILES)
def test_no_enumeration_is_refused_without_its_choices(file: str) -> None:
    for vector in (one for one in SMALL if one.shape == file):
        for changed in replaced(expanded(vector.input)):
            other: Vector = vector._replace(input=changed)
            try:
                other.run()
            except ProtocolError as error:
                assert "known here" not in error.message, error.message
            except KeyError:
                pass  # the vector's own frame: the counter of an admission


HELLO: dict[str, Any] = {
    "protocolVersion": 1,
    "host": {"namespace": "n", "instance": "i", "root": "/r", "version": "9", "lifecycle": "hibernating"},
    "operations": [],
    "interactions": [],
    "capabilities": {"ui": [], "features": []},
    "principal": {"id": "p", "kind": "local"},
    "limits": {
        "frameBytes": 1,
        "unsentBytes": 1,
        "inFlightRequests": 1,
        "pageEntries": 1,
        "pageBytes": 1,
        "processReadBytes": 1,
        "processWriteBytes": 1,
        "heartbeatMs": 1,
    },
}


def test_the_lifecycle_of_a_newer_host_is_kept_as_it_came() -> None:
    assert parse_operation_result("hello", HELLO).host.lifecycle == "hibernating"
    assert parse_operation_result("host.stop", {"lifecycle": "hibernating"}).lifecycle == "hibernating"
    control = {"control": 1, "re": "c", "outcome": "accepted", "protocolVersions": [2], "root": "/r"}
    control |= {"binary": {"name": "felan", "version": "9"}, "instance": "i", "lifecycle": "hibernating"}
    assert parse_control_response(control).lifecycle == "hibernating"
    empty = {**HELLO, "host": {**HELLO["host"], "lifecycle": ""}}
    assert refusal(parse_operation_result, "hello", empty) == "result.host.lifecycle: may not be empty"
