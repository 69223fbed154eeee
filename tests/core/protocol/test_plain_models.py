"""The pure parts against models so plain that they cannot be wrong: the splice, the framing, identities."""

import json
import uuid
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.protocol import (
    LIMITS,
    JsonLineDecoder,
    ProtocolError,
    canonical_request_payload,
    classify_revision,
    classify_text_delta,
    decode,
    encode_frame,
    new_uuid7,
    normalise_mutation_id,
    parse_client_frame,
    parse_operation_params,
    request_retain_until,
)
from felan_core.protocol.elements import Hint, StatusElement
from felan_core.protocol.envelopes import EventFrame
from felan_core.protocol.events import PresentationUpdated
from felan_core.protocol.streams import ActiveStream, StreamPosition, TextBuffer

LETTERS = st.text(alphabet="ab🙂", max_size=6)
KINDS = st.sampled_from(["assistant", "thinking"])


def plain_verdict(state: Any, kind: str, offset: int, text: str) -> str:
    """§7, word by word."""
    if state in ("completed", "completion_only"):
        return "ignore"
    if state is None:
        return "start" if offset == 0 else "gap"
    held_kind, held = state
    if kind != held_kind:
        return "gap"
    n, e = len(held), offset + len(text)
    if offset == n:
        return "append"
    if e <= n and all(held[offset + i] == text[i] for i in range(len(text))):
        return "duplicate"
    return "gap"


@settings(max_examples=120, deadline=None)
@given(
    state=st.one_of(st.none(), st.sampled_from(["completed", "completion_only"]), st.tuples(KINDS, LETTERS)),
    kind=KINDS,
    offset=st.integers(0, 7),
    text=LETTERS.filter(bool),
    cuts=st.lists(st.integers(0, 6), max_size=3),
)
def test_a_delta_is_classified_as_the_contract_says(
    state: Any, kind: Any, offset: int, text: str, cuts: list[int]
) -> None:
    position = StreamPosition(message="m", id="s", kind=kind, offset=offset)
    expected = plain_verdict(state, kind, offset, text)
    if isinstance(state, tuple):
        buffer = TextBuffer()
        edges = sorted({0, len(state[1]), *(cut for cut in cuts if cut < len(state[1]))})
        for start, end in pairwise(edges):
            buffer.append(state[1][start:end])
        for held in (state[1], buffer):
            active = ActiveStream(state[0], held)
            assert classify_text_delta(active, position, text) == expected
            assert str(held) == state[1]  # nothing was changed by looking
    else:
        assert classify_text_delta(state, position, text) == expected


@given(current=st.integers(1, 2**53 - 1), incoming=st.integers(1, 2**53 - 1), near=st.integers(-2, 2))
def test_a_revision_is_next_a_duplicate_or_a_gap(current: int, incoming: int, near: int) -> None:
    for other in (incoming, max(1, current + near)):
        verdict = classify_revision(current, other)
        assert (verdict == "next") is (other - current == 1)
        assert (verdict == "duplicate") is (other <= current)


WORDS = st.text(alphabet='a\n\r\u2028\u2029\x85\t🙂\\"', max_size=8)
FRAMES = st.lists(
    st.dictionaries(
        st.text(max_size=4), st.text(alphabet='a\n\r\u2028\u2029\x85\t🙂\\"', max_size=8), max_size=3
    ),
    max_size=6,
)
CUTS = st.lists(st.integers(0, 400), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\n\n\r\n"])


@settings(max_examples=120, deadline=None)
@given(
    frames=FRAMES,
    ends=st.lists(ENDS, min_size=6, max_size=6),
    cuts=st.lists(st.integers(0, 400), max_size=30),
)
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    frames: list[Any], ends: list[str], cuts: list[int]
) -> None:
    data = "".join(
        json.dumps(frame, ensure_ascii=False) + end for frame, end in zip(frames, ends, strict=False)
    ).encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    decoder = JsonLineDecoder()
    out = [frame for start, end in pairwise(edges) for frame in decoder.push(data[start:end])]
    decoder.finish()
    assert out == frames


@pytest.mark.parametrize("step", [1, 7, 4096, 2**20])
def test_a_line_that_never_ends_is_refused_at_the_bound_and_not_held(step: int) -> None:
    limit = 300 * step
    decoder = JsonLineDecoder(limit)
    piece = b"x" * step
    for _ in range(300):
        assert list(decoder.push(piece)) == []
    with pytest.raises(ProtocolError):
        list(decoder.push(b"x"))
    assert decoder._parts == []  # pyright: ignore[reportPrivateUsage] what it holds is not to be seen otherwise
    with pytest.raises(ProtocolError):
        list(decoder.push(b'{"good":1}\n'))


def test_a_line_of_exactly_the_bound_is_taken_and_one_byte_more_is_not() -> None:
    line = b'{"x":"' + b"y" * (LIMITS.frame_bytes - 8) + b'"}'
    assert len(line) == LIMITS.frame_bytes
    [frame] = JsonLineDecoder().push(line + b"\n")
    assert encode_frame(frame) == line + b"\n"
    with pytest.raises(ProtocolError):
        list(JsonLineDecoder().push(b" " + line + b"\n"))
    with pytest.raises(ProtocolError):
        encode_frame({"x": frame["x"] + "y"})


