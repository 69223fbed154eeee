"""``session/update`` notifications as calls of the session, one after the other and in order."""

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import clip, label, long_text
from felan_core.agents.acp.compaction import Compactions
from felan_core.agents.acp.modes import Modes
from felan_core.agents.acp.tools import Ending, ToolBook, ToolCall
from felan_core.agents.backend import Refused, Session, Tone
from felan_core.protocol.base import LIMITS, UNSET, Json, JsonObject
from felan_core.protocol.checks import weight
from felan_core.protocol.elements import Column, ViewElement, ViewItem, ViewPage
from felan_core.protocol.entries import MessageOutcome
from felan_core.protocol.session import Command

PLAN_ELEMENT: Final = "acp.plan"
MAX_COMMANDS: Final = LIMITS.page_entries
COMMANDS_BYTES: Final = 1024 * 1024
"""Of the commands that are offered, together."""
COMMAND_BYTES: Final = 2 * 1024
"""Of one command's description."""
KNOWN_COMMANDS: Final = 4096
"""Names that are known as commands of the agent, offered or not."""
MAX_COMPLAINTS: Final = 16
"""Kinds of parts that were left out, each of which is published once."""
HISTORY: Final = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "compaction_update",
        "compaction_summary_chunk",
    }
)
"""What an agent replays of earlier turns when a session is loaded. The transcript has it already."""
_KEPT_STARTS: Final = 8
_START: Final = 40
_LEAST: Final = 8
"""A shorter title says too little to be the start of a context."""
_TONES: dict[str, Tone] = {"info": "info", "warning": "warning", "error": "error"}


class Contexts:
    """What was sent for the agent alone. Some agents name a session by the start of what they got."""

    def __init__(self) -> None:
        self._starts: deque[str] = deque(maxlen=_KEPT_STARTS)

    def sent(self, text: str) -> None:
        self._starts.append(" ".join(text.split())[:_START])

    def begins(self, title: str) -> bool:
        """Whether ``title`` begins with such a text, or is the start of one."""
        words = " ".join(title.split()).rstrip("….")
        return any(
            words.startswith(start) if len(words) >= len(start) else start.startswith(words)
            for start in self._starts
            if len(words) >= _LEAST
        )


