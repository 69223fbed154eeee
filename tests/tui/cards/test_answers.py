from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from felan_core.protocol.interactions import ApprovalOption, validate_interaction_answer
from felan_tui.cards.approval import option_label
from felan_tui.cards.messages import Answered, Left, OpenSubject
from felan_tui.cards.whole import WholeSubject
from tests.tui.cards.looking import CARD_SIZES, Clock, gallery, go, lines, shows, text, told, until
from tests.tui.gallery import Gallery


async def answered(pilot: Pilot[None], app: Gallery) -> dict[str, Any]:
    """The one answer that was told; it is right by the contract's own check."""
    await until(pilot, lambda: bool(told(app, Answered)))
    (message,) = told(app, Answered)
    (interaction,) = [one for one in app.interactions if one.id == message.interaction_id]
    validate_interaction_answer(interaction.request, message.answer)
    return message.answer


@pytest.mark.parametrize("size", CARD_SIZES)
async def test_an_approval_shows_what_would_be_done_and_the_options_by_digit(size: tuple[int, int]) -> None:
    app, _ = gallery("approval")
    async with app.run_test(size=size) as pilot:
        await shows(
            pilot,
            "opencode wants to run",
            "$ git push --force origin fix/login",
            "in /home/me/api-server",
            "“Push the branch”",
            "1 Allow once",
            "2 Always in this session (the agent's rule)",
            "3 Reject",
            "4 Never (the agent's rule)",
            "5 Reject, say why",
            "waiting 7 s",
        )
        assert app.focused is None
        assert "owner" not in text(app)
        before = lines(app)
        await pilot.press("f2")
        await until(pilot, lambda: app.focused is not None)
        keys = [f"{one.key} {one.does}" for one in app.stack.keys]
        assert keys == ["1–5 answer", "o whole", "w say why", "↑↓ Enter choose"]
        # Nothing changes place: the bar alone is drawn anew.
        assert [one[2:] for one in before] == [one[2:] for one in lines(app)]


def test_a_lasting_rule_has_one_label_whole_and_without_code_marks() -> None:
    option = ApprovalOption(id="a", label="yes, for `git push` in /x", effect="allow_always")
    assert option_label(option) == "Yes, for “git push” in /x (the agent's rule)"


async def test_a_digit_chooses_in_the_order_shown() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        for key, option in (("1", "once"), ("2", "always"), ("3", "no"), ("4", "never")):
            await pilot.press(key)
            assert await answered(pilot, app) == {"option": option}
            await shows(pilot, "sending…")
            await pilot.press(key)
            await pilot.pause()
            assert len(told(app, Answered)) == 1
            app.told.clear()
            app.stack.reject("a-1", "once more")


async def test_enter_chooses_nothing_until_somebody_moved_to_an_option() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("enter")
        await pilot.pause()
        assert told(app, Answered) == []
        await pilot.press("right", "right", "down", "enter")
        assert await answered(pilot, app) == {"option": "no"}


async def test_a_rejection_says_why() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("w", *"1 no")
        await pilot.pause()
        assert told(app, Answered) == []
        await pilot.press("escape")
        await pilot.pause()
        assert told(app, Left) == []
        assert "1 Allow once" in text(app)
        await pilot.press("5", "enter")
        assert await answered(pilot, app) == {"option": "no", "note": "1 no"}


async def test_a_rejection_without_a_reason_has_no_note() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("w", "enter")
        assert await answered(pilot, app) == {"option": "no"}


async def test_a_click_chooses_the_option_under_it() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        choices = app.query_one("Choices")
        row = next(y for y, line in enumerate(lines(app)) if "3 Reject" in line)
        column = lines(app)[row].index("3 Reject")
        await pilot.click(choices, offset=(column + 4 - choices.region.x, row - choices.region.y))
        assert await answered(pilot, app) == {"option": "no"}


async def test_a_long_command_is_opened_whole() -> None:
    app, clock = gallery("approval-long")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "echo line 1" in text(app)
        assert "echo line 59" not in text(app)
        assert "40 more lines · o" in text(app)
        assert "1 Allow once" in text(app)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, WholeSubject))
        assert [message.interaction.id for message in told(app, OpenSubject)] == ["a-3"]
        await pilot.press("end")
        await until(pilot, lambda: "echo line 59" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, WholeSubject))
        assert told(app, Answered) == []


