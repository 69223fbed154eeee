"""Every shape that can be drawn from its own annotations: what a reader takes, it gives back the same."""

import re
import string
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Meta

from felan_core.protocol import (
    OPERATION_CATALOG,
    ProtocolError,
    decode,
    parse_schema,
)
from felan_core.protocol.schemas import shapes

OPERATIONS: dict[str, Any] = {
    **{f"{row.name}.params": row.params for row in OPERATION_CATALOG.values()},
    **{f"{row.name}.result": row.result for row in OPERATION_CATALOG.values() if row.name != "attach"},
}
LEFT_OUT = (
    *OPERATIONS.values(),
    *(shapes()[name] for name in ("Accepted", "AttachResult", "Request", "Unclaimed")),
)
"""Drawn by another name, or of free JSON that another shape checks."""
SHAPES: dict[str, Any] = {
    **{shape.__name__: shape for shape in OPERATIONS.values()},
    **{name: shape for name, shape in shapes().items() if shape not in LEFT_OUT},
}
SELDOM = ("ConfigSetParams", "ConfigGetParams", "RemoteCommandRow")
"""What a chance draw seldom gets right."""
FREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-1e6, 1e6)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
PATTERNED = ("", "AAAA", "AQ==", "a-1", "01890a5d-ac96-774b-bcce-b302099a8057")
IDS = st.text(string.ascii_letters + string.digits + "é-_", min_size=1, max_size=4)


def drawn(hint: Any, metas: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Plain JSON for values of type ``hint``, mostly right: some rules are between members, and not drawn."""
    origin = get_origin(hint)
    if origin is Annotated:
        base, *more = get_args(hint)
        return drawn(base, (*metas, *(meta for meta in more if isinstance(meta, Meta))))
    if origin is Union:
        return st.one_of([drawn(part) for part in get_args(hint) if part is not msgspec.UnsetType])
    if origin is Literal:
        return st.sampled_from(get_args(hint))
    if origin is list:
        low = max([meta.min_length or 0 for meta in metas], default=0)
        return st.lists(drawn(get_args(hint)[0]), min_size=low, max_size=low + 1)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return struct(hint)
    if hint is str:
        patterns = [meta.pattern for meta in metas if meta.pattern]
        fit = [text for text in PATTERNED if all(re.search(one, text) for one in patterns)]
        return st.sampled_from(fit) if patterns else IDS
    if hint is int or hint is float:
        low = max([meta.ge for meta in metas if meta.ge is not None], default=-9)
        high = min([meta.le for meta in metas if meta.le is not None], default=9)
        return st.integers(int(low), int(min(high, low + 3))) | st.just(int(high))
    simple: dict[Any, st.SearchStrategy[Any]] = {bool: st.booleans(), type(None): st.none()}
    if hint in simple:
        return simple[hint]
    if origin is dict or hint is dict:
        return st.dictionaries(IDS, FREE, max_size=2)
    return FREE


def struct(shape: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(shape, include_extras=True)
    needed: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for field in msgspec.structs.fields(shape):
        (needed if field.required or field.encode_name == "v" else optional)[field.encode_name] = drawn(
            hints[field.name]
        )
    tag = shape.__struct_config__.tag
    if tag is not None:
        needed[shape.__struct_config__.tag_field] = st.just(tag)
    return st.fixed_dictionaries(needed, optional=optional)


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_taken_is_given_back_the_same(name: str) -> None:
    shape = SHAPES[name]
    taken = 0

    def check(value: dict[str, Any], later: Any) -> None:
        nonlocal taken
        try:
            typed = parse_schema(shape, value)
        except ProtocolError as refused:
            with pytest.raises(ProtocolError) as again:
                decode(shape, msgspec.json.encode(value), "value")
            assert again.value.message == refused.message
            return
        taken += 1
        line = msgspec.json.encode(typed)
        assert decode(shape, line) == typed
        assert decode(shape, msgspec.json.format(line, indent=1)) == typed
        assert parse_schema(shape, msgspec.to_builtins(typed)) == typed
        assert msgspec.json.encode(decode(shape, line)) == line
        if not shape.__struct_config__.forbid_unknown_fields:
            # A member that nobody knows is stripped, whatever it holds.
            assert parse_schema(shape, {**value, "later": later}) == typed

    # Hypothesis also draws constants of the loaded modules, so the first examples differ with the tests that
    # ran before; a shape that takes exactly one of its members may refuse all of them.
    for examples in (5, 100):
        play = settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=UNHURRIED,
        )
        play(given(value=drawn(shape), later=FREE)(check))()
        if taken or name in SELDOM:
            break
    assert taken > 0 or name in SELDOM
