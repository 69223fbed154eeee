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
from typing import Any

import msgspec
import pytest

from felan_core import protocol
from felan_core.agents.backend import ToolPatch, Turn, TurnOutcome
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
    parse_server_envelope,
)
from felan_core.protocol.elements import StatusElement
from felan_tui.cli.recording import Recording
from tests.core.host.rig import Puppet, Rig, Stagehand, rig

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
    assert f"takes {quotas.AGENT_BYTES / MB:g} MiB together" in PAGE
    assert f"the queue takes {quotas.QUEUE_BYTES / MB:g} MiB" in PAGE
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


async def run_client(path: str, folder: Path, text: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CLIENT),
        path,
        str(folder),
        text,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=DOCS.parent,
    )
    async with asyncio.timeout(20):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


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
