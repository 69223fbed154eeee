"""What is refused, with which code, and which code comes first where several would fit (§2, §2a)."""

import json
from collections.abc import Callable

import pytest

from felan_core.pointer import PointerError
from felan_core.pointer.request import MAX_REQUEST_BYTES, parse_request
from felan_core.pointer.rules import MAX_STATE_BYTES, read_state
from felan_core.pointer.strictjson import MAX_DEPTH, parse_object
from tests.core.pointer.support import (
    CLEARED_NULLS,
    SESSION,
    TASK,
    as_json,
    gen,
    request_members,
    state_members,
    v2_members,
)

GOOD = as_json(request_members())
# A place for a piece of JSON instead of the pointer text.
TEMPLATE = as_json(request_members(pointer_text="@@")).replace(b'"@@"', b"%s")


def padded(size: int) -> bytes:
    return GOOD + b" " * (size - len(GOOD))


def nested(depth: int) -> bytes:
    return TEMPLATE % (b"[" * (depth - 1) + b"]" * (depth - 1))


def without(field: str) -> bytes:
    members = request_members()
    del members[field]
    return as_json(members)


def text(value: str) -> bytes:
    return as_json(request_members(pointer_text=value))


TOO_LARGE, NOT_UTF8, NOT_JSON = "REQUEST_TOO_LARGE", "REQUEST_NOT_UTF8", "REQUEST_NOT_JSON"
DUPLICATE, FIELDS, INVALID = "REQUEST_DUPLICATE_FIELD", "REQUEST_FIELDS", "REQUEST_INVALID"

