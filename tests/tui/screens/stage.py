"""The real app on a real host in this process, with an agent that a test plays by hand."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual.pilot import Pilot
from textual.screen import Screen

from felan_core.agents.backend import Turn, TurnOutcome, Withdrawn
from felan_core.client.transport import MemoryTransport, memory_pair
from felan_core.host.connection import Connection
from felan_core.host.host import Host
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.interactions import (
    ApprovalOption,
    ApprovalRequest,
    ApprovalSubject,
    ConfirmRequest,
    InputRequest,
)
from felan_tui.app import FelanApp
from felan_tui.composer import Composer
from felan_tui.session.start import Start
from felan_tui.session.transcript import SessionTranscript
from tests.core.host.rig import Puppet, Stagehand, open_rig

SIZES = [(80, 24), (160, 48), (60, 16)]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Door:
    """A host that can be opened late, and whose connection a test cuts; ``closed``: nobody is let in."""

    host: Host
    ends: list[MemoryTransport] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    closed: bool = False

    def connect(self) -> MemoryTransport:
        if self.closed:
            raise ConnectionRefusedError("nobody answers")
        ours, theirs = memory_pair()
        self.connections.append(self.host.serve(ours, op.Principal(id="uid:1", kind="local")))
        self.ends.append(ours)
        return theirs

    async def cut(self) -> None:
        """End the connections that there are, without a word."""
        for end in self.ends:
            await end.close()

    def lose(self, reason: str = "the disk is gone") -> None:
        """The host serves nobody any more, and says why."""
        for connection in self.connections:
            if not connection.ended:
                connection.fail(ProtocolError("ownership_lost", reason))


class Stage:
    """One app on one host."""

    def __init__(self, app: FelanApp, pilot: Pilot[None], hand: Stagehand, door: Door) -> None:
        self.app = app
        self.pilot = pilot
        self.hand = hand
        self.door = door
        self._painted = 0
        self._read: tuple[object, list[str]] = (None, [])
        display = app._display

        def paint(screen: Screen[Any], renderable: RenderableType | None) -> None:
            self._painted += 1
            display(screen, renderable)

        app._display = paint

    @property
    def session(self) -> Any:
        return self.app._session

    @property
    def link(self) -> Any:
        return self.session._link

    @property
    def composer(self) -> Composer:
        return self.session.query_one(Composer)

    @property
    def view(self) -> SessionTranscript:
        return self.session.query_one(SessionTranscript)

    @property
    def puppet(self) -> Puppet:
        return self.hand.puppets[-1]

    @property
    def lines(self) -> list[str]:
        """What the screen shows, row by row: read when it was painted anew, not each time it is looked at."""
        state = (self._painted, self.app.screen, self.app.size)
        if self._read[0] != state:
            strips = self.app.screen._compositor.render_strips()
            self._read = (state, ["".join(segment.text for segment in strip).rstrip() for strip in strips])
        return self._read[1]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def until(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline or self.app._exception is not None:
                raise AssertionError(f"never came true; the screen:\n{self.text}")
            await asyncio.sleep(0.01)

    async def sees(self, *texts: str) -> None:
        def all_there() -> bool:
            shown = self.text
            return all(text in shown for text in texts)

        await self.until(all_there)

    async def sees_no(self, *texts: str) -> None:
        def all_gone() -> bool:
            shown = self.text
            return not any(text in shown for text in texts)

        await self.until(all_gone)

    async def attached(self) -> None:
        await self.until(lambda: self.link is not None and "starting…" not in self.lines[0])

    async def write(self, text: str) -> None:
        """Type into whatever has the focus."""
        for character in text:
            await self.pilot.press("space" if character == " " else character)

    async def say(self, text: str) -> None:
        """Put a message into the composer and send it."""
        self.composer.set_draft(text)
        await self.pilot.press("enter")

    async def runs(self) -> None:
        await self.until(lambda: self.link.state.run is not None)

    async def idle(self) -> None:
        await self.until(lambda: self.link.state.run is None)

    async def settle_card(self) -> None:
        """The half second in which a card takes nothing."""
        await self.pilot.pause(0.6)


@asynccontextmanager
async def stage(
    folder: Path,
    hand: Stagehand | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    start: Start | None = None,
    agents: dict[str, Any] | None = None,
    opens: Callable[[], Awaitable[object]] | None = None,
) -> AsyncIterator[Stage]:
    """The app on a host over ``folder``. ``opens`` is awaited before the host is there."""
    hand = hand or Stagehand()
    work, data = folder / "work", folder / "data"
    for one in (work, data):
        one.mkdir(exist_ok=True)
    rig = await open_rig(data, hand, now_ms)
    for name, load in (agents or {}).items():
        rig.host._services.agents[name] = load  # pyright: ignore[reportPrivateUsage, reportIndexIssue]
    door = Door(rig.host)

    async def open_host() -> Door:
        if opens is not None:
            await opens()
        return door

    app = FelanApp(open_host, start or Start(kind="agent", cwd=str(work)), data=data, config=data)
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            try:
                yield Stage(app, pilot, hand, door)
            finally:
                app.exit()  # the test's context alone would take the screen down below an app that goes on
    finally:
        await rig.close()
    assert not rig.faults, rig.faults


def work(folder: Path) -> str:
    """The folder that the session works in."""
    return str(folder / "work")


async def forever(puppet: Puppet, turn: Turn) -> TurnOutcome:
    """A turn that only a cancel ends."""
    await puppet.session.text("assistant", "I am at it.")
    return await puppet.until_cancelled()


def says(*texts: str) -> Callable[[Puppet, Turn], Awaitable[TurnOutcome]]:
    """A turn that says this."""

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        for text in texts:
            await puppet.session.text("assistant", text)
        return "completed"

    return script


def asks(
    request: Any, answers: list[Any], **options: Any
) -> Callable[[Puppet, Turn], Awaitable[TurnOutcome]]:
    """A turn that asks, and keeps the answer."""

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "May I ask?")
        try:
            answers.append(await puppet.session.ask(request, **options))
        except Withdrawn:
            return "cancelled"
        await puppet.session.text("assistant", "Thank you.")
        return "completed"

    return script


def approval(command: str = "git push --force") -> ApprovalRequest:
    return ApprovalRequest(
        title="Run a command",
        subject=ApprovalSubject(category="execute", name="bash", command=command),
        options=[
            ApprovalOption(id="yes", label="Allow once", effect="allow_once"),
            ApprovalOption(id="no", label="Reject", effect="reject_once"),
        ],
    )


def confirm(title: str = "Shall I go on?") -> ConfirmRequest:
    return ConfirmRequest(title=title)


def question(title: str = "Which name?") -> InputRequest:
    return InputRequest(title=title)
