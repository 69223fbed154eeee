"""The schemas say exactly what the readers take, but for what their `$comment`s name (§6)."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from felan_core.pointer import PointerError, load_schema, schema_text
from felan_core.pointer.request import check_request, parse_request
from felan_core.pointer.rules import read_state
from felan_core.pointer.schema import SCHEMA_NAMES
from felan_core.pointer.values import WHITE_SPACE, instant
from tests.core.pointer.support import (
    CLEARED_NULLS,
    SESSION,
    TASK,
    as_json,
    gen,
    request_members,
    state_members,
)
from tests.core.pointer.vectors import rows

# Any: the validator's stubs know no `object`, which is what members of unknown types are.
STATE: Any = Draft202012Validator(load_schema("state"))
REQUEST: Any = Draft202012Validator(load_schema("publish-request"))


def read_as_state(members: object) -> bool:
    session = members.get("session_id") if isinstance(members, dict) else None
    try:
        read_state(as_json(members), session if isinstance(session, str) else SESSION)
    except PointerError:
        return False
    return True


def read_as_request(members: object) -> bool:
    try:
        parse_request(as_json(members))
    except PointerError:
        return False
    return True


def test_the_schemas_are_schemas_of_draft_2020_12() -> None:
    for name in SCHEMA_NAMES:
        schema = load_schema(name)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert json.loads(schema_text(name)) == schema
    with pytest.raises(KeyError):
        schema_text("other")  # pyright: ignore[reportArgumentType]


# Values near the border of what each field takes. Left out is what a schema cannot say: 3.0, lone surrogates,
# and the length in bytes.
near_text = st.text(st.sampled_from([*WHITE_SPACE, "\x1c", "\u200b", "a", "é", "😀", "\0", "\n"]), max_size=4)
near_instant = st.builds(
    lambda at, cut, put: at[:cut] + put + at[cut + len(put) :],
    st.integers(-62_135_596_800, 253_402_300_799).map(instant),
    st.integers(0, 20),
    st.sampled_from(["", "0", "1", "2", "3", "6", "9", "29", "30", "31", "-", "T", "Z", "\n", "٣", "0000"]),
) | st.builds(
    lambda year, month, day: f"{year:04d}-{month:02d}-{day:02d}T23:59:59Z",
    st.integers(0, 2500) | st.sampled_from([1900, 2000, 2004, 2100, 2400, 9999]),
    st.integers(0, 13) | st.just(2),
    st.integers(0, 32) | st.sampled_from([28, 29, 30]),
)
near_task = st.builds(
    lambda cut, put: TASK[:cut] + put + TASK[cut + len(put) :],
    st.integers(0, 36),
    st.sampled_from(["", "0", "g", "A", "-", "4", "c", "\n", "٣"]),
)
near_generation = st.sampled_from(
    [
        "ABSENT",
        "LEGACY_V2",
        "g-",
        gen(1),
        gen(1) + "\n",
        gen(1)[:-1],
        gen(1) + "0",
        "g-" + "A" * 32,
        "g-" + "٣" * 32,
    ]
)
near_session = st.text(st.sampled_from("aZ0._-/\n é"), max_size=4) | st.integers(126, 130).map("a".__mul__)
near_number = st.integers(-2, 4) | st.sampled_from([2**53 - 1, 2**53, 10**25, 0.5, True, False])
anything = st.none() | st.booleans() | st.sampled_from(["", "CLEAN", [], {}, "3", ["CLEAN"]])

STATE_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "schema_version": near_number | anything,
    "session_id": near_session | anything,
    "generation": near_generation | anything,
    "revision": near_number | anything,
    "status": st.sampled_from(["CLEAN", "DIRTY", "CLEARED", "ABSENT"]) | anything,
    "task_id": near_task | anything,
    "pointer_text": near_text | anything,
    "updated_at": near_instant | anything,
}
REQUEST_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "schema_version": near_number | anything,
    "session_id": near_session | anything,
    "expected_generation": near_generation | anything,
    "expected_revision": near_number | anything,
    "task_id": near_task | anything,
    "target_status": st.sampled_from(["CLEAN", "DIRTY", "CLEARED"]) | anything,
    "pointer_text": near_text | anything,
}


def changed(
    bases: list[dict[str, object]], values: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[dict[str, object]]:
    """A good instance with up to two fields changed, and now and then one too few or too many."""

    def make(base: dict[str, object], changes: dict[str, object], drop: str, add: bool) -> dict[str, object]:
        made = {**base, **changes}
        made.pop(drop, None)
        return {**made, "more": 1} if add else made

    fields = st.lists(st.sampled_from(sorted(values)), max_size=2, unique=True)
    changes = fields.flatmap(lambda names: st.fixed_dictionaries({name: values[name] for name in names}))
    drop = st.sampled_from([""] * 15 + sorted(values))
    return st.builds(make, st.sampled_from(bases), changes, drop, st.sampled_from([False] * 15 + [True]))


@settings(max_examples=200)
@given(
    changed(
        [
            state_members(),
            state_members(status="DIRTY"),
            state_members(status="CLEARED", task_id=None, pointer_text=None),
        ],
        STATE_VALUES,
    )
)
def test_a_state_is_valid_by_the_schema_exactly_when_the_reader_takes_it(members: dict[str, object]) -> None:
    assert STATE.is_valid(members) == read_as_state(members)


@settings(max_examples=200)
@given(
    changed(
        [
            request_members(),
            request_members(expected_generation="ABSENT", expected_revision=0),
            request_members(expected_generation="LEGACY_V2"),
            request_members(**CLEARED_NULLS),
        ],
        REQUEST_VALUES,
    )
)
def test_a_request_is_valid_by_the_schema_exactly_when_the_reader_takes_it(
    members: dict[str, object],
) -> None:
    assert REQUEST.is_valid(members) == read_as_request(members)


def test_every_white_space_alone_is_no_text_to_the_schema() -> None:
    pattern = re.compile(REQUEST.schema["$defs"]["pointer_text"]["pattern"])
    refused = {character for character in map(chr, range(0x10000)) if not pattern.search(character)}
    assert refused == {"\0", *WHITE_SPACE}


# What the `$comment`s name, and nothing else, is where the two part.
BEYOND_A_SCHEMA = (
    "schema_version is 3.0",
    "revision is 1.0",
    "expected_revision is 1.0",
    "an integer with an exponent",
    "surrogate",
    "'aaaaaaaaaa",
    "'éééééééééé",
    "byte order mark",
    "REQUEST_DUPLICATE",
    "duplicate",
    "another session",
    "the same session in other case",
    "v2 ",
    "too long",
    "trailing",
    "form feed",
    "deep",
)


def test_the_schemas_refuse_every_bad_vector_that_they_can_see() -> None:
    judged = 0
    vectors = [(REQUEST, n, d) for n, d, code in rows("requests") if code != "OK"]
    vectors += [(STATE, n, d) for n, d, _ in rows("states")]
    for validator, name, data in vectors:
        try:
            members = json.loads(data.decode())
        except (ValueError, RecursionError):
            continue
        named = any(part in name for part in BEYOND_A_SCHEMA) and not name.startswith("session_id")
        assert named or not validator.is_valid(members), name
        judged += not named
    assert judged > 100


def test_the_schema_takes_every_good_vector() -> None:
    for name, data in ((n, d) for n, d, code in rows("requests") if code == "OK"):
        members = json.loads(data)
        assert REQUEST.is_valid(members), name
        assert check_request(members).session_id == members["session_id"]