BAD_REQUESTS: list[tuple[str, bytes, str]] = [
    # size, before anything else
    ("one byte too long", padded(MAX_REQUEST_BYTES + 1), TOO_LARGE),
    ("too long and not UTF-8", b"\xff" * (MAX_REQUEST_BYTES + 1), TOO_LARGE),
    # UTF-8, before JSON
    ("byte order mark", b"\xef\xbb\xbf" + GOOD, NOT_UTF8),
    ("UTF-16", GOOD.decode().encode("utf-16"), NOT_UTF8),
    ("overlong slash", TEMPLATE % b'"a\xc0\xafb"', NOT_UTF8),
    ("overlong NUL", TEMPLATE % b'"\xc0\x80"', NOT_UTF8),
    ("encoded surrogate", TEMPLATE % b'"\xed\xa0\x80"', NOT_UTF8),
    ("beyond U+10FFFF", TEMPLATE % b'"\xf4\x90\x80\x80"', NOT_UTF8),
    ("cut character", GOOD + b"\xe4\xbd", NOT_UTF8),
    ("lone continuation byte", b"\x80" + GOOD, NOT_UTF8),
    ("not UTF-8 and not JSON", b"{{{\xff", NOT_UTF8),
    # JSON, and an object, before duplicates
    ("nothing", b"", NOT_JSON),
    ("white space", b" \t\r\n", NOT_JSON),
    ("cut", GOOD[:-1], NOT_JSON),
    ("trailing bytes", GOOD + b"x", NOT_JSON),
    ("trailing NUL", GOOD + b"\0", NOT_JSON),
    ("two objects", GOOD + b"\n" + GOOD, NOT_JSON),
    ("form feed before it", b"\x0c" + GOOD, NOT_JSON),
    ("no-break space after it", GOOD + b"\xc2\xa0", NOT_JSON),
    ("array", b"[" + GOOD + b"]", NOT_JSON),
    ("array of an object with a duplicate", b'[{"a":1,"a":2}]', NOT_JSON),
    ("string", b'"x"', NOT_JSON),
    ("number", b"3", NOT_JSON),
    ("null", b"null", NOT_JSON),
    ("NaN", TEMPLATE % b"NaN", NOT_JSON),
    ("Infinity", TEMPLATE % b"Infinity", NOT_JSON),
    ("-Infinity", TEMPLATE % b"[-Infinity]", NOT_JSON),
    ("leading zero", TEMPLATE % b"01", NOT_JSON),
    ("leading plus", TEMPLATE % b"+1", NOT_JSON),
    ("trailing comma", GOOD[:-1] + b",}", NOT_JSON),
    ("comment", b"/* */" + GOOD, NOT_JSON),
    ("single quotes", GOOD.replace(b'"', b"'"), NOT_JSON),
    ("raw line feed in a string", TEMPLATE % b'"a\nb"', NOT_JSON),
    ("raw NUL in a string", TEMPLATE % b'"a\0b"', NOT_JSON),
    ("unknown escape", TEMPLATE % rb'"\x41"', NOT_JSON),
    ("cut escape", TEMPLATE % rb'"\u12"', NOT_JSON),
    ("too deep", nested(MAX_DEPTH + 1), NOT_JSON),
    ("far too deep", TEMPLATE % (b"[" * 5000), NOT_JSON),
    ("far too deep, closed", TEMPLATE % (b"[" * 5000 + b"]" * 5000), NOT_JSON),
    ("far too deep objects", b'{"a":' * 2000 + b"1" + b"}" * 2000, NOT_JSON),
    ("a duplicate, then trailing bytes", b'{"a":1,"a":2} x', NOT_JSON),
    # duplicates, before fields
    ("duplicate", GOOD[:-1] + b',"task_id":null}', DUPLICATE),
    ("duplicate of equal value", GOOD[:-1] + b',"schema_version":3}', DUPLICATE),
    ("duplicate spelled with an escape", GOOD[:-1] + rb',"t\u0061sk_id":null}', DUPLICATE),
    ("duplicate of an unknown field", b'{"a":1,"a":2}', DUPLICATE),
    ("duplicate of escapes alone", rb'{"\u0061":1,"\u0061":2}', DUPLICATE),
    ("duplicate further in", TEMPLATE % b'{"a":{"b":1,"b":2}}', DUPLICATE),
    ("duplicate in an array", TEMPLATE % b'[[{"":1,"":2}]]', DUPLICATE),
    # fields, before values
    ("no fields", b"{}", FIELDS),
    *((f"{field} is missing", without(field), FIELDS) for field in request_members()),
    ("another field", as_json(request_members(more=1)), FIELDS),
    ("a field in other case", as_json({**request_members(), "Task_id": TASK}), FIELDS),
    ("a lone surrogate as a name", GOOD[:-1] + rb',"\ud800":1}', FIELDS),
    ("another field and a wrong value", as_json(request_members(more=1, schema_version=2)), FIELDS),
    # values
    *(
        (f"{field} is {value!r:.60}", as_json(request_members(**{field: value})), INVALID)
        for field, values in {
            "schema_version": [2, 4, 3.0, "3", True, None, [3], {}],
            "session_id": [
                "",
                ".",
                "..",
                ".a",
                "-a",
                "_a",
                "a/b",
                "a\n",
                "a b",
                "é",
                "a" * 129,
                1,
                None,
                ["a"],
            ],
            "expected_generation": [
                "",
                "absent",
                "g-",
                gen(1) + "\n",
                gen(1) + "0",
                gen(1)[:-1],
                "g-" + "A" * 32,
                "g-" + "g" * 32,
                gen(1)[2:],
                "g_" + "0" * 32,
                "LEGACY_V1",
                1,
                None,
                True,
            ],
            "expected_revision": [0, -1, 1.0, 2.5, "2", True, False, None, 2**53, 10**30, [2]],
            "task_id": [
                None,
                "",
                TASK.upper(),
                TASK.replace("-", ""),
                "{" + TASK + "}",
                TASK + "\n",
                1,
                [TASK],
                "8d3f0c1e-2b4a-1c5d-9e6f-0123456789ab",
                "8d3f0c1e-2b4a-4c5d-ce6f-0123456789ab",
                "8d3f0c1-e2b4a-4c5d-9e6f-0123456789ab",
                "8d3f0c1g-2b4a-4c5d-9e6f-0123456789ab",
            ],
            "target_status": ["DIRTY", "clean", "", None, 1, ["CLEAN"]],
            "pointer_text": [
                None,
                "",
                " ",
                "\n",
                "\r\n\t",
                "\u2003\u00a0\u3000",
                "\u0085\u1680\u2028\u2029\u202f\u205f",
                "a\0b",
                1,
                True,
                ["a"],
                {"a": 1},
                "a" * 8193,
                "é" * 4097,
            ],
        }.items()
        for value in values
    ),
    ("an escaped lone surrogate", TEMPLATE % rb'"a\ud800b"', INVALID),
    ("an escaped low surrogate", TEMPLATE % rb'"\udc00"', INVALID),
    ("surrogates the wrong way round", TEMPLATE % rb'"\udc00\ud800"', INVALID),
    (
        "a lone surrogate as a session",
        as_json(request_members(session_id="@@")).replace(b"@@", rb"\ud800"),
        INVALID,
    ),
    ("an integer with an exponent", GOOD.replace(b'"schema_version": 3', b'"schema_version": 3e0'), INVALID),
    (
        "an integer of 5000 digits",
        GOOD.replace(b'"expected_revision": 2', b'"expected_revision": ' + b"9" * 5000),
        INVALID,
    ),
    (
        "a number beyond doubles",
        GOOD.replace(b'"expected_revision": 2', b'"expected_revision": 1e999'),
        INVALID,
    ),
    ("as deep as may be", nested(MAX_DEPTH), INVALID),
    (
        "ABSENT with a revision",
        as_json(request_members(expected_generation="ABSENT", expected_revision=1)),
        INVALID,
    ),
    (
        "ABSENT with false",
        as_json(request_members(expected_generation="ABSENT", expected_revision=False)),
        INVALID,
    ),
    (
        "LEGACY_V2 with 0",
        as_json(request_members(expected_generation="LEGACY_V2", expected_revision=0)),
        INVALID,
    ),
    ("CLEARED with a task", as_json(request_members(**{**CLEARED_NULLS, "task_id": TASK})), INVALID),
    ("CLEARED with a text", as_json(request_members(**{**CLEARED_NULLS, "pointer_text": "a"})), INVALID),
    (
        "CLEARED with an empty text",
        as_json(request_members(**{**CLEARED_NULLS, "pointer_text": ""})),
        INVALID,
    ),
]


