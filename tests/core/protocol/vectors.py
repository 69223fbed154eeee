"""The vectors of tests/vectors as Python reads them: docs/vectors.md says what they are."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from felan_core.protocol import (
    LIMITS,
    OPERATION_CATALOG,
    ActiveStream,
    JsonLineDecoder,
    NoticeFrame,
    Offer,
    ProtocolError,
    Requested,
    ResyncRequired,
    ServerConnection,
    StoredRequestRecord,
    StreamPosition,
    canonical_request_payload,
    check_request_capacity,
    classify_revision,
    classify_text_delta,
    compare_request_payload,
    deferred_until,
    encode_frame,
    is_overdue,
    is_retained,
    normalise_mutation_id,
    parse_client_envelope,
    parse_interaction,
    parse_operation_params,
    parse_operation_result,
    parse_server_envelope,
    parse_session_event,
    parse_session_snapshot,
    parse_stored_event_row,
    parse_stored_request_record,
    request_retain_until,
    validate_interaction_answer,
)
from felan_core.protocol.configuration import check_config_values
from felan_core.protocol.connection import too_many
from felan_core.protocol.control import (
    parse_bootstrap_hello,
    parse_control_request,
    parse_control_response,
    parse_daemon_target,
)
from felan_core.protocol.entries import AnyOrigin
from felan_core.protocol.forms import check_values
from felan_core.protocol.interactions import FormRequest
from felan_core.protocol.remote import parse_remote_command_row, parse_remote_operation
from felan_core.protocol.schemas import shapes
from felan_core.protocol.send_queue import SendQueue
from felan_core.protocol.validate import parse_json_value, parse_schema

FOLDER = Path(__file__).parents[2] / "vectors"


class Vector(NamedTuple):
    """One line. ``value``: what the parser returns, where the line says so; ``op``: of the request that a
    reply answers.
    """

    shape: str
    name: str
    input: Any
    expect: Any
    rule: str
    value: Any
    has_value: bool
    op: str | None

    @property
    def accepted(self) -> bool:
        return self.expect == "ok"

    def run(self) -> Any:
        """What the parser of the shape makes of the input, as plain JSON. Raises ``ProtocolError``."""
        found = reader_of(self.shape)(expanded(self.input), self)
        return msgspec.to_builtins(found)


def vectors() -> Iterator[Vector]:
    """All of them, file by file."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            yield Vector(
                path.stem,
                one["name"],
                one["input"],
                one["expect"],
                one["rule"],
                one.get("value"),
                "value" in one,
                one.get("op"),
            )


def expanded(value: Any) -> Any:
    """The input with ``$bytes`` and ``$repeat`` put in."""
    match value:
        case {"$bytes": str(data)} if len(value) == 1:
            return base64.b64decode(data)
        case {"$repeat": [str(text), int(count)]} if len(value) == 1:
            return text * count
        case dict():
            return {name: expanded(one) for name, one in value.items()}
        case list():
            return [expanded(one) for one in value]
        case _:
            return value


Reader = Callable[[Any, Vector], Any]


def _answer(value: Any, vector: Vector) -> Any:
    interaction = parse_interaction(value["interaction"])
    return validate_interaction_answer(interaction.request, value["answer"])


def _form_values(value: Any, vector: Vector) -> Any:
    form = {"title": "t", "fields": value["fields"], "submit": {"id": "s", "label": "S"}}
    request = parse_schema(
        FormRequest, {"kind": "form", "form": form | {"cancel": {"id": "c", "label": "C"}}}, ""
    )
    check_values(request.form.fields, value["values"], "values")
    return value["values"]


def _stream(value: Any, vector: Vector) -> Any:
    decoder = JsonLineDecoder()
    frames = [
        frame
        for chunk in value
        for frame in decoder.push(chunk if isinstance(chunk, bytes) else chunk.encode())
    ]
    decoder.finish()
    return frames


def _text_delta(value: Any, vector: Vector) -> Any:
    state = value["state"]
    held = ActiveStream(state["kind"], state["text"]) if isinstance(state, dict) else state
    at = {"message": "m", "id": "p", "kind": value["kind"], "offset": value["offset"]}
    return classify_text_delta(held, parse_schema(StreamPosition, at, "stream"), value["text"])


def _retained(value: Any, vector: Vector) -> Any:
    until = request_retain_until(value["id"], value["admittedAt"])
    if not is_retained(until, value["now"]):
        raise ProtocolError("not_found", "record: it is retained no more")
    return until


def _admission(value: Any, vector: Vector) -> Any:
    """``held`` are counted, ``more`` come: the product's own objects count them."""
    _COUNTERS[value["counted"]](value["held"], value["more"], value.get("durability"))


def _connection() -> ServerConnection:
    """A host's end of a connection, hello done."""
    hello = next(one for one in vectors() if one.shape == "hello.result" and one.accepted)
    connection = ServerConnection(Offer(lambda: parse_operation_result("hello", expanded(hello.input))))
    client = {"kind": "tui", "name": "n", "version": "1"}
    params = {"protocolVersions": [1], "client": client}
    connection.receive(encode_frame({"v": 1, "id": "h", "op": "hello", "params": params}))
    connection.queue.take(LIMITS.frame_bytes)
    return connection


