"""A backend of the session that records, on a scripted agent."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from felan_core.agents.acp.agent_connection import Times
from felan_core.agents.acp.backend import AcpBackend
from felan_core.agents.backend import Turn
from tests.harness.acp.recorder import Question, RecordingSession
from tests.harness.acp.traffic import Traffic

HARNESS = Path(__file__).parents[3] / "harness" / "acp"
QUICK = Times(handshake=10.0, cancel=10.0, patience=0.5, drain=0.2)


class Stage:
    """One backend, its session, and everything that went over the wire."""

    def __init__(self, folder: Path) -> None:
        self.session = RecordingSession(cwd=str(folder))
        self.traffic = Traffic()
        self.backend: AcpBackend

    def put_up(
        self,
        command: str,
        times: Times = QUICK,
        rule: Callable[[Question], None] | None = None,
        **environ: str,
    ) -> None:
        self.session.rule = rule
        self.backend = AcpBackend(
            self.session, command, environ={**os.environ, **environ}, times=times, trace=self.traffic
        )

    def scripted(
        self, name: str, times: Times = QUICK, words: Sequence[str] = (), file: str = "scripted.py"
    ) -> AcpBackend:
        agent = [sys.executable, "-S", "-E", str(HARNESS / file), name, *words]
        self.put_up(shlex.join(agent), times)
        return self.backend

    async def take_turn(self, text: str = "go") -> str:
        return await self.backend.turn(Turn(run="run_1", text=text))

    async def play(self, name: str, rule: Callable[[Question], None] | None = None) -> str:
        """Start the scripted agent and take one turn."""
        self.scripted(name)
        self.session.rule = rule
        assert await self.backend.start(None)
        return await self.take_turn()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    await made.backend.close()
    await made.session.end_processes()
    left = [task for task in asyncio.all_tasks() if (task.get_name() or "").startswith("acp-")]
    assert not left, f"the backend left tasks behind: {left}"
