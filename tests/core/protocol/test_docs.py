"""docs/protocol.md says what the code says, and its example client works on a real host."""

import asyncio
import io
import json
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from felan_core import protocol
from felan_core.agents.backend import Session, ToolPatch, Turn, TurnOutcome
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.client.transport import MemoryTransport
from felan_core.host import quotas
from felan_core.host.presentation import HOST_ELEMENTS
from felan_core.host.sanitize import FREE_DEPTH
from felan_core.protocol import (
    ERROR_CODES,
    INTERACTION_KINDS,
    LIMITS,
    OPERATION_CATALOG,
    JsonLineDecoder,
    ProtocolError,
    elements,
    entries,
    interactions,
    parse_server_envelope,
    session,
)
from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import StatusElement
from felan_core.protocol.interactions import ApprovalOption, ApprovalRequest, ApprovalSubject
from felan_core.protocol.operations import hosts, processes
from felan_tui.cli.recording import Recording
from tests.core.host.rig import Puppet, Rig, Stagehand, rig, until

MB = 1024 * 1024
DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "protocol.md").read_text("utf-8")
CLIENT = DOCS / "examples" / "mini_client.py"


def table(heading: str) -> list[list[str]]:
    """The rows of the first table after a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_the_table_of_operations_is_the_catalogue() -> None:
    assert table("Operations") == [
        [
            f"`{row.name}`",
            row.scope,
            row.durability,
            f"`{row.params.__name__}`",
            f"`{row.result.__name__}`",
        ]
        for row in OPERATION_CATALOG.values()
    ]


def test_the_table_of_limits_is_the_table_of_the_code() -> None:
    assert [row[:2] for row in table("Limits")] == [
        [f"`{name}`", f"{value:,}"] for name, value in msgspec.to_builtins(LIMITS).items()
    ]


def test_what_a_host_keeps_for_itself_is_said_in_its_own_numbers() -> None:
    assert f"at most {LIMITS.elements - HOST_ELEMENTS} of the {LIMITS.elements}" in PAGE
    assert f"have {quotas.AGENT_BYTES / MB:g} MiB together" in PAGE
    assert f"The queue has {quotas.QUEUE_BYTES / MB:g} MiB" in PAGE
    assert quotas.ENDED_BYTES == quotas.PROCESSES_BYTES and f"{quotas.ENDED_BYTES / MB:g} MiB each" in PAGE
    assert f"nests deeper than {FREE_DEPTH} levels" in PAGE


PUBLIC = [
    name
    for name in protocol.__all__
    if name.startswith(("parse_", "classify_", "canonical_", "compare_", "request_r", "validate_", "encode_"))
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_function_says_where_its_rule_stands_and_what_it_raises(name: str) -> None:
    words = " ".join((getattr(protocol, name).__doc__ or "").split())
    assert "session protocol §" in words
    assert "Raises ``ProtocolError" in words or "raises nothing" in words


def test_the_names_that_the_page_gives_to_a_client_are_public() -> None:
    names = {name for row in table("Names") for name in re.findall(r"`(\w+)`", row[1])}
    assert names <= {*protocol.__all__} and len(names) > 60
    for name in names:
        getattr(protocol, name)


def test_the_public_names_are_the_same_in_every_list() -> None:
    homes: dict[str, str] = vars(protocol)["_HOMES"]
    assert sorted(homes) == sorted(protocol.__all__)


ENUMERATIONS: dict[str, Any] = {
    "`lifecycle` of a host (open: another value is kept)": session.KnownLifecycle,
    "`state` of a session": session.SessionStateName,
    "`outcome` of a message and of a run": entries.MessageOutcome,
    "`state` of a tool": entries.ToolStateName,
    "`state` of a process": session.ProcessState,
    "`state` of an execution": session.ExecutionState,
    "`state` of an interaction": interactions.InteractionState,
    "`effect` of an approval's option": interactions.Effect,
    "`authority` of an interaction": interactions.Authority,
    "`kind` of a stream": entries.StreamKind,
    "`tone`": entries.Tone,
    "`placement` of an element": elements.Placement,
    "`layout` of a view": elements.Layout,
    "`type` of a column": elements.ColumnType,
    "`scope` of an action": elements.ActionScope,
    "`style` of an action": elements.ActionStyle,
    "`thinking`": session.Thinking,
    "`name` of a policy": session.PolicyName,
    "`level` of a log line": hosts.LogLevel,
    "`signal` of `processes.stop`": processes.StopSignal,
}


def test_the_table_of_enumerations_is_that_of_the_code() -> None:
    expected = {name: ", ".join(get_args(values)) for name, values in ENUMERATIONS.items()}
    assert {row[0]: row[1] for row in table("Enumerations")} == expected


def test_every_error_code_is_explained() -> None:
    assert [row[0] for row in table("Errors")] == [f"`{code}`" for code in ERROR_CODES]


def test_every_interaction_kind_is_explained() -> None:
    assert [row[0] for row in table("Interactions")] == [f"`{kind}`" for kind in INTERACTION_KINDS]


EXAMPLES = [json.loads(one) for one in re.findall(r"```json example\n(.*?)```", PAGE, re.DOTALL)]


def test_every_rule_of_evolution_has_an_example() -> None:
    section = PAGE.split("\n## How it may evolve\n")[1].split("\n## ")[0]
    rules = re.split(r"^\d\. ", section, flags=re.MULTILINE)[1:]
    assert len(rules) == 4 and all("```json example" in rule for rule in rules)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: json.dumps(one["sent"])[:60])
def test_a_reader_of_today_makes_of_tomorrow_what_the_page_says(example: dict[str, Any]) -> None:
    if "refused" in example:
        with pytest.raises(ProtocolError) as refusal:
            parse_server_envelope(example["sent"], example.get("op"))
        assert refusal.value.code == example["refused"]
    else:
        frame = parse_server_envelope(example["sent"], example.get("op"))
        assert json.loads(msgspec.json.encode(frame)) == example["read"]


async def pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, end: MemoryTransport, record: list[bytes]
) -> None:
    """Carry the bytes between a socket and the host's end until either is gone, and record the frames."""
    asked, told = JsonLineDecoder(), JsonLineDecoder()

    async def inwards() -> None:
        while data := await reader.read(65536):
            record.extend(asked.lines(data))
            await end.send(data)
        await end.close()

    async def outwards() -> None:
        while data := await end.receive():
            record.extend(told.lines(data))
            writer.write(data)
            await writer.drain()
        writer.close()

    await asyncio.gather(inwards(), outwards(), return_exceptions=True)


