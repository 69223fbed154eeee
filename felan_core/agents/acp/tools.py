"""One tool call as the agent tells it piece by piece, and the card that it makes.

Upserted from ``tool_call``, ``tool_call_update`` and a permission request alike: a missing or null member
leaves what is there, lists replace. The input is replaced whole, because the same call's input has other
members in a permission request than elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import (
    BODY_BYTES,
    MARK,
    body,
    bounded,
    clip,
    label,
    long_text,
    readable_json,
)
from felan_core.agents.acp.commands import command_of, title_line
from felan_core.agents.backend import ToolPatch
from felan_core.protocol.base import UNSET, Json, JsonObject, or_default
from felan_core.protocol.entries import (
    AnyToolContent,
    ToolDetails,
    ToolDiff,
    ToolStateName,
    ToolText,
)

Ending = Literal["rejected", "cancelled", "lost"]
MAX_DIFFS = 64
MAX_TEXTS = 64
MAX_PATHS = 256
PATH_BYTES = 4096
PATHS_BYTES = 64 * 1024
"""Of all paths of one call together."""
ARGUMENT_BYTES = 4 * 1024 * 1024
CONTENT_BYTES = 7 * 1024 * 1024
"""As JSON, of what a card shows. With the arguments it fits an entry of 12 MiB."""
KEPT_CALLS = 256
KEPT_BYTES = 32 * 1024 * 1024
"""Of the inputs and outputs of all calls together; the cards of the session have them by then."""
OUTPUT_SHOWN_AT_ONCE = 16 * 1024
_DETAIL_BYTES = 8 * 1024
"""Of the message in a call's details, which are one piece of 64 KiB: escaped it is six times as long."""
_STATES: dict[str, ToolStateName] = {
    "pending": "running",
    "in_progress": "running",
    "completed": "completed",
    "failed": "failed",
}


