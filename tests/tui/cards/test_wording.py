from typing import Any

import pytest

from felan_core.protocol.interactions import ApprovalRequest, Interaction
from felan_tui.cards.wording import (
    can_ask_again,
    ended,
    header,
    one_line,
    says_more,
    state_words,
    waiting,
)
from tests.tui.gallery_samples import BASH, FORM, approval, interaction

NOW = 1_700_000_100_000


def asked(request: dict[str, Any] | None = None, **members: Any) -> Interaction:
    return interaction("x", request or approval("Push", BASH), **{"createdAt": NOW - 7_000, **members})


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (BASH, "opencode wants to run"),
        ({"category": "edit", "name": "Edit"}, "opencode wants to edit"),
        ({"category": "fetch"}, "opencode wants to fetch"),
        ({"category": "switch_mode"}, "opencode wants to change its mode"),
        ({"category": "execute", "name": "Bash"}, "opencode wants to use Bash"),
        ({"category": "other", "name": "mcp__my__ask"}, "opencode wants to use mcp__my__ask"),
        ({"category": "other"}, "opencode wants to do this"),
    ],
)
def test_the_head_names_the_agent_and_what_it_wants(subject: dict[str, Any], words: str) -> None:
    request = asked(approval("Push", subject)).request
    assert header(request, "opencode") == words
    assert header(request).startswith("The agent wants to ")


def test_the_head_of_a_question_is_its_title() -> None:
    assert header(asked({"kind": "form", "form": FORM}).request) == "Release"
    assert header(asked({"kind": "confirm", "title": " "}).request) == "A question"


@pytest.mark.parametrize(
    ("title", "subject", "more"),
    [
        ("Push the branch", BASH, True),
        ("git push", BASH, False),
        ("`git push --force`", BASH, False),
        ("git pull", BASH, True),
        ("Edit a.py", {"category": "edit", "paths": ["/x/a.py"]}, False),
        ("edit", {"category": "edit", "paths": ["/x/a.py"]}, False),
        ("Write /x/a.py", {"category": "edit", "paths": ["/x/a.py"]}, False),
        ("Edit b.py", {"category": "edit", "paths": ["/x/a.py"]}, True),
        ("rm x ⏎ ls", {"category": "execute", "command": "rm x\nls"}, False),
    ],
)
def test_a_title_that_says_nothing_new_is_left_out(title: str, subject: dict[str, Any], more: bool) -> None:
    request = asked(approval(title, subject)).request
    assert isinstance(request, ApprovalRequest)
    assert says_more(request) is more


def test_the_line_of_a_card_behind_another_says_what_it_is_about() -> None:
    assert one_line(asked()) == "run  git push --force origin fix/login"
    assert one_line(asked({"kind": "confirm", "title": "Sure?\nReally?"})) == "Sure?⏎Really?"
    edit = approval("Edit a.py", {"category": "edit", "paths": ["/x/a.py"]})
    assert one_line(asked(edit)) == "edit  /x/a.py"


def test_a_card_says_how_long_it_waits() -> None:
    assert waiting(asked(), NOW) == "waiting 7 s"
    assert waiting(asked(), NOW + 120_000) == "waiting 2 min 07 s"
    assert waiting(asked(createdAt=NOW + 5_000), NOW) == "waiting 0 s"


def test_what_happens_without_an_answer_is_said_and_who_may_answer_only_where_others_may_not() -> None:
    assert state_words(asked(), NOW) == ""
    assert state_words(asked(authority="owner"), NOW) == ""
    assert state_words(asked(authority="local-console"), NOW) == "only the host's own console can answer"
    assert state_words(asked(expiresAt=NOW + 61_000), NOW) == "expires in 1 min 01 s"
    assert state_words(asked(expiresAt=NOW), NOW) == "expired"
    deferred = asked(state="deferred", expiresAt=NOW + 61_000)
    assert state_words(deferred, NOW) == "deferred, can be answered for 1 min 01 s"


ME = {"state": "resolved", "responder": {"id": "me", "client": "client"}}


@pytest.mark.parametrize(
    ("option", "said", "glyph"),
    [
        ("once", "allowed by you · client", "✓"),
        ("always", "always allowed by you · client", "✓"),
        ("no", "rejected by you · client: too soon", "✗"),
        ("never", "always rejected by you · client", "✗"),
    ],
)
def test_an_ended_approval_says_what_and_by_whom(option: str, said: str, glyph: str) -> None:
    note = {"note": "too soon"} if option == "no" else {}
    how = ended(asked(**ME, result={"option": option, **note}), "me")
    assert (how.text, how.glyph) == (said, glyph)


def test_somebody_else_is_named() -> None:
    other = {
        "state": "resolved",
        "responder": {"id": "anna", "client": "phone"},
        "result": {"confirmed": False},
    }
    assert ended(asked({"kind": "confirm", "title": "?"}, **other), "me").text == "declined by anna · phone"


def test_the_end_of_each_other_kind() -> None:
    options = [{"id": "a", "label": "Alpha"}, {"id": "b", "label": "Beta"}]
    select = {"kind": "select", "title": "?", "options": options}
    assert ended(asked(select, **ME, result={"options": ["b"]}), "me").text == "chosen Beta by you · client"
    form = {"kind": "form", "form": FORM}
    assert ended(asked(form, **ME, result={"action": "stop"}), "me").text == "declined by you · client"
    assert ended(asked(form, **ME, result={"action": "send"}), "me").text == "filled in by you · client"
    assert ended(asked({"kind": "input", "title": "?"}, **ME, result={"text": "x"}), "me").text.startswith(
        "answered"
    )


def test_why_it_was_cancelled_or_expired() -> None:
    gone = asked(state="cancelled", reason="the agent that asked is gone")
    assert ended(gone, None).text == "cancelled: the agent that asked is gone"
    assert can_ask_again(gone)
    assert not can_ask_again(asked(state="cancelled", reason="the turn was cancelled"))
    assert not can_ask_again(asked())
    assert ended(asked(state="expired"), None).text == "expired, nobody answered"