def _in_flight(held: int, more: int, _: str | None) -> None:
    connection = _connection()
    for number in range(held + more):
        request = {"v": 1, "id": f"r{number}", "op": "host.status", "params": {}}
        (event,) = connection.receive(encode_frame(request))
        assert isinstance(event, Requested)
        if event.crowded:
            assert number >= held
            raise too_many()


def _unsent(held: int, more: int, _: str | None) -> None:
    queue = SendQueue()
    queue.reply(bytes(held))
    connection = _connection()
    connection.queue = queue
    if not connection.publish(bytes(more), "s"):
        notice = parse_server_envelope(json.loads(queue.take(held + LIMITS.frame_bytes)[held:]))
        assert isinstance(notice, NoticeFrame) and isinstance(notice.notice, ResyncRequired)
        raise ProtocolError("resync_required", f"notice: {notice.notice.reason}")


def _deferred(held: int, more: int, _: str | None) -> None:
    """``held`` ms after the drain of the host the answer comes ``more`` ms later."""
    drained = 1_000_000
    asked = {"id": "i", "scope": {"session": "s", "root": "s"}, "createdAt": 1, "deferrable": True}
    asked |= {"state": "deferred", "request": {"kind": "confirm", "title": "t"}}
    interaction = parse_interaction(asked)
    until = deferred_until(interaction, drained)
    if is_overdue(parse_interaction(asked | {"expiresAt": until}), drained + held + more):
        raise ProtocolError("expired", "interaction: its time is over")


def _of_session(held: int, more: int, durability: Any) -> None:
    for number in range(more):
        check_request_capacity(durability, in_session=held + number, in_namespace=held + number)


def _of_namespace(held: int, more: int, durability: Any) -> None:
    for number in range(more):
        check_request_capacity(durability, in_session=0, in_namespace=held + number)


_COUNTERS: dict[str, Callable[[int, int, Any], None]] = {
    "deferredMs": _deferred,
    "inFlightRequests": _in_flight,
    "requestsPerNamespace": _of_namespace,
    "requestsPerSession": _of_session,
    "unsentBytes": _unsent,
}


def _comparison(value: Any, vector: Vector) -> Any:
    stored: StoredRequestRecord | None = None
    if value["stored"] is not None:
        kept = {"id": "r", "principal": "p", "op": "close", "admittedAt": 1, "retainUntil": 2}
        stored = parse_schema(StoredRequestRecord, {**kept, **value["stored"]})
    return compare_request_payload(stored, value["payload"])


_ORIGIN: Any = AnyOrigin
_READERS: dict[str, Reader] = {
    "Admission": _admission,
    "BootstrapHello": lambda value, _: parse_bootstrap_hello(value),
    "CanonicalPayload": lambda value, _: canonical_request_payload(
        value["op"], value.get("session"), value["params"]
    ),
    "ClientEnvelope": lambda value, _: parse_client_envelope(value),
    "Configuration": lambda value, _: check_config_values(value),
    "ControlRequest": lambda value, _: parse_control_request(value),
    "ControlResponse": lambda value, _: parse_control_response(value),
    "DaemonTarget": lambda value, _: parse_daemon_target(value),
    "FormValues": _form_values,
    "Interaction": lambda value, _: parse_interaction(value),
    "InteractionAnswer": _answer,
    "JsonValue": lambda value, _: parse_json_value(value),
    "MutationId": lambda value, _: normalise_mutation_id(value),
    "Origin": lambda value, _: parse_schema(_ORIGIN, value, ""),
    "RemoteCommandRow": lambda value, _: parse_remote_command_row(value),
    "RemoteOperation": lambda value, _: parse_remote_operation(value),
    "RequestComparison": _comparison,
    "RequestRetention": _retained,
    "Revision": lambda value, _: classify_revision(value["current"], value["incoming"]),
    "ServerEnvelope": lambda value, vector: parse_server_envelope(value, vector.op),
    "SessionEvent": lambda value, _: parse_session_event(value),
    "SessionSnapshot": lambda value, _: parse_session_snapshot(value),
    "StoredEventRow": lambda value, _: parse_stored_event_row(value),
    "StoredRequestRecord": lambda value, _: parse_stored_request_record(value),
    "Stream": _stream,
    "TextDelta": _text_delta,
}


def reader_of(shape: str) -> Reader:
    """The parser of a file's shape; the file is named as ``felan protocol schema`` names it."""
    known = _READERS.get(shape)
    if known is not None:
        return known
    operation, _, part = shape.rpartition(".")
    if operation in OPERATION_CATALOG:
        parse = parse_operation_params if part == "params" else parse_operation_result
        return lambda value, _: parse(operation, value)
    struct = shapes()[shape]
    return lambda value, _: parse_schema(struct, value, "")
