"""Real agents for tests: how each is started against the fake model, and what to say to make it do something.

``real_agent("opencode", model_url, home)`` writes the agent's configuration below ``home`` and gives the
command to start it with: for ``AcpBackend``, or for ``felan --agent`` in a test of the whole screen. A
``home`` that is used again saves the agent the work of its first start.
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.agents.fetch import program
from tests.harness.acp.fake_model import Step, directive

NAMES = ("opencode", "codex")


@dataclass(frozen=True)
class RealAgent:
    """``command`` is what a person would give to ``--agent``. It sets what the agent needs of the environment
    itself, so that the environment of what is tested stays as it is.
    """

    name: str
    command: str

    def prompt(self, *steps: Step, words: str = "Please do it.") -> str:
        """A prompt that makes the agent's model play ``steps`` (see ``fake_model``)."""
        return f"{words} {directive(*steps)}"

    def run(self, command: str) -> Step:
        """A step: run a shell command, for which the agent asks first."""
        if self.name == "codex":
            args = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"}
            return {"tool": "exec_command", "args": args}
        return {"tool": "bash", "args": {"command": command, "description": "run it"}}

    def write(self, path: Path, text: str) -> Step:
        """A step: give a file a new text, for which the agent asks first. codex does it by a command."""
        if self.name == "codex":
            return self.run(f"printf %s {shlex.quote(text)} > {shlex.quote(str(path))}")
        return {"tool": "write", "args": {"filePath": str(path), "content": text}}

    def edit(self, path: Path, old: str, new: str) -> Step:
        """A step: change a text in a file, for which the agent asks first. codex does it by a command."""
        if self.name == "codex":
            return self.run(f"sed -i {shlex.quote(f's/{old}/{new}/')} {shlex.quote(str(path))}")
        return {"tool": "edit", "args": {"filePath": str(path), "oldString": old, "newString": new}}


def real_agent(name: str, model_url: str, home: Path) -> RealAgent | None:
    """The fetched agent, or None where ``make test-agents`` has not fetched it."""
    binary = program(name)
    if binary is None:
        return None
    home.mkdir(parents=True, exist_ok=True)
    private = {
        "HOME": str(home),
        "DO_NOT_TRACK": "1",
        "DISABLE_TELEMETRY": "1",
        "NO_BROWSER": "1",
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")},
    }
    words = [str(binary)]
    if name == "opencode":
        config = home / "opencode.json"
        config.write_text(json.dumps(_opencode(model_url)))
        off = {f"OPENCODE_DISABLE_{what}": "1" for what in ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD")}
        private |= {"OPENCODE_CONFIG": str(config), **off}
        words.append("acp")
    else:
        folder = home / "codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(_CODEX.format(url=model_url))
        private |= {"CODEX_HOME": str(folder), "RUST_LOG": "error"}
    setting = [f"{variable}={value}" for variable, value in private.items()]
    return RealAgent(name, shlex.join(["env", *setting, *words]))


def _opencode(url: str) -> dict[str, object]:
    limit = {"context": 100_000, "output": 8000}
    model = {"name": "Fake Model", "reasoning": True, "tool_call": True, "limit": limit}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"fake-model": model},
    }
    return {
        "provider": {"fake": provider},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "enabled_providers": ["fake"],
        "autoupdate": False,
        "share": "disabled",
        "lsp": False,
        "permission": {"bash": "ask", "edit": "ask", "webfetch": "deny"},
    }


# read-only: a command with "require_escalated" asks and then runs outside codex' own sandbox, which would
# need bubblewrap.
_CODEX = """
model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[feedback]
enabled = false
"""
