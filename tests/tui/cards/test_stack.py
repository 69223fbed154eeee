from typing import Any

import msgspec
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from felan_core.protocol.interactions import Interaction, Responder
from felan_tui.cards.card import CardContext, InteractionCard
from felan_tui.cards.messages import Answered, AskAgain, Left
from felan_tui.cards.stack import LINGER, CardStack
from tests.tui.cards.looking import SIZES, gallery, go, shows, text, told, until
from tests.tui.gallery_samples import INTERACTIONS, interaction


def resolved(
    one: Interaction, result: dict[str, Any], who: str = "anna", client: str = "phone"
) -> Interaction:
    responder = Responder(id=who, client=client)
    return msgspec.structs.replace(one, state="resolved", result=result, responder=responder, resolved_at=1)


class Beside(App[None]):
    """A stack that leaves the focus to a field."""

    def compose(self) -> ComposeResult:
        self.field = Input()
        self.stack = CardStack(leave_to=lambda: self.field)
        yield self.field
        yield self.stack


async def test_what_is_typed_as_a_card_ends_is_not_lost() -> None:
    asked = INTERACTIONS["stack"][0]
    async with (app := Beside()).run_test() as pilot:
        app.stack.show([asked])
        app.stack.focus_current()
        await until(pilot, lambda: isinstance(app.focused, InteractionCard))
        app.stack.update_interaction(resolved(asked, {"option": "no"}))
        assert app.focused is app.field


async def test_what_is_typed_right_behind_the_key_that_asks_again_is_not_lost() -> None:
    clock = [0.0]
    async with (app := Beside()).run_test() as pilot:
        app.stack.around = CardContext(clock=lambda: clock[0])
        app.stack.show([INTERACTIONS["gone"][0]])
        await pilot.pause()
        app.stack.focus_current()
        await until(pilot, lambda: isinstance(app.focused, InteractionCard))
        clock[0] += 10
        # In one go, as they come after a moment in which the machine had other things to do.
        for key in ("r", "r", "h", "i"):
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: app.field.value == "rhi")
        assert app.focused is app.field


@pytest.mark.parametrize("size", [*SIZES, (60, 16)])
async def test_one_card_is_whole_and_the_others_are_counted(size: tuple[int, int]) -> None:
    app, _ = gallery("stack")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "+2 more waiting", "git push --force", "1 Allow once")
        # The others are named where there is room for it.
        assert "    Release" in text(app)
        assert app.stack.waiting == 3


async def test_next_and_previous_go_round_and_a_card_that_comes_up_accepts_nothing_at_first() -> None:
    app, clock = gallery("stack")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Delete the branch?" in text(app) and "1 Yes" in text(app))
        await pilot.press("1")
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(1)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "1 Allow once" in text(app))


async def test_answered_elsewhere_says_by_whom_and_the_next_card_has_the_focus_with_its_grace() -> None:
    app, clock = gallery("stack")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        app.stack.update_interaction(resolved(app.interactions[0], {"option": "no", "note": "not now"}))
        await until(pilot, lambda: "✗ rejected by anna · phone: not now" in text(app))
        assert "1 Allow once" not in text(app)
        assert told(app, Left) == []
        form = app.stack.current
        assert form is not None and form.interaction.id == "k-2"
        assert app.focused is not None and form in app.focused.ancestors
        await pilot.press("1", "y", "enter")
        await pilot.pause()
        assert not form.draft
        clock.wait(1)
        await pilot.press("1")
        assert form.draft == {"fields": {"version": "1"}}
        assert app.stack.waiting == 2


async def test_the_stack_keeps_the_focus_until_it_is_empty() -> None:
    app, clock = gallery("stack")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("ctrl+n")
        for one, result in (
            (app.interactions[1], {"action": "stop"}),
            (app.interactions[0], {"option": "no"}),
        ):
            app.stack.update_interaction(resolved(one, result))
            await pilot.pause()
            current = app.stack.current
            assert current is not None and app.focused is not None
            assert current in app.focused.ancestors_with_self
            assert told(app, Left) == []
        app.stack.update_interaction(resolved(app.interactions[2], {"confirmed": True}))
        await pilot.pause()
        assert [message.interaction_id for message in told(app, Left)] == ["k-3"]
        assert app.focused is None


