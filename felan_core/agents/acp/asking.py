"""The agent's questions while they wait for a person, and every way in which they stop waiting."""

import asyncio
from typing import Any

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import long_text
from felan_core.agents.acp.questions import Elicitation, NotAskable, Permission, elicitation, permission
from felan_core.agents.acp.rpc import Answering, RpcError
from felan_core.agents.acp.tools import ToolBook, ToolCall
from felan_core.agents.acp.updates import Updates
from felan_core.agents.backend import Session, Withdrawn
from felan_core.protocol.base import Json, JsonObject, or_default
from felan_core.protocol.interactions import Answer, ApprovalAnswer, FormAnswer, InteractionRequest

CANCELLED: JsonObject = {"outcome": {"outcome": "cancelled"}}


class Asking:
    """Asks what one agent process asks.

    A question stops waiting when it is answered or withdrawn by the session, when the agent withdraws it
    (``$/cancel_request``: the task that answers is cancelled), and when ``withdraw`` is called.
    """

    def __init__(self, session: Session, tools: ToolBook, updates: Updates) -> None:
        self._session = session
        self._tools = tools
        self._updates = updates
        self._asked: dict[asyncio.Task[Answer], bool] = {}
        self._notes: list[str] = []

    def withdraw(self, reason: str) -> None:
        """Take back every question; each is answered to the agent as cancelled."""
        for task in self._asked:
            self._asked[task] = True
            task.cancel(reason)

    async def settle(self, reason: str) -> None:
        """``withdraw``, and wait until the session has taken them down."""
        self.withdraw(reason)
        if self._asked:
            await asyncio.wait(list(self._asked))

    def take_notes(self) -> str:
        """What people wrote beside their answers since the last call: the protocol carries a choice alone."""
        notes, self._notes = self._notes, []
        return "\n".join(notes)

    async def permission(self, params: JsonObject) -> Answering:
        """Accept ``session/request_permission``: the card is put up now, the answer comes later."""
        call = self._tools.upsert(schema.an_object(params.get("toolCall")), announced=True)
        if call is None:
            raise RpcError(schema.INVALID_PARAMS, "toolCall.toolCallId is missing")
        call.ask_again()
        await self._updates.show(call)
        try:
            asked = permission(call, schema.objects(params.get("options")))
        except NotAskable as error:
            await self._session.notice("warning", f"The agent asked for a permission, but {error}")
            return at_once(CANCELLED)
        return self._permission(call, asked)

    async def _permission(self, call: ToolCall, asked: Permission) -> Json:
        answer = await self._ask(asked.request, call.key)
        if not isinstance(answer, ApprovalAnswer):
            return CANCELLED
        option = asked.option(answer.option)
        if option.effect.startswith("reject") and call.open:
            # Some agents say nothing more about a call that was rejected.
            call.end("rejected")
            await self._updates.show(call)
        if note := or_default(answer.note, ""):
            self._notes.append(
                f"On {asked.request.title!r} the answer was {option.label!r}, with this note: {note}"
            )
            await self._session.notice(
                "info", "The agent gets the note with your next message", long_text(note)
            )
        return {"outcome": {"outcome": "selected", "optionId": asked.option_id(answer.option)}}

    async def elicitation(self, params: JsonObject, agent: str) -> Answering:
        """Accept ``elicitation/create``."""
        try:
            asked = elicitation(params, agent)
        except NotAskable as error:
            if params.get("mode") == "form":
                await self._session.notice("warning", f"The agent asked a question, but {error}")
            return at_once({"action": "cancel"})
        call = self._tools.get(schema.a_string(params.get("toolCallId")))
        return self._elicitation(asked, call)

    async def _elicitation(self, asked: Elicitation, call: ToolCall | None) -> Json:
        answer = await self._ask(asked.request, None if call is None else call.key)
        if not isinstance(answer, FormAnswer):
            return {"action": "cancel"}
        content = asked.content(answer)
        return {"action": "decline"} if content is None else {"action": "accept", "content": content}

    async def _ask(self, request: InteractionRequest, tool: str | None) -> Answer | None:
        """The answer, or None where the question was withdrawn by anyone but the agent."""
        task = asyncio.get_running_loop().create_task(
            _waiting(self._session, request, tool), name="acp-question"
        )
        self._asked[task] = False
        try:
            return await task
        except Withdrawn:
            return None
        except asyncio.CancelledError:
            if self._asked[task]:
                return None
            raise
        finally:
            del self._asked[task]


async def _waiting(session: Session, request: InteractionRequest, tool: str | None) -> Answer:
    return await session.ask(request, tool=tool)


async def at_once(value: Any) -> Json:
    return value
