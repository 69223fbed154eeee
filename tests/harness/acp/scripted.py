"""Agents that do one odd thing each, on raw lines, for the tests of the ACP backend.

``python scripted.py NAME``; the standard library alone, so that a start costs little. What real agents were
seen doing is marked with their name.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

SESSION = "s-1"


def send(message: dict[str, Any]) -> None:
    raw((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def hang() -> None:
    """Stay, deaf to the end of the input, for longer than any test takes."""
    pass_time(120)


def pass_time(seconds: float) -> None:
    threading.Event().wait(seconds)


def update(what: str, /, **members: Any) -> None:
    send(
        {
            "method": "session/update",
            "params": {"sessionId": SESSION, "update": {"sessionUpdate": what, **members}},
        }
    )


def text(words: str, /, **members: Any) -> None:
    update("agent_message_chunk", content={"type": "text", "text": words}, **members)


def receive() -> dict[str, Any]:
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def await_method(method: str) -> dict[str, Any]:
    while (message := receive()).get("method") != method:
        pass
    return message


def await_answer(number: Any) -> dict[str, Any]:
    while True:
        message = receive()
        if "method" not in message and message.get("id") == number:
            return message


def answer(request: dict[str, Any], result: Any) -> None:
    send({"id": request["id"], "result": result})


def refuse(request: dict[str, Any], code: int, message: str, data: Any = None) -> None:
    send({"id": request["id"], "error": {"code": code, "message": message, "data": data}})


def shake_hands(**members: Any) -> None:
    answer(
        await_method("initialize"),
        {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1"}, **members},
    )


def begin(**members: Any) -> dict[str, Any]:
    """Handshake, session, and the first prompt."""
    shake_hands(**members)
    answer(await_method("session/new"), {"sessionId": SESSION})
    return await_method("session/prompt")


def finish(prompt: dict[str, Any], reason: str = "end_turn") -> None:
    answer(prompt, {"stopReason": reason})


def ask(number: Any, tool: dict[str, Any], *kinds: str) -> None:
    options = [{"optionId": f"o-{kind}", "name": f"Do {kind}", "kind": kind} for kind in kinds]
    params = {"sessionId": SESSION, "toolCall": tool, "options": options}
    # codex puts the id last.
    raw(
        json.dumps(
            {"jsonrpc": "2.0", "method": "session/request_permission", "params": params, "id": number}
        ).encode()
        + b"\n"
    )


def told(number: Any) -> None:
    """Say what was answered, so that the test can see it."""
    text(json.dumps(await_answer(number), sort_keys=True))


def unknown_tool() -> None:
    """gemini: a permission for a call that was never announced, with the options in another order."""
    prompt = begin()
    ask(
        "1a263735-1771",
        {"toolCallId": "t", "title": "Write made.txt", "kind": "edit", "content": [
            {"type": "diff", "path": "/x/made.txt", "oldText": None, "newText": "hi\n"}]},
        "reject_once", "allow_always", "allow_once",
    )  # fmt: skip
    told("1a263735-1771")
    finish(prompt)


def update_first() -> None:
    prompt = begin()
    update("tool_call_update", toolCallId="t", status="completed", rawOutput="done\n")
    finish(prompt)


def nulls() -> None:
    shake_hands(agentCapabilities=None, authMethods=None, _meta=None)
    answer(await_method("session/new"), {"sessionId": SESSION, "modes": None, "configOptions": None})
    prompt = await_method("session/prompt")
    update("tool_call", toolCallId="t", title="Look", kind=None, status=None, content=None, locations=None,
           rawInput=None, rawOutput=None, _meta=None)  # fmt: skip
    update("tool_call_update", toolCallId="t", title=None, status="completed", content=None)
    update("plan", entries=None)
    update(
        "available_commands_update", availableCommands=[{"name": "go", "description": None, "input": None}]
    )
    update("session_info_update", title=None)
    update("usage_update", used=None, size=5)
    update("agent_message_chunk", content=None, messageId=None)
    send({"method": "session/update", "params": None})
    send({"method": "$/cancel_request", "params": None})
    send({"method": "_own/thing"})
    text("still here", messageId=None)
    answer(prompt, {"stopReason": "end_turn", "usage": None, "_meta": None})


def long_line() -> None:
    prompt = begin()
    text("x" * 5_000_000)
    update("tool_call", toolCallId="t", title="y" * 10_000, kind="execute", status="completed",
           rawInput={"command": "c" * 300_000, "n": [1] * 50_000}, rawOutput="z" * 5_000_000)  # fmt: skip
    finish(prompt)


def partial_line() -> None:
    begin()
    print("the disk is on fire", file=sys.stderr, flush=True)
    raw(b'{"jsonrpc":"2.0","method":"session/upd')
    os._exit(7)


def silent_on_cancel() -> None:
    begin()
    text("working")
    await_method("session/cancel")
    hang()


def wrong_version() -> None:
    answer(await_method("initialize"), {"protocolVersion": 2})
    hang()


def version_as_text() -> None:
    answer(await_method("initialize"), {"protocolVersion": "1"})
    hang()


def stderr_flood() -> None:
    shake_hands()
    for number in range(50_000):
        line = b"a line of a hundred bytes or so, to fill the pipe that nobody may forget to drain"
        os.write(2, b"%07d: %s....\n" % (number, line))
    answer(await_method("session/new"), {"sessionId": SESSION})
    finish(await_method("session/prompt"))


def garbage() -> None:
    raw(b"Welcome to the agent!\n\n")
    prompt = begin()
    raw(b'42\n"x"\n[1]\nnull\n{"jsonrpc":\n\xff\xfe\n{"no":"message"}\n')
    text("sane")
    finish(prompt)
    await_method("session/prompt")
    os._exit(1)


def half_pairs() -> None:
    prompt = begin()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "@"}}
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": update}}
    for words in (b"a\\ud83d", b"\\ude00b", b"\xff!"):
        raw(json.dumps(line).encode().replace(b"@", words) + b"\n")
    finish(prompt)


def login_first() -> None:
    shake_hands(
        authMethods=[{"id": "x", "name": "Log in", "description": "Run `scripted login`", "type": None}]
    )
    while True:
        refuse(await_method("session/new"), -32000, "Authentication required")


def login_at_prompt() -> None:
    """claude: only the prompt says that nobody is logged in."""
    prompt = begin(authMethods=[{"id": "x", "name": "Log in"}])
    refuse(prompt, -32000, "Authentication required")
    finish(await_method("session/prompt"))


def refuses() -> None:
    refuse(begin(), -32603, "Internal error", {"details": "the model is on holiday"})
    finish(await_method("session/prompt"))


def hangs_at_new() -> None:
    """pi before 0.81: session/new is never answered."""
    shake_hands()
    hang()


def asks_and_cancels() -> None:
    """claude, codex2: a permission is withdrawn by the agent itself."""
    prompt = begin()
    ask(3, {"toolCallId": "t", "title": "Run", "kind": "execute"}, "allow_once", "reject_once")
    await_method("session/cancel")
    told(3)
    finish(prompt, "cancelled")


def withdraws() -> None:
    prompt = begin()
    ask(3, {"toolCallId": "t", "title": "Run", "kind": "execute"}, "allow_once", "reject_once")
    pass_time(0.1)
    send({"method": "$/cancel_request", "params": {"requestId": 3}})
    told(3)
    finish(prompt)


def withdraws_at_once() -> None:
    prompt = begin()
    tool = {"toolCallId": "t", "title": "Run", "kind": "execute"}
    asked = {"sessionId": SESSION, "toolCall": tool,
             "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}  # fmt: skip
    request = {"jsonrpc": "2.0", "id": 3, "method": "session/request_permission", "params": asked}
    cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}}
    raw(f"{json.dumps(request)}\n{json.dumps(cancel)}\n".encode())
    told(3)
    finish(prompt)


def ends_while_asking() -> None:
    """codex: the turn ends before the permission is answered."""
    prompt = begin()
    ask("p", {"toolCallId": "t", "title": "Run", "kind": "execute"}, "allow_once", "reject_once")
    pass_time(0.2)
    finish(prompt, "cancelled")
    told("p")
    finish(await_method("session/prompt"))


def leaves_tools_open() -> None:
    prompt = begin()
    update("tool_call", toolCallId="a", title="Never told", kind="read", status="in_progress")
    update("tool_call", toolCallId="b", title="Told", kind="read", status="completed")
    finish(prompt)


def says_nothing_after_reject() -> None:
    """gemini: a rejected call is never heard of again."""
    prompt = begin()
    command = {"command": ["rm", "-r", "my dir"]}
    ask(0, {"toolCallId": "t", "title": "Run", "kind": "execute", "rawInput": command},
        "allow_once", "reject_once")  # fmt: skip
    await_answer(0)
    text("as you like")
    finish(prompt)
    prompt = await_method("session/prompt")
    text("blocks: " + json.dumps([block["text"] for block in prompt["params"]["prompt"]]))
    finish(prompt)


def numbers_tools_anew() -> None:
    shake_hands()
    answer(await_method("session/new"), {"sessionId": SESSION})
    for turn in ("first", "second"):
        prompt = await_method("session/prompt")
        update("tool_call", toolCallId="1", title=turn, kind="read", status="in_progress")
        update("tool_call_update", toolCallId="1", status="completed")
        finish(prompt)


def terminal_output() -> None:
    """codex2, pi: the output of a command is in `_meta` alone."""
    prompt = begin()
    update("tool_call", toolCallId="t", title="echo", kind="execute", status="in_progress",
           content=[{"type": "terminal", "terminalId": "t"}],
           _meta={"terminal_info": {"terminal_id": "t"}})  # fmt: skip
    for part in ("one\n", "two\n"):
        update("tool_call_update", toolCallId="t", _meta={"terminal_output_delta": {"data": part}})
    update("tool_call_update", toolCallId="t", name="exec_command", status="failed",
           _meta={"terminal_exit": {"exit_code": 3, "signal": None}},
           rawOutput={"ignored": True})  # fmt: skip
    finish(prompt)


def early_updates() -> None:
    """claude: notifications before the answer that names the session."""
    shake_hands()
    new = await_method("session/new")
    send({"method": "_auth/status_update", "params": {"status": "in"}})
    update("available_commands_update", availableCommands=[{"name": "early", "description": "d"}])
    update("session_info_update", title="Early title")
    answer(new, {"sessionId": SESSION})
    finish(await_method("session/prompt"))


def other_kinds() -> None:
    prompt = begin()
    update("never_heard_of", x=1)
    update("notice", severity="warning", title="Careful", description="The model is old")
    update("notice", severity="_odd", title="Hm")
    update("agent_message_chunk", content={"type": "resource_link", "uri": "file:///a", "name": "a"})
    update("agent_message_chunk", content={"type": "image", "data": "AAAA", "mimeType": "image/png"})
    update("agent_message_chunk", content={"type": "hologram"})
    update("tool_call", toolCallId="t", title="Odd", kind="teleport", status="levitating")
    send({"method": "session/update",
          "params": {"sessionId": "another", "update": {"sessionUpdate": "agent_message_chunk",
                     "content": {"type": "text", "text": "not for you"}}}})  # fmt: skip
    finish(prompt, "max_tokens")


def asks_for_files() -> None:
    prompt = begin()
    for number, method in enumerate(
        ("fs/read_text_file", "terminal/create", "_own/question", "session/prompt")
    ):
        send({"id": number, "method": method, "params": {"sessionId": SESSION, "path": "/etc/passwd"}})
        text(str(await_answer(number)["error"]["code"]) + " ")
    finish(prompt)


def empty_question() -> None:
    prompt = begin()
    ask(0, {"toolCallId": "t", "title": "Run", "kind": "execute"})
    told(0)
    ask(1, {"title": "no id"}, "allow_once")
    text(str(await_answer(1)["error"]["code"]))
    finish(prompt)


def big_form() -> None:
    prompt = begin()
    schema = {
        "type": "object",
        "title": "Order",
        "required": ["size", "count"],
        "properties": {
            "size": {"type": "string", "title": "Size", "oneOf": [
                {"const": "s", "title": "Small", "description": "for one"},
                {"const": "l", "title": "Large"}]},
            "name": {"type": "string", "minLength": 2, "maxLength": 20,
                     "format": "email", "default": "a@b.c"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 99},
            "price": {"type": "number"},
            "gift": {"type": "boolean", "default": True},
            "tops": {"type": "array", "items": {"enum": ["ham", "egg"]}, "maxItems": 2, "default": ["egg"]},
            "odd": {"type": "object"},
        },
    }  # fmt: skip
    send({"id": 0, "method": "elicitation/create", "params": {
        "mode": "form", "sessionId": SESSION, "message": "What shall it be?",
        "requestedSchema": schema}})  # fmt: skip
    told(0)
    finish(prompt)


def odd_forms() -> None:
    prompt = begin()
    odd = {"type": "object", "properties": {"x": {"type": "object"}}, "required": ["x"]}
    forms = [{"mode": "url", "url": "https://example.org", "elicitationId": "e"},
             {"mode": "form", "requestedSchema": odd}]  # fmt: skip
    for number, form in enumerate(forms):
        params = {"sessionId": SESSION, "message": "?", **form}
        send({"id": number, "method": "elicitation/create", "params": params})
        told(number)
    finish(prompt)


def plans() -> None:
    shake_hands()
    answer(await_method("session/new"), {"sessionId": SESSION})
    steps = [("look", "in_progress", "pending"), ("look", "completed", "in_progress"),
             ("look", "completed", "completed")]  # fmt: skip
    prompt = await_method("session/prompt")
    for what, first, second in steps:
        update("plan", entries=[{"content": what, "priority": "high", "status": first},
                                {"content": "do", "priority": "low", "status": second}])  # fmt: skip
        text(".")
        if second == "in_progress":
            finish(prompt)
            prompt = await_method("session/prompt")
    finish(prompt)


def late() -> None:
    """A message and a question outside any turn; then it dies."""
    finish(begin())
    text("by the way")
    ask(0, {"toolCallId": "late", "title": "Late", "kind": "execute"}, "allow_once", "reject_once")
    await_answer(0)
    ask(1, {"toolCallId": "later", "title": "Later", "kind": "execute"}, "allow_once", "reject_once")
    pass_time(0.2)
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(9)


def dies_while_asking() -> None:
    begin()
    ask(0, {"toolCallId": "t", "title": "Run", "kind": "execute"}, "allow_once", "reject_once")
    pass_time(0.3)
    os._exit(9)


def answers_and_dies() -> None:
    finish(begin())
    os._exit(0)


def dies_with_children() -> None:
    """Its child keeps its output open, ignores TERM and would live for ever."""
    begin()
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", deaf])
    text(f"child {child.pid}")
    pass_time(0.3)
    os._exit(4)


def lives_on() -> None:
    """codex: the end of its input does not end it; nor does TERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finish(begin())
    hang()


def prompt_blocks() -> None:
    shake_hands(agentCapabilities={"promptCapabilities": {"image": len(sys.argv) > 2}})
    answer(await_method("session/new"), {"sessionId": SESSION})
    update("available_commands_update", availableCommands=[{"name": "review", "description": "Review"}])
    while True:
        prompt = await_method("session/prompt")
        text(json.dumps(prompt["params"]["prompt"]))
        finish(prompt)


def forgets() -> None:
    shake_hands(agentCapabilities={"loadSession": True, "sessionCapabilities": {"resume": {}}})
    while True:
        message = receive()
        match message.get("method"):
            case "session/resume" | "session/load":
                refuse(message, -32603, "Internal error")
            case "session/new":
                answer(message, {"sessionId": "s-new"})
            case "session/prompt":
                finish(message)
            case _:
                pass


def environment() -> None:
    prompt = begin()
    text(json.dumps({"id": os.environ.get("FELAN_SESSION_ID"), "mark": os.environ.get("MARK"),
                     "cwd": os.getcwd(), "group": os.getpgrp() == os.getpid()}))  # fmt: skip
    finish(prompt)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
