from typing import Any

import pytest

from felan_core.protocol.interactions import Interaction
from felan_tui.cards.messages import Answered
from felan_tui.cards.whole import WholeSubject
from tests.tui.cards.looking import gallery, go, text, told, until
from tests.tui.gallery_samples import interaction
from tests.tui.text.hostile import ESCAPES, FORBIDDEN, INVISIBLE, MARKUP, SHORT

BOUND = 1000


def requests(evil: str) -> list[dict[str, Any]]:
    """Each kind of request with this text in every member that takes text."""
    option = {"id": "o", "label": evil, "description": evil}
    subject = {
        "category": evil,
        "name": evil,
        "command": evil,
        "cwd": evil,
        "paths": [evil],
        "text": evil,
        "diff": [{"path": evil, "old": evil, "new": f"{evil}\n{evil}"}],
    }
    fields = [
        {
            "type": "string",
            "id": "a",
            "label": evil,
            "description": evil,
            "default": evil,
            "placeholder": evil,
        },
        {"type": "string", "id": "b", "label": evil, "multiline": True, "default": evil},
        {"type": "boolean", "id": "c", "label": evil},
        {"type": "enum", "id": "d", "label": evil, "options": [option], "default": "o"},
        {"type": "multi_select", "id": "e", "label": evil, "required": True, "options": [option]},
    ]
    button = {"id": "x", "label": evil}
    return [
        {
            "kind": "approval",
            "title": evil,
            "subject": subject,
            "options": [{"id": "o", "label": evil, "effect": "reject_once"}],
        },
        {"kind": "confirm", "title": evil, "message": evil},
        {"kind": "select", "title": evil, "options": [option]},
        {"kind": "input", "title": evil, "placeholder": evil, "default": evil},
        {"kind": "input", "title": evil, "placeholder": evil, "multiline": True},
        {
            "kind": "form",
            "form": {
                "title": evil,
                "description": evil,
                "fields": fields,
                "submit": button,
                "cancel": {**button, "id": "y"},
            },
        },
    ]


def harmless(shown: str) -> bool:
    return not (FORBIDDEN - {"\n"}) & set(shown)


@pytest.mark.parametrize("group", [MARKUP, ESCAPES, INVISIBLE], ids=["markup", "escapes", "invisible"])
async def test_hostile_text_in_every_member_of_every_kind_is_harmless(group: dict[str, str]) -> None:
    app, _ = gallery("confirm")
    evil = "\n".join(group.values())[:BOUND]
    async with app.run_test(size=(160, 48)) as pilot:
        for index, request in enumerate(requests(evil)):
            app.stack.show([interaction(f"x{index}", request)])
            app.stack.focus_current()
            await until(pilot, lambda: app.stack.current is not None and app.stack.current.has_focus_within)
            await pilot.pause()
            assert harmless(text(app)), index
        assert told(app, Answered) == []


@pytest.mark.parametrize(
    "name", ["a closing tag alone", "an action", "clear screen", "right-to-left override"]
)
async def test_hostile_text_in_what_ends_a_card_is_harmless(name: str) -> None:
    app, _ = gallery("confirm")
    evil = SHORT[name]
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        ended: list[Interaction] = [
            interaction("c-1", requests(evil)[1], state="cancelled", reason=evil),
            interaction("c-1", requests(evil)[1], state="expired", reason=evil),
            interaction(
                "c-1",
                requests(evil)[0],
                state="resolved",
                responder={"id": evil, "client": evil},
                result={"option": "o", "note": evil},
            ),
        ]
        for one in ended:
            app.stack.update_interaction(one)
            await pilot.pause()
            assert harmless(text(app))


async def test_the_whole_view_shows_what_is_hidden() -> None:
    app, clock = gallery("approval-hostile")
    async with app.run_test(size=(160, 48)) as pilot:
        await go(pilot, clock)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, WholeSubject))
        await until(
            pilot,
            lambda: "rm -rf /[red]x[/red] [/x] [@click=app.quit]q[/] ␛]52;c;aGk=␇␛[2J␀␇‹U+202E›" in text(app),
        )
        assert harmless(text(app))