@dataclass
class ToolCall:
    """What is known of one call. ``key`` names its card."""

    key: str
    turn: int
    kind: str = "other"
    name: str = ""
    title: str = ""
    state: ToolStateName = "running"
    ending: Ending | None = None
    changes: list[ToolDiff | ToolText] = field(default_factory=list[ToolDiff | ToolText])
    """Its changes of files; one that is too large to show is a text that says so."""
    texts: list[ToolText] = field(default_factory=list[ToolText])
    locations: list[str] = field(default_factory=list[str])
    raw_input: Json = None
    terminal: str = ""
    exit_code: int | None = None
    odd: list[str] = field(default_factory=list[str])
    """Members of its updates that were left out, until somebody takes them."""
    _output: str = ""
    _error: str = ""
    _input_size: int = 0
    _released: bool = False
    _shown: ToolPatch | None = None
    _shown_output: int = 0

    @property
    def open(self) -> bool:
        return self.state == "running"

    def merge(self, update: JsonObject) -> None:
        """Take over what ``update`` has."""
        kind = update.get("kind")
        if isinstance(kind, str) and kind:
            self.kind = kind if kind in schema.TOOL_KINDS else "other"
        meta = schema.an_object(update.get("_meta"))
        name = update.get("name") or schema.an_object(meta.get("claudeCode")).get("toolName")
        self.name = label(schema.a_string(name)) or self.name
        self.title = long_text(schema.a_string(update.get("title"))) or self.title
        if isinstance(update.get("content"), list):
            self._take_content(schema.objects(update["content"]))
        if isinstance(update.get("locations"), list):
            self.locations = _paths(place.get("path") for place in schema.objects(update["locations"]))
        if update.get("rawInput") is not None:
            self._take_input(update["rawInput"])
        if update.get("rawOutput") is not None:
            self._take_output(update["rawOutput"])
        self._merge_terminal(meta)
        status = update.get("status")
        if isinstance(status, str) and (state := _STATES.get(status)) is not None:
            self._become(state)

    def _take_input(self, value: Json) -> None:
        self.raw_input = bounded(value, ARGUMENT_BYTES)
        self._input_size = len(msgspec.json.encode(self.raw_input))

    def _take_output(self, value: Json) -> None:
        told = schema.an_object(value)
        holders = (told, schema.an_object(told.get("metadata")))
        codes = [holder.get(member) for holder in holders for member in ("exit_code", "exitCode", "exit")]
        if (code := next((code for code in codes if code is not None), None)) is not None:
            self._take_exit_code(code)
        self._output = body(_output_text(value))
        self._error = clip(_error_of(value), _DETAIL_BYTES)

    def _take_exit_code(self, value: Json) -> None:
        code = schema.an_integer(value)
        if code is not None:
            self.exit_code = code
        elif isinstance(value, int | float):
            self.odd.append("an exit code")

    def _become(self, state: ToolStateName) -> None:
        if state == "running" and not self.open:
            # A card does not open again: what came late was said before the end.
            return
        if state == "completed":
            self.ending = None
        self.state = state

    def _merge_terminal(self, meta: JsonObject) -> None:
        for member in ("terminal_output", "terminal_output_delta"):
            data = schema.a_string(schema.an_object(meta.get(member)).get("data"))
            if data and len(self.terminal) <= BODY_BYTES:
                self.terminal += data[: BODY_BYTES + 1 - len(self.terminal)]
        code = schema.an_object(meta.get("terminal_exit")).get("exit_code")
        if code is not None:
            self._take_exit_code(code)

    def ask_again(self) -> None:
        """A permission is asked for it, so it is not over, whatever was said before."""
        self.state, self.ending = "running", None

    def end(self, ending: Ending) -> None:
        """End an open call ourselves: agents forget to, most of all after a reject or a cancel."""
        self.ending = ending
        self.state = "failed" if ending == "rejected" else "interrupted"

    def patch(self) -> ToolPatch | None:
        """The card as it is now; None when nothing changed since the last call.

        Output that grows by small pieces is not shown at each of them: the card is whole in every patch, so a
        long output would cost its square.
        """
        grown = len(self.terminal) - self._shown_output
        if self.open and 0 < grown < self._shown_output // 8 and self._shown_output > OUTPUT_SHOWN_AT_ONCE:
            return None
        self._shown_output = len(self.terminal)
        details = self._details()
        shown = self.body()
        patch = ToolPatch(
            key=self.key,
            name=label(self.name or self.kind),
            category=self.kind,
            title=title_line(self.title or self.command() or self.name or self.kind),
            state=self.state,
            arguments=UNSET if self.raw_input is None else self.raw_input,
            locations=self.locations,
            content=UNSET if self._released and not shown else shown,
            details=UNSET if details is None else details,
        )
        if patch == self._shown:
            return None
        self._shown = patch
        return patch

    def _details(self) -> ToolDetails | None:
        message = ""
        if self.state == "failed":
            message = "\n".join(one.text for one in self.texts) or self._error
        if self.ending is None and self.exit_code is None and not message:
            return None
        return ToolDetails(
            reason=self.ending or UNSET,
            exit_code=UNSET if self.exit_code is None else self.exit_code,
            message=clip(message, _DETAIL_BYTES) if message else UNSET,
        )

    @property
    def size(self) -> int:
        """Characters that it keeps, about."""
        parts = sum(_size(one) for one in (*self.changes, *self.texts))
        return parts + self._input_size + len(self.terminal) + len(self._output)

    def release(self) -> None:
        """Forget its input and its output, which its card has."""
        self.changes, self.texts = [], []
        self.raw_input, self.terminal, self._output = None, "", ""
        self._input_size, self._shown_output = 0, 0
        self._released, self._shown = True, None

    def body(self) -> list[AnyToolContent]:
        """What the card shows: its changes, else its terminal's output, else its texts, else its raw
        output.
        """
        if self.changes:
            return [*self.changes]
        if self.terminal:
            return [ToolText(text=body(self.terminal))]
        if self.texts:
            return [*self.texts]
        return [ToolText(text=self._output)] if self._output else []

    def _take_content(self, items: list[JsonObject]) -> None:
        """Its changes and texts, within the bounds of a card; what is left out is counted."""
        changes = [item for item in items if item.get("type") == "diff"]
        texts = [
            text
            for item in items
            if item.get("type") == "content"
            and (text := schema.block_text(schema.an_object(item.get("content"))))
        ]
        self.changes = [_change(item) for item in changes[:MAX_DIFFS]]
        self.texts = [ToolText(text=body(text)) for text in texts[:MAX_TEXTS]]
        room = CONTENT_BYTES
        for number, one in enumerate(self.changes):
            room -= len(msgspec.json.encode(one))
            if room < 0 and isinstance(one, ToolDiff):
                self.changes[number] = _too_much(one.path, _size(one))
        for number, one in enumerate(self.texts):
            room -= len(msgspec.json.encode(one))
            if room < 0:
                del self.texts[number:]
                break
        if more := len(changes) - len(self.changes):
            self.changes.append(ToolText(text=f"{MARK} and {more} more changes"))
        if more := len(texts) - len(self.texts):
            self.texts.append(ToolText(text=f"{MARK} and {more} more texts"))

    def command(self) -> str:
        """The command that it would run, or an empty string."""
        command = command_of(self.raw_input)
        return command.line if command else ""


