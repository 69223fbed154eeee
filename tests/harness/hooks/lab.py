"""One agent with a home of its own, the installer's hooks in it, and a model on the loopback.

Nothing of it leaves the folder that it is given, and everything that would leave the machine goes to a proxy
that is not there.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from felan_core.pointer.install.allow import add_root
from felan_core.pointer.install.jsonfile import parse
from felan_core.pointer.install.trust import definition_hash, file_name, key
from tests.harness.hooks.model import Call, HookModel, Request

TEXTS = {
    "plain": "Goal: A\nNext: B",
    "quotes": "Goal: say \"hi\" and 'bye'\nNext: it's",
    "dollar": "Goal: $HOME $(id) `id`\nNext: ${X}",
    "japanese": "目標：例を完成\n次：検証を実行",
    "backslash": "re \\d+\\n C:\\x\nend %s %d",
    "EOF": "line\nEOF\nafter",
}
"""What a shell, its quoting or a permission check may change or refuse."""
ROOT = Path(__file__).resolve().parents[3]
EVENTS = ("UserPromptSubmit", "SessionStart", "PreCompact")
RECORDER = Path(__file__).with_name("recorder.py")
DUMMY_KEY = "sk-dummy-000000000000000000000000"
SHELL_QUOTE = "'\\''"
"""How a single quote is written inside single quotes, as the context says."""
MARKER = re.compile("TASK_POINTER_V2(_BOOTSTRAP)?\nstatus: ")


@dataclass(frozen=True)
class Context:
    """A pointer's context as the model got it."""

    text: str

    @property
    def bootstrap(self) -> bool:
        return self.text.startswith("TASK_POINTER_V2_BOOTSTRAP\n")

    def __getitem__(self, name: str) -> str:
        """The value of a header line."""
        head = f"{name}: "
        return next(line.removeprefix(head) for line in self.text.splitlines() if line.startswith(head))

    def at(self) -> tuple[str, str, int]:
        """(session id, status, revision)"""
        return self["session_id"], self["status"], int(self["revision"])

    def request(self, task_id: str, text: str) -> dict[str, Any]:
        """The request template, filled in as an agent would."""
        return {**json.loads(self["request"]), "task_id": task_id, "pointer_text": text}

    def shell(self, text: str) -> str:
        """The shell line that the context asks for, with its own template and its own publisher."""
        request = json.dumps(json.loads(self["request"]) | {"pointer_text": text}, ensure_ascii=False)
        return f"printf '%s' '{request.replace(chr(39), SHELL_QUOTE)}' | {self['publisher']}"


def contexts_in(texts: Iterable[str]) -> Iterator[Context]:
    """Every context that stands in the texts, in their order."""
    for text in texts:
        starts = [match.start() for match in MARKER.finditer(text)]
        for start, end in pairwise([*starts, len(text)]):
            yield Context(text[start:end])


