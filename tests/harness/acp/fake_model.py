"""A model server on the loopback that says what the prompt tells it to: real agents run without a network.

It speaks the two dialects that our agents use, streaming: OpenAI's chat completions (opencode) and OpenAI's
responses (codex). The last user message decides, by a directive anywhere in it::

    FAKE[[ [{"think": "hm"}, {"text": "I'll run it"}, {"tool": "bash", "args": {"command": "echo hi"}},
            {"text": "done"}] ]]

Consecutive ``tool`` steps end one answer of the model; what follows them is played once their results are
there. So it keeps no state: how many answers there were since the directive selects the part to play. More
members of a text: ``{"text": "…", "chunks": 20, "delay": 0.2}``, a slow stream. Without a directive it echoes
the text, and a request without tools whose directive has some (a title is wanted) gets "Fake title".
"""

import json
import time
import uuid
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.harness.loopback import LoopbackHandler, LoopbackServer

Json = Any
Step = dict[str, Json]
MARK = "FAKE[["
USAGE_IN, USAGE_OUT = 120, 30


def directive(*steps: Step) -> str:
    """The words that make the model play ``steps``."""
    return f"{MARK} {json.dumps(steps)} ]]"


class FakeModel(LoopbackServer):
    """``requests``: (path, body) of what was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Json]] = []
        model = self

        class Handler(_Handler):
            served_by = model

        super().__init__(Handler)


def parts(steps: list[Step]) -> list[list[Step]]:
    """The steps by answer of the model: a group of tool calls ends one."""
    found: list[list[Step]] = [[]]
    for step in steps:
        if found[-1] and "tool" in found[-1][-1] and "tool" not in step:
            found.append([])
        found[-1].append(step)
    return found


def choose(turns: list[tuple[str, str]], *, with_tools: bool) -> list[Step]:
    """The steps to play for a conversation of ("user" | "model" | "tool", text)."""
    users = [text for role, text in turns if role == "user"]
    last = max((n for n, (role, text) in enumerate(turns) if role == "user" and MARK in text), default=-1)
    if last < 0 or _is_over(turns[last + 1 :]):
        return [{"text": f"echo: {users[-1].strip()[-200:] if users else ''}"}]
    text = turns[last][1]
    steps, _ = json.JSONDecoder().raw_decode(text[text.rindex(MARK) + len(MARK) :].lstrip())
    if not with_tools and any("tool" in step for step in steps):
        return [{"text": "Fake title"}]
    roles = ["", *(role for role, _ in turns[last + 1 :])]
    answers = sum(now == "model" != before for before, now in pairwise(roles))
    played = parts(steps)
    return played[answers] if answers < len(played) else [{"text": "(the script is at its end)"}]


def _is_over(later: list[tuple[str, str]]) -> bool:
    """Whether a newer prompt came. Texts beside tool results are the agent's own reminders."""
    before = "user"
    for role, text in later:
        if role == "user":
            if before == "model" and not text.lstrip().startswith("<"):
                return True
        else:
            before = role
    return False


def flat(content: Json) -> str:
    if isinstance(content, str):
        return content
    items: list[Json] = content if isinstance(content, list) else []
    return "\n".join(item.get("text") or "" for item in items if isinstance(item, dict))