@asynccontextmanager
async def listening(host: Rig, record: list[bytes]) -> AsyncIterator[str]:
    """The host on a socket. The path is short: a socket's has little room."""
    with tempfile.TemporaryDirectory(prefix="felan-") as folder:
        path = f"{folder}/s"

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await pump(reader, writer, host.raw(), record)

        server = await asyncio.start_unix_server(serve, path)
        try:
            yield path
        finally:
            server.close()


async def run_client(path: str, folder: Path, text: str, keys: str = "") -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CLIENT),
        path,
        str(folder),
        text,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=DOCS.parent,
    )
    async with asyncio.timeout(20):
        output, _ = await process.communicate(keys.encode())
    return process.returncode, output.decode()


QUESTION = ApprovalRequest(
    title="Run ls?",
    subject=ApprovalSubject(category="execute", command="ls"),
    options=[
        ApprovalOption(id="y", label="Yes", effect="allow_once"),
        ApprovalOption(id="n", label="No", effect="reject_once"),
    ],
)


async def turn_of_the_page(puppet: Puppet, turn: Turn) -> TurnOutcome:
    """The turn whose order the page shows."""
    await puppet.session.text("assistant", "Good ")
    await puppet.session.tool(ToolPatch(key="t", name="read", category="read", title="a.txt"))
    await puppet.session.tool(ToolPatch(key="t", state="completed"))
    await puppet.session.text("assistant", "evening.")
    return "completed"


async def turn_with_a_question(puppet: Puppet, turn: Turn) -> TurnOutcome:
    """The turn whose order the page shows under the answer to a question."""
    await puppet.session.tool(ToolPatch(key="t", name="bash", category="execute", title="ls"))
    answer = await puppet.session.ask(QUESTION, tool="t")
    assert isinstance(answer, protocol.ApprovalAnswer)
    state = "completed" if answer.option == "y" else "failed"
    await puppet.session.tool(ToolPatch(key="t", state=state))
    await puppet.session.text("assistant", f"It is {state}.")
    return "completed"


def orders(record: list[bytes]) -> list[str]:
    """The frames of a recording in the words of the page's blocks."""
    found: list[str] = []
    for frame in map(json.loads, record):
        event = frame.get("event", {})
        match event.get("type"):
            case None:
                found.append(
                    f"> {frame['op']}" if "op" in frame else "< text" if "stream" in frame else "< reply"
                )
            case "session.updated":
                found.append(f"< session.updated {event['header']['state']}")
            case "message.completed":
                found.append(f"< message.completed {event['entry'].get('role', 'notice')}")
            case "tool.updated":
                tool = event["tool"]
                waiting = " waiting" if tool.get("waiting") else ""
                found.append(f"< tool.updated {tool['name']} {tool['state']}{waiting}")
            case "interaction.updated":
                found.append(f"< interaction.updated {event['interaction']['state']}")
            case "presentation.updated":
                found.append(f"< presentation.updated {event['element']['id']}")
            case kind:
                found.append(f"< {kind}")
    return found


