"""What members of a shape say about each other: as JSON Schema where that can say it, else in words."""

from typing import Final

from felan_core.protocol.base import LIMITS, JsonObject
from felan_core.protocol.configuration import CONFIG_OPTIONS

REF: Final = "#/$defs/{name}"
"""How a schema refers to another shape."""


def _one_of(*names: str) -> JsonObject:
    return {"oneOf": [{"required": [name]} for name in names]}


_NONE: Final[JsonObject] = {"not": {}}
ALSO: Final[dict[str, JsonObject]] = {
    "CommandResult": {"not": {"required": ["runId", "status"]}},
    "ConfigGetParams": {
        "properties": {
            "keys": {
                "items": {
                    "anyOf": [{"enum": list(CONFIG_OPTIONS)}, {"pattern": r"^extensionConfig\.[^.]+\..+$"}]
                }
            }
        }
    },
    "ConfigSetParams": {
        "properties": {"values": {"$ref": REF.format(name="Configuration")}, "expectedRevision": _NONE}
    },
    "ControlRequest": {
        "properties": {"target": {"propertyNames": {"enum": ["namespace", "instance", "root"]}}},
        "if": {"properties": {"command": {"const": "status"}}},
        "then": {"properties": {"mode": _NONE}},
    },
    "ControlResponse": {
        "if": {"properties": {"outcome": {"const": "accepted"}}},
        "then": {"properties": {"error": _NONE}},
        "else": {"required": ["error"]},
    },
    "ForkFrom": _one_of("entry", "position"),
    "ImportSource": _one_of("path", "jsonl"),
    "NamespaceTarget": {"properties": {"name": {"not": {"const": "production"}}}},
    "ProcessWriteParams": {"properties": {"data": {"minLength": 4}}},
    "QueuedResult": _one_of("itemId", "status"),
    "RemoteCommandRow": {
        "anyOf": [
            {"required": ["requester"], "properties": {"automation": _NONE}},
            {"required": ["automation"], "properties": {"requester": _NONE, "channel": _NONE}},
            {"required": ["channel"], "properties": {"automation": _NONE}},
        ]
    },
}
"""What members say about each other, where a schema can say it: it holds besides what the struct says."""
SAYS: Final[dict[str, str]] = {
    "Action": "No field stands twice.",
    "AnswerParams": "answer.values is one piece of structured data.",
    "ApprovalRequest": "No option stands twice.",
    "CommandResult": "runId and status exclude each other.",
    "ConfigGetParams": "Names of the closed configuration.",
    "ConfigSetParams": "Names and values of the closed configuration; null unsets.",
    "DocumentElement": "No raw HTML, no link or image that is not absolute http(s), as CommonMark sees them.",
    "EnumField": "No option stands twice; the default is one of them.",
    "ForkFrom": "Exactly one member.",
    "Form": "No field stands twice; submit and cancel have two ids.",
    "Hint": "null is no data.",
    "History": "No entry stands twice.",
    "ImportSource": "Exactly one member.",
    "Interaction": f"At most {LIMITS.page_bytes} bytes, encoded.",
    "MessageEntry": f"No part stands twice; at most {LIMITS.page_bytes} bytes, encoded.",
    "MultiSelectField": "No option stands twice; min, max and the default agree with them.",
    "NoticeEntry": f"At most {LIMITS.page_bytes} bytes, encoded.",
    "NumberField": "min is not more than max; the default is a value that could be sent.",
    "ProcessOutput": "start is not more than end.",
    "ProcessReadResult": "start <= offset <= nextOffset <= end; nextOffset is offset and the bytes of data.",
    "ProcessWriteParams": f"1 to {LIMITS.process_write_bytes} bytes, decoded.",
    "ProgressElement": "No action stands twice.",
    "Queue": "No item stands twice.",
    "QueuedResult": "Exactly one member.",
    "SelectRequest": "No option stands twice; min and max, one when absent, agree with each other and them.",
    "SessionSnapshot": f"No row stands twice; {LIMITS.active_streams} streams with the completion-only ones; "
    f"{LIMITS.stream_total_bytes} bytes of their text; {LIMITS.snapshot_bytes} bytes in all.",
    "StringField": "minLength is not more than maxLength; the default is a value that could be sent.",
    "ToolEntry": f"null is no arguments; at most {LIMITS.page_bytes} bytes, encoded.",
    "ViewElement": "No column, item or action stands twice; fields are declared columns of their type; "
    "an item's actions are declared ones of scope item; the items are not more than page.size, and do not "
    "go past page.total.",
}
"""What a schema cannot say about a struct that says it in code alone."""
