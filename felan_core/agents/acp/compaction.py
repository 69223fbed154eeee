"""What an agent says of its compactions, as the events of the session: before one, and after it.

An agent tells of them where we say that we know ``session.compaction``. It compacts inside a turn, and ACP
has no way to tell it anything there, so what the session says after it is told with the next prompt.
"""

from dataclasses import dataclass
from typing import Final

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import label, long_text
from felan_core.agents.backend import AgentError, CompactTrigger, Session
from felan_core.protocol.base import LIMITS, JsonObject

KEPT: Final = 32
"""Compactions that are known by their ids; older ones are over."""


@dataclass(slots=True)
class _Compaction:
    summary: str = ""
    over: bool = False


class Compactions:
    """Those of one agent process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, _Compaction] = {}
        self._trigger: CompactTrigger = "auto"
        self._told = ""
        self.refusal: AgentError | None = None
        """Why the turn must not go on after a compaction."""

    def begin_turn(self, *, command: bool) -> None:
        """``command``: the prompt is one of the agent's own, so a compaction in it was asked for."""
        self._trigger = "manual" if command else "auto"
        self.refusal = None

    def take_told(self) -> str:
        """What the agent is to be told since a compaction, once."""
        told, self._told = self._told, ""
        return told

    async def complain(self) -> None:
        """There is no turn that could end by it: say so alone."""
        refusal, self.refusal = self.refusal, None
        if refusal is not None:
            await self._session.notice("error", label(refusal.message), long_text(refusal.details))

    async def update(self, update: JsonObject) -> None:
        """``compaction_update``: a first one begins it, also where it is over by then."""
        one = await self._begun(update)
        if one is None or one.over:
            return
        if "summary" in update:
            blocks = schema.objects(update.get("summary"))
            texts = [text for block in blocks if (text := schema.block_text(block))]
            one.summary = long_text("\n\n".join(texts))
        match update.get("status"):
            case "completed":
                one.over = True
                await self._completed(one)
            case "failed":
                one.over = True
                why = long_text(schema.a_string(update.get("error")))
                await self._session.notice("warning", "The agent could not compact its context", why)
            case "cancelled":
                one.over = True
            case _:
                pass  # under way, or a status of tomorrow

    async def chunk(self, update: JsonObject) -> None:
        """``compaction_summary_chunk``."""
        one = await self._begun(update)
        if one is not None and len(one.summary) < LIMITS.text_bytes:
            one.summary += long_text(schema.block_text(schema.an_object(update.get("content"))))

    async def _begun(self, update: JsonObject) -> _Compaction | None:
        identity = schema.identity(update.get("compactionId"))
        if not identity:
            return None
        if (known := self._known.get(identity)) is not None:
            return known
        while len(self._known) >= KEPT:
            del self._known[next(iter(self._known))]
        self._known[identity] = one = _Compaction()
        await self._session.compacting(self._trigger)
        return one

    async def _completed(self, one: _Compaction) -> None:
        try:
            self._told = await self._session.compacted(long_text(one.summary))
        except AgentError as error:
            self._told = ""
            self.refusal = error
