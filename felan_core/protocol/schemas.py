"""The JSON Schema of every shape, made from the shapes themselves.

A schema has the members, types, bounds of collections and alternatives. ``x-maxEncodedBytes`` and
``x-maxEntries`` are our own keywords for the bounds of free JSON; rules between members are in ``$comment``.
Every value that a parser accepts is valid under its schema; the reverse holds as far as a schema reaches.
Nothing of the wire needs this module; it is for people, and for implementations in other languages.
"""

import importlib
from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from felan_core.protocol.base import LIMITS, JsonObject, Wire, as_list, as_object
from felan_core.protocol.catalogue import OPERATION_CATALOG
from felan_core.protocol.configuration import CONFIG_OPTIONS
from felan_core.protocol.control import DaemonTarget
from felan_core.protocol.elements import Element, FormField
from felan_core.protocol.entries import AnyOrigin, Entry
from felan_core.protocol.events import EVENT_TYPES, KnownEvent
from felan_core.protocol.interactions import Answer, InteractionRequest
from felan_core.protocol.schema_rules import ALSO, REF, SAYS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_MODULES: Final = (
    *("control", "elements", "entries", "envelopes", "errors", "events", "forms", "interactions"),
    *("operations.common", "operations.hosts", "operations.processes", "operations.sessions"),
    *("operations.turns", "records", "remote", "session", "streams"),
)
_UNIONS: Final[dict[str, Any]] = {
    "Answer": Answer,
    "DaemonTarget": DaemonTarget,
    "Element": Element,
    "Entry": Entry,
    "FormField": FormField,
    "InteractionRequest": InteractionRequest,
    "KnownEvent": KnownEvent,
    "Origin": AnyOrigin,
}
_MADE: Final = ("ClientEnvelope", "Configuration", "ServerEnvelope", "SessionEvent")
_HEX: Final = "[0-9A-Fa-f]"
_UUID7: Final = f"^{_HEX}{{8}}-{_HEX}{{4}}-7{_HEX}{{3}}-[89ABab]{_HEX}{{3}}-{_HEX}{{12}}$"
_WEIGHTS: Final = {
    "x-maxEncodedBytes": "at most {} bytes, encoded",
    "x-maxEntries": "at most {} entries in any one array or object",
}
"""Our own keywords, and their words for ``$comment``."""
_ALWAYS_THERE: Final = ("v", "control", "outcome")
"""Members that a constructor fills in and a parser demands."""


@cache
def shapes() -> dict[str, type[Wire]]:
    """Every struct of the wire by its name, those left out that only others are made from."""
    found: dict[str, type[Wire]] = {}
    for name in _MODULES:
        module = importlib.import_module(f"felan_core.protocol.{name}")
        for member in vars(module).values():
            if not (isinstance(member, type) and issubclass(member, Wire) and member is not Wire):
                continue
            shape = member
            # A base of a tagged union has its own name for a tag: nothing on the wire is that.
            base = shape.__struct_config__.tag == shape.__name__
            if shape.__module__ == module.__name__ and not base and not shape.__name__.startswith("_"):
                found[shape.__name__] = shape
    return found


def schema_names() -> list[str]:
    """The names that ``json_schema`` knows, but for those of operations (``prompt.params``)."""
    return sorted({*shapes(), *_UNIONS, *_MADE})


def operation_names() -> list[str]:
    """``<operation>.params`` and ``<operation>.result`` for the whole catalogue."""
    return [f"{name}.{part}" for name in OPERATION_CATALOG for part in ("params", "result")]


def json_schema(name: str) -> JsonObject:
    """The JSON Schema (draft 2020-12) of the shape ``name``, all that it refers to under ``$defs``.

    Raises ``KeyError`` for a name that ``schema_names`` and ``operation_names`` do not list.
    """
    definitions = _definitions()
    if name in _MADE:
        head = _made(name)
    elif name in _UNIONS:
        head = _alternatives(name)
    elif name in shapes():
        head = _ref(name)
    else:
        operation, _, part = name.rpartition(".")
        if part not in ("params", "result"):
            raise KeyError(name)
        row = OPERATION_CATALOG[operation]
        head = _ref((row.params if part == "params" else row.result).__name__)
    needed: dict[str, Any] = {}
    _collect(head, definitions, needed)
    return {"$schema": DIALECT, "title": name, **head, "$defs": dict(sorted(needed.items()))}


def all_schemas() -> JsonObject:
    """One document with every shape under ``$defs``."""
    made = {name: _made(name) for name in _MADE} | {name: _alternatives(name) for name in _UNIONS}
    return {"$schema": DIALECT, "title": "felan", "$defs": dict(sorted((_definitions() | made).items()))}


@cache
def _definitions() -> dict[str, Any]:
    structs = shapes()
    _, components = msgspec.json.schema_components(structs.values(), ref_template=REF)
    for name, shape in structs.items():
        _complete(components[name], shape)
    for name, more in ALSO.items():
        components[name]["allOf"] = [more]
    for schema in components.values():
        _comment_lengths(schema)
    components["Configuration"] = _made("Configuration")
    components["EventFrame"]["properties"]["event"] = _made("SessionEvent")
    return components


