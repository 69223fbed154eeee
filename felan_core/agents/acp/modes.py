"""Whether the agent asks before it acts: the mode that it names, and what is known of the modes of agents.

Felan shows what an agent *asks*. An agent whose mode lets it act unasked sends no question, so the session's
header has to say it. A mode comes with ``session/new`` (``modes``, ``configOptions``), with
``current_mode_update``, ``config_option_update``, or as text (gemini). Its id is the agent's own word, and
its meaning is not on the wire: ``KNOWN`` is the table of it.
"""

import re
from dataclasses import dataclass
from typing import Final

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import label
from felan_core.agents.backend import Session
from felan_core.protocol.base import UNSET, JsonObject, Maybe
from felan_core.protocol.session import AgentMode

MAX_NAMES: Final = 64
_AS_TEXT: Final = re.compile(r"\[MODE_UPDATE\] (\S{1,128})\s*")


@dataclass(frozen=True, slots=True)
class Habits:
    """What an agent's modes mean. ``marks``: parts of the name that it has; ``never_asks``: in no mode."""

    marks: tuple[str, ...]
    asks: frozenset[str] = frozenset()
    acts: frozenset[str] = frozenset()
    never_asks: bool = False


def _habits(*marks: str, asks: str = "", acts: str = "") -> Habits:
    return Habits(marks, frozenset(asks.split()), frozenset(acts.split()))


KNOWN: Final = (
    _habits("claude", asks="default plan", acts="auto acceptEdits bypassPermissions dontAsk"),
    _habits("codex", asks="read-only", acts="auto agent full-access agent-full-access"),
    _habits("gemini", asks="default plan", acts="autoEdit auto_edit yolo"),
    _habits("qwen", asks="default plan", acts="auto auto-edit yolo"),
    _habits("kimi", asks="default plan", acts="auto yolo"),
    _habits("goose", asks="approve", acts="auto smart_approve"),
    Habits(("pi-acp", "pi-coding-agent"), never_asks=True),
)
"""The modes of known agents, by the ids that they send. pi names its levels of thinking as modes."""
ANY: Final = _habits(
    acts="yolo auto-approve acceptEdits autoEdit auto_edit auto-edit bypassPermissions full-access"
)
"""Ids that mean the same for every agent that has them."""


def habits_of(*names: str) -> Habits:
    """The habits of the agent with one of ``names`` (its own name, its program)."""
    words = " ".join(names).lower()
    return next((known for known in KNOWN if any(mark in words for mark in known.marks)), ANY)


def asks_first(habits: Habits, mode: str) -> Maybe[bool]:
    """Whether an agent asks before it acts in ``mode``; ``UNSET`` where that is not known."""
    if habits.never_asks or mode in habits.acts or mode in ANY.acts:
        return False
    return True if mode in habits.asks else UNSET


class Modes:
    """The mode of one agent process, published when it changes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._habits = ANY
        self._names: dict[str, str] = {}
        self._published: AgentMode | None = None

    def identify(self, *names: str) -> None:
        """``names``: what the agent calls itself, and its program."""
        self._habits = habits_of(*names)

    async def opened(self, session: JsonObject) -> None:
        """The result of ``session/new``, ``session/load`` or ``session/resume``."""
        if await self.options(session):
            return
        modes = schema.an_object(session.get("modes"))
        self._learn(schema.objects(modes.get("availableModes")), "id")
        await self.current(modes)

    async def current(self, update: JsonObject) -> None:
        """``current_mode_update``, or the ``modes`` of a session."""
        await self._publish(schema.a_string(update.get("currentModeId")))

    async def update(self, update: JsonObject) -> None:
        """``config_option_update``."""
        await self.options(update)

    async def options(self, update: JsonObject) -> bool:
        """Read ``configOptions``; whether one of them is the mode. The category decides, else the id."""
        choices = [
            one
            for one in schema.objects(update.get("configOptions"))
            if one.get("category") == "mode" or one.get("id") == "mode"
        ]
        choices.sort(key=lambda one: one.get("category") != "mode")
        for choice in choices:
            if mode := schema.a_string(choice.get("currentValue")):
                for offered in schema.objects(choice.get("options")):
                    self._learn([offered, *schema.objects(offered.get("options"))], "value")
                await self._publish(mode)
                return True
        return False

    async def text(self, text: str) -> bool:
        """Whether ``text`` is nothing but gemini's announcement of a mode."""
        if "gemini" not in self._habits.marks or (found := _AS_TEXT.fullmatch(text)) is None:
            return False
        await self._publish(found[1])
        return True

    def _learn(self, offered: list[JsonObject], member: str) -> None:
        for one in offered:
            name, mode = schema.a_string(one.get("name")), schema.a_string(one.get(member))
            if name and mode and (mode in self._names or len(self._names) < MAX_NAMES):
                self._names[schema.identity(mode)] = label(name)

    async def _publish(self, mode: str) -> None:
        if not mode and not self._habits.never_asks:
            return
        asks = asks_first(self._habits, mode)
        if self._habits.never_asks:
            found = AgentMode(id="", name="", asks=False)
        else:
            found = AgentMode(
                id=label(mode), name=self._names.get(schema.identity(mode), label(mode)), asks=asks
            )
        if found != self._published:
            self._published = found
            await self._session.mode(found)