@pytest.mark.parametrize(("data", "code"), [pytest.param(d, c, id=n) for n, d, c in BAD_REQUESTS])
def test_a_bad_request_gets_the_first_code_that_fits(data: bytes, code: str) -> None:
    with pytest.raises(PointerError) as caught:
        parse_request(data)
    assert caught.value.code == code
    assert caught.value.message.isascii()
    assert "\n" not in caught.value.message


GOOD_REQUESTS: list[tuple[str, bytes]] = [
    ("plain", GOOD),
    ("white space around", b" \t\r\n" + GOOD + b"\n\t \r"),
    ("as long as may be", padded(MAX_REQUEST_BYTES)),
    ("escapes in names", GOOD.replace(b'"task_id"', rb'"t\u0061sk_id"')),
    ("first write", as_json(request_members(expected_generation="ABSENT", expected_revision=0))),
    ("upgrade", as_json(request_members(expected_generation="LEGACY_V2", expected_revision=1))),
    ("clear", as_json(request_members(**CLEARED_NULLS))),
    ("highest revision", as_json(request_members(expected_revision=2**53 - 1))),
    ("longest session id", as_json(request_members(session_id="Z" + "._-" * 42 + "9"))),
    ("longest text", text("a" * 8192)),
    ("longest text of two bytes each", text("é" * 4096)),
    (
        "longest text once CRLF is one byte",
        as_json(request_members(pointer_text="a\r\n" * 1000 + "b" * 6192)),
    ),
    ("zero width space is no white space", text("\u200b")),
    ("file separator is no white space", text("\x1c")),
    ("surrogate pair in escapes", TEMPLATE % rb'"\ud83d\ude00"'),
    ("astral", text("😀")),
    ("markup and escapes are only text", text("[red]\x1b[31m[/x]\u202e")),
]


