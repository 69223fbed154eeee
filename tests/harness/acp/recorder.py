"""A session that keeps what a backend does to it, holds all of it to the contract, and answers by a rule."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, get_args
from uuid import uuid4

import msgspec

from felan_core.agents.backend import AgentError, AgentGone, CompactTrigger, ProcessEnd, Tone, ToolPatch
from felan_core.processes.piped import PipedProcess
from felan_core.processes.table import ProcessTable
from felan_core.protocol.base import LIMITS, UNSET, JsonObject, Page, UnsetType
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import MessageOutcome, ToolEntry
from felan_core.protocol.interactions import Answer, ApprovalAnswer, ApprovalRequest, InteractionRequest
from felan_core.protocol.interactions import validate_interaction_answer as check_answer
from felan_core.protocol.plain import plain
from felan_core.protocol.session import AgentMode, Command, Model, ToolSpec

WAIT_SECONDS = 20.0


@dataclass
class Call:
    """One call of the session, by the method's name."""

    name: str
    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass
class Question:
    request: InteractionRequest
    tool: str | None
    reply: "asyncio.Future[Answer]"
    withdrawn: str | None = None
    """Why it was taken back, in the words that the awaiting task was cancelled with."""

    def answer(self, answer: Answer) -> None:
        self.reply.set_result(check_answer(self.request, msgspec.to_builtins(answer)))

    def choose(self, effect: str, note: str | UnsetType = UNSET) -> None:
        assert isinstance(self.request, ApprovalRequest)
        option = next(option for option in self.request.options if option.effect == effect)
        self.answer(ApprovalAnswer(option=option.id, note=note))


