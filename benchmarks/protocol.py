"""What the wire contract costs: every way in against the bare msgspec of the same bytes, in one run.

Each line names both sides and the ratio that it has to keep (the targets of the contract's issue).
"""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import msgspec

from felan_core.protocol import JsonLineDecoder, encode_frame, parse_server_envelope, parse_server_frame
from felan_core.protocol.elements import Column, StatusElement, ViewElement, ViewItem, ViewPage
from felan_core.protocol.entries import (
    Entry,
    MessageEntry,
    TextPart,
    ThinkingPart,
    ToolDetails,
    ToolEntry,
    ToolText,
)
from felan_core.protocol.envelopes import Accepted, EventFrame, TextFrame
from felan_core.protocol.events import KnownEvent, MessageCompleted, PresentationUpdated, ToolUpdated
from felan_core.protocol.ids import new_uuid7
from felan_core.protocol.operations import AttachResult
from felan_core.protocol.session import (
    AgentInfo,
    Branch,
    Catalogue,
    History,
    Policy,
    Queue,
    SessionHeader,
    SessionSnapshot,
)
from felan_core.protocol.streams import StreamPosition

FRAMES = 200
ROUNDS = 15
RUNS = 20
CHUNK = 64 * 1024
MEBIBYTE = 1024 * 1024
PROSE = 'The quick brown fox looks at line 12 of `main.py` and says: "that is it".\n'
ACCENTS = "Größe und Maß stehen in Zeile 12, “wie gesagt”.\n"
NOW = 1_790_000_000_000