def _complete(schema: JsonObject, shape: type[Wire]) -> None:
    """Add the constraints to a struct's schema that msgspec does not write."""
    members = cast(JsonObject, schema.get("properties", {}))
    required = cast(list[str], schema.setdefault("required", []))
    for name in members:
        if name in _ALWAYS_THERE and name not in required and shape.__name__ != "BootstrapHello":
            required.append(name)
    if not required:
        del schema["required"]
    wire = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    for name, hint in get_type_hints(shape, include_extras=True).items():
        for keyword, bound in _weights(hint):
            if name in wire and wire[name] in members:
                member = cast(JsonObject, members[wire[name]])
                member[keyword] = bound
                _comment(member, _WEIGHTS[keyword].format(bound))
    if shape.__name__ in SAYS:
        _comment(schema, SAYS[shape.__name__])
    for rule in (shape.verify, shape.weigh):
        # The words of the shape's own method, not those of the base that it replaces.
        if rule not in (Wire.verify, Wire.weigh) and rule.__doc__:
            _comment(schema, " ".join(rule.__doc__.split()))


def _weights(hint: Any) -> Iterator[tuple[str, int]]:
    """The bounds of a member that JSON Schema has no keyword for."""
    origin = get_origin(hint)
    if origin is Annotated:
        base, *metas = get_args(hint)
        yield from _weights(base)
        for meta in metas:
            extra = (meta.extra or {}) if isinstance(meta, Meta) else {}
            if "encoded" in extra:
                yield "x-maxEncodedBytes", extra["encoded"]
            if extra.get("entries"):
                yield "x-maxEntries", extra["entries"]
    elif origin is Union or origin is UnionType:
        for branch in get_args(hint):
            yield from _weights(branch)


def _comment(schema: JsonObject, words: str) -> None:
    known = schema.get("$comment")
    schema["$comment"] = f"{known} {words}" if known else words


def _comment_lengths(schema: Any) -> None:
    """Say of every bounded string that the bound is of its UTF-8 bytes."""
    members = as_object(schema)
    if members is not None:
        if members.get("type") == "string" and "maxLength" in members:
            _comment(members, f"at most {members['maxLength']} bytes of UTF-8")
        for inner in list(members.values()):
            _comment_lengths(inner)
    for inner in as_list(schema) or ():
        _comment_lengths(inner)


def _ref(name: str) -> JsonObject:
    return {"$ref": REF.format(name=name)}


def _alternatives(name: str) -> JsonObject:
    return {"anyOf": [_ref(shape.__name__) for shape in get_args(_UNIONS[name])]}


def _made(name: str) -> JsonObject:
    """The schemas that more than one struct, or none, stands for."""
    match name:
        case "ClientEnvelope":
            return {
                "$comment": f"depth {LIMITS.json_depth}",
                "anyOf": [_request(op) for op in OPERATION_CATALOG],
            }
        case "ServerEnvelope":
            frames = ("Accepted", "Refused", "EventFrame", "TextFrame", "NoticeFrame")
            return {
                "$comment": "Exactly one of outcome, event, stream, notice. The result of an accepted reply "
                "is that of the operation of the request with this id.",
                "oneOf": [_ref(frame) for frame in frames],
            }
        case "SessionEvent":
            unknown = {
                "$comment": "An event of another type is kept as it came; it advances the revision.",
                "type": "object",
                "properties": {
                    "type": {"type": "string", "minLength": 1, "not": {"enum": list(EVENT_TYPES)}}
                },
                "required": ["type"],
            }
            known = [_ref(shape.__name__) for shape in EVENT_TYPES.values()]
            return {"anyOf": [*known, unknown]}
        case _:
            options = {
                option.name: {"$comment": option.group, "anyOf": [option.type.schema(), {"type": "null"}]}
                for option in CONFIG_OPTIONS.values()
            }
            return {
                "type": "object",
                "properties": options,
                "patternProperties": {r"^extensionConfig\.[^.]+\..+$": {}},
                "additionalProperties": False,
                "$comment": "The values of config.set; null unsets. httpProxy holds no user and no password. "
                f"A value has at most {LIMITS.structured_bytes} bytes, encoded.",
            }


def _request(op: str) -> JsonObject:
    row = OPERATION_CATALOG[op]
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "v": {"const": 1},
            "id": {"type": "string", "minLength": 1, "maxLength": LIMITS.id_bytes},
            "op": {"const": op},
            "session": {"type": "string", "minLength": 1, "maxLength": LIMITS.id_bytes},
            "params": _ref(row.params.__name__),
        },
        "required": ["v", "id", "op", "params"],
    }
    if row.mutates:
        schema["properties"]["id"] = {
            "type": "string",
            "pattern": _UUID7,
        }
    if row.scope in ("session", "root"):
        schema["required"].append("session")
    elif row.scope == "host":
        schema["properties"]["session"] = False
    return schema


def _collect(schema: Any, definitions: dict[str, Any], needed: dict[str, Any]) -> None:
    """Collect the references of ``schema``, transitively."""
    members = as_object(schema)
    if members is not None:
        ref = members.get("$ref")
        if isinstance(ref, str):
            name = ref.rpartition("/")[2]
            if name not in needed:
                needed[name] = definitions[name]
                _collect(definitions[name], definitions, needed)
        for inner in members.values():
            _collect(inner, definitions, needed)
    for inner in as_list(schema) or ():
        _collect(inner, definitions, needed)
