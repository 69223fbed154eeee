"""One tool call as the agent tells it piece by piece, and the card that it makes.

Upserted from ``tool_call``, ``tool_call_update`` and a permission request alike: a missing or null member
leaves what is there, lists replace. The input is replaced whole, because the same call's input has other
members in a permission request than elsewhere.
"""

from dataclasses import dataclass, field
from typing import Literal

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import (
    BODY_BYTES,
    MARK,
    body,
    clip,
    free_json,
    label,
    readable_json,
)
from felan_core.agents.acp.commands import command_of
from felan_core.agents.backend import ToolPatch
from felan_core.protocol.base import UNSET, Json, JsonObject
from felan_core.protocol.entries import AnyToolContent, ToolDetails, ToolDiff, ToolStateName, ToolText

Ending = Literal["rejected", "cancelled", "lost"]
MAX_DIFFS = 64
MAX_TEXTS = 64
MAX_PATHS = 256
PATH_BYTES = 4096
KEPT_CALLS = 256
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
    content: list[JsonObject] = field(default_factory=list[JsonObject])
    locations: list[str] = field(default_factory=list[str])
    raw_input: Json = None
    raw_output: Json = None
    terminal: str = ""
    exit_code: int | None = None
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
        self.name = schema.a_string(name) or self.name
        self.title = schema.a_string(update.get("title")) or self.title
        if isinstance(update.get("content"), list):
            self.content = schema.objects(update["content"])
        if isinstance(update.get("locations"), list):
            found = [schema.a_string(place.get("path")) for place in schema.objects(update["locations"])]
            self.locations = list(dict.fromkeys(path for path in found if path))
        if update.get("rawInput") is not None:
            self.raw_input = update["rawInput"]
        if update.get("rawOutput") is not None:
            self.raw_output = update["rawOutput"]
        self._merge_terminal(meta)
        status = update.get("status")
        if isinstance(status, str) and (state := _STATES.get(status)) is not None:
            self._become(state)

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
                self.terminal += data
        code = schema.an_object(meta.get("terminal_exit")).get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            self.exit_code = code

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
        patch = ToolPatch(
            key=self.key,
            name=label(self.name or self.kind),
            category=self.kind,
            title=label(self.title or self.command() or self.name or self.kind),
            state=self.state,
            arguments=UNSET if self.raw_input is None else free_json(self.raw_input),
            locations=[clip(path, PATH_BYTES) for path in self.locations[:MAX_PATHS]],
            content=self.body(),
            details=UNSET if details is None else details,
        )
        if patch == self._shown:
            return None
        self._shown = patch
        return patch

    def _details(self) -> ToolDetails | None:
        code = self.exit_code if self.exit_code is not None else _exit_code(self.raw_output)
        message = ""
        if self.state == "failed":
            message = "\n".join(self.texts()) or _error_of(self.raw_output)
        if self.ending is None and code is None and not message:
            return None
        return ToolDetails(
            reason=self.ending or UNSET,
            exit_code=UNSET if code is None else code,
            message=clip(message, _DETAIL_BYTES) if message else UNSET,
        )

    def body(self) -> list[AnyToolContent]:
        """What the card shows: its diffs, else its terminal's output, else its texts, else its raw output."""
        if diffs := self.changes():
            return [*diffs]
        if self.terminal:
            return [ToolText(text=body(self.terminal))]
        if texts := self.texts():
            return [ToolText(text=body(text)) for text in texts[:MAX_TEXTS]]
        if self.raw_output is not None and (text := _output_text(self.raw_output)):
            return [ToolText(text=body(text))]
        return []

    def texts(self) -> list[str]:
        """The texts of its content."""
        found = [
            schema.block_text(schema.an_object(item.get("content")))
            for item in self.content
            if item.get("type") == "content"
        ]
        return [text for text in found if text]

    def changes(self) -> list[ToolDiff | ToolText]:
        """Its diffs; in place of one that is too large, a text that names it."""
        changes = [item for item in self.content if item.get("type") == "diff"]
        found: list[ToolDiff | ToolText] = []
        room = 4 * BODY_BYTES
        for item in changes[:MAX_DIFFS]:
            path = clip(schema.a_string(item.get("path")), PATH_BYTES)
            old, new = item.get("oldText"), schema.a_string(item.get("newText"))
            size = len(new) + len(schema.a_string(old))
            if size > min(room, BODY_BYTES):
                # Half a diff would show lines as gone that are not.
                found.append(ToolText(text=f"{path}: a change of {size:,} characters, too much to show"))
            else:
                room -= size
                found.append(ToolDiff(path=path, new=new, old=old if isinstance(old, str) else UNSET))
        if len(changes) > MAX_DIFFS:
            found.append(ToolText(text=f"{MARK} and {len(changes) - MAX_DIFFS} more changes"))
        return found

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
        self.turn = 0

    def get(self, tool_call_id: str) -> ToolCall | None:
        return self._calls.get(tool_call_id)

    def upsert(self, update: JsonObject, *, announced: bool) -> ToolCall | None:
        """The call that ``update`` is about, with it merged in; None without an id.

        ``announced``: it came as a ``tool_call`` or with a question. Then an id of an earlier turn is used
        anew and gets a card of its own (some agents number their calls from one in every turn).
        """
        number = schema.a_string(update.get("toolCallId"))
        if not number:
            return None
        call = self._calls.get(number)
        if call is None or (announced and not call.open and call.turn != self.turn):
            self._made += 1
            call = ToolCall(key=f"{self._prefix}{self._made}", turn=self.turn)
            self._calls.pop(number, None)
            self._calls[number] = call
            self._forget_some()
        call.merge(update)
        return call

    def still_open(self) -> list[ToolCall]:
        return [call for call in self._calls.values() if call.open]

    def _forget_some(self) -> None:
        if len(self._calls) <= KEPT_CALLS:
            return
        for number in [number for number, call in self._calls.items() if not call.open][: KEPT_CALLS // 4]:
            del self._calls[number]


def _exit_code(output: Json) -> int | None:
    told = schema.an_object(output)
    for holder in (told, schema.an_object(told.get("metadata"))):
        for member in ("exit_code", "exitCode", "exit"):
            code = holder.get(member)
            if isinstance(code, int) and not isinstance(code, bool):
                return code
    return None


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
