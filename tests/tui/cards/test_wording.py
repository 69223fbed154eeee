from typing import Any

import pytest

from felan_core.protocol.interactions import Interaction
from felan_tui.cards.wording import can_ask_again, ended, footer, header, one_line
from felan_tui.gallery_samples import BASH, FORM, approval, interaction

NOW = 1_700_000_100_000


def asked(request: dict[str, Any] | None = None, **members: Any) -> Interaction:
    return interaction("x", request or approval("Push", BASH), **{"createdAt": NOW - 7_000, **members})


def test_the_header_names_the_verb_and_what_it_is_about() -> None:
    assert header(asked().request) == "approve · bash"
    assert header(asked(approval("Push", {"category": "execute"})).request) == "approve · execute"
    assert header(asked({"kind": "form", "form": FORM}).request) == "fill in · Release"


def test_the_line_of_a_card_behind_another_says_what_it_is_about() -> None:
    assert one_line(asked()) == "approve · bash  git push --force origin fix/login"
    assert one_line(asked({"kind": "confirm", "title": "Sure?\nReally?"})) == "confirm  Sure?⏎Really?"


def test_the_footer_says_how_long_who_and_what_happens() -> None:
    assert footer(asked(), NOW) == "waiting 7 s"
    assert footer(asked(authority="owner"), NOW) == "waiting 7 s · the owner may answer"
    assert footer(asked(expiresAt=NOW + 61_000), NOW) == "waiting 7 s · expires unanswered in 1 min 01 s"
    both = footer(asked(expiresAt=NOW + 61_000, authority="owner"), NOW)
    assert both == "waiting 7 s · expires unanswered in 1 min 01 s · the owner may answer"
    assert footer(asked(state="deferred", expiresAt=NOW + 61_000, authority="owner"), NOW) == (
        "deferred, still answerable for 1 min 01 s · waiting 7 s · the owner may answer"
    )
    assert footer(asked(expiresAt=NOW), NOW) == "waiting 7 s · has expired"
    assert footer(asked(), NOW, sending=True) == "sending…"
    assert footer(asked(state="deferred"), NOW) == "deferred, still answerable · waiting 7 s"


def test_a_clock_of_the_host_that_is_ahead_never_shows_a_negative_time() -> None:
    assert footer(asked(createdAt=NOW + 5_000), NOW) == "waiting 0 s"


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