class Lab:
    """`name` as the installer knows the agent; `program` is its binary."""

    def __init__(self, name: str, program: Path, folder: Path, model: HookModel) -> None:
        self.name = name
        self.program = str(program)
        self.model = model
        self.folder = folder
        for each in ("home", "configuration", "project", "records", "tmp", "felan"):
            (folder / each).mkdir(parents=True)
        self.project = folder / "project"
        self.configuration = folder / "configuration"
        self.state_root = folder / "state root"
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        nowhere = "http://127.0.0.1:9"
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        self._requests = 0
        self._records: set[str] = set()
        recorder = shlex.join([sys.executable, "-I", "-S", str(RECORDER), str(folder / "records")])
        handler = {"type": "command", "command": recorder, "timeout": 30}
        self.settings = self.configuration / ("settings.json" if name == "claude-code" else "hooks.json")
        self.settings.write_text(json.dumps({"hooks": {event: [{"hooks": [handler]}] for event in EVENTS}}))
        self.install("--allow")

    def install(self, *options: str) -> None:
        """`felan pointer install --apply` for this agent and this state root."""
        self.felan("install", "--agent", self.name, "--state-root", str(self.state_root), *options, "--apply")

    def felan(self, *arguments: str, check: bool = True) -> Any:
        """`felan pointer ARGUMENTS --json` with this lab's folders; what it says."""
        home = [] if "--rollback" in arguments else ["--home", str(self.configuration)]
        done = subprocess.run(
            [sys.executable, "-m", "felan_tui.cli.main", "pointer", *arguments, *home, "--json"],
            cwd=ROOT,
            env={**self.env, "FELAN_DATA_DIR": str(self.folder / "felan")},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0 or not check, done
        return json.loads(done.stdout)

    def doctor(self) -> dict[str, Any]:
        """The report on this lab's agent, its findings as lines of text."""
        [found] = self.felan("doctor", "--agent", self.name, check=False)["agents"]
        found["problems"] = [f"{one['problem']} {one['mend']}" for one in found["problems"]]
        return found

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The agent with these arguments, to its end."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done
        return done

    def events(self) -> list[tuple[str, str]]:
        """(event, source or trigger) of the hooks that ran since this was last asked, in order."""
        return [
            (one["hook_event_name"], one.get("source") or one.get("trigger") or "") for one in self.given()
        ]

    def given(self) -> list[dict[str, Any]]:
        """What the agent gave to the hooks that ran since this was last asked, in order."""
        files = sorted(
            path for path in (self.folder / "records").glob("*.json") if path.name not in self._records
        )
        self._records |= {path.name for path in files}
        return [json.loads(path.read_bytes()) for path in files]

    def contexts(self) -> list[Context]:
        """The contexts in the requests since this was last asked, each once."""
        found: dict[str, Context] = {}
        for request in self.model.requests[self._requests :]:
            for context in contexts_in(request.texts()):
                found.setdefault(context.text, context)
        self._requests = len(self.model.requests)
        return list(found.values())

    def last_asked(self) -> list[Context]:
        """The contexts in the last request that offers tools: what the model has before it then."""
        last = next(one for one in reversed(self.model.requests) if (one.body or {}).get("tools"))
        return list(contexts_in(last.texts()))

    def asked(self, words: str) -> bool:
        """Whether these words ever reached the model."""
        return any(words in text for request in self.model.requests for text in request.texts())

    def publish(self, context: Context, task_id: str, text: str) -> dict[str, Any]:
        """A publish by the context's own publisher and template, outside the agent."""
        done = subprocess.run(
            ["/bin/sh", "-c", context["publisher"]],
            cwd=self.project,
            env=self.env,
            input=json.dumps(context.request(task_id, text), ensure_ascii=False),
            capture_output=True,
            text=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    def publishing(self, text: str) -> Callable[[Request], Call]:
        """What an agent does that publishes `text` by the newest context of the request, in its own shell."""

        def call(request: Request) -> Call:
            *_, newest = contexts_in(request.texts())
            line = newest.shell(text)
            if self.name == "codex":
                return Call("exec_command", {"cmd": line}, usage=100)
            return Call("Bash", {"command": line, "description": "publish the task pointer"}, usage=100)

        return call

    def published_by_the_agent(self, *arguments: str, text: str) -> tuple[str, str | None]:
        """(the new session, the text of its pointer) after a run in which the agent publishes `text`."""
        before = self.sessions()
        self.model.call = self.publishing(text)
        self.run(*arguments, "a prompt, and a publish")
        (session,) = self.sessions() - before
        return session, self.state(session)["pointer_text"]

    def hook(self, event: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """The installed command, called as the agent calls it."""
        groups = json.loads(self.settings.read_bytes())["hooks"][event["hook_event_name"]]
        command = groups[-1]["hooks"][0]["command"]
        return subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.project,
            env=self.env,
            input=json.dumps(event),
            capture_output=True,
            text=True,
            timeout=60,
        )

    def state(self, session: str) -> dict[str, Any]:
        return json.loads((self.state_root / session / "state.json").read_bytes())

    def at(self, session: str) -> tuple[str, int]:
        """(status, revision) of a session."""
        state = self.state(session)
        return state["status"], state["revision"]

    @contextmanager
    def broken(self, session: str) -> Iterator[None]:
        """The session's state cannot be read until the end."""
        path = self.state_root / session / "state.json"
        whole = path.read_bytes()
        path.write_bytes(b"{")
        try:
            yield
        finally:
            path.write_bytes(whole)

    @contextmanager
    def without_script(self) -> Iterator[None]:
        """What the installed hook calls is gone until the end."""
        script = self.folder / "felan" / "pointer" / "felan-pointer-hook.py"
        away = script.rename(script.with_suffix(".away"))
        try:
            yield
        finally:
            away.rename(script)

    def sessions(self) -> set[str]:
        found = self.state_root.iterdir() if self.state_root.is_dir() else ()
        return {path.name for path in found if not path.name.startswith(".")}


def claude_environment(lab: Lab) -> None:
    """What Claude Code needs to talk to the lab's model and to nobody else."""
    off = "AUTOUPDATER TELEMETRY ERROR_REPORTING BUG_COMMAND"
    lab.env |= {f"DISABLE_{what}": "1" for what in off.split()}
    lab.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    lab.env |= {
        "CLAUDE_CONFIG_DIR": str(lab.configuration),
        "ANTHROPIC_BASE_URL": lab.model.url,
        "ANTHROPIC_API_KEY": DUMMY_KEY,
    }


_CODEX = """\
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "workspace-write"
web_search = "disabled"
{more}
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[analytics]
enabled = false

[feedback]
enabled = false

"""


def codex_configuration(lab: Lab, *, trusted: bool, more: str = "") -> None:
    """Codex's config.toml; `trusted` writes what its own review of the hooks would write."""
    lab.env |= {"CODEX_HOME": str(lab.configuration), "FAKE_KEY": "dummy"}
    text = _CODEX.format(more=more, url=lab.model.url)
    if trusted:
        config: Any = parse(lab.settings.read_bytes(), str(lab.settings))[0]
        for event, groups in config["hooks"].items():
            for group_index, group in enumerate(groups):
                for index, handler in enumerate(group["hooks"]):
                    name = key(file_name(str(lab.configuration), lab.env), event, group_index, index)
                    text += f"[hooks.state.{json.dumps(name)}]\n"
                    text += f"trusted_hash = {json.dumps(definition_hash(event, handler))}\n\n"
    path = lab.configuration / "config.toml"
    path.write_bytes(add_root(text.encode(), str(lab.state_root), str(path)))