class Updates:
    """Maps the updates of one agent process. ``tools`` is shared with the permission requests."""

    def __init__(self, session: Session, tools: ToolBook) -> None:
        self._session = session
        self._tools = tools
        self.compactions = Compactions(session)
        self.modes = Modes(session)
        self.contexts = Contexts()
        self._plan_open = False
        self._plan_shown = False
        self._complaints: set[str] = set()
        self.commands: frozenset[str] = frozenset()
        """The agent's own slash commands."""
        self._kinds: dict[str, Callable[[JsonObject], Awaitable[None]]] = {
            "agent_message_chunk": self._answer,
            "agent_thought_chunk": self._thought,
            "tool_call": self._tool_call,
            "tool_call_update": self._tool_call_update,
            "plan": self._plan_update,
            "available_commands_update": self._commands_update,
            "session_info_update": self._info_update,
            "current_mode_update": self.modes.current,
            "config_option_update": self.modes.update,
            "usage_update": self._usage_update,
            "notice": self._notice,
            "compaction_update": self.compactions.update,
            "compaction_summary_chunk": self.compactions.chunk,
        }

    async def take(self, update: JsonObject) -> None:
        """Show one update. Unknown kinds are ignored, as the protocol wants."""
        kind = update.get("sessionUpdate")
        if not isinstance(kind, str):
            return
        if (handle := self._kinds.get(kind)) is None:
            return
        try:
            await handle(update)
        except Refused as error:
            await self.left_out(f"an update of the kind {kind}", str(error))

    async def left_out(self, what: str, why: str = "") -> None:
        """Publish that a part of what the agent sent is not shown, once for each kind of part."""
        if what not in self._complaints and len(self._complaints) < MAX_COMPLAINTS:
            self._complaints.add(what)
            with contextlib.suppress(Refused):
                await self._session.notice("warning", label(f"Felan left out {what}"), long_text(why))

    async def show(self, call: ToolCall) -> None:
        """Put up a tool call's card as it is now, where it changed."""
        if (patch := call.patch()) is not None:
            try:
                await self._session.tool(patch)
            except Refused as error:
                await self.left_out("a change of a tool call", str(error))
        while call.odd:
            await self.left_out(call.odd.pop(), "It is beyond the range of integers that a browser can show.")

    async def end_turn(self, ending: Ending, said: MessageOutcome) -> None:
        """Close what the agent left open: the streaming message, tool calls, a plan that is all done.

        ``said``: how the message ended.
        """
        await self._session.end_message(said)
        for call in self._tools.still_open():
            call.end(ending)
            await self.show(call)
        if not self._plan_open:
            await self._hide_plan()

    async def _answer(self, update: JsonObject) -> None:
        await self._chunk("assistant", update)

    async def _thought(self, update: JsonObject) -> None:
        await self._chunk("thinking", update)

    async def _chunk(self, kind: Any, update: JsonObject) -> None:
        text = schema.block_text(schema.an_object(update.get("content")))
        if text and not await self.modes.text(text):
            await self._session.text(kind, text, schema.identity(update.get("messageId")) or None)

    async def _tool_call(self, update: JsonObject) -> None:
        if (call := self._tools.upsert(update, announced=True)) is not None:
            await self.show(call)

    async def _tool_call_update(self, update: JsonObject) -> None:
        if (call := self._tools.upsert(update, announced=False)) is not None:
            await self.show(call)

    async def _plan_update(self, update: JsonObject) -> None:
        # What follows is a new thought, also for agents that do not number their messages.
        await self._session.end_message()
        plan = schema.objects(update.get("entries"))
        self._plan_open = not all(entry.get("status") == "completed" for entry in plan)
        if not plan:
            await self._hide_plan()
            return
        self._plan_shown = True
        await self._session.show(plan_element(plan))

    async def _hide_plan(self) -> None:
        if self._plan_shown:
            self._plan_shown = False
            await self._session.remove(PLAN_ELEMENT)

    async def _commands_update(self, update: JsonObject) -> None:
        found: dict[str, Command] = {}
        for told in schema.objects(update.get("availableCommands")):
            name = schema.a_string(told.get("name"))
            if not name or len(name.encode("utf-8", "replace")) > LIMITS.id_bytes:
                continue  # it could not be called by a name that was cut
            description = schema.a_string(told.get("description"))
            hint = schema.a_string(schema.an_object(told.get("input")).get("hint"))
            found.setdefault(
                name,
                Command(
                    name=name,
                    description=clip(description, COMMAND_BYTES) if description else UNSET,
                    hint=label(hint) if hint else UNSET,
                ),
            )
            if len(found) == KNOWN_COMMANDS:
                break
        self.commands = frozenset(found)
        offered = _within(list(found.values())[:MAX_COMMANDS], COMMANDS_BYTES)
        await self._session.offer(commands=offered)
        if len(offered) < len(found):
            await self.left_out(
                "commands of the agent",
                f"It offers {len(found)} commands, and the first {len(offered)} are listed."
                " All of them can be typed.",
            )

    async def _info_update(self, update: JsonObject) -> None:
        title = label(schema.a_string(update.get("title")))
        if title and not self.contexts.begins(title):
            await self._session.rename(title)

    async def _usage_update(self, update: JsonObject) -> None:
        used, size = schema.a_count(update.get("used")), schema.a_count(update.get("size"))
        if used is not None and size is not None:
            await self._session.usage(used, size)

    async def _notice(self, update: JsonObject) -> None:
        title = schema.a_string(update.get("title"))
        if not title:
            return
        tone = _TONES.get(schema.a_string(update.get("severity")), "info")
        text = schema.a_string(update.get("description"))
        await self._session.notice(tone, label(title), long_text(text))


def _within(commands: list[Command], limit: int) -> list[Command]:
    for number, command in enumerate(commands):
        limit -= weight(command) + 1
        if limit < 0:
            return commands[:number]
    return commands


def plan_element(entries: list[JsonObject]) -> ViewElement:
    """The plan as a view: one item a step. The session sets the revision."""

    def cell(value: Json) -> str:
        return clip(schema.a_string(value), LIMITS.label_bytes)

    shown = entries[: LIMITS.page_entries]
    return ViewElement(
        id=PLAN_ELEMENT,
        revision=1,
        title="Plan",
        layout="list",
        columns=[
            Column(id="step", label="Step", type="string"),
            Column(id="status", label="Status", type="string"),
            Column(id="priority", label="Priority", type="string"),
        ],
        items=[
            ViewItem(
                id=str(number),
                fields={
                    "step": cell(entry.get("content")),
                    "status": cell(entry.get("status")).replace("_", " "),
                    "priority": cell(entry.get("priority")),
                },
            )
            for number, entry in enumerate(shown, 1)
        ],
        page=ViewPage(index=0, size=len(shown), total=len(entries), has_more=len(shown) < len(entries)),
    )