class _Handler(LoopbackHandler):
    served_by: FakeModel

    def do_GET(self) -> None:
        known = self.path.rstrip("/").endswith("/models")
        self.answer(
            {"object": "list", "data": [{"id": "fake-model", "object": "model"}]}, 200 if known else 404
        )

    def do_POST(self) -> None:
        body = json.loads(self.body() or b"{}")
        path = self.path.partition("?")[0]
        self.served_by.requests.append((path, body))
        try:
            if path.endswith("/chat/completions"):
                self._chat(body)
            elif path.endswith("/responses"):
                self._responses(body)
            else:
                self.answer({"error": {"message": f"not found: {path}"}}, 404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the agent was cancelled or killed

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _event(self, value: Json, kind: str = "") -> None:
        data = value if isinstance(value, str) else json.dumps(value)
        event = f"event: {kind}\n" if kind else ""
        self._chunk(f"{event}data: {data}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _pieces(self, step: Step) -> Iterator[str]:
        text: str = step.get("text") or step.get("think") or ""
        size = -(-len(text) // step.get("chunks", 3)) or 1
        for start in range(0, len(text), size):
            yield text[start : start + size]
            if self.served_by.released.wait(step.get("delay", 0)):
                raise BrokenPipeError

    # OpenAI chat completions -------------------------------------------------------------------------------

    def _chat(self, body: Json) -> None:
        roles = {"user": "user", "assistant": "model", "tool": "tool"}
        messages = [message for message in body.get("messages", []) if message.get("role") in roles]
        turns = [(roles[message["role"]], flat(message.get("content"))) for message in messages]
        steps = choose(turns, with_tools=bool(body.get("tools")))
        base = {"id": _id("chatcmpl"), "object": "chat.completion.chunk", "created": int(time.time())}
        base["model"] = body.get("model", "fake-model")
        usage = {"prompt_tokens": USAGE_IN, "completion_tokens": USAGE_OUT}
        usage["total_tokens"] = USAGE_IN + USAGE_OUT
        calls = [step for step in steps if "tool" in step]
        reason = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(step.get("text", "") for step in steps)}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self.answer({**base, "object": "chat.completion", "usage": usage, "choices": [choice]})
            return

        def delta(change: Json, finish: str | None = None) -> None:
            self._event({**base, "choices": [{"index": 0, "delta": change, "finish_reason": finish}]})

        self._begin_stream()
        delta({"role": "assistant", "content": ""})
        for step in steps:
            if "tool" in step:
                function = {"name": step["tool"], "arguments": json.dumps(step.get("args", {}))}
                call = {
                    "index": calls.index(step),
                    "id": _id("call"),
                    "type": "function",
                    "function": function,
                }
                delta({"tool_calls": [call]})
            else:
                for piece in self._pieces(step):
                    delta({"reasoning_content" if "think" in step else "content": piece})
        delta({}, reason)
        self._event({**base, "choices": [], "usage": usage})
        self._event("[DONE]")
        self._chunk(b"")

    # OpenAI responses --------------------------------------------------------------------------------------

    def _responses(self, body: Json) -> None:
        steps = choose(list(_response_turns(body.get("input", []))), with_tools=bool(body.get("tools")))
        output: list[Json] = []
        number = 0
        base = {"id": _id("resp"), "object": "response", "created_at": int(time.time())}
        base |= {"model": body.get("model"), "status": "in_progress", "output": []}

        def event(kind: str, **members: Json) -> None:
            nonlocal number
            number += 1
            self._event({"type": kind, "sequence_number": number, **members}, kind)

        def item(value: Json, middle: Json = None, done: Json = None) -> None:
            index = len(output)
            event("response.output_item.added", output_index=index, item=value)
            for kind, members in middle or ():
                event(kind, item_id=value["id"], output_index=index, **members)
            output.append({**value, **(done or {})})
            event("response.output_item.done", output_index=index, item=output[-1])

        self._begin_stream()
        event("response.created", response=base)
        for step in steps:
            if "tool" in step:
                call = {
                    "id": _id("fc"),
                    "type": "function_call",
                    "status": "completed",
                    "call_id": _id("call"),
                }
                item({**call, "name": step["tool"], "arguments": json.dumps(step.get("args", {}))})
            elif "think" in step:
                kind = "response.reasoning_summary_text.delta"
                begun = ("response.reasoning_summary_part.added",
                         {"summary_index": 0, "part": {"type": "summary_text", "text": ""}})  # fmt: skip
                thought = ((kind, {"summary_index": 0, "delta": piece}) for piece in self._pieces(step))
                summary = [{"type": "summary_text", "text": step["think"]}]
                value = {"id": _id("rs"), "type": "reasoning", "summary": []}
                item(value, (begun, *thought), {"summary": summary})
            else:
                kind = "response.output_text.delta"
                words = ((kind, {"content_index": 0, "delta": piece}) for piece in self._pieces(step))
                value = {"id": _id("msg"), "type": "message", "role": "assistant", "content": []}
                content = [{"type": "output_text", "text": step.get("text", ""), "annotations": []}]
                item({**value, "status": "in_progress"}, words, {"status": "completed", "content": content})
        usage = {"input_tokens": USAGE_IN, "input_tokens_details": {"cached_tokens": 0}}
        usage |= {"output_tokens": USAGE_OUT, "output_tokens_details": {"reasoning_tokens": 0}}
        usage["total_tokens"] = USAGE_IN + USAGE_OUT
        event(
            "response.completed", response={**base, "status": "completed", "output": output, "usage": usage}
        )
        self._chunk(b"")


def _response_turns(given: Json) -> Iterator[tuple[str, str]]:
    if isinstance(given, str):
        yield "user", given
        return
    for item in given:
        kind = item.get("type", "message")
        if kind == "message":
            role = {"user": "user", "assistant": "model"}.get(item.get("role"))
            if role is not None:
                yield role, flat(item.get("content"))
        elif kind.endswith("_output"):
            yield "tool", ""
        elif kind.endswith("_call") or kind == "reasoning":
            yield "model", ""


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:8]}"
