"""Lines of an agent: what is read of them, and how much work and memory that takes."""

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from felan_core.agents.acp import lines
from felan_core.agents.acp.lines import MAX_VALUES, decode, values

MANY = 3_000_000
CHUNK = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"},"x":%s}}}'
)


def body(line: bytes) -> dict | None:
    message = decode(line)
    return None if message is None else message.body


@pytest.mark.parametrize("line", [b"42", b'"x"', b"[1]", b"null", b"{", b"\xff", b"[" * 100_000, b'{"a":1}x'])
def test_what_is_no_object_is_no_message(line: bytes) -> None:
    assert decode(line) is None
    assert decode(line + b" " * lines.SMALL_BYTES) is None


@pytest.mark.parametrize(
    "blanks", [0, lines.SMALL_BYTES, lines.MAX_SLOW_BYTES], ids=["small", "large", "huge"]
)
def test_halves_of_pairs_and_broken_bytes_are_repaired_at_every_size(blanks: int) -> None:
    pad = b" " * blanks
    assert body(b'{"a":"\\ud83d","c":"\\ud83d\\ude00","d":"\\\\ud83d"}' + pad) == {
        "a": "\ufffd",
        "c": "😀",
        "d": "\\ud83d",
    }
    assert body(b'{"a":"\\ude00x\\uD83D\\uD83D\\uDE00"}' + pad) == {"a": "\ufffdx\ufffd😀"}
    assert body(b'{"a":"\xff"}' + pad) == {"a": "\ufffd"}


def test_a_number_that_json_has_not_becomes_null() -> None:
    assert body(b'{"a":NaN,"b":1}') == {"a": None, "b": 1}
    assert body(b'{"a":NaN,"b":1}' + b" " * lines.SMALL_BYTES) == {"a": None, "b": 1}


def test_values_are_counted_outside_strings_and_the_count_stops_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert values(b'{"a":[1,2,"x,[y\\",z"]}', 100) == 5
    read = 0
    pieces = lines.outside_pieces

    def counted(line: bytes) -> Iterator[bytes]:
        nonlocal read
        for piece in pieces(line):
            read += 1
            yield piece

    monkeypatch.setattr(lines, "outside_pieces", counted)
    assert values(b"[" + b"1," * 10_000_000 + b"1]", MAX_VALUES) > MAX_VALUES
    assert read <= 3


@pytest.mark.parametrize("text", [b"hi", b"\\ud83d"], ids=["sound", "half a pair"])
def test_of_a_line_with_millions_of_values_few_objects_are_made(text: bytes) -> None:
    line = CHUNK % (text, b"[" + b"[]," * MANY + b"[]]")
    gc.collect()
    tracemalloc.start()
    try:
        message = decode(line)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A list for each would be 56 bytes and a place in its list; what is here is copies of the line.
    assert peak < 4 * len(line) < MANY * 64
    assert message is not None and message.left_out == []
    assert message.body["params"]["update"]["content"]["type"] == "text"
    assert message.body["params"]["update"]["content"]["text"] in ("hi", "\ufffd")


def test_a_member_with_too_many_values_is_left_out_and_named_and_the_others_are_read() -> None:
    plan = b'{"content":"a","status":"pending"},' * 200_000
    line = (
        b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":['
    )
    message = decode(line + plan + b"{}]}}}")
    assert message is not None and message.left_out == ["params.update.entries"]
    assert message.body == {
        "method": "session/update",
        "params": {"sessionId": "s", "update": {"sessionUpdate": "plan"}},
    }


def test_an_answer_with_too_many_values_is_still_the_answer() -> None:
    message = decode(b'{"x":[' + b"1," * 300_000 + b'1],"id":4,"result":{"stopReason":"end_turn"}}')
    assert message is not None and message.body == {"id": 4, "result": {"stopReason": "end_turn"}}


@pytest.mark.parametrize("depth", [980, 5_000, 100_000])
def test_what_is_nested_deeper_than_a_decoder_goes_is_cut_where_it_is(depth: int) -> None:
    nested = b'{"a":["]",' + b"[" * depth + b"]" * depth + b"]}"
    message = decode(b'{"method":"m","params":{"deep":%s,"after":[1]}}' % nested)
    assert message is not None
    params = message.body["params"]
    assert params["after"] == [1] and params["deep"]["a"][0] == "]"
    assert decode(b'{"method":"m","params":' + b"[" * depth + b"}") is None


def test_a_text_of_megabytes_is_whole_though_it_is_full_of_commas() -> None:
    text = b"a,b,[c],{d}\\n" * 500_000
    message = decode(CHUNK % (text, b"[]"))
    assert message is not None and not message.left_out
    assert len(message.body["params"]["update"]["content"]["text"]) == 500_000 * 12
