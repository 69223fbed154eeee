"""The words of the transcript: what state a tool is in, and what a person answered."""

from typing import Any

import pytest

from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.entries import ToolDetails, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_tui.session.shown import entry_blocks, interaction_block
from tests.tui.gallery_samples import BASH, approval, interaction
from tests.tui.transcript.drawing import shown

NOW = 1_700_000_100_000


def line(state: str, details: ToolDetails | None = None, **members: Any) -> str:
    tool = ToolEntry(
        id="t",
        seq=1,
        at=0,
        name="bash",
        category="execute",
        title="make",
        state=state,  # pyright: ignore[reportArgumentType] one of the states
        started_at=NOW - 65_000,
        details=UNSET if details is None else details,
        **members,
    )
    ((block, _),) = entry_blocks(tool, me="me", now=NOW)
    return " ".join(shown(block, 60).split())


@pytest.mark.parametrize(
    ("state", "details", "words"),
    [
        ("running", None, "● bash make running 1 min 05 s"),
        ("completed", None, "✓ bash make 1 min 05 s"),
        ("completed", ToolDetails(exit_code=2), "✓ bash make exit 2 1 min 05 s"),
        ("failed", None, "✗ bash make failed 1 min 05 s"),
        ("failed", ToolDetails(exit_code=2), "✗ bash make exit 2 1 min 05 s"),
        ("failed", ToolDetails(exit_code=127), "✗ bash make not found (exit 127) 1 min 05 s"),
        ("failed", ToolDetails(exit_code=126), "✗ bash make cannot be run (exit 126) 1 min 05 s"),
        ("failed", ToolDetails(reason="rejected"), "⊘ bash make rejected 1 min 05 s"),
        ("interrupted", ToolDetails(reason="cancelled"), "⊘ bash make cancelled 1 min 05 s"),
        ("interrupted", ToolDetails(reason="stopped"), "⊘ bash make stopped 1 min 05 s"),
        ("interrupted", ToolDetails(reason="lost"), "⊘ bash make interrupted 1 min 05 s"),
        ("interrupted", ToolDetails(reason="SIGSEGV"), "⊘ bash make SIGSEGV 1 min 05 s"),
        ("interrupted", ToolDetails(reason="not_run"), "⊘ bash make not run"),
    ],
)
def test_a_tool_says_what_became_of_it(state: str, details: ToolDetails | None, words: str) -> None:
    assert line(state, details) == words


def test_a_tool_that_waits_for_an_answer_has_no_time_yet() -> None:
    assert line("running", waiting=True) == "◷ bash make waiting"


ME = {"state": "resolved", "responder": {"id": "me", "client": "tui"}}
OPTIONS = [{"id": "a", "label": "Alpha"}, {"id": "b", "label": "Beta"}]
ORDER = {
    "title": "Order",
    "fields": [
        {"type": "enum", "id": "size", "label": "Size", "options": OPTIONS},
        {"type": "boolean", "id": "gift", "label": "Gift"},
        {"type": "multi_select", "id": "tops", "label": "Tops", "options": OPTIONS},
        {"type": "number", "id": "n", "label": "Count"},
    ],
    "submit": {"id": "go", "label": "Go"},
    "cancel": {"id": "stop", "label": "Stop"},
}


def ended(request: JsonObject, result: JsonObject, **members: Any) -> tuple[str, str]:
    asked: Interaction = interaction("x", request, **{**ME, "createdAt": NOW, "result": result, **members})
    block = interaction_block(asked, me="tui")
    assert block is not None
    return block.text, block.details


@pytest.mark.parametrize(
    ("option", "verb"),
    [
        ("once", "approved once"),
        ("always", "approved always"),
        ("no", "rejected"),
        ("never", "rejected always"),
    ],
)
def test_an_approval_says_whether_it_holds_once_or_always(option: str, verb: str) -> None:
    request = approval("Push", BASH)
    label = next(one["label"] for one in request["options"] if one["id"] == option)
    text, details = ended(request, {"option": option, "note": "because"})
    assert text.startswith(f"{verb} by you: ")
    assert details == f"{label}\nbecause"


def test_the_value_of_an_answer_is_on_its_line() -> None:
    select = {"kind": "select", "title": "Which?", "options": OPTIONS}
    assert ended(select, {"options": ["a", "b"]}) == ("answered by you: Which? · Alpha, Beta", "Alpha, Beta")
    typed = {"kind": "input", "title": "Name?"}
    long = "two\nlines " + "x" * 100
    text, details = ended(typed, {"text": long})
    assert text.startswith("answered by you: Name? · two⏎lines xxx") and text.endswith("…")
    assert details == long
    form = {"kind": "form", "form": ORDER}
    values = {"size": "b", "gift": False, "tops": ["a"], "n": 3}
    text, details = ended(form, {"action": "go", "values": values})
    assert text == "answered by you: Order · Size: Beta, Gift: no, Tops: Alpha, Count: 3"
    assert details == "Size: Beta\nGift: no\nTops: Alpha\nCount: 3"
    assert ended(form, {"action": "stop"})[0] == "declined by you: Order"
    assert ended({"kind": "confirm", "title": "Sure?"}, {"confirmed": True})[0] == "confirmed by you: Sure?"
    other = {"responder": {"id": "anna", "client": "phone"}}
    assert ended(select, {"options": ["a"]}, **other)[0] == "answered by phone: Which? · Alpha"
