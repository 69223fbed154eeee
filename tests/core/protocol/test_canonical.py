"""RFC 8785 through the canonical payload of a request: its public vectors for numbers and the sorting of
names; and what JSON over this wire may and may not hold, with the values worked out.
"""

import struct
from typing import Any

import pytest

from felan_core.protocol import (
    JsonLineDecoder,
    ProtocolError,
    canonical_request_payload,
    parse_client_frame,
    parse_json_value,
    parse_operation_params,
)


def canonical(values: dict[str, Any]) -> str:
    params = {"element": "e", "revision": 1, "action": "a", "values": values}
    payload = canonical_request_payload("ui.action", None, params)
    head, tail = '{"op":"ui.action","params":{"action":"a","element":"e","revision":1,"values":', "}}"
    assert payload.startswith(head) and payload.endswith(tail)
    return payload[len(head) : -len(tail)]


# Appendix B of RFC 8785, those that are no integer beyond 2^53 - 1.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "433ffffffffffff0": "9007199254740976",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize("bits", NUMBERS)
def test_a_number_is_written_as_the_rfc_writes_it(bits: str) -> None:
    [number] = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical({"n": number}) == f'{{"n":{NUMBERS[bits]}}}'


@pytest.mark.parametrize(
    "bits", ["7fefffffffffffff", "4340000000000000", "44b52d02c7e14af5", "444b1ae4d6e2ef50"]
)
def test_an_integer_beyond_2_to_53_is_refused_however_it_is_written(bits: str) -> None:
    [number] = struct.unpack(">d", bytes.fromhex(bits))
    with pytest.raises(ProtocolError, match="2\\^53"):
        canonical({"n": number})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ProtocolError, match=r"params\.values\.n: not a finite number"):
        canonical({"n": number})


def test_names_are_sorted_by_utf_16_units() -> None:
    values = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    found = canonical(values)
    places = [found.index(f'"{value}"') for value in values.values()]
    order = [value for _, value in sorted(zip(places, values.values(), strict=True))]
    assert order == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_a_string_is_escaped_as_the_rfc_escapes_it() -> None:
    text = '\u20ac$\u000f\nA\'B"\\\\"/'
    assert canonical({"s": text}) == '{"s":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'


def answer(inside: bytes) -> Any:
    """The answer of one request as it comes out of bytes."""
    head = b'{"v":1,"id":"01890a5d-ac96-774b-bcce-b302099a8057","op":"interaction.answer","session":"s",'
    frame = parse_client_frame(head + b'"params":{"interaction":"i","answer":{"x":' + inside + b"}}}")
    return frame.params.answer["x"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *((b"1.0", 1), (b"-0", 0), (b"-0.0", 0), (b"1e3", 1000), (b"0.5", 0.5), (b"1E-2", 0.01)),
        *(
            (b"9007199254740991", 2**53 - 1),
            (b"-9007199254740991", -(2**53 - 1)),
            (b"9007199254740991.0", 2**53 - 1),
        ),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\u2028\\u2029\\u0085"', "\u2028\u2029\x85"),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b" [ 1 , 2 ] ", [1, 2]),
    ],
)
def test_a_value_is_read_as_javascript_reads_it(written: bytes, read: Any) -> None:
    found = answer(written)
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        (b"9007199254740992", "params.answer.x: an integer beyond"),
        (b"-9007199254740993", "params.answer.x: an integer beyond"),
        (b"1e16", "params.answer.x: an integer beyond"),
        (b"1" * 400, "params.answer.x: an integer beyond"),
        (b"1" * 5000, "frame: a number out of range"),
        (b"1e400", "frame: a number out of range"),
        (b'"\\ud800"', "frame: a lone surrogate"),
        (b'"\\ude00\\ud83d"', "frame: a lone surrogate"),
        (b'{"\\ud800":1}', "frame: a lone surrogate"),
        (b"[" * 100_000, "frame: nested deeper than 32"),
        (b"[" * 100_000 + b"]" * 100_000, "frame: nested deeper than 32"),
        (b"NaN", "frame: not JSON"),
        (b"01", "frame: not JSON"),
        (b"[1,]", "frame: not JSON"),
        (b"'x'", "frame: not JSON"),
        (b'"\x00"', "frame: not JSON"),
        (b'"\xff"', "frame: not UTF-8 at byte"),
        (b'"\xed\xa0\x80"', "frame: not UTF-8 at byte"),
    ],
)
def test_what_the_wire_may_not_hold_is_refused_in_words_of_our_own(written: bytes, rule: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        answer(written)
    assert refused.value.code == "invalid_request"
    assert rule in refused.value.message and len(refused.value.message) < 120


@pytest.mark.parametrize(
    "inside", [b"1e400", b'"\\ud800"', b"9007199254740992", b"[" * 40 + b"]" * 40, b'"\xff"']
)
def test_a_member_that_nobody_knows_is_held_to_the_same_rules(inside: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_client_frame(b'{"v":1,"id":"h","op":"host.status","params":{},"later":' + inside + b"}")


def test_a_byte_order_mark_is_refused() -> None:
    with pytest.raises(ProtocolError, match="byte order mark"):
        list(JsonLineDecoder().push(b"\xef\xbb\xbf{}\n"))


def test_free_json_is_bounded_by_bytes_entries_and_depth_and_copied() -> None:
    value: dict[str, Any] = {"a": [1.0, {"b": None}]}
    assert parse_json_value(value) == {"a": [1, {"b": None}]} and value["a"][0] == 1.0
    assert parse_json_value("x" * 65_534) and parse_json_value([0] * 1024)
    for wrong in ("x" * 65_535, [0] * 1025, (1,), {1: 2}, b"x", {"a": {1, 2}}):
        with pytest.raises(ProtocolError):
            parse_json_value(wrong)


class Text(str):
    pass


class Mapping(dict[str, Any]):
    pass


@pytest.mark.parametrize("odd", [Text("x"), Mapping(), (1, 2), {1: 2}, b"x", {"a", "b"}, object()])
def test_only_exact_plain_json_is_taken(odd: Any) -> None:
    for params in (
        {"interaction": "i", "answer": {"x": odd}},
        {"interaction": "i", "answer": {}, "later": [odd]},
    ):
        with pytest.raises(ProtocolError, match=r"not plain JSON|no string"):
            parse_operation_params("interaction.answer", params)


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ProtocolError, match="nested deeper than 32"):
        parse_operation_params("interaction.answer", {"interaction": "i", "answer": {"x": cycle}})


def test_the_input_is_not_changed() -> None:
    params = {"interaction": "i", "answer": {"x": 1.0, "y": [-0.0]}, "later": 1}
    typed = parse_operation_params("interaction.answer", params)
    assert typed.answer == {"x": 1, "y": [0]}
    assert repr(params) == "{'interaction': 'i', 'answer': {'x': 1.0, 'y': [-0.0]}, 'later': 1}"
