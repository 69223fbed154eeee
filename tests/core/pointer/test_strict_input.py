"""What is refused, with which code, and which code comes first where several would fit (§2, §2a)."""

import json

import pytest

from felan_core.pointer import PointerError
from felan_core.pointer.request import parse_request
from felan_core.pointer.rules import read_state
from felan_core.pointer.strictjson import parse_object
from tests.core.pointer.support import (
    SESSION,
    as_json,
    request_members,
    state_members,
)
from tests.core.pointer.vectors import vectors

GOOD = as_json(request_members())
# A place for a piece of JSON instead of the pointer text.
TEMPLATE = as_json(request_members(pointer_text="@@")).replace(b'"@@"', b"%s")


def text(value: str) -> bytes:
    return as_json(request_members(pointer_text=value))


@pytest.mark.parametrize(("data", "code"), vectors("requests", good=False))
def test_a_bad_request_gets_the_first_code_that_fits(data: bytes, code: str) -> None:
    with pytest.raises(PointerError) as caught:
        parse_request(data)
    assert caught.value.code == code
    assert caught.value.message.isascii()
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("data", "code"), vectors("requests", good=True))
def test_a_good_request_passes(data: bytes, code: str) -> None:
    request = parse_request(data)
    assert request.session_id == json.loads(data)["session_id"]
    assert code == "OK"


def test_the_text_is_normalised() -> None:
    assert parse_request(text("a\r\nb\rc\n\r")).pointer_text == "a\nb\nc\n\n"


def test_the_bytes_are_counted_after_normalising() -> None:
    with pytest.raises(PointerError) as caught:
        parse_request(text("a" * 8192 + "\r\n"))
    assert caught.value.code == "REQUEST_INVALID"


@pytest.mark.parametrize(("data", "code"), vectors("states", good=False))
def test_a_bad_state_file_is_invalid_and_never_absent(data: bytes, code: str) -> None:
    with pytest.raises(PointerError) as caught:
        read_state(data, SESSION)
    assert caught.value.code == code == "STATE_INVALID"


@pytest.mark.parametrize("day", ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "0004-02-29"])
def test_days_that_exist_are_read(day: str) -> None:
    assert read_state(as_json(state_members(updated_at=f"{day}T23:59:59Z")), SESSION)


def test_the_longest_text_is_read_however_it_is_escaped() -> None:
    raw = as_json(state_members(pointer_text="@@")).replace(b"@@", rb"\u000d\u000a" * 8191 + b"a")
    state = read_state(raw, SESSION)
    assert state.pointer_text == "\n" * 8191 + "a"


def test_a_hooks_input_has_codes_of_its_own() -> None:
    for data, code in [
        (b"x" * 12, "HOOK_TOO_LARGE"),
        (b"\xff", "HOOK_NOT_UTF8"),
        (b"[]", "HOOK_NOT_JSON"),
        (b'{"":1,"":2}', "HOOK_DUPLICATE_FIELD"),
    ]:
        with pytest.raises(PointerError) as caught:
            parse_object(data, "HOOK", 11)
        assert caught.value.code == code


def test_depth_is_refused_the_same_at_any_depth_of_the_stack() -> None:
    def deeper(levels: int) -> str:
        if levels:
            return deeper(levels - 1)
        with pytest.raises(PointerError) as caught:
            parse_request(TEMPLATE % (b"[" * 600 + b"]" * 600))
        return caught.value.code

    assert {deeper(0), deeper(400)} == {"REQUEST_NOT_JSON"}
