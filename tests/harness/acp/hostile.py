"""Agents that send one bad or far too large member each, on raw lines; run like `scripted.py`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.harness.acp.scripted import (
    SESSION,
    answer,
    await_method,
    begin,
    finish,
    raw,
    receive,
    send,
    shake_hands,
    text,
    update,
)


def go_on(prompt: dict[str, Any]) -> None:
    """The turn ends, and another one works."""
    text("alive")
    finish(prompt)
    while True:
        prompt = await_method("session/prompt")
        text(" again")
        finish(prompt)


def leaves() -> None:
    """It starts a server in a session of its own, which ignores TERM, and says which; then it exits."""
    begin_prompt = begin()
    deaf = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    )
    left = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True, stdout=subprocess.PIPE)
    assert left.stdout is not None
    left.stdout.readline()
    text(str(left.pid))
    finish(begin_prompt)
    await_method("session/prompt")
    os._exit(0)


def many_commands() -> None:
    prompt = begin()
    update(
        "available_commands_update",
        availableCommands=[{"name": f"skill-{number}", "description": "short"} for number in range(257)],
    )
    go_on(prompt)


def fat_commands() -> None:
    prompt = begin()
    update(
        "available_commands_update",
        availableCommands=[{"name": f"skill-{number}", "description": "d" * 60_000} for number in range(200)],
    )
    update("available_commands_update", availableCommands=[{"name": "same"}] * 3 + [{"name": "é" * 100}])
    go_on(prompt)


def deep_output() -> None:
    prompt = begin()
    nested = b"[" * 980 + b"1" + b"]" * 980
    for member in (b"rawOutput", b"rawInput"):
        raw(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":'
            b'{"sessionUpdate":"tool_call","toolCallId":"%s","title":"deep","kind":"execute","%s":%s}}}\n'
            % (member, member, nested)
        )
    go_on(prompt)


def big_numbers() -> None:
    prompt = begin()
    output = {"exit_code": -(2**63), "n": 2**60}
    for number in range(3):
        update("tool_call", toolCallId=str(number), title="x", status="completed", rawInput={"n": 2**53},
               rawOutput=output, _meta={"terminal_exit": {"exit_code": True}})  # fmt: skip
    update("usage_update", used=2**60, size=2**60)
    go_on(prompt)


def fat_calls() -> None:
    prompt = begin()
    for number in range(12):
        update("tool_call", toolCallId=f"t{number}", title="fat", kind="execute", status="completed",
               rawInput={"command": "c" * 8_000_000, "then": "d" * 3_900_000})  # fmt: skip
    go_on(prompt)


def early_flood() -> None:
    shake_hands()
    new = await_method("session/new")
    for _ in range(30):
        text("e" * 60_000)
    answer(new, {"sessionId": SESSION})
    go_on(await_method("session/prompt"))


def long_ids() -> None:
    global SESSION
    shake_hands()
    SESSION = "x" * 100_000
    answer(await_method("session/new"), {"sessionId": SESSION})
    prompt = await_method("session/prompt")
    assert prompt["params"]["sessionId"] == SESSION
    for status in ("in_progress", "completed"):
        _update("tool_call_update", toolCallId="i" * 100_000, title="x", status=status)
    _update("agent_message_chunk", messageId="m" * 100_000, content={"type": "text", "text": "alive"})
    finish(prompt)
    receive()


def _update(what: str, **members: Any) -> None:
    update = {"sessionUpdate": what, **members}
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})


def too_large() -> None:
    """A line that is beyond all measure, and one that has far too many values."""
    prompt = begin()
    for _ in range(66):
        raw(b"x" * (1 << 20))
    raw(b"\n")
    update("plan", entries=[{"content": "a", "status": "pending"}] * 200_000)
    go_on(prompt)


def replays_late() -> None:
    """Goes on with the replay after it answered `session/load`."""
    shake_hands(agentCapabilities={"loadSession": True})
    answer(await_method("session/load"), {})
    for number in range(5):
        update("user_message_chunk", content={"type": "text", "text": f"old question {number}"})
        text(f"OLD ANSWER {number}. ")
    update("available_commands_update", availableCommands=[{"name": "go"}])
    go_on(await_method("session/prompt"))


def speaks_late() -> None:
    """Says more after its turn, without a number of its message."""
    prompt = begin()
    text("first")
    finish(prompt)
    text("PS: one more thing.")
    go_on(await_method("session/prompt"))


def titles() -> None:
    """Names the session by what it got, as some do."""
    prompt = begin()
    blocks = prompt["params"]["prompt"]
    update("session_info_update", title=blocks[-1]["text"][:60])
    update("session_info_update", title=f"{blocks[-1]['text']} and more")
    update("session_info_update", title=blocks[0]["text"])
    go_on(prompt)


def logs_in() -> None:
    methods = [
        {"id": "t", "name": "Log in with Acme", "type": "terminal", "args": ["--cli", "two words"]},
        {"id": "v", "name": "Use a key", "type": "env_var", "vars": [{"name": "ACME_KEY"}, {"name": "A_KEY"}],
         "link": "https://acme.invalid/keys"},
        {"id": "l", "name": "Legacy", "_meta": {"terminal-auth": {"command": "acme", "args": ["login"]}}},
        {"id": "d", "description": "Run `acme auth` in a terminal"},
    ]  # fmt: skip
    shake_hands(authMethods=methods)
    new = await_method("session/new")
    error = {"code": -32000, "message": "Authentication required", "data": {"envVars": ["ACME_TOKEN"]}}
    send({"id": new["id"], "error": error})
    receive()


def modes() -> None:
    """claude: a mode with the session, then by the agent, then by an option."""
    shake_hands(agentInfo={"name": "@acme/claude-agent-acp", "version": "1"})
    listed = [{"id": "default", "name": "Always ask"}, {"id": "acceptEdits", "name": "Accept edits"}]
    answer(
        await_method("session/new"),
        {"sessionId": SESSION, "modes": {"currentModeId": "default", "availableModes": listed}},
    )
    prompt = await_method("session/prompt")
    update("current_mode_update", currentModeId="acceptEdits")
    update("current_mode_update", currentModeId="acceptEdits")
    option = {"id": "x", "category": "mode", "type": "select", "currentValue": "default",
              "options": [{"group": "g", "options": [{"value": "default", "name": "Ask"}]}]}  # fmt: skip
    update("config_option_update", configOptions=[{"id": "mode", "currentValue": "odd"}, option])
    update("config_option_update", configOptions=[{"id": "model", "category": "model", "currentValue": "m"}])
    go_on(prompt)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    os._exit(0)