class ToolBook:
    """The calls of one agent process by the agent's id; the oldest ended ones are forgotten."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._calls: dict[str, ToolCall] = {}
        self._made = 0
        self._kept = 0
        self.turn = 0

    def get(self, tool_call_id: str) -> ToolCall | None:
        return self._calls.get(schema.identity(tool_call_id))

    def upsert(self, update: JsonObject, *, announced: bool) -> ToolCall | None:
        """The call that ``update`` is about, with it merged in; None without an id.

        ``announced``: it came as a ``tool_call`` or with a question. Then an id of an earlier turn is used
        anew and gets a card of its own (some agents number their calls from one in every turn).
        """
        number = schema.identity(update.get("toolCallId"))
        if not number:
            return None
        call = self._calls.get(number)
        if call is None or (announced and not call.open and call.turn != self.turn):
            self._made += 1
            call = ToolCall(key=f"{self._prefix}{self._made}", turn=self.turn)
            self._drop(number)
            self._calls[number] = call
            self._forget_some()
        before = call.size
        call.merge(update)
        self._kept += call.size - before
        if self._kept > KEPT_BYTES:
            self._release_some(call)
        return call

    def _release_some(self, changed: ToolCall) -> None:
        """Keep the bound in bytes: the calls that were announced first lose their inputs and outputs."""
        for call in self._calls.values():
            if self._kept <= KEPT_BYTES:
                break
            if call is not changed:
                self._kept -= call.size
                call.release()

    def still_open(self) -> list[ToolCall]:
        return [call for call in self._calls.values() if call.open]

    def _forget_some(self) -> None:
        if len(self._calls) <= KEPT_CALLS:
            return
        for number in [number for number, call in self._calls.items() if not call.open][: KEPT_CALLS // 4]:
            self._drop(number)

    def _drop(self, number: str) -> None:
        if (call := self._calls.pop(number, None)) is not None:
            self._kept -= call.size


def _paths(names: Iterable[Json]) -> list[str]:
    """The paths among ``names``, each once, as many as are kept."""
    found: dict[str, None] = {}
    room = PATHS_BYTES
    for name in names:
        path = clip(schema.a_string(name), PATH_BYTES)
        if path and path not in found:
            room -= len(path.encode())
            if room < 0 or len(found) >= MAX_PATHS:
                break
            found[path] = None
    return list(found)


def _change(item: JsonObject) -> ToolDiff | ToolText:
    path = clip(schema.a_string(item.get("path")), PATH_BYTES)
    old, new = item.get("oldText"), schema.a_string(item.get("newText"))
    size = len(new) + len(schema.a_string(old))
    if size > BODY_BYTES:
        # Half a diff would show lines as gone that are not.
        return _too_much(path, size)
    return ToolDiff(path=path, new=new, old=old if isinstance(old, str) else UNSET)


def _size(one: ToolDiff | ToolText) -> int:
    return len(one.text) if isinstance(one, ToolText) else len(one.new) + len(or_default(one.old, ""))


def _too_much(path: str, size: int) -> ToolText:
    return ToolText(text=f"{path}: a change of {size:,} characters, too much to show")


def _error_of(output: Json) -> str:
    if isinstance(output, str):
        return output
    error = schema.an_object(output).get("error")
    return "" if error is None else readable_json(error)


def _output_text(output: Json) -> str:
    told = schema.an_object(output)
    for member in ("formatted_output", "aggregated_output", "output", "stdout"):
        if text := schema.a_string(told.get(member)):
            return text
    return "" if output in ({}, [], "") else readable_json(output)