async def test_a_diff_shows_what_goes_and_what_comes() -> None:
    app, _ = gallery("approval-diff")
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(
            pilot,
            "opencode wants to edit",
            "tests/test_login.py  +2 −2",
            "- def wait():",
            "+ def wait(clock):",
            "+     clock.advance(3)",
        )


async def test_a_confirmation_is_yes_or_no() -> None:
    app, clock = gallery("confirm")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await shows(pilot, "Delete the branch?", "It is not merged.", "1 Yes", "2 No")
        for key, confirmed in (("y", True), ("1", True), ("n", False), ("2", False)):
            await pilot.press(key)
            assert await answered(pilot, app) == {"confirmed": confirmed}
            app.told.clear()
            app.stack.reject("c-1", "once more")


async def test_a_selection_takes_a_digit() -> None:
    app, clock = gallery("select")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "2 option 2  number 2 of 4" in text(app)
        await pilot.press("2")
        assert await answered(pilot, app) == {"options": ["o2"]}


async def test_several_are_marked_and_sent_together_and_too_many_are_refused_here() -> None:
    app, clock = gallery("select-many")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("enter")
        await until(pilot, lambda: "✗ choose 1 to 3" in text(app))
        await pilot.press("1", "2", "3", "5", "enter")
        await pilot.pause()
        assert told(app, Answered) == []
        assert "☑ 5 option 5" in text(app)
        await pilot.press("down", "space", "enter")
        assert await answered(pilot, app) == {"options": ["o2", "o3", "o5"]}


async def test_two_hundred_options_filter_as_one_types() -> None:
    app, clock = gallery("select-long")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "200 of 200" in text(app)
        await pilot.press("1", "5", "x")
        await until(pilot, lambda: "nothing matches" in text(app))
        await pilot.press("backspace", "0")
        await until(pilot, lambda: "filter: 150" in text(app))
        assert "1 of 200" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert told(app, Answered) == []
        await pilot.press("down", "enter")
        assert await answered(pilot, app) == {"options": ["o150"]}


async def test_a_line_is_typed_and_sent_by_enter() -> None:
    app, clock = gallery("input")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "Name of the branch?" in text(app)
        assert "fix/…" in text(app)
        await pilot.press(*"o w1", "enter")
        assert await answered(pilot, app) == {"text": "o w1"}


async def test_lines_are_typed_with_ctrl_j_and_keep_their_default() -> None:
    app, clock = gallery("input-lines")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        assert "Fix the test" in text(app)
        assert [one.key for one in app.stack.keys] == ["Enter", "Ctrl+J"]
        await pilot.press("end", "ctrl+j", "x", "enter")
        assert await answered(pilot, app) == {"text": "Fix the test\nx"}


async def test_a_pasted_text_goes_into_the_field_and_enter_right_behind_it_sends_nothing() -> None:
    app, clock = gallery("input-lines")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("end")
        app.post_message(events.Paste("a\x1b[2J\nb\n"))
        await pilot.press("enter")
        await pilot.pause()
        assert told(app, Answered) == []
        clock.wait(1)
        await pilot.press("enter")
        assert await answered(pilot, app) == {"text": "Fix the testa\nb\n"}


async def test_a_refused_answer_can_be_given_again_with_nothing_lost() -> None:
    app, clock = gallery("input")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press(*"abc", "enter")
        await answered(pilot, app)
        await pilot.press("x")
        app.stack.reject("i-1", "forbidden: [red]only the owner\x1b[2J may answer")
        await until(pilot, lambda: "✗ forbidden: [red]only the owner may answer" in text(app))
        assert "sending" not in text(app)
        await pilot.press("d", "enter")
        await until(pilot, lambda: len(told(app, Answered)) == 2)
        assert told(app, Answered)[1].answer == {"text": "abcd"}


async def test_a_card_can_be_asked_and_left_without_an_answer() -> None:
    app, clock = gallery("approval")
    async with app.run_test() as pilot:
        await go(pilot, clock)
        await pilot.press("escape")
        await until(pilot, lambda: bool(told(app, Left)))
        assert told(app, Answered) == []
        assert "waiting" in text(app)


def test_the_clock_of_the_tests_stands() -> None:
    clock = Clock()
    assert clock() == clock()