class TypedReply(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The bare shape of the reply to attach."""

    re: str
    result: AttachResult
    v: int
    outcome: str


def measure() -> str:
    """Measure everything and say it in lines."""
    return "\n".join(("protocol", *_live(), *_snapshot(), *_framing(), *_importing(), ""))


def live_stream(count: int = FRAMES) -> list[bytes]:
    """Lines of a live stream: 80 % text, 15 % tool and presentation updates, 5 % completed messages."""
    session, message = new_uuid7(NOW), new_uuid7(NOW + 1)
    lines: list[bytes] = []
    offset = 0
    for number in range(count):
        kind = number % 20
        revision = number + 2
        if kind in (3, 9):
            lines.append(_event(session, revision, ToolUpdated(tool=_tool(number, 400))))
        elif kind == 14:
            view = number % 40 == 14
            lines.append(_event(session, revision, PresentationUpdated(element=_element(revision, view))))
        elif kind == 19:
            parts = [ThinkingPart(id="t", text=PROSE * 3), TextPart(id="a", text=PROSE * 15 + ACCENTS)]
            entry = MessageEntry(
                id=new_uuid7(NOW + number),
                seq=number,
                at=NOW,
                parent=message,
                run=session,
                role="assistant",
                parts=parts,
                outcome="completed",
            )
            lines.append(_event(session, revision, MessageCompleted(entry=entry)))
        else:
            at = StreamPosition(message=message, id="a", kind="assistant", offset=offset)
            text = (ACCENTS if number % 8 == 0 else PROSE)[number % 20 : number % 20 + 18 + number % 9]
            offset += len(text)
            lines.append(encode_frame(TextFrame(session=session, stream=at, text=text))[:-1])
    return lines


def _event(session: str, revision: int, event: KnownEvent) -> bytes:
    return encode_frame(EventFrame(session=session, revision=revision, at=NOW, event=event))[:-1]


def _tool(number: int, output: int) -> ToolEntry:
    return ToolEntry(
        id=new_uuid7(NOW + number),
        seq=number,
        at=NOW,
        run=new_uuid7(NOW),
        name="bash",
        category="execute",
        title="Run the tests of the parser",
        state="completed",
        started_at=NOW,
        ended_at=NOW + 1200,
        arguments={"command": "make test ARGS='-x tests/parser'", "timeout": 120_000, "background": False},
        locations=["/home/dev/parser/main.py"],
        content=[ToolText(text=(PROSE * (output // len(PROSE) + 1))[:output])],
        details=ToolDetails(exit_code=0),
    )


def _element(revision: int, view: bool) -> StatusElement | ViewElement:
    if not view:
        return StatusElement(id="felan.git", revision=revision, text="main, 3 changed", tone="info")
    columns = [
        Column(id="name", label="Name", type="string"),
        Column(id="runs", label="Runs", type="number"),
        Column(id="ok", label="Good", type="boolean"),
    ]
    items = [
        ViewItem(id=f"row{row}", fields={"name": f"test {row}", "runs": row, "ok": row % 2 == 0})
        for row in range(8)
    ]
    page = ViewPage(index=0, size=8, total=8, has_more=False)
    return ViewElement(id="tests", revision=revision, layout="table", columns=columns, items=items, page=page)


def snapshot_line() -> bytes:
    """The reply to attach with 12 MiB of history, the most that the contract takes: 256 entries, half of them
    text, half tool arguments.
    """
    entries = [_filled(number) for number in range(256)]
    snapshot = SessionSnapshot(
        session=new_uuid7(NOW),
        root=new_uuid7(NOW),
        revision=400,
        created_at=NOW,
        header=SessionHeader(
            state="idle",
            cwd="/home/dev/parser",
            agent=AgentInfo(kind="acp", name="agent", state="ready", memory=True),
        ),
        branch=Branch(leaf=entries[-1].id),
        history=History(entries=entries),
        queue=Queue(items=[], held=False),
        catalogue=Catalogue(operations=["prompt"], commands=[], tools=[], models=[]),
        policy=Policy(name="default"),
        tools=[],
        interactions=[],
        children=[],
        processes=[],
        presentation=[],
        streams=[],
        completion_only_streams=[],
    )
    return encode_frame(Accepted(re=new_uuid7(NOW), result=AttachResult(snapshot=snapshot)))[:-1]


def _filled(number: int) -> Entry:
    """An entry of a 256th of the history to the byte: text where the number is even, else tool arguments."""
    # With 255 commas and two brackets it is 12 MiB.
    size = 12 * MEBIBYTE // 256 - (1 if number else 2)
    make = _long_tool if number % 2 else _long_message
    return make(number, "x" * (size - len(msgspec.json.encode(make(number, "")))))


def _long_message(number: int, rest: str) -> Entry:
    text = (PROSE * 10 + (ACCENTS if number % 16 == 0 else "")) * 54
    return MessageEntry(
        id=new_uuid7(NOW + number),
        seq=number,
        at=NOW,
        role="assistant",
        parts=[TextPart(id="a", text=text + rest)],
        outcome="completed",
    )


def _long_tool(number: int, rest: str) -> Entry:
    edits = [
        {"path": f"/home/dev/parser/file{edit}.py", "line": edit, "new": PROSE * 5, "old": PROSE * 5}
        for edit in range(55)
    ]
    return msgspec.structs.replace(_tool(number, 100), arguments={"edits": edits, "note": rest})


def _live() -> Iterable[str]:
    lines = live_stream()
    # The other side decodes into the very types that ours returns.
    shapes: list[Any] = [TextFrame if b'"stream":{' in line[:80] else EventFrame for line in lines]
    bare = {shape: msgspec.json.Decoder(shape).decode for shape in set(shapes)}
    pairs = list(zip(lines, shapes, strict=True))
    decoders = [(line, bare[shape]) for line, shape in pairs]

    def converted() -> None:
        for line, shape in pairs:
            msgspec.convert(msgspec.json.decode(line), shape)

    def public() -> None:
        for line in lines:
            parse_server_envelope(msgspec.json.decode(line))

    def typed() -> None:
        for line, decode in decoders:
            decode(line)

    def entry() -> None:
        for line in lines:
            parse_server_frame(line, _no_op)

    size = sum(map(len, lines)) // len(lines)
    yield f"  a mixed live stream, {len(lines)} frames of {size} bytes in the mean"
    yield _ratio(
        "plain JSON: parse_server_envelope against msgspec.convert", public, converted, 4.0, len(lines)
    )
    yield _ratio("bytes: parse_server_frame against the typed decoder", entry, typed, 5.0, len(lines))


def _no_op(re: str) -> str | None:
    return None


def _attach(re: str) -> str | None:
    return "attach"


def _snapshot() -> Iterable[str]:
    line = snapshot_line()
    decode = msgspec.json.Decoder(TypedReply).decode
    yield f"  a snapshot of {len(line) / MEBIBYTE:.1f} MiB, 256 entries"
    yield _ratio(
        "bytes: parse_server_frame against the typed decoder",
        lambda: parse_server_frame(line, _attach),
        lambda: decode(line),
        3.0,
        1,
    )
    ours, bare = _peak(lambda: parse_server_frame(line, _attach)), _peak(lambda: decode(line))
    yield (
        f"    peak memory: {ours / MEBIBYTE:.1f} MiB against {bare / MEBIBYTE:.1f} MiB, "
        f"{ours / bare:.2f} times (at most 1.5)"
    )


def _framing() -> Iterable[str]:
    data = b"".join(line + b"\n" for line in live_stream(5 * FRAMES))
    chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    decode = msgspec.json.Decoder[Any]().decode

    def ours() -> None:
        decoder = JsonLineDecoder()
        for chunk in chunks:
            for _ in decoder.push(chunk):
                pass
        decoder.finish()

    def bare() -> None:
        for line in data.split(b"\n"):
            if line:
                decode(line)

    yield f"  framing, {len(data) / MEBIBYTE:.1f} MiB in chunks of 64 KiB"
    yield _ratio("JsonLineDecoder against split and decode", ours, bare, 3.0, 5 * FRAMES)


def _importing() -> Iterable[str]:
    for what, statement in (
        ("felan_core.protocol", "import felan_core.protocol"),
        ("all its names", "from felan_core.protocol import *"),
    ):
        ours, bare, ratio = _rivals(
            lambda statement=statement: _run(statement),
            lambda: _run("import msgspec"),
            3,
            5,
            time.perf_counter,
        )
        yield (
            f"  import, whole process: {what} {ours * 1000:.0f} ms against msgspec {bare * 1000:.0f} ms, "
            f"{ratio:.2f} times (at most 2)"
        )


def _run(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)


def _ratio(what: str, ours: Callable[[], object], bare: Callable[[], object], limit: float, per: int) -> str:
    mine, theirs, ratio = _rivals(ours, bare, *((3, 10) if per == 1 else (ROUNDS, RUNS)))
    return (
        f"    {what}: {mine / per * 1e6:.2f} against {theirs / per * 1e6:.2f} µs, "
        f"{ratio:.2f} times (at most {limit:g})"
    )


def _rivals(
    ours: Callable[[], object],
    bare: Callable[[], object],
    rounds: int,
    runs: int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, float, float]:
    """The medians of ``rounds``: of both times, and of their ratios.

    A round is the best of several runs of both, taken in turns: short enough that the machine keeps its pace,
    and long enough that one run of each falls between what else it does.
    """
    times: list[tuple[float, float]] = []
    ours()
    bare()
    gc.disable()
    try:
        for _ in range(rounds):
            best = [float("inf"), float("inf")]
            for _ in range(runs):
                for index, run in enumerate((ours, bare)):
                    start = clock()
                    run()
                    best[index] = min(best[index], clock() - start)
            times.append((best[0], best[1]))
    finally:
        gc.enable()
    mine, theirs = zip(*times, strict=True)
    return median(mine), median(theirs), median(one / other for one, other in times)


def _peak(run: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
