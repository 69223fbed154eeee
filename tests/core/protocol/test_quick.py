"""The quick ways come to the verdicts of the slow one: what is not exactly plain JSON, what is written oddly,
and what would be easy to overlook in bytes that are not looked at twice.
"""

import enum
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.protocol import live_stream
from felan_core.protocol import ProtocolError, decode, parse_schema, parse_server_envelope, parse_server_frame
from felan_core.protocol.elements import Element
from felan_core.protocol.frames import _check_server_frame  # pyright: ignore[reportPrivateUsage] the peer
from felan_core.protocol.operations import HistoryPage
from felan_core.protocol.plain import plain
from felan_core.protocol.validate import check_utf8, shape_of, untyped
from tests.core.protocol.test_shapes import FREE, SHAPES, UNHURRIED, drawn


class Text(str):
    pass


class Members(dict[Any, Any]):
    pass


class Items(list[Any]):
    pass


class Two(enum.IntEnum):
    TWO = 2


class Words(enum.StrEnum):
    RUNNING = "running"


def outcome(parse: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "ok", msgspec.json.encode(parse())
    except ProtocolError as error:
        return error.code, error.message


def event(value: Any, **more: Any) -> dict[str, Any]:
    return {"session": "s", "revision": 2, "at": 1, "event": value, "v": 1, **more}


def tool(**more: Any) -> dict[str, Any]:
    entry = {"kind": "tool", "id": "t", "seq": 1, "at": 1, "name": "n", "category": "c", "title": "t"}
    entry |= {"state": "running", "startedAt": 1, "locations": ["/a"], "arguments": {"a": [1, 2]}}
    return event(
        {"type": "tool.updated", "tool": {**entry, "content": [{"type": "text", "text": "x"}], **more}}
    )


def view(fields: Any) -> dict[str, Any]:
    columns = [{"id": "n", "label": "n", "type": "number"}, {"id": "t", "label": "t", "type": "time"}]
    element = {"kind": "view", "id": "e", "revision": 2, "layout": "table", "columns": columns}
    element |= {"items": [{"id": "i", "fields": fields}], "page": {"index": 0, "size": 5, "hasMore": False}}
    return event({"type": "presentation.updated", "element": element})


def progress(value: Any) -> dict[str, Any]:
    element = {"kind": "progress", "id": "e", "revision": 2, "label": "l", "state": "running", "value": value}
    return event({"type": "presentation.updated", "element": element})


def hinted(data: Any) -> dict[str, Any]:
    hint = {"id": "h", "version": 1, "data": data}
    element = {"kind": "status", "id": "e", "revision": 2, "text": "x", "tone": "info", "hint": hint}
    return event({"type": "presentation.updated", "element": element})


def text(more: Any = None, **of_stream: Any) -> dict[str, Any]:
    stream = {"message": "m", "id": "i", "kind": "assistant", "offset": 0, **of_stream}
    return {"session": "s", "stream": stream, "text": "x", "v": 1, **(more or {})}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


SAID = {"type": "text", "id": "a", "text": "x"}
MESSAGE = {"kind": "message", "id": "m", "seq": 1, "at": 1, "role": "user", "outcome": "completed"}
PLAIN: list[Any] = [
    *(
        tool(),
        tool(locations=("/a",)),
        tool(locations={"/a"}),
        tool(locations=Items(["/a"])),
        tool(seq=Two.TWO),
    ),
    *(
        tool(name=Text("n")),
        tool(state=Words.RUNNING),
        tool(seq=1.0),
        tool(seq=True),
        tool(content=[Members(SAID)]),
    ),
    *(
        tool(arguments={"a": value})
        for value in (Text("x"), (1,), b"x", 1.5, 1.0, 2**53, float("nan"), nested(40))
    ),
    *(
        tool(arguments={1: 2}),
        tool(arguments={Text("a"): 2}),
        tool(arguments={"\ud800": 1}),
        tool(**{Text("run"): "r"}),
    ),
    *(tool(later=value) for value in (1, nested(40), "\ud800", (1,), 2**53, {1: 1})),
    *(
        tool(run="é" * 30),
        tool(run="é" * 100),
        tool(title="é" * 600),
        tool(kind=Text("tool")),
        tool(kind=None),
    ),
    *(view({"n": value}) for value in (1, 1.5, 1.0, 2**53, True, "x", None, {}, Two.TWO, float("inf"))),
    *(
        view({"t": -1}),
        view({"t": 0}),
        view({Text("n"): 1}),
        view({1: 1}),
        view({"b": 1}),
        view(Members(n=1)),
    ),
    *(progress(value) for value in (1, 0.5, 1.0, 2**53, -(2**53), 2**70, Two.TWO, float("nan"))),
    *(text(), text(offset=Two.TWO), text(offset=1.0), text(id=Text("i")), text(kind=Text("assistant"))),
    *(text(later=nested(40)), text({"later": 1}), text({"v": True}), text({"v": 1.0}), text({"v": 2})),
    *(
        text({"text": "\ud800"}),
        text(id="\ud800"),
        text(id="é" * 100),
        text(id="é" * 30),
        text({"stream": []}),
    ),
    *(
        Members(text()),
        text({"stream": Members(text()["stream"])}),
        Members(event({"type": "session.closed"})),
    ),
    *(event({"type": "session.closed"}, v=value) for value in (2, True, 1.0, "1")),
    *(event(Members(type="session.closed")), event({"type": Text("session.closed")}), event(None), event([])),
    *(event({"type": "of.later", "a": (1,)}), event({"type": "of.later", "a": 1.0}), event({"type": 1})),
    *(
        event({"type": "message.completed", "entry": {**MESSAGE, "parts": [SAID] * count}})
        for count in (0, 1, 2)
    ),
    {name: value for name, value in tool().items() if name != "v"},
    {name: value for name, value in tool().items() if name != "v"} | {"later": 1},
    event({"type": "tool.updated", "tool": {**tool()["event"]["tool"], "later": 1} | {"kind": "notice"}}),
    *(hinted([0] * count) for count in (1023, 1024, 1025)),
    *(hinted({"a": [[0] * count]}) for count in (1024, 1025)),
    *(hinted(value) for value in (None, 2**70, {"a": "\ud800"}, ["\ud800"])),
    *([], None, 1, "x", {}, {"stream": {}}, {"event": {}}, {"v": 1, "event": {}, "stream": {}}),
]


@pytest.mark.parametrize("raw", PLAIN, ids=range(len(PLAIN)))
def test_plain_json_gets_the_verdict_and_the_words_of_the_slow_way(raw: Any) -> None:
    assert outcome(lambda: parse_server_envelope(raw)) == outcome(
        lambda: _check_server_frame(raw, lambda _: None)
    )


def as_bytes(raw: Any) -> list[bytes]:
    """As a host of ours writes it, with escapes and without; spaced, and turned round."""
    turned = dict(reversed(raw.items())) if isinstance(raw, dict) else raw
    try:
        return [
            *(
                json.dumps(raw, separators=(",", ":"), ensure_ascii=ascii).encode("utf-8", "surrogatepass")
                for ascii in (False, True)
            ),
            *(json.dumps(value).encode() for value in (raw, turned)),
        ]
    except TypeError:
        return []


ODD = [
    b'{"session":"s","revision":2,"at":1e15,"event":{"type":"session.closed"},"":"\\ud800","v":1}',
    b'{"session":"s","revision":2,"at":1e3,"event":{"type":"session.closed"},"v":1}',
    b'{"session":"s","revision":2,"at":1,"event":{"type":"session.closed"},"event":{"type":"of.later"},"v":1}',
    b'{"session":"s","revision":2,"at":1,"event":{"x":'
    + b"[" * 40
    + b"]" * 40
    + b'},"event":{"type":"session.closed"},"v":1}',
    b'{"session":"s","revision":2,"at":1,"event":{"type":"session.closed","":"\xff"},"v":1}',
    b'{"session":"s","revision":2,"at":1,"event":{"type":"session.closed"},"v":1,"v":1}',
    b'{"session":"s","stream":{"message":"m","id":"i","kind":"assistant","offset":1e15},"text":"x","":"\\ud800","v":1}',
    b'{"session":"s","stream":{"message":"m","id":"i","kind":"assistant","offset":1},"text":"\\u0041","v":1}',
    b'{"session":"s","stream":{"message":"m","id":"i","kind":"assistant","offset":1},"text":"x","x":{"v":1},"v":1}',
    b'{"session":"s","stream":{"message":"m","id":"\xc3","kind":"assistant","offset":1},"text":"x","v":1}',
    b'\xef\xbb\xbf{"session":"s","stream":{"message":"m","id":"i","kind":"assistant","offset":1},"text":"x","v":1}',
    *(
        b'{"re":' + re + b',"result":{},"v":1,"outcome":"accepted"}'
        for re in (b'"r"', b'"\\"r"', b'"\xff"', b'""', b"1")
    ),
    *(
        b'{"re":"r","result":{' + more + b'},"v":1,"outcome":"accepted"}'
        for more in (b'"x":1', b'"x":"\\ud800"', b'"x":' + b"[" * 40)
    ),
    b'{"re":"r","result":{},"v":2,"outcome":"accepted"}',
    b'{"re":"r","result":{},"re":"q","v":1,"outcome":"accepted"}',
    b'{"re":"r","result":{},"v":1,"outcome":"accepted","notice":{}}',
    b'{"re":"r","result":[],"v":1,"outcome":"accepted"}',
]


@pytest.mark.parametrize("operation", ["detach", None, "of.later"])
def test_bytes_get_the_verdict_and_the_words_of_the_slow_way(operation: str | None) -> None:
    def slowly(line: bytes) -> Any:
        check_utf8(line)
        return _check_server_frame(untyped(line), lambda _: operation)

    for line in (*ODD, *(line for raw in PLAIN for line in as_bytes(raw))):
        found = outcome(lambda line=line: parse_server_frame(line, lambda _: operation))
        assert found == outcome(lambda line=line: slowly(line)), line


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_read_the_same_quickly_and_slowly(name: str) -> None:
    shape = SHAPES[name]

    @settings(max_examples=3, deadline=None, database=None, suppress_health_check=UNHURRIED)
    @given(value=drawn(shape), member=st.text(max_size=3), later=FREE)
    def check(value: dict[str, Any], member: str, later: Any) -> None:
        for one in (value, {**value, member: later}):
            expected = outcome(lambda one=one: shape_of(shape).convert(plain(one, path="value"), "value"))
            assert outcome(lambda one=one: parse_schema(shape, one)) == expected
            line = msgspec.json.encode(one)
            assert outcome(lambda line=line: decode(shape, line, "value")) == expected
            if expected[0] == "ok":
                assert outcome(lambda line=expected[1]: decode(shape, line)) == expected

    check()


def test_a_live_stream_of_our_own_never_takes_the_full_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("the full check")

    monkeypatch.setattr("felan_core.protocol.frames._check_server_frame", slow)
    for line in live_stream(40):
        frame = parse_server_frame(line, lambda _: None)
        assert msgspec.json.encode(frame) == line


def test_a_page_that_is_too_heavy_is_refused_though_it_holds_what_is_stripped() -> None:
    entry = {**MESSAGE, "parts": [{**SAID, "text": "x" * (12 * 2**20 - 400)}], "later": [None]}
    verdicts: set[str] = set()
    for size in (10, 500):
        page = {"items": [entry, {**MESSAGE, "id": "n", "parts": [{**SAID, "text": "y" * size}]}]}
        line = msgspec.json.encode({"re": "r", "outcome": "accepted", "result": page, "v": 1})
        expected = outcome(lambda page=page: parse_schema(HistoryPage, page, "result"))
        found = outcome(lambda line=line: parse_server_frame(line, lambda _: "session.history"))
        assert found[0] == expected[0] and (found[0] == "ok" or found == expected)
        verdicts.add(found[0])
    assert verdicts == {"ok", "invalid_request"}


def test_the_shape_of_a_union_is_read_too() -> None:
    element = view({"n": 1})["event"]["element"]
    assert parse_schema(Element, element) == decode(Element, msgspec.json.encode(element))  # pyright: ignore[reportArgumentType] a union
