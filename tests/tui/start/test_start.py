"""The start card: an offer for each key, and nothing before a key."""

import pytest
from textual.app import App
from textual.message import Message
from textual.pilot import Pilot

from felan_tui.start.card import LastSession, StartCard, StartScreen
from tests.tui.text import hostile

SIZES = [(80, 24), (160, 48), (60, 16)]


class Starting(App[None]):
    def __init__(self, screen: StartScreen) -> None:
        super().__init__()
        self.start = screen
        self.said: list[Message] = []

    def on_mount(self) -> None:
        self.push_screen(self.start)

    def on_start_card_chosen(self, event: StartCard.Chosen) -> None:
        self.said.append(event)

    def on_start_card_continue(self, event: StartCard.Continue) -> None:
        self.said.append(event)


def shown(app: App[None]) -> str:
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )


async def settled(pilot: Pilot[None]) -> Starting:
    await pilot.pause()
    assert isinstance(pilot.app, Starting)
    return pilot.app


@pytest.mark.parametrize("size", SIZES)
async def test_the_offers_are_on_the_screen_and_nothing_was_chosen(size: tuple[int, int]) -> None:
    app = Starting(StartScreen(last=LastSession("fix the login test", "2 h ago")))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        text = shown(app)
        for words in (
            "Rehearsal",
            "Another agent",
            "Continue",
            "fix the login test · 2 h ago",
        ):
            assert words in text
        words = " ".join(text.replace("│", "").split())
        assert "Nothing runs before you press a key" in words
        marked = [line for line in text.splitlines() if "▌" in line]
        assert len(marked) == 1 and "Rehearsal" in marked[0]
        assert app.said == []


@pytest.mark.parametrize("keys", [["enter"], ["1"], ["down", "up", "enter"]])
async def test_enter_and_1_take_rehearsal_once(keys: list[str]) -> None:
    app = Starting(StartScreen())
    async with app.run_test() as pilot:
        await pilot.press(*keys, "enter", "1")
        await settled(pilot)
        (said,) = app.said
        assert isinstance(said, StartCard.Chosen)
        assert (said.kind, said.command) == ("rehearsal", None)


async def test_2_asks_for_the_command_and_takes_what_is_typed() -> None:
    app = Starting(StartScreen())
    async with app.run_test() as pilot:
        await pilot.press("2", "enter")
        await settled(pilot)
        assert app.said == []
        assert "Type the command" in shown(app)
        await pilot.press(*"a1c", "space", "2", "enter")
        await settled(pilot)
        (said,) = app.said
        assert isinstance(said, StartCard.Chosen)
        assert (said.kind, said.command) == ("acp", "a1c 2")


async def test_the_remembered_command_stands_in_the_field_and_esc_leads_back() -> None:
    app = Starting(StartScreen(command="opencode acp"))
    async with app.run_test() as pilot:
        await pilot.press("2")
        await settled(pilot)
        assert "opencode acp" in shown(app)
        await pilot.press("escape", "1")
        await settled(pilot)
        (said,) = app.said
        assert isinstance(said, StartCard.Chosen) and said.kind == "rehearsal"


async def test_c_continues_where_there_is_something_to_continue() -> None:
    app = Starting(StartScreen(last=LastSession("a", "")))
    async with app.run_test() as pilot:
        await pilot.press("c")
        await settled(pilot)
        assert [type(said) for said in app.said] == [StartCard.Continue]
    app = Starting(StartScreen())
    async with app.run_test() as pilot:
        await pilot.press("c")
        await settled(pilot)
        assert app.said == []
        assert "Continue" not in shown(app)


async def test_a_click_takes_an_offer() -> None:
    app = Starting(StartScreen())
    async with app.run_test() as pilot:
        await pilot.click("#offer-rehearsal")
        await settled(pilot)
        assert [type(said) for said in app.said] == [StartCard.Chosen]


async def test_after_a_problem_another_choice_can_be_made() -> None:
    app = Starting(StartScreen())
    async with app.run_test() as pilot:
        await pilot.press("2", "x", "enter")
        app.start.card.show_problem("x: not found")
        await settled(pilot)
        assert "x: not found" in shown(app)
        await pilot.press("escape", "1")
        await settled(pilot)
        assert len(app.said) == 2


HOSTILE = ["\n".join(hostile.MARKUP.values()), "\n".join(hostile.INVISIBLE.values())]
HOSTILE += [
    "\n".join(hostile.ESCAPES.values()),
    hostile.ESCAPES["an unfinished OSC"],
    hostile.MARKUP["an action"],
]


async def test_a_session_found_later_is_offered_once_and_nothing_else_moves() -> None:
    app = Starting(StartScreen(now=lambda: 7_260_000))
    async with app.run_test(size=(60, 16)) as pilot:
        await settled(pilot)
        app.start.offer_last("api-server", 60_000)
        app.start.offer_last("another", 60_000)
        await settled(pilot)
        assert "api-server · 2 h ago" in shown(app)
        assert "another" not in shown(app)
        (marked,) = [line for line in shown(app).splitlines() if "▌" in line]
        assert "Rehearsal" in marked
        await pilot.press("c")
        await settled(pilot)
        assert [type(said) for said in app.said] == [StartCard.Continue]


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "invisible", "escapes", "unfinished", "action"])
async def test_hostile_words_are_harmless(text: str) -> None:
    app = Starting(StartScreen(last=LastSession(text, text), command=text, problem=text))
    async with app.run_test(size=(80, 60)) as pilot:
        await pilot.press("2")
        await settled(pilot)
        assert not hostile.harmful(shown(app))
        assert "Continue" in shown(app)
