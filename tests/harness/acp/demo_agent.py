"""An agent on the protocol's own Python SDK: a peer in the tests of our ACP layer, which is not ours too.

``python demo_agent.py [STATE.json]``; the first word of the prompt says what happens: ``echo TEXT``,
``think``, ``plan``, ``edit``, ``perm``, ``elicit``, ``slow SECONDS``, ``noise``, ``late``, ``crash``, or
``full`` for the first ones together. Its sessions are kept in the file: a new process can resume them.
"""

import asyncio
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

import acp
from acp import schema as s

COMMANDS = {"echo": "say it again", "perm": "ask for a permission", "slow": "answer slowly"}


class DemoAgent:
    def __init__(self, state: Path | None) -> None:
        self.state = state
        self.sessions: dict[str, Any] = {}
        self.cancelled: dict[str, asyncio.Event] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        if state is not None and state.exists():
            self.sessions = json.loads(state.read_text())

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    def save(self) -> None:
        if self.state is not None:
            self.state.write_text(json.dumps(self.sessions))

    async def initialize(self, protocol_version: int, **_: Any) -> s.InitializeResponse:
        can = s.SessionCapabilities(list=s.SessionListCapabilities(), resume=s.SessionResumeCapabilities())
        if "--load-only" in sys.argv:
            can = s.SessionCapabilities()
        return s.InitializeResponse(
            protocol_version=1,
            agent_info=s.Implementation(name="demo-agent", title="Demo agent", version="1"),
            agent_capabilities=s.AgentCapabilities(
                load_session=True,
                prompt_capabilities=s.PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=can,
            ),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> s.NewSessionResponse:
        if not Path(cwd).is_absolute():
            raise acp.RequestError.invalid_params({"cwd": "must be absolute"})
        session = f"demo-{uuid.uuid4().hex[:8]}"
        self.sessions[session] = {"cwd": cwd, "history": []}
        self.save()
        self.later(self.offer(session))
        return s.NewSessionResponse(session_id=session)

    def later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def offer(self, session: str) -> None:
        offered = [s.AvailableCommand(name=name, description=what) for name, what in COMMANDS.items()]
        await self.update(
            session,
            s.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=offered),
        )

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> s.LoadSessionResponse:
        if session_id not in self.sessions:
            raise acp.RequestError.resource_not_found(session_id)
        for role, text in self.sessions[session_id]["history"]:
            made = acp.update_user_message_text if role == "user" else acp.update_agent_message_text
            await self.update(session_id, made(text))
        return s.LoadSessionResponse()

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> s.ResumeSessionResponse:
        if session_id not in self.sessions:
            raise acp.RequestError.resource_not_found(session_id)
        return s.ResumeSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self.cancelled:
            self.cancelled[session_id].set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> s.PromptResponse:
        if session_id not in self.sessions:
            raise acp.RequestError.resource_not_found(session_id)
        # The person's words come first; what the client adds for the agent is a block behind them.
        words = next(block.text for block in prompt if isinstance(block, s.TextContentBlock))
        history = self.sessions[session_id]["history"]
        history.append(["user", words])
        stop = self.cancelled[session_id] = asyncio.Event()
        work = asyncio.create_task(self.turn(session_id, words.strip()))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return s.PromptResponse(stop_reason="cancelled")
        history.append(["agent", work.result()])
        self.save()
        usage = s.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
        return s.PromptResponse(stop_reason="end_turn", usage=usage)

    async def update(self, session: str, update: Any) -> None:
        await self.client.session_update(session_id=session, update=update)

    async def turn(self, session: str, words: str) -> str:
        what, _, rest = words.partition(" ")
        for step in ("think", "plan", "edit", "perm", "elicit") if what == "full" else (what,):
            if (do := getattr(self, f"do_{step}", None)) is not None:
                await do(session, rest)
        reply = f"echo: {rest or words}"
        for piece in (reply[:6], reply[6:]):
            await self.update(session, acp.update_agent_message_text(piece))
        usage = s.UsageUpdate(session_update="usage_update", used=1234, size=100000)
        await self.update(session, usage)
        return reply

    async def do_crash(self, session: str, rest: str) -> None:
        print("crashing as told", file=sys.stderr, flush=True)
        os._exit(3)

    async def do_noise(self, session: str, rest: str) -> None:
        os.write(1, b"this line is not JSON\n")

    async def do_think(self, session: str, rest: str) -> None:
        await self.update(session, acp.update_agent_thought_text("Let me think... "))

    async def do_plan(self, session: str, rest: str) -> None:
        for state in ("in_progress", "completed"):
            look = acp.plan_entry("Look around", priority="high", status=state)
            report = acp.plan_entry("Report", status="pending")
            await self.update(session, acp.update_plan([look, report]))

    async def do_edit(self, session: str, rest: str) -> None:
        path = str(Path(self.sessions[session]["cwd"]) / "demo.txt")
        diff = acp.tool_diff_content(path, "new\n", "old\n")
        call = acp.start_tool_call("tc-edit", "Edit demo.txt", kind="edit", content=[diff])
        await self.update(session, call)
        await self.update(session, acp.update_tool_call("tc-edit", status="completed"))

    async def do_perm(self, session: str, rest: str) -> None:
        tool, command = f"tc-{uuid.uuid4().hex[:6]}", {"command": "echo hi"}
        call = acp.start_tool_call(tool, "Run `echo hi`", kind="execute", status="pending", raw_input=command)
        await self.update(session, call)
        kinds = ("reject_always", "allow_once", "reject_once", "allow_always")
        answer = await self.client.request_permission(
            session_id=session,
            tool_call=s.ToolCallUpdate(tool_call_id=tool, title="Run `echo hi`", raw_input=command),
            options=[s.PermissionOption(option_id=f"id-{kind}", name=kind, kind=kind) for kind in kinds],
        )
        chosen = getattr(answer.outcome, "option_id", "none")
        ok = chosen.startswith("id-allow")
        content = [acp.tool_content(acp.text_block("hi\n" if ok else f"not run: {chosen}"))]
        done = acp.update_tool_call(tool, status="completed" if ok else "failed", content=content)
        await self.update(session, done)

    async def do_elicit(self, session: str, rest: str) -> None:
        colour = s.ElicitationStringPropertySchema(type="string", title="Colour", enum=["red", "blue"])
        form = s.ElicitationSchema(type="object", properties={"colour": colour}, required=["colour"])
        mode = s.ElicitationFormSessionMode(session_id=session, requested_schema=form)
        answer = await self.client.create_elicitation("Which colour?", mode)
        await self.update(session, acp.update_agent_message_text(f"elicited: {answer.model_dump_json()} "))

    async def do_slow(self, session: str, rest: str) -> None:
        for number in range(int(float(rest or 5) / 0.1)):
            await self.update(session, acp.update_agent_message_text(f"{number} "))
            await asyncio.sleep(0.1)

    async def do_late(self, session: str, rest: str) -> None:
        self.later(self.speak_late(session))

    async def speak_late(self, session: str) -> None:
        await asyncio.sleep(0.3)
        await self.update(session, acp.update_agent_message_text("[late] "))
        await self.do_perm(session, "")


if __name__ == "__main__":
    paths = [Path(word) for word in sys.argv[1:] if not word.startswith("--")]
    demo: Any = DemoAgent(paths[0] if paths else None)
    asyncio.run(acp.run_agent(demo, use_unstable_protocol=True))