@dataclass
class RecordingSession:
    """``rule`` is called with each question when it is asked, and may answer it."""

    cwd: str
    id: str = "ses_recorded"
    instructions: str = ""
    rule: Callable[[Question], None] | None = None
    calls: list[Call] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    elements: dict[str, Element] = field(default_factory=dict)
    memory: JsonObject | None = None
    gone_with: AgentGone | None = None
    recovery_fails: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _processes: ProcessTable | None = None
    _spools: "TemporaryDirectory[str]" = field(init=False)

    # What tests ask -----------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> None:
        """Wait until the condition holds; it is looked at again after every call."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def question(self, number: int = 0) -> Question:
        await self.until(lambda: len(self.questions) > number)
        return self.questions[number]

    def said(self, kind: str = "assistant") -> str:
        return "".join(call.text for call in self.calls if call.name == "text" and call.kind == kind)

    def named(self, name: str) -> list[Call]:
        return [call for call in self.calls if call.name == name]

    def states(self, key: str) -> list[str]:
        return [call.patch.state for call in self.named("tool") if call.patch.key == key]

    def only_tool(self) -> dict[str, Any]:
        assert len(self.tools) == 1, self.tools
        return next(iter(self.tools.values()))

    def _note(self, name: str, /, **values: Any) -> None:
        self.calls.append(Call(name, values))
        self._changed.set()

    # What a backend calls -----------------------------------------------------------------------------------

    async def text(self, kind: Any, text: str, message: str | None = None) -> None:
        assert kind in ("assistant", "thinking") and text
        text.encode()  # no lone surrogates
        self._note("text", kind=kind, text=text, message=message)

    async def end_message(self, outcome: MessageOutcome = "completed") -> None:
        self._note("end_message", outcome=outcome)

    async def tool(self, patch: ToolPatch) -> None:
        card = self.tools.setdefault(patch.key, {})
        for name in ("name", "category", "title", "state", "arguments", "locations", "content", "details"):
            if (value := getattr(patch, name)) is not UNSET:
                card[name] = value
        entry = {"kind": "tool", "id": "ent", "seq": 1, "at": 0, "startedAt": 0, **card}
        held_to(msgspec.to_builtins(entry), ToolEntry)
        assert len(msgspec.json.encode(entry)) <= LIMITS.page_bytes
        plain(card.get("arguments"))
        self._note("tool", patch=patch)

    async def ask(
        self,
        request: InteractionRequest,
        *,
        tool: str | None = None,
        authority: Any = "owner",
        deferrable: bool = False,
        expires_in_ms: int | None = None,
        resume: JsonObject | None = None,
    ) -> Answer:
        held_to(msgspec.to_builtins(request), InteractionRequest)
        assert tool is None or tool in self.tools, "a question about a card that was never put up"
        question = Question(request, tool, asyncio.get_running_loop().create_future())
        self.questions.append(question)
        self._note("ask", request=request, tool=tool)
        if self.rule is not None:
            self.rule(question)
        try:
            return await question.reply
        except asyncio.CancelledError as error:
            question.withdrawn = str(error.args[0]) if error.args else ""
            self._note("withdrawn", request=request)
            raise

    async def spawn(self, argv: Sequence[str], environ: Mapping[str, str], *, title: str) -> PipedProcess:
        if self._processes is None:
            self._spools = TemporaryDirectory(prefix="felan-spools-")
            self._processes = ProcessTable(
                Path(self._spools.name) / "processes", clock=lambda: 0, on_change=lambda _: None
            )
        return await self._processes.spawn(
            argv, id=uuid4().hex, owner=self.id, title=title, cwd=self.cwd, environ=environ
        )

    async def end_processes(self) -> None:
        """End what is still there, at the end of a test."""
        if self._processes is not None:
            await self._processes.close(100)
            self._spools.cleanup()

    async def show(self, element: Element) -> None:
        held_to(msgspec.to_builtins(element), Element)
        self.elements[element.id] = element
        self._note("show", element=element)

    async def remove(self, element: str) -> None:
        del self.elements[element]
        self._note("remove", element=element)

    async def notice(self, tone: Tone, title: str, text: str = "", details: str = "") -> None:
        assert tone in get_args(Tone) and title and len(title) <= LIMITS.label_bytes
        self._note("notice", tone=tone, title=title, text=text, details=details)

    async def offer(
        self,
        *,
        commands: Sequence[Command] | None = None,
        tools: Sequence[ToolSpec] | None = None,
        models: Sequence[Model] | None = None,
    ) -> None:
        held_to(msgspec.to_builtins(list(commands or [])), Annotated[list[Command], Page])
        self._note("offer", commands=commands, tools=tools, models=models)

    async def rename(self, name: str) -> None:
        assert 0 < len(name) <= LIMITS.label_bytes
        self._note("rename", name=name)

    async def usage(self, used: int, size: int) -> None:
        self._note("usage", used=used, size=size)

    async def mode(self, mode: AgentMode) -> None:
        held_to(msgspec.to_builtins(mode), AgentMode)
        self._note("mode", mode=mode)

    async def remember(self, memory: JsonObject) -> None:
        self.memory = memory
        self._note("remember", memory=memory)

    async def start_process(self, command: str, *, title: str | None = None) -> str:
        raise AssertionError("an ACP agent runs its own processes")

    async def process_end(self, process: str) -> ProcessEnd:
        raise AssertionError("an ACP agent runs its own processes")

    async def process_tail(self, process: str, limit: int) -> str:
        raise AssertionError("an ACP agent runs its own processes")

    async def stop_process(self, process: str) -> None:
        raise AssertionError("an ACP agent runs its own processes")

    async def publish_pointer(self, text: str) -> None:
        raise AssertionError("an ACP agent publishes by its own means")

    async def compacting(self, trigger: CompactTrigger) -> None:
        assert trigger in get_args(CompactTrigger)
        self._note("compacting", trigger=trigger)

    async def compacted(self, summary: str = "") -> str:
        self._note("compacted", summary=summary)
        if self.recovery_fails:
            raise AgentError("the task pointer cannot be read", "STATE_INVALID")
        return f"the pointer after {len(self.named('compacted'))}"

    def gone(self, error: AgentGone) -> None:
        self.gone_with = error
        self._note("gone", error=error)


def held_to(value: Any, shape: Any) -> None:
    """Structs are checked when they are decoded and not when they are made; the wire would refuse these."""
    msgspec.json.decode(msgspec.json.encode(value), type=shape)