def test_push_takes_all_of_its_bytes_whatever_the_caller_does_with_the_values() -> None:
    decoder = JsonLineDecoder()
    for _ in decoder.push(b'{"a":1}\n{"b":2}\n{"c"'):
        break
    assert decoder.push(b":3}\n") == [{"c": 3}]
    decoder.push(b'{"d":4}\n')
    assert decoder.push(b'{"e":5}\n') == [{"e": 5}]


@pytest.mark.parametrize(
    "member", ["9007199254740992", "1e400", "[" * 32 + "]" * 32, '"\\ud800"', "1e17"], ids=str
)
def test_every_reader_of_bytes_is_as_strict_as_the_typed_ones(member: str) -> None:
    line = f'{{"a":{member}}}'.encode()
    with pytest.raises(ProtocolError):
        JsonLineDecoder().push(line + b"\n")
    for shape in (dict[str, Any], dict):
        with pytest.raises(ProtocolError):
            decode(shape, line)
    request = f'{{"v":1,"id":"x","op":"sessions.list","params":{{"zz":{member}}}}}'.encode()
    with pytest.raises(ProtocolError):
        parse_client_frame(request)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1}, b"x", 2**60, (1,), {1: 2}, "\ud800"], ids=repr
)
def test_a_value_that_would_be_changed_is_not_encoded(value: Any) -> None:
    for frame in ({"x": value}, {"x": [{"y": value}]}, hinted(value)):
        with pytest.raises(ProtocolError, match="invalid_request"):
            encode_frame(frame)


def hinted(value: Any) -> EventFrame:
    hint = Hint(id="h", version=1, data={"x": value})
    element = StatusElement(id="e", revision=2, text="x", tone="info", hint=hint)
    return EventFrame(session="s", revision=2, at=1, event=PresentationUpdated(element=element))


def test_good_frames_before_a_broken_one_come_first_and_none_after_it() -> None:
    decoder = JsonLineDecoder()
    assert decoder.push(b'{"a":1}\n{"b":2}\n{nope\n{"c":3}\n') == [{"a": 1}, {"b": 2}]
    assert decoder.failure is not None
    for _ in range(2):
        with pytest.raises(ProtocolError):
            list(decoder.push(b'{"d":4}\n'))
    with pytest.raises(ProtocolError):
        decoder.finish()


@settings(max_examples=120)
@given(now=st.integers(0, 2**48 - 1))
def test_a_fresh_id_is_a_uuid_of_version_7_of_its_moment(now: int) -> None:
    one, other = new_uuid7(now), new_uuid7(now)
    assert one != other and normalise_mutation_id(one.upper()) == one
    parsed = uuid.UUID(one)
    assert parsed.version == 7 and parsed.variant == uuid.RFC_4122 and parsed.int >> 80 == now
    week = 7 * 24 * 3600 * 1000
    assert request_retain_until(one, 5) == max(now, 5) + week


@settings(max_examples=120)
@given(
    text=st.one_of(st.text(max_size=40), st.uuids().map(str), st.uuids(version=4).map(lambda one: one.hex))
)
def test_only_the_one_form_of_an_id_is_taken(text: str) -> None:
    good = len(text) == 36 and text.isascii() and text[14] == "7" and text[19] in "89abAB"
    try:
        good = good and str(uuid.UUID(text)) == text.lower()
    except ValueError:
        good = False
    try:
        assert normalise_mutation_id(text) == text.lower() and good
    except ProtocolError:
        assert not good


NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e9, 1e9, allow_nan=False, allow_infinity=False, width=32),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=6)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def shuffled(value: Any, order: Any) -> Any:
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: shuffled(value[name], order) for name in names}
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value) if order.random() < 0.5 else value
    return value


@settings(max_examples=80, deadline=None)
@given(values=st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=4), order=st.randoms())
def test_the_same_meaning_has_one_identity_however_it_is_written(values: dict[str, Any], order: Any) -> None:
    base = {"element": "e", "revision": 3, "action": "a"}
    one = parse_operation_params("ui.action", {**base, "values": values})
    other = parse_operation_params("ui.action", shuffled({**base, "values": values, "unknown": 1}, order))
    first = canonical_request_payload("ui.action", "s", one)
    assert canonical_request_payload("ui.action", "s", other) == first
    assert json.loads(first)["params"]["values"] == json.loads(json.dumps(values))
    assert canonical_request_payload("ui.action", "t", one) != first
    more = {**values, "more": values.get("more", 0) != 1}
    third = parse_operation_params("ui.action", {**base, "values": more})
    assert canonical_request_payload("ui.action", "s", third) != first


def test_a_default_that_was_written_and_one_that_was_not_are_not_the_same() -> None:
    left_out = parse_operation_params("cancel", {})
    written = parse_operation_params("cancel", {"queue": False})
    assert canonical_request_payload("cancel", "s", left_out) == '{"op":"cancel","params":{},"session":"s"}'
    assert canonical_request_payload("cancel", "s", written) != canonical_request_payload(
        "cancel", "s", left_out
    )