async def test_an_answer_from_here_folds_as_by_you() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("1")
        await until(pilot, lambda: bool(told(app, Answered)))
        app.stack.update_interaction(
            resolved(app.interactions[0], told(app, Answered)[0].answer, "me", "tui")
        )
        await until(pilot, lambda: "✓ allowed by you · tui" in text(app))


async def test_a_folded_card_goes_away_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LINGER > 3
    monkeypatch.setattr("felan_tui.cards.stack.LINGER", 0.05)
    app, _ = gallery("confirm")
    async with app.run_test() as pilot:
        await pilot.pause()
        app.stack.update_interaction(resolved(app.interactions[0], {"confirmed": True}))
        await until(pilot, lambda: not app.query(InteractionCard))
        assert not app.stack.display


async def test_a_card_whose_agent_is_gone_is_asked_again_with_one_key() -> None:
    app, clock = gallery("gone")
    async with app.run_test() as pilot:
        await shows(pilot, "✗ cancelled: the agent that asked is gone  r ask again")
        await pilot.press("r")
        assert told(app, AskAgain) == []
        await go(pilot, clock)
        await pilot.press("1", "enter", "w", "r")
        await shows(pilot, "asked again")
        await pilot.press("r")
        await pilot.pause()
        assert len(told(app, AskAgain)) == 1
        app.stack.reject("g-1", "the agent does not start")
        await shows(pilot, "r ask again  ✗ the agent does not")
        assert told(app, Answered) == []
        app.stack.focus_current()
        await pilot.press("escape")
        await until(pilot, lambda: not app.query(InteractionCard))
        app.stack.show(app.interactions)
        await pilot.pause()
        assert not app.query(InteractionCard)


async def test_what_was_asked_again_needs_its_card_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("felan_tui.cards.stack.LINGER", 0.05)
    app, clock = gallery("gone")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("r")
        await until(pilot, lambda: not app.query(InteractionCard))
        assert [message.interaction_id for message in told(app, Left)] == ["g-1"]
        app.stack.show(app.interactions)
        await pilot.pause()
        assert not app.query(InteractionCard)


async def test_a_deferred_card_is_still_answered() -> None:
    app, clock = gallery("deferred")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "deferred, can be answered for 14 min" in text(app)
        await pilot.press("3")
        await until(pilot, lambda: bool(told(app, Answered)))


async def test_the_key_that_goes_to_the_cards_works_for_a_card_that_came_this_moment() -> None:
    app, _ = gallery("input")
    async with app.run_test() as pilot:
        await pilot.pause()
        app.stack.show([])
        app.stack.show(app.interactions)
        app.stack.focus_current()
        await until(pilot, lambda: app.focused is not None)


async def test_what_ended_before_it_was_seen_has_no_card() -> None:
    app, _ = gallery("confirm")
    async with app.run_test() as pilot:
        await pilot.pause()
        old = resolved(interaction("old", {"kind": "confirm", "title": "?"}), {"confirmed": True})
        app.stack.show([old, *app.interactions])
        await pilot.pause()
        assert len(app.query(InteractionCard)) == 1


async def test_the_waiting_time_goes_on_without_a_layout() -> None:
    app, _ = gallery("approval")
    now = app.interactions[0].created_at
    times = iter(range(now + 7_000, now + 10_000_000, 1_000))
    app.stack.around = type(app.stack.around)(me="me", now=lambda: next(times))
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.pause(0.05)
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, layouts.append)
        shown = text(app)
        await until(pilot, lambda: text(app) != shown)
        assert "waiting " in text(app)
        assert layouts == []


async def test_resizing_keeps_the_options_on_the_screen() -> None:
    app, _ = gallery("approval-long")
    async with app.run_test(size=(160, 48)) as pilot:
        await shows(pilot, "echo line 30")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "echo line 30" not in text(app))
        await shows(pilot, "5 Reject, say why", "40 more lines · o")
