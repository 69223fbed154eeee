"""The installed hook command and the publisher, as whole processes, against a bare interpreter.

A prompt waits for the hook, so the peer is the least that any hook in Python costs: `python -I -S -c pass`
with the interpreter of the installed command. All run in turn, in one run, and the ratio is that of the
medians: with the state root in memory, and on the disk, where every write is synced. The hook's prompt makes
a task dirty, the longest way that there is; the publish wins. Then what it costs to watch where nothing
changes, and how soon the bar of a session knows what another program wrote.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from felan_core.pointer.install import scripts
from felan_core.pointer.places import publisher_path
from felan_core.pointer.store import PointerStore
from felan_core.pointer.watch import INTERVAL, Watcher

SESSION = "a-session"
TASK = "8d3f0c1e-2b4a-4c5d-9e6f-0123456789ab"
TEXT = "Goal: make the pointer fast\nNext: measure it\n" * 20
LIMITS = {"memory": 3.0, "disk": 5.0}
WHERE = {"memory": "in memory", "disk": "on the disk"}
MEMORY = "/dev/shm"


def seconds(argv: Sequence[str], data: bytes) -> float:
    """One whole process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run(argv, input=data, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _request(root: str) -> bytes:
    state = PointerStore(root).read(SESSION)
    expected = ("ABSENT", 0) if state is None else (state.generation, state.revision)
    members = {
        "schema_version": 3,
        "session_id": SESSION,
        "expected_generation": expected[0],
        "expected_revision": expected[1],
        "task_id": TASK,
        "target_status": "CLEAN",
        "pointer_text": TEXT,
    }
    return json.dumps(members).encode()


def _run(place: str, folder: str, runs: int) -> list[str]:
    root = os.path.join(folder, "root")
    scripts.write(folder, root)
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    hook = ["/bin/sh", "-c", scripts.hook_command(folder, "codex", root)]
    publisher = [publisher_path(folder, root)]
    event = {"session_id": SESSION, "hook_event_name": "UserPromptSubmit", "prompt": "word " * 200}
    prompt = json.dumps(event).encode()
    times: dict[str, list[float]] = {"bare": [], "hook": [], "publish": []}
    for run in range(runs + 1):
        one = {"bare": seconds(bare, b""), "publish": seconds(publisher, _request(root))}
        one["hook"] = seconds(hook, prompt)
        for name, value in one.items():
            if run:  # the first round compiles and warms the caches
                times[name].append(value)
    medians = {name: statistics.median(values) * 1000 for name, values in times.items()}
    bare_ms = f"{medians['bare']:7.1f} ms (min {min(times['bare']) * 1000:.1f})"
    rows = [f"  state root {WHERE[place]}: python -I -S -c pass {bare_ms}"]
    for name in ("hook", "publish"):
        ratio = medians[name] / medians["bare"]
        verdict = "within" if ratio <= LIMITS[place] else "OVER"
        rows.append(
            f"    {name:<8} {medians[name]:7.1f} ms (min {min(times[name]) * 1000:.1f})"
            f"  ratio {ratio:5.2f}  ({verdict} {LIMITS[place]:g})"
        )
    return rows


def _watch(folder: str, looks: int = 300) -> list[str]:
    """What a watcher costs where nothing changes: processor time, at ten looks a second."""
    rows: list[str] = []
    for count in (1, 100):
        store = PointerStore(os.path.join(folder, f"watched-{count}"))
        for number in range(count):
            store.prompt(f"s{number}")
        watcher = Watcher(store, "s0" if count == 1 else None)
        watcher.poll()
        watcher.poll()
        began = time.process_time()
        for _ in range(looks):
            watcher.poll()
        one = (time.process_time() - began) / looks
        share = one / INTERVAL * 100
        rows.append(
            f"  watch, {count} session{'s' if count > 1 else ''}, nothing changes: "
            f"{one * 1e6:.0f} µs a look, {share:.3f} % of a core at a look every {INTERVAL * 1000:.0f} ms"
        )
    return rows


NOTICED = 0.2
"""Seconds within which a watcher and a session's bar are to know of a change."""


async def _bar(folder: str, changes: int = 40) -> list[str]:
    """How long after another program's write a client of a session is told its pointer, on a whole host."""
    from felan_core.protocol.events import PresentationUpdated
    from felan_core.protocol.operations import CreateParams
    from felan_tui.cli.embed import EmbeddedHost, Folders, claim
    from felan_tui.session.controller import connect

    folders = Folders(Path(folder) / "host")
    host = await EmbeddedHost.open(folders, claim(folders, terminal="a benchmark"))
    try:
        client = await connect(
            host, on_state=lambda _: None, on_resync=lambda _: None, on_session_lost=lambda *_: None
        )
        session = (await client.sessions_create(CreateParams(cwd=folder))).session
        told = asyncio.Event()
        replica = await client.attach(
            session,
            on_change=lambda change: told.set() if isinstance(change.event, PresentationUpdated) else None,
        )
        store, times = PointerStore(str(folders.pointers)), list[float]()
        for number in range(changes):
            await asyncio.sleep(INTERVAL * (number % 7) / 7)  # at any moment between two looks
            told.clear()
            await asyncio.to_thread(store.prompt, session)
            began = time.perf_counter()
            await asyncio.wait_for(told.wait(), 10)
            times.append(time.perf_counter() - began)
        assert replica.state.presentation["felan.pointer"]
        await client.close()
    finally:
        await host.close()
    ordered = sorted(times)
    median, late = statistics.median(ordered), ordered[round(0.95 * len(ordered)) - 1]
    verdict = "within" if late <= NOTICED else "OVER"
    took = f"{median * 1000:.0f} ms (median), {late * 1000:.0f} ms (95 %)"
    return [f"  bar, a change by another program: told after {took}  ({verdict} {NOTICED * 1000:.0f} ms)"]


def measure(runs: int = 40) -> str:
    """The report: medians and ratios."""
    rows = [f"task pointer, whole processes ({runs} rounds, in turn)"]
    if os.path.isdir(MEMORY):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            rows += _run("memory", folder, runs)
            rows += _watch(folder)
            rows += asyncio.run(_bar(folder))
    else:
        rows.append("  state root in memory: there is no such file system here")
    # Beside the results, since the temporary folder may be in memory too.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        rows += _run("disk", folder, runs)
    return "\n".join(rows) + "\n"
