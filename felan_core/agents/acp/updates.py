"""``session/update`` notifications as calls of the session, one after the other and in order."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import clip, label, long_text
from felan_core.agents.acp.compaction import Compactions
from felan_core.agents.acp.tools import Ending, ToolBook, ToolCall
from felan_core.agents.backend import Session, Tone
from felan_core.protocol.base import LIMITS, UNSET, Json, JsonObject
from felan_core.protocol.elements import Column, ViewElement, ViewItem, ViewPage
from felan_core.protocol.entries import MessageOutcome
from felan_core.protocol.session import Command

PLAN_ELEMENT: Final = "acp.plan"
MAX_COMMANDS: Final = 512
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
_TONES: dict[str, Tone] = {"info": "info", "warning": "warning", "error": "error"}


class Updates:
    """Maps the updates of one agent process. ``tools`` is shared with the permission requests."""

    def __init__(self, session: Session, tools: ToolBook) -> None:
        self._session = session
        self._tools = tools
        self.compactions = Compactions(session)
        self._plan: list[JsonObject] = []
        self._plan_shown = False
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
            "usage_update": self._usage_update,
            "notice": self._notice,
            "compaction_update": self.compactions.update,
            "compaction_summary_chunk": self.compactions.chunk,
        }

    async def take(self, update: JsonObject, *, replay: bool = False) -> None:
        """Show one update. Unknown kinds are ignored, as the protocol wants; ``replay``: so is history."""
        kind = update.get("sessionUpdate")
        if not isinstance(kind, str) or (replay and kind in HISTORY):
            return
        if (handle := self._kinds.get(kind)) is not None:
            await handle(update)

    async def show(self, call: ToolCall) -> None:
        """Put up a tool call's card as it is now, where it changed."""
        if (patch := call.patch()) is not None:
            await self._session.tool(patch)

    async def end_turn(self, ending: Ending, said: MessageOutcome) -> None:
        """Close what the agent left open: the streaming message, tool calls, a plan that is all done.

        ``said``: how the message ended.
        """
        await self._session.end_message(said)
        for call in self._tools.still_open():
            call.end(ending)
            await self.show(call)
        if self._plan_shown and all(entry.get("status") == "completed" for entry in self._plan):
            await self._hide_plan()

    async def _answer(self, update: JsonObject) -> None:
        await self._chunk("assistant", update)

    async def _thought(self, update: JsonObject) -> None:
        await self._chunk("thinking", update)

    async def _chunk(self, kind: Any, update: JsonObject) -> None:
        text = schema.block_text(schema.an_object(update.get("content")))
        if text:
            await self._session.text(kind, text, schema.a_string(update.get("messageId")) or None)

    async def _tool_call(self, update: JsonObject) -> None:
        if (call := self._tools.upsert(update, announced=True)) is not None:
            await self.show(call)

    async def _tool_call_update(self, update: JsonObject) -> None:
        if (call := self._tools.upsert(update, announced=False)) is not None:
            await self.show(call)

    async def _plan_update(self, update: JsonObject) -> None:
        # What follows is a new thought, also for agents that do not number their messages.
        await self._session.end_message()
        self._plan = schema.objects(update.get("entries"))
        if not self._plan:
            await self._hide_plan()
            return
        self._plan_shown = True
        await self._session.show(plan_element(self._plan))

    async def _hide_plan(self) -> None:
        if self._plan_shown:
            self._plan_shown = False
            await self._session.remove(PLAN_ELEMENT)

    async def _commands_update(self, update: JsonObject) -> None:
        found: list[Command] = []
        for told in schema.objects(update.get("availableCommands"))[:MAX_COMMANDS]:
            name = schema.a_string(told.get("name"))
            if not name or len(name) > LIMITS.id_bytes:
                continue  # it could not be called by a name that was cut
            description = schema.a_string(told.get("description"))
            hint = schema.a_string(schema.an_object(told.get("input")).get("hint"))
            found.append(
                Command(
                    name=name,
                    description=long_text(description) if description else UNSET,
                    hint=label(hint) if hint else UNSET,
                )
            )
        self.commands = frozenset(command.name for command in found)
        await self._session.offer(commands=found)

    async def _info_update(self, update: JsonObject) -> None:
        if title := label(schema.a_string(update.get("title"))):
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