def in_order(block: str, lines: list[str]) -> None:
    """Every line of the page's block is in ``lines``, one behind the other."""
    (wanted,) = re.findall(rf"```order {block}\n(.*?)\n```", PAGE, re.DOTALL)
    rest = iter(lines)
    for line in wanted.splitlines():
        assert line in rest, f"{line} is missing, or out of order, in {lines}"


async def test_the_frames_of_a_turn_come_in_the_order_of_the_page(tmp_path: Path) -> None:
    hand, record = Stagehand(), list[bytes]()
    hand.scripts += [turn_of_the_page]
    async with rig(tmp_path / "data", hand) as host, listening(host, record) as path:
        code, output = await run_client(path, tmp_path, "hello there")
        assert (code, output) == (0, "Good evening.\n[completed]\n")
        await until(lambda: orders(record)[-1] == "< session.updated idle")
    lines = orders(record)
    in_order("turn", lines)
    assert lines.index("< run.started") < len(lines) - 1 - lines[::-1].index("< reply")


async def test_the_frames_of_a_question_come_in_the_order_of_the_page(tmp_path: Path) -> None:
    hand, record = Stagehand(), list[bytes]()
    hand.scripts += [turn_with_a_question]
    async with rig(tmp_path / "data", hand) as host, listening(host, record) as path:
        code, output = await run_client(path, tmp_path, "list it", keys="0\n")
    assert (code, output) == (0, "\nRun ls?\n0 Yes  1 No\nIt is completed.\n[completed]\n")
    in_order("question", orders(record))


class Rehearsing(Stagehand):
    """The agent is Rehearsal, without its pauses."""

    def create(self, session: Session, settings: JsonObject) -> Any:
        return RehearsalBackend(session, {"rehearsal.pace": 0, **settings})


async def test_the_example_client_takes_a_turn_with_a_real_agent(tmp_path: Path) -> None:
    record = list[bytes]()
    work = tmp_path / "work"
    work.mkdir()
    async with rig(tmp_path / "data", Rehearsing()) as host, listening(host, record) as path:
        code, output = await run_client(path, work, "write a file", keys="0\n" * 3)
    assert code == 0 and output.endswith("\n[completed]\n")
    assert output.count("\n0 ") == 3  # three approvals
    recording = Recording()
    recording.read(io.BytesIO(b"".join(line + b"\n" for line in record)))
    found = recording.report()
    assert found["problems"] == [] and found["unknownMembers"] == 0
    assert found["requests"] == found["replies"] and found["texts"] and found["events"] > 20


async def test_the_example_client_says_one_thing_and_prints_the_turn(tmp_path: Path) -> None:
    hand, record = Stagehand(), list[bytes]()

    async def says(puppet: Puppet, turn: Turn) -> TurnOutcome:
        assert turn.text == "hello there"
        await puppet.session.text("assistant", "Good ")
        await puppet.session.text("assistant", "evening.")
        await puppet.session.tool(ToolPatch(key="t", name="read", category="read", title="a.txt"))
        await puppet.session.show(
            StatusElement(id="s", revision=1, text="so far", tone="info", placement="above")
        )
        return "completed"

    hand.scripts.append(says)
    async with rig(tmp_path / "data", hand) as host, listening(host, record) as path:
        code, output = await run_client(path, tmp_path, "hello there")
    assert output == "Good evening.\n[completed]\n"
    assert code == 0
    # What both of them sent is the protocol, to the last frame.
    recording = Recording()
    recording.read(io.BytesIO(b"".join(line + b"\n" for line in record)))
    found = recording.report()
    assert found["problems"] == [] and found["unmatchedReplies"] == found["unknownEvents"] == 0
    assert found["requests"] == found["replies"] == 4 and found["texts"] and found["events"] > 5


async def test_the_example_client_says_what_was_refused(tmp_path: Path) -> None:
    async with rig(tmp_path / "data", Stagehand()) as host, listening(host, []) as path:
        code, output = await run_client(path, tmp_path / "nowhere", "hello")
    assert code == 1
    assert output.startswith("sessions.create: invalid_request: ")


def test_the_example_client_uses_the_contract_alone() -> None:
    imports = re.findall(r"^(?:from|import) (\S+)", CLIENT.read_text("utf-8"), re.MULTILINE)
    assert {name for name in imports if not name.startswith("felan_core.protocol")} == {"socket", "sys"}
