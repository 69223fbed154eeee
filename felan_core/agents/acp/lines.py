"""One line of an agent as a message, at a cost that its length bounds.

A line is decoded whole while it holds few values. A line with millions of them (900,000 steps of a plan, a
list of 15 million lists) would stop the event loop for seconds and take gigabytes as objects, in a thread
too, because a decoder keeps the interpreter's lock. Of such a line only the members that ACP names are
decoded, the small ones first; the others count as absent and are named in ``left_out``. A long line is read
in a thread (``Connection``), where each step is one call into C of about 10 ms for 10 MB.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from felan_core.agents.acp.clip import TOO_DEEP
from felan_core.protocol.base import Json, JsonObject
from felan_core.protocol.scan import outside_pieces

SMALL_BYTES: Final = 64 * 1024
"""A shorter line holds too few values to matter."""
MAX_VALUES: Final = 200_000
"""Values of one line that become objects: about 20 ms of work."""
MAX_SLOW_BYTES: Final = 8 * 1024 * 1024
"""Up to here a line that the fast decoder refuses (NaN, half a surrogate pair) is decoded by Python's own."""
_NAMES: Final = [
    "id",
    "method",
    "params",
    "result",
    "error",
    "code",
    "message",
    "data",
    "sessionId",
    "update",
    "toolCall",
    "toolCallId",
    "options",
    "mode",
    "requestedSchema",
    "requestId",
    "stopReason",
    "sessionUpdate",
    "content",
    "title",
    "kind",
    "status",
    "name",
    "entries",
    "messageId",
    "availableCommands",
    "currentModeId",
    "configOptions",
    "modes",
    "used",
    "size",
    "severity",
    "description",
    "compactionId",
    "summary",
    "rawInput",
    "rawOutput",
    "locations",
    "agentInfo",
    "agentCapabilities",
    "authMethods",
    "protocolVersion",
    "_meta",
    "type",
    "text",
]
_ENVELOPES: Final = frozenset({"params", "update", "toolCall", "result", "error"})
"""Members that hold members of ACP's own; all others are left out whole."""
_Known: Final[Any] = msgspec.defstruct("_Known", [(name, msgspec.Raw, msgspec.Raw(b"")) for name in _NAMES])
_known: Final = msgspec.json.Decoder(_Known)
_one: Final = msgspec.json.Decoder()
_HALF_PAIR: Final = re.compile(
    rb"\\u(?<!\\\\u)[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
_LEVELS: Final = 64
"""Levels of a line that a decoder refuses because of its depth; free JSON has fewer in the transcript."""
_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_DEEPER: Final = msgspec.json.encode(TOO_DEEP)
_REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(slots=True)
class Message:
    """What a line holds. ``left_out``: the members that were too much, as "params.update.rawInput"."""

    body: JsonObject
    left_out: list[str] = field(default_factory=list[str])


def decode(line: bytes) -> Message | None:
    """The object on one line, or None. Lone surrogates, NaN and broken UTF-8 are repaired."""
    if len(line) <= SMALL_BYTES or values(line, MAX_VALUES) <= MAX_VALUES:
        value = _decoded(line)
        return Message(value) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownArgumentType] - JSON
    for attempt in (line, _repaired(line)):
        message = Message({})
        try:
            message.body = _pruned(attempt, "", [MAX_VALUES], message.left_out)
        except _REFUSED:
            continue
        return message
    return None


def values(line: bytes, limit: int) -> int:
    """How many values a JSON text holds; the count stops soon after ``limit``."""
    found = 1
    for piece in outside_pieces(line):
        found += piece.count(b",") + piece.count(b"[") + piece.count(b"{")
        if found > limit:
            break
    return found


def _pruned(line: bytes, path: str, budget: list[int], left_out: list[str]) -> JsonObject:
    """The members that ACP names, while ``budget`` lasts. Raises what the decoder raises."""
    members: list[tuple[str, bytes]] = []
    known = _known.decode(line)
    for name in _NAMES:
        if raw := bytes(getattr(known, name)):
            members.append((name, raw))
    found: JsonObject = {}
    for name, raw in sorted(members, key=lambda member: len(member[1])):
        cost = values(raw, budget[0])
        if cost <= budget[0]:
            budget[0] -= cost
            found[name] = _decoded(raw)
        elif name in _ENVELOPES and raw.startswith(b"{") and path.count(".") < len(_ENVELOPES):
            found[name] = _pruned(raw, f"{path}{name}.", budget, left_out)
        else:
            left_out.append(f"{path}{name}")
    return found


def _decoded(line: bytes) -> Json:
    """The value, or None where it cannot be read."""
    try:
        return _one.decode(line)
    except RecursionError:
        line = _shallow(line)
    except _REFUSED:
        pass
    if len(line) <= MAX_SLOW_BYTES:
        try:
            # Agents that cut their text by UTF-16 units send halves of a pair, each in a chunk of its own.
            return _mended(json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None))
        except (ValueError, RecursionError):
            return None
    try:
        return _one.decode(_repaired(line))
    except _REFUSED:
        return None


def _repaired(line: bytes) -> bytes:
    """The line with each half of a surrogate pair and each broken byte as U+FFFD."""
    if not line.isascii():
        line = line.decode("utf-8", "replace").encode()
    return _HALF_PAIR.sub(rb"\\ufffd", line)


def _shallow(line: bytes) -> bytes:
    """The line with a word in the place of whatever is nested too deep."""
    pieces: list[bytes] = []
    depth = done = 0
    for token in _TOKENS.finditer(line):
        match token[0]:
            case b"[" | b"{":
                depth += 1
                if depth == _LEVELS + 1:
                    pieces.append(line[done : token.start()])
            case b"]" | b"}":
                if depth == _LEVELS + 1:
                    pieces.append(_DEEPER)
                    done = token.end()
                depth -= 1
            case _:
                pass  # a string
    return b"".join([*pieces, line[done:]])


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_mended(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case dict():
            return {_mended(name): _mended(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return value


__all__ = ["Message", "decode", "values"]
