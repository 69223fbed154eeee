import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from felan_core.pointer import PointerError, State
from felan_core.pointer.errors import CODES
from felan_core.pointer.request import parse_request
from felan_core.pointer.rules import read_state, state_bytes
from felan_core.pointer.values import MAX_REVISION, WHITE_SPACE, instant, text_fault
from tests.core.pointer.support import SESSION, as_json, request_members, state_members, v2_members

hexes = st.text("0123456789abcdef", min_size=32, max_size=32)
generations = hexes.map("g-".__add__)
revisions = st.integers(1, MAX_REVISION)
instants = st.integers(-62_135_596_800, 253_402_300_799).map(instant)
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=2000
).filter(lambda text: text_fault(text) is None)
tasks = hexes.map(lambda h: f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}")
states = st.builds(
    lambda generation, revision, status, task, text, at: State(
        SESSION,
        generation,
        revision,
        status,
        None if status == "CLEARED" else task,
        None if status == "CLEARED" else text,
        at,
    ),
    generations,
    revisions,
    st.sampled_from(["CLEAN", "DIRTY", "CLEARED"]),
    tasks,
    texts,
    instants,
)


@given(states)
def test_what_is_written_is_read_as_the_same_state(state: State) -> None:
    data = state_bytes(state)
    assert read_state(data, SESSION) == state
    assert json.loads(data) == {
        "schema_version": 3,
        **{name: getattr(state, name) for name in State.__slots__},
    }


def outcome(read: Callable[[], object]) -> str:
    """`valid`, or the code; anything but a PointerError with a known code fails the test."""
    try:
        read()
    except PointerError as error:
        assert error.code in CODES
        return error.code
    return "valid"


def mutated(data: bytes, draw: st.DataObject) -> bytes:
    """One byte changed, put in or taken out, or a piece taken out or doubled."""
    at = draw.draw(st.integers(0, len(data) - 1))
    end = draw.draw(st.integers(at, min(len(data), at + 12)))
    byte = bytes([draw.draw(st.integers(0, 255))])
    return draw.draw(
        st.sampled_from(
            [
                data[:at] + byte + data[at + 1 :],
                data[:at] + byte + data[at:],
                data[:at] + data[end:],
                data[:end] + data[at:],
            ]
        )
    )


@given(st.sampled_from([state_members(), v2_members(), v2_members("CLEARED")]), st.data())
def test_a_state_with_one_mutation_is_valid_or_invalid_and_nothing_else(
    members: dict[str, object], draw: st.DataObject
) -> None:
    data = mutated(as_json(members), draw)
    assert outcome(lambda: read_state(data, SESSION)) in ("valid", "STATE_INVALID")


@given(st.data())
def test_a_request_with_one_mutation_is_valid_or_gets_a_request_code(draw: st.DataObject) -> None:
    data = mutated(as_json(request_members()), draw)
    result = outcome(lambda: parse_request(data))
    assert result == "valid" or result.startswith("REQUEST_")


@given(st.binary(max_size=300))
def test_no_bytes_at_all_make_the_readers_fail_in_another_way(data: bytes) -> None:
    outcome(lambda: parse_request(data))
    outcome(lambda: read_state(data, SESSION))


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(request_members())), json_values)
def test_any_value_in_any_field_is_judged(field: str, value: object) -> None:
    data = json.dumps(request_members(**{field: value})).encode()
    outcome(lambda: parse_request(data))


@given(st.text())
def test_white_space_is_the_unicode_property(text: str) -> None:
    # Python's isspace is White_Space and the four separators U+001C to U+001F.
    separators = "\x1c\x1d\x1e\x1f"
    for character in text:
        assert (character in WHITE_SPACE) == (character.isspace() and character not in separators)
