"""Frames that are almost right: each is taken, or refused in words, the same by every way in."""

import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from felan_core.protocol import (
    ERROR_CODES,
    OPERATION_CATALOG,
    JsonLineDecoder,
    ProtocolError,
    encode_frame,
    new_uuid7,
    parse_client_envelope,
    parse_client_frame,
    parse_server_envelope,
    parse_server_frame,
    request_id,
)
from felan_core.protocol.frames import _check_request, _check_server_frame  # pyright: ignore[reportPrivateUsage] the peer
from tests.core.protocol.vectors import Vector, expanded, vectors

SMALL = 20_000
Case = tuple[dict[str, Any], str | None]
"""A frame, and the operation of the request that it answers."""


def _corpus() -> tuple[list[Case], list[Case]]:
    """Every vector that is right, as whole frames: a client's and a host's."""
    client: list[Case] = []
    host: list[Case] = []
    for vector in vectors():
        value = expanded(vector.input)
        if vector.accepted and len(msgspec.json.encode(value)) <= SMALL:
            _add(vector, value, client, host)
    return client, host


def _add(vector: Vector, value: Any, client: list[Case], host: list[Case]) -> None:
    if not isinstance(value, dict):
        return
    operation, _, part = vector.shape.rpartition(".")
    if vector.shape == "ClientEnvelope":
        client.append((value, None))
    elif vector.shape == "ServerEnvelope":
        host.append((value, vector.op))
    elif vector.shape == "SessionEvent":
        host.append(({"v": 1, "session": "s", "revision": 2, "at": 1, "event": value}, None))
    elif operation in OPERATION_CATALOG and part == "params":
        frame = {"v": 1, "id": new_uuid7(1), "op": operation, "params": value}
        scope = OPERATION_CATALOG[operation].scope
        client.append((frame if scope == "host" else {**frame, "session": "s"}, None))
    elif operation in OPERATION_CATALOG:
        host.append(({"v": 1, "re": "r", "outcome": "accepted", "result": value}, operation))


CLIENT, HOST = _corpus()
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53 - 1, 2**53, -(2**53), 2**64, 1.0, 1.5, -0.0, 1e300),
    *("", "x", "é", "\x00", "x" * 200, "x" * 1100, "🙂" * 40, "assistant"),
    *([], {}, [None], {"x": 1}, {"": {"": [1.0, "\ud800"]}}, [[[]]]),
)
BYTES = (
    *(b'"v":1,', b'"v":2,', b"\\ud800", b"\\u0000", b"1e400"),
    *(b"\xc3", b"\xff", b" ", b"}", b"{", b",", b'"', b"\x00"),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, item in value.items():
            found += _places(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value[:20]):
            found += _places(item, (*path, index))
    return found


def _change(frame: dict[str, Any], chance: random.Random) -> None:
    """One member somewhere is another, gone, new, renamed or wrapped."""
    *way, key = chance.choice(_places(frame))
    holder: Any = frame
    for step in way:
        holder = holder[step]
    new = json.loads(json.dumps(chance.choice(ODD)))
    how = chance.choice(("put", "put", "drop", "wrap", "add", "rename"))
    if how == "put":
        holder[key] = new
    elif how == "drop":
        del holder[key]
    elif how == "wrap":
        holder[key] = [holder[key]]
    elif isinstance(holder, list):
        holder.insert(key, new)
    elif how == "rename":
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder["added"] = new


def mutated(frame: dict[str, Any], chance: random.Random) -> bytes:
    copy: dict[str, Any] = json.loads(json.dumps(frame))
    for _ in range(chance.randint(0, 2)):
        if copy:
            _change(copy, chance)
    # Mostly as a host writes: what is compact takes the quick way, what is spaced the careful one.
    compact = (",", ":") if chance.random() < 0.7 else None
    if "v" in copy and chance.random() < 0.7:
        copy["v"] = copy.pop("v")
    text = json.dumps(copy, ensure_ascii=chance.random() < 0.3, separators=compact)
    line = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        at = chance.randrange(len(line) + 1)
        line = line[:at] + chance.choice(BYTES) + line[at + chance.randint(0, 2) :]
    return line.replace(b"\n", b" ")


def verdict(parse: Callable[[], Any]) -> tuple[str, Any]:
    """What became of it. Anything but a typed value or a ``ProtocolError`` is a fault, and raised."""
    try:
        typed = parse()
    except ProtocolError as error:
        assert error.code in ERROR_CODES and error.message
        assert len(encode_frame(error.body)) < 20_000
        return error.code, None
    return "ok", msgspec.to_builtins(typed)


def same(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    # 1.0 equals 1, and is not to be told from it on the wire: so the numbers have to look alike.
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_request_that_is_almost_right_is_taken_or_refused_the_same_by_every_way(seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(400):
        line = mutated(chance.choice(CLIENT)[0], chance)
        taken += check_request(line)
    assert taken > 100


def check_request(line: bytes) -> bool:
    found = verdict(lambda: parse_client_frame(line))
    try:
        [raw] = JsonLineDecoder().push(line + b"\n")
    except (ProtocolError, ValueError):
        assert found[0] != "ok", line
        return False
    assert same(verdict(lambda: parse_client_envelope(raw)), found), line
    assert same(verdict(lambda: _check_request(raw)), found), line
    if found[0] != "ok":
        request_id(line)
        return False
    assert request_id(line) == raw["id"], line
    assert same(verdict(lambda: parse_client_envelope(found[1])), found), line
    return True


@pytest.mark.parametrize("seed", range(3))
def test_a_host_s_frame_that_is_almost_right_is_taken_or_refused_the_same_by_every_way(seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(400):
        frame, operation = chance.choice(HOST)
        taken += check_host_frame(mutated(frame, chance), operation)
    assert taken > 100


def check_host_frame(line: bytes, operation: str | None) -> bool:
    def op_of(_: str) -> str | None:
        return operation

    found = verdict(lambda: parse_server_frame(line, op_of))
    try:
        [raw] = JsonLineDecoder().push(line + b"\n")
    except (ProtocolError, ValueError):
        assert found[0] != "ok", line
        return False
    assert same(verdict(lambda: _check_server_frame(raw, op_of)), found), line
    if operation is not None or "outcome" not in raw:
        assert same(verdict(lambda: parse_server_envelope(raw, operation)), found), line
    if found[0] == "ok" and "outcome" not in raw:
        assert same(verdict(lambda: parse_server_envelope(found[1])), found), line
    return found[0] == "ok"


def test_bytes_of_any_kind_are_no_fault() -> None:
    chance = random.Random(0)
    for _ in range(400):
        line = chance.randbytes(chance.randint(0, 60)).replace(b"\n", b" ")
        assert verdict(lambda line=line: parse_client_frame(line))[0] != "ok"
        assert verdict(lambda line=line: parse_server_frame(line, lambda _: "prompt"))[0] != "ok"
        assert request_id(line) is None


@pytest.mark.parametrize("depth", [31, 32, 33, 5000, 200_000])
def test_any_depth_is_refused_and_not_a_fault(depth: int) -> None:
    nest = b"[" * depth + b"]" * depth
    line = b'{"v":1,"id":"h","op":"host.status","params":{"x":' + nest + b"}}"
    assert verdict(lambda: parse_client_frame(line))[0] in ("ok", "invalid_request")
    line = b'{"v":1,"session":"s","revision":2,"at":1,"event":{"type":"odd","x":' + nest + b"}}"
    found = verdict(lambda: parse_server_frame(line, lambda _: None))[0]
    assert found == ("ok" if depth + 2 <= 32 else "invalid_request")
