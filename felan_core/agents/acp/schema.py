"""The names of ACP version 1 that we speak, and tolerant readers for what agents send in its place.

Agents leave out, null and invent members (a null is legal nearly everywhere), so a message is read member by
member: what has the wrong type counts as absent, and one bad member never costs the rest of the message.
"""

import hashlib
from typing import Any, Final

from felan_core.protocol.base import MAX_INTEGER, Json, JsonObject

PROTOCOL_VERSION: Final = 1
ID_CHARACTERS: Final = 512

CLIENT_CAPABILITIES: Final[JsonObject] = {
    # Files and terminals are the agent's own business: it works on the same disk, version 2 of the protocol
    # drops both, and one agent cannot create files any more when they are offered.
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    "elicitation": {"form": {}},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
}

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000

TOOL_KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)


def an_object(value: Json) -> JsonObject:
    """``value``, or an empty object where it is none."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON


def objects(value: Json) -> list[JsonObject]:
    """The objects in a list, everything else skipped; empty where ``value`` is no list."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]  # pyright: ignore[reportUnknownVariableType] - JSON


def a_string(value: Json) -> str:
    """``value``, or an empty string where it is none."""
    return value if isinstance(value, str) else ""


def an_integer(value: Json) -> int | None:
    """A whole number within ±(2^53 - 1), or None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INTEGER:
        return None
    return value


def a_count(value: Json) -> int | None:
    """A whole number from 0 to 2^53 - 1, or None."""
    count = an_integer(value)
    return None if count is None or count < 0 else count


def identity(value: Json) -> str:
    """An id of the agent, to look up by: a long one as its digest, so that none is kept whole."""
    name = a_string(value)
    if len(name) <= ID_CHARACTERS:
        return name
    return "sha256:" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def offers(capabilities: JsonObject, *path: str) -> bool:
    """Whether a capability is there: ``true``, or an object (``{}`` is how the protocol says yes)."""
    here: Any = capabilities
    for name in path:
        here = an_object(here).get(name)
    return here is True or isinstance(here, dict)


def block_text(block: JsonObject) -> str:
    """A content block as text. What we cannot show (an image, a sound) is named, never dropped."""
    match block.get("type"):
        case "text":
            return a_string(block.get("text"))
        case "resource_link":
            name = a_string(block.get("title")) or a_string(block.get("name"))
            uri = a_string(block.get("uri"))
            return f"{name} ({uri})" if name and name != uri else uri
        case "resource":
            resource = an_object(block.get("resource"))
            text = a_string(resource.get("text"))
            return text or f"({a_string(resource.get('uri')) or 'a resource'}, not text)"
        case "image" | "audio" as kind:
            size = len(a_string(block.get("data"))) * 3 // 4
            return f"({kind}, {a_string(block.get('mimeType')) or 'of unknown type'}, {size:,} bytes)"
        case None:
            return ""
        case other:
            return f"(content of the kind {a_string(other) or 'unknown'!r})"
