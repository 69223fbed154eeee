"""A session that records: real files and processes, the contract's own checks, answers from a function."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec
from markdown_it import MarkdownIt

from felan_core.agents.backend import (
    AgentError,
    AgentGone,
    CompactTrigger,
    ProcessEnd,
    Tone,
    ToolPatch,
    Withdrawn,
)
from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.elements import DocumentElement, Element
from felan_core.protocol.entries import MessageOutcome, StreamKind
from felan_core.protocol.interactions import (
    INTERACTION_KINDS,
    Answer,
    ApprovalRequest,
    Authority,
    ConfirmRequest,
    FormRequest,
    InputRequest,
    InteractionRequest,
    SelectRequest,
    validate_interaction_answer,
)
from felan_core.protocol.session import AgentMode, Command, Model, ToolSpec

AnswerOf = Callable[[InteractionRequest], JsonObject | None]


_TASKS: set["asyncio.Future[None]"] = set()


def soon(work: Coroutine[Any, Any, None]) -> None:
    """Let ``work`` run beside the test."""
    task = asyncio.ensure_future(work)
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)


def kind_of(value: msgspec.Struct) -> str:
    return str(value.__struct_config__.tag)


def agree(request: InteractionRequest) -> JsonObject | None:
    """The answer of somebody who says yes to everything."""
    match request:
        case ApprovalRequest():
            return {"option": request.options[0].id}
        case ConfirmRequest():
            return {"confirmed": True}
        case SelectRequest():
            return {"options": [request.options[0].id]}
        case InputRequest():
            return {"text": "Ada"}
        case FormRequest():
            values = {field.id: _value(field) for field in request.form.fields}
            return {"action": request.form.submit.id, "values": values}


def refuse(request: InteractionRequest) -> JsonObject | None:
    """The answer of somebody who rejects, declines and leaves."""
    match request:
        case ApprovalRequest():
            return {"option": request.options[-1].id, "note": "not on my machine"}
        case ConfirmRequest():
            return {"confirmed": False}
        case FormRequest():
            return {"action": request.form.cancel.id}
        case _:
            return agree(request)


def _value(field: Any) -> Any:
    match kind_of(field):
        case "boolean":
            return False
        case "enum":
            return field.options[0].id
        case "number":
            return 20
        case "multi_select":
            return [option.id for option in field.options[:2]]
        case _:
            return "0.1.0" if field.id == "version" else f"some {field.id}"


def strictly(struct: Any, shape: Any) -> None:
    """The struct through JSON and back: bounds hold, and nothing is lost."""
    assert msgspec.json.decode(msgspec.json.encode(struct), type=shape) == struct


class FakeSession:
    """``Session``. ``calls`` is the record; ``on_call`` is told each call's number before it is answered."""

    id = "s1"
    instructions = ""

    def __init__(self, cwd: Path, answer: AnswerOf = agree) -> None:
        self.cwd = str(cwd)
        self.answer = answer
        self.calls: list[tuple[str, Any]] = []
        self.on_call: Callable[[int, str], None] = lambda number, name: None
        self.asked: list[InteractionRequest] = []
        self.resumes: list[JsonObject] = []
        self.asking = asyncio.Event()
        self.elements: dict[str, Element] = {}
        self.shown: list[Element] = []
        self.tools: dict[str, dict[str, Any]] = {}
        self.memory: JsonObject | None = None
        self.commands: list[Command] = []
        self.pointer: list[str] = []
        self.refuse_pointer = False
        self.messages: list[list[tuple[str, str]]] = []
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.outputs: dict[str, asyncio.Task[bytes]] = {}
        self.stopped: list[str] = []
        self._open = False

    @property
    def said(self) -> str:
        """All that was streamed to the person, thinking left out."""
        return "\n\n".join(
            "".join(text for kind, text in message if kind == "assistant") for message in self.messages
        )

    async def _called(self, name: str, payload: Any = None) -> None:
        self.calls.append((name, payload))
        self.on_call(len(self.calls) - 1, name)
        await asyncio.sleep(0)

    async def text(self, kind: StreamKind, text: str, message: str | None = None) -> None:
        assert text
        await self._called("text", text)
        if not self._open:
            self.messages.append([])
        self._open = True
        self.messages[-1].append((kind, text))

    async def end_message(self, outcome: MessageOutcome = "completed") -> None:
        await self._called("end_message")
        self._open = False

    async def tool(self, patch: ToolPatch) -> None:
        await self._called("tool", patch)
        self._open = False
        tool = self.tools.setdefault(patch.key, {})
        for name in patch.__dataclass_fields__:
            if getattr(patch, name) is not UNSET:
                tool[name] = getattr(patch, name)
        assert tool["name"] and tool["category"] and tool["title"]

    async def ask(
        self,
        request: InteractionRequest,
        *,
        tool: str | None = None,
        authority: Authority = "owner",
        deferrable: bool = False,
        expires_in_ms: int | None = None,
        resume: JsonObject | None = None,
    ) -> Answer:
        strictly(request, InteractionRequest)
        assert deferrable and resume is not None
        assert tool is None or self.tools[tool]["state"] == "running"
        assert len(json.dumps(resume)) < 64 * 1024
        self.asked.append(request)
        self.resumes.append(json.loads(json.dumps(resume)))
        self.asking.set()
        await self._called("ask", request)
        answer = self.answer(request)
        if answer is None:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        if "withdrawn" in answer:
            raise Withdrawn(answer["withdrawn"])
        return validate_interaction_answer(request, answer)

    async def show(self, element: Element) -> None:
        strictly(element, Element)
        assert not element.id.startswith("felan.")
        if isinstance(element, DocumentElement):
            check_markdown(element.markdown)
        await self._called("show", element)
        self.elements[element.id] = element
        self.shown.append(element)

    async def remove(self, element: str) -> None:
        await self._called("remove", element)
        if self.elements.pop(element, None) is None:
            raise AgentError("no such element")

    async def notice(self, tone: Tone, title: str, text: str = "", details: str = "") -> None:
        await self._called("notice", (tone, title, text, details))

    async def offer(
        self,
        *,
        commands: Sequence[Command] | None = None,
        tools: Sequence[ToolSpec] | None = None,
        models: Sequence[Model] | None = None,
    ) -> None:
        await self._called("offer")
        self.commands = list(commands or ())

    async def rename(self, name: str) -> None:
        await self._called("rename", name)

    async def usage(self, used: int, size: int) -> None:
        await self._called("usage", (used, size))

    async def mode(self, mode: AgentMode) -> None:
        await self._called("mode", mode)

    async def remember(self, memory: JsonObject) -> None:
        await self._called("remember")
        self.memory = json.loads(json.dumps(memory))

    async def spawn(self, argv: object, environ: object, *, title: str) -> Any:
        raise AssertionError("the rehearsal has no program")

    async def start_process(self, command: str, *, title: str | None = None) -> str:
        await self._called("start_process", command)
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            cwd=self.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        key = f"p{len(self.processes) + 1}"
        self.processes[key] = process
        assert process.stdout is not None
        self.outputs[key] = asyncio.ensure_future(process.stdout.read())
        await self._called("started", key)
        return key

    async def process_end(self, process: str) -> ProcessEnd:
        await self._called("process_end", process)
        await asyncio.shield(self.outputs[process])
        code = await self.processes[process].wait()
        if code < 0:
            return ProcessEnd("signalled", None, signal.Signals(-code).name)
        return ProcessEnd("exited", code, None)

    async def process_tail(self, process: str, limit: int) -> str:
        return (await self.outputs[process])[-limit:].decode("utf-8", "replace")

    async def stop_process(self, process: str) -> None:
        await self._called("stop_process", process)
        self.stopped.append(process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.processes[process].pid, signal.SIGTERM)

    async def publish_pointer(self, text: str) -> None:
        await self._called("publish_pointer", text)
        if self.refuse_pointer:
            raise AgentError("the task pointer was not published: STALE_REVISION")
        self.pointer.append(text)

    async def compacting(self, trigger: CompactTrigger) -> None:
        await self._called("compacting", trigger)

    async def compacted(self, summary: str = "") -> str:
        await self._called("compacted", summary)
        if self.refuse_pointer:
            raise AgentError("the task pointer cannot be read")
        lines = "\n".join(f"| {line}" for line in "\n".join(self.pointer[-1:]).splitlines())
        return f"TASK_POINTER_V2\nstatus: CLEAN\nrevision: 2\nrecovery_mode: CONTINUE\n{lines}"

    def gone(self, error: AgentGone) -> None:
        raise AssertionError("nothing ends outside a turn")

    async def close(self) -> list[str]:
        """Wait for the processes; the ids of those that had to be ended here, which nobody stopped."""
        left = [key for key, process in self.processes.items() if process.returncode is None]
        left = [key for key in left if key not in self.stopped]
        for key, process in self.processes.items():
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            await self.outputs[key]
            await process.wait()
        return left

    def kinds_asked(self) -> set[str]:
        kinds = {kind_of(request) for request in self.asked}
        assert kinds <= set(INTERACTION_KINDS)
        return kinds


def check_markdown(text: str) -> None:
    """The host's boundary for documents: no raw HTML, absolute http(s) links alone."""
    for token in MarkdownIt("commonmark").parse(text):
        for one in (token, *(token.children or ())):
            assert one.type not in ("html_block", "html_inline"), one
            for name in ("href", "src"):
                assert str(one.attrGet(name) or "https://").startswith(("http://", "https://")), one