@pytest.mark.parametrize("data", [pytest.param(d, id=n) for n, d in GOOD_REQUESTS])
def test_a_good_request_passes(data: bytes) -> None:
    request = parse_request(data)
    assert request.session_id == json.loads(data)["session_id"]


def test_the_text_is_normalised() -> None:
    assert parse_request(text("a\r\nb\rc\n\r")).pointer_text == "a\nb\nc\n\n"


def test_the_bytes_are_counted_after_normalising() -> None:
    with pytest.raises(PointerError) as caught:
        parse_request(text("a" * 8192 + "\r\n"))
    assert caught.value.code == "REQUEST_INVALID"


def _drop(field: str) -> Callable[[dict[str, object]], None]:
    return lambda members: members.__delitem__(field)


BAD_STATES: list[tuple[str, bytes]] = [
    ("zero bytes", b""),
    ("white space", b" "),
    ("byte order mark", b"\xef\xbb\xbf" + as_json(state_members())),
    ("not UTF-8", b"\xff"),
    ("not JSON", b"{"),
    ("an array", b"[]"),
    ("trailing bytes", as_json(state_members()) + b"}"),
    ("duplicate", as_json(state_members())[:-1] + b',"status":"CLEAN"}'),
    ("too long", as_json(state_members()) + b" " * MAX_STATE_BYTES),
    ("another field", as_json(state_members(more=1))),
    ("v2 with a generation", as_json({**v2_members(), "generation": gen(1)})),
    ("v3 without a generation", as_json({k: v for k, v in state_members().items() if k != "generation"})),
    ("v1 envelope", as_json({"schema_version": 1, "envelope": {}})),
    ("another session", as_json(state_members(session_id="other"))),
    ("the same session in other case", as_json(state_members(session_id=SESSION.upper()))),
    ("a lone surrogate", as_json(state_members(pointer_text="@@")).replace(b"@@", rb"\ud800")),
    *(
        (f"{field} is {value!r:.40}", as_json(state_members(**{field: value})))
        for field, values in {
            "schema_version": [1, 4, "3", 3.0, True, None],
            "generation": ["LEGACY_V2", "ABSENT", None, gen(1).upper(), 1],
            "revision": [0, -1, 1.0, True, "1", None, 2**53],
            "status": ["clean", "ABSENT", None, 1, "CLEARED", ["CLEAN"]],
            "task_id": [None, TASK.upper(), 1],
            "pointer_text": [None, "", "\r\n", "a\0", "a" * 8193],
            "updated_at": [
                "",
                None,
                0,
                "2026-01-01T00:00:00",
                "2026-01-01 00:00:00Z",
                "2026-01-01T00:00:00z",
                "2026-01-01T00:00:00+00:00",
                "2026-01-01T00:00:00.0Z",
                "2026-02-29T00:00:00Z",
                "1900-02-29T00:00:00Z",
                "2026-04-31T00:00:00Z",
                "2026-13-01T00:00:00Z",
                "2026-00-01T00:00:00Z",
                "2026-01-00T00:00:00Z",
                "2026-01-01T24:00:00Z",
                "2026-01-01T00:60:00Z",
                "2026-12-31T23:59:60Z",
                "0000-01-01T00:00:00Z",
                "２０２６-01-01T00:00:00Z",
                "2026-01-01T00:00:00Z\n",
                "+026-01-01T00:00:00Z",
            ],
        }.items()
        for value in values
    ),
]


@pytest.mark.parametrize("data", [pytest.param(d, id=n) for n, d in BAD_STATES])
def test_a_bad_state_file_is_invalid_and_never_absent(data: bytes) -> None:
    with pytest.raises(PointerError) as caught:
        read_state(data, SESSION)
    assert caught.value.code == "STATE_INVALID"


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
