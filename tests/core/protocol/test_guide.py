"""What the guide in docs/protocol.md tells a writer of a client is what a host does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from felan_core.agents.backend import Turn, TurnOutcome
from felan_core.client.transport import MemoryTransport
from felan_core.protocol import (
    COMPLETED,
    COMPLETION_ONLY,
    ActiveStream,
    ApprovalAnswer,
    ClientConnection,
    ClientInfo,
    EventFrame,
    HelloParams,
    InteractionUpdated,
    Published,
    Replied,
    StreamPosition,
    TextBuffer,
    TextFrame,
    Wire,
    classify_text_delta,
    new_uuid7,
    parse_client_envelope,
)
from felan_core.protocol import operations as op
from tests.core.host.rig import Puppet, Rig, Stagehand, rig, until
from tests.core.protocol.test_docs import PAGE, QUESTION


class Peer:
    """A client of another make: a ``ClientConnection`` and the bytes of one transport."""

    def __init__(self, end: MemoryTransport) -> None:
        self._end = end
        self._connection = ClientConnection()
        self.frames: list[EventFrame | TextFrame] = []

    async def hello(self, kind: str = "headless", **more: Any) -> None:
        client = ClientInfo(kind=kind, name="other", version="1")
        params = HelloParams(protocol_versions=[1], client=client, **more)
        await self._end.send(self._connection.hello("h", params))
        while self._connection.in_flight:
            self._connection.receive(await self._end.receive())

    async def ask(self, name: str, params: Wire, session: str | None = None) -> Replied:
        """The reply to one request; the frames that come with it are kept."""
        re = new_uuid7()
        await self._end.send(self._connection.request(re, name, params, session))
        reply: Replied | None = None
        while reply is None:
            for event in self._connection.receive(await self._end.receive()):
                if isinstance(event, Published):
                    self.frames.append(event.frame)
                if isinstance(event, Replied) and event.re == re:
                    reply = event
        return reply

    async def session(self, folder: Path) -> str:
        """A new session, attached."""
        created = await self.ask("sessions.create", op.CreateParams(cwd=str(folder)))
        await self.ask("attach", op.AttachParams(), created.result.session)
        return created.result.session

    def questions(self) -> list[str]:
        """The ids of the questions that were published as waiting."""
        return [
            frame.event.interaction.id
            for frame in self.frames
            if isinstance(frame, EventFrame)
            and isinstance(frame.event, InteractionUpdated)
            and frame.event.interaction.state == "waiting"
        ]


@pytest.mark.parametrize(("kind", "started"), [("tui", 1), ("headless", 0), ("acp", 0), ("web", 0)])
async def test_an_attached_client_of_kind_tui_alone_starts_the_agent(
    tmp_path: Path, kind: str, started: int
) -> None:
    hand = Stagehand()
    async with rig(tmp_path / "data", hand) as host:
        peer = Peer(host.raw())
        await peer.hello(kind)
        session = await peer.session(tmp_path)
        if started:
            await until(lambda: hand.memories)
        # A request behind the attach: what the attach began has begun by then.
        await peer.ask("session.rename", op.RenameParams(name="x"), session)
        assert len(hand.memories) == started
        await peer.ask("prompt", op.PromptParams(text="go"), session)
        await until(lambda: hand.turns)
        assert len(hand.memories) == 1


async def asks(puppet: Puppet, turn: Turn) -> TurnOutcome:
    answer = await puppet.session.ask(QUESTION)
    assert isinstance(answer, ApprovalAnswer) and answer.option == "y"
    return "completed"


async def put(host: Rig, tmp_path: Path, **hello: Any) -> tuple[Peer, str, op.AnswerParams]:
    """A peer that has a question before it, and the answer to it."""
    peer = Peer(host.raw())
    await peer.hello(**hello)
    session = await peer.session(tmp_path)
    await peer.ask("prompt", op.PromptParams(text="go"), session)
    while not peer.questions():
        await peer.ask("host.status", op.Empty())
    return peer, session, op.AnswerParams(interaction=peer.questions()[0], answer={"option": "y"})


async def test_an_answer_needs_its_kind_among_the_interactions_of_hello(tmp_path: Path) -> None:
    async with rig(tmp_path / "data", Stagehand(scripts=[asks])) as host:
        watcher, session, answer = await put(host, tmp_path, interactions=["confirm"])
        refused = await watcher.ask("interaction.answer", answer, session)
        assert refused.error is not None and refused.error.code == "forbidden"
        other = Peer(host.raw())
        await other.hello(interactions=["approval"])
        not_attached = await other.ask("interaction.answer", answer, session)
        assert not_attached.error is not None and not_attached.error.code == "forbidden"
        await other.ask("attach", op.AttachParams(), session)
        assert (await other.ask("interaction.answer", answer, session)).error is None
        late = await other.ask("interaction.answer", answer, session)
        assert late.error is not None and late.error.code == "already_resolved"


async def test_a_wrong_answer_names_the_choices_and_the_question_waits_on(tmp_path: Path) -> None:
    async with rig(tmp_path / "data", Stagehand(scripts=[asks])) as host:
        peer, session, answer = await put(host, tmp_path, interactions=["approval"])
        wrong = op.AnswerParams(interaction=answer.interaction, answer={"option": "Yes"})
        refused = await peer.ask("interaction.answer", wrong, session)
        assert refused.error is not None and refused.error.code == "invalid_request"
        assert refused.error.message == "answer.option: must be one of y, n"
        assert (await peer.ask("interaction.answer", answer, session)).error is None


def test_the_hello_of_the_guide_is_a_request() -> None:
    (line,) = re.findall(r'^\{"v":1,.*"op":"hello".*$', PAGE, re.MULTILINE)
    assert parse_client_envelope(json.loads(line)).op == "hello"


@pytest.mark.parametrize(
    ("held", "offset", "text", "after"),
    [
        (None, 0, "ab", "ab"),
        ("ab", 2, "c", "abc"),
        ("ab", 0, "a", "ab"),
        ("ab", 7, "c", "attached again"),
        (None, 7, "c", "attached again"),
        (COMPLETED, 7, "c", COMPLETED),
        (COMPLETION_ONLY, 7, "c", COMPLETION_ONLY),
    ],
)
def test_the_lines_of_the_guide_follow_text(held: str | None, offset: int, text: str, after: str) -> None:
    (code,) = re.findall(r"```python\n(held = .*?)```", PAGE, re.DOTALL)
    state = (
        held if held in (None, COMPLETED, COMPLETION_ONLY) else ActiveStream("assistant", TextBuffer(held))
    )
    streams: dict[str, Any] = {"key": state}
    position = StreamPosition(message="m", id="p", kind="assistant", offset=offset)
    again: list[str] = []
    names: dict[str, Any] = {
        "streams": streams,
        "key": "key",
        "frame": TextFrame(session="s", stream=position, text=text),
        "attach_again": lambda: again.append("attached again"),
        "classify_text_delta": classify_text_delta,
        "ActiveStream": ActiveStream,
        "TextBuffer": TextBuffer,
        "COMPLETED": COMPLETED,
        "COMPLETION_ONLY": COMPLETION_ONLY,
    }
    exec(code, names)
    found = streams["key"]
    assert (again or [str(found.text) if isinstance(found, ActiveStream) else found]) == [after]
