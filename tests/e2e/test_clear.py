"""/clear in the installed program: a new id, the old pointer stays, and `felan -c` comes back to the new."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.e2e.felan import Felan, alive, children

HARNESS = Path(__file__).resolve().parents[1] / "harness" / "acp"


def states(felan: Felan) -> dict[str, dict[str, Any]]:
    found = (felan.data / "task-pointers" / "v3").glob("*/state.json")
    return {path.parent.name: json.loads(path.read_bytes()) for path in found}


def test_a_task_outlives_a_compaction_and_a_clear_begins_anew(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "compact", "--pace", "0") as felan:
        felan.see(
            "The agent compacted its context", "revision 2, CLEAN", "So I go on from there.", "● CLEAN r2"
        )
        (old,) = states(felan)
        path = felan.data / "task-pointers" / "v3" / old / "state.json"
        before = path.read_bytes()
        felan.enter("/clear")
        felan.see("○ CLEARED r1", "Write what is to be done")
        felan.see_not("So I go on from there.")
        (fresh,) = set(states(felan)) - {old}
        new = states(felan)[fresh]
        assert (new["status"], new["revision"], new["task_id"]) == ("CLEARED", 1, None)
        assert new["generation"] != json.loads(before)["generation"]
        assert path.read_bytes() == before
        felan.until(lambda: ("closed",) in _rows(felan), "the old session closed")
        assert felan.quit() == 0
    with Felan(tmp_path, "-c") as felan:
        felan.see("○ CLEARED r1", "Rehearsal")
        felan.ready()
        felan.enter("/compact mend the login test")
        felan.see("revision 3, CLEAN", "Goal: mend the login test", "● CLEAN r3")
        assert path.read_bytes() == before
        assert felan.quit() == 0


def _rows(felan: Felan) -> list[tuple[object, ...]]:
    return felan.stored("select state from sessions")


def _statuses(text: str) -> set[str]:
    """The statuses of the pointer that the agent was sent, wherever the text is wrapped."""
    return {f"status: {status}" for status in re.findall(r"status:(?:\\n|\s)*([A-Z]+)", text)}


def test_a_clear_starts_the_agent_anew_and_ends_the_one_before(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, str(HARNESS / "scripted.py"), "prompt_blocks"])
    with Felan(tmp_path, "--agent", command, columns=120, rows=40) as felan:
        felan.ready()
        felan.enter("first")
        text = felan.see("TASK_POINTER_V2_BOOTSTRAP", "recovery_mode: NONE", "○ CLEARED r1")
        assert {"status: ABSENT", "status: CLEARED"} <= _statuses(text)
        (before,) = children(felan.app)
        felan.enter("/clear")
        felan.see("Write what is to be done")
        felan.until(lambda: not alive(before) and len(children(felan.app)) == 1, "another agent")
        felan.enter("second")
        text = felan.see("recovery_mode: NONE", "▌ second", "○ CLEARED r2")
        assert _statuses(text) == {"status: CLEARED"}
        assert felan.quit() == 0
