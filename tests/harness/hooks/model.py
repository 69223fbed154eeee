"""A model on the loopback, enough for Claude Code and Codex to finish a turn: two dialects, no network.

Every request is kept. `usage` is how many input tokens the answers claim; a large number makes an agent
compact. `call` is what the next answer calls
instead of an end, or makes it out of the request. No header is kept, so no key is ever written
down.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.harness.loopback import LoopbackHandler, LoopbackServer

Json = Any


@dataclass(frozen=True)
class Request:
    """One POST that the agent sent."""

    path: str
    body: Json

    def texts(self) -> Iterator[str]:
        """Every text of it, whichever dialect: the system's, and those of each message."""
        body = self.body if isinstance(self.body, dict) else {}
        for field in ("system", "instructions"):
            value = body.get(field)
            yield from ([value] if isinstance(value, str) else [part.get("text", "") for part in value or []])
        for field in ("messages", "input"):
            for message in body.get(field) or []:
                content = message.get("content")
                for part in [{"text": content}] if isinstance(content, str) else content or []:
                    text = part.get("text")
                    yield text if isinstance(text, str) else json.dumps(part)


@dataclass(frozen=True)
class Call:
    """A tool call, and the input tokens that the answer with it claims."""

    tool: str
    arguments: dict[str, Json]
    usage: int


class HookModel(LoopbackServer):
    """Serves from `with` to its end."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.usage = 100
        self.call: Call | Callable[[Request], Call] | None = None
        model = self

        class Handler(_Handler):
            served_by = model

        super().__init__(Handler)


class _Handler(LoopbackHandler):
    served_by: HookModel

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/models"):
            listed = [{"id": "fake-model", "object": "model"}]
            self.answer({"object": "list", "data": listed, "models": [], "has_more": False})
        else:
            self.answer({"error": {"type": "not_found_error", "message": "no such path"}}, 404)

    def do_POST(self) -> None:
        path, body = urlsplit(self.path).path, self._asked()
        self.served_by.requests.append(Request(path, body))
        asked: dict[str, Json] = body if isinstance(body, dict) else {}
        usage, text = self.served_by.usage, f"ANSWER {len(self.served_by.requests)}"
        call = self.served_by.call if asked.get("stream") and asked.get("tools") else None
        if callable(call):
            call = call(Request(path, body))
        if call is not None:
            self.served_by.call, usage = None, call.usage
        if path.endswith("/messages/count_tokens"):
            self.answer({"input_tokens": usage})
        elif path.endswith("/messages"):
            self._messages(asked, text, usage, call)
        elif path.endswith(("/responses", "/responses/compact")):
            self._responses(asked, text, usage, call)
        else:
            self.answer({"error": {"type": "not_found_error", "message": "no such path"}}, 404)

    def _asked(self) -> Json:
        try:
            return json.loads(self.body() or b"null")
        except ValueError:
            return None

    def _stream(self, *events: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True

    def _messages(self, asked: dict[str, Json], text: str, tokens: int, call: Call | None) -> None:
        usage = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        usage["output_tokens"] = 5
        message: dict[str, Json] = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model", "fake"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if not asked.get("stream"):
            content = [{"type": "text", "text": text}]
            self.answer({**message, "content": content, "stop_reason": "end_turn"})
            return
        ended = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
        block: dict[str, Json] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
        if call is not None:
            block = {
                "type": "tool_use",
                "id": f"toolu_{uuid.uuid4().hex[:20]}",
                "name": call.tool,
                "input": {},
            }
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        self._stream(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": usage},
            {"type": "message_stop"},
        )

    def _responses(self, asked: dict[str, Json], text: str, tokens: int, call: Call | None) -> None:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item: dict[str, Json] = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
        item |= {"status": "completed", "content": content}
        if call is not None:
            item = {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "status": "completed"}
            item |= {"call_id": f"call_{uuid.uuid4().hex}", "name": call.tool}
            item |= {"arguments": json.dumps(call.arguments)}
        base: dict[str, Json] = {"id": f"resp_{uuid.uuid4().hex}", "object": "response"}
        base |= {"created_at": int(time.time()), "model": asked.get("model", "fake")}
        usage = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 5,
        }
        done = {**base, "status": "completed", "output": [item], "usage": usage}
        if not asked.get("stream"):
            self.answer(done)
            return
        begun = {**item, "status": "in_progress", "content": []}
        delta = {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text}
        said = (
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            {"type": "response.output_text.delta", **delta},
        )
        self._stream(
            {"type": "response.created", "response": {**base, "status": "in_progress", "output": []}},
            *(said if call is None else ()),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        )
