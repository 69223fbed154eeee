"""The composer on a screen: what a person types, sees and sends."""

import pytest

from felan_tui.composer import Composer, Draft
from felan_tui.composer.composer import EnterVerb
from tests.tui.composer.support import SIZES, Writing, paste, shown, write
from tests.tui.text import hostile


@pytest.mark.parametrize("size", SIZES)
async def test_a_message_is_typed_over_two_lines_and_sent(size: tuple[int, int]) -> None:
    app = Writing()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "› type a message · / commands · ! shell" in shown(app)
        await write(pilot, "fix", "ctrl+j", "it", "shift+enter", "now")
        await pilot.pause()
        assert [row.strip() for row in shown(app).splitlines()[-3:]] == ["› fix", "it", "now"]
        await pilot.press("enter")
        await pilot.pause()
        assert app.heard() == [("Submitted", "fix\nit\nnow")]
        assert app.composer.is_empty


async def test_a_new_line_of_alt_enter() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("a", "alt+enter", "b")
        await pilot.pause()
        assert app.composer.text == "a\nb"
        assert app.said == []


@pytest.mark.parametrize(("size", "most"), [((80, 24), 8), ((160, 48), 16), ((60, 16), 6)])
async def test_it_grows_to_a_third_of_the_screen(size: tuple[int, int], most: int) -> None:
    app = Writing()
    async with app.run_test(size=size) as pilot:
        heights = []
        for _ in range(20):
            app.composer.area.newline()
            await pilot.pause()
            heights.append(app.composer.area.size.height)
        assert max(heights) <= most
        assert heights[-1] >= most - 2
        assert sorted(heights) == heights


async def test_the_message_carries_what_enter_did() -> None:
    app = Writing()
    async with app.run_test(size=(60, 16)) as pilot:
        verbs: tuple[EnterVerb, ...] = ("steer", "follow_up", "send")
        for verb, key in zip(verbs, "abc", strict=True):
            app.composer.enter_verb = verb
            await pilot.press(key)
            await pilot.press("enter")
            await pilot.pause()
        sent = [message.verb for message in app.said if isinstance(message, Composer.Submitted)]
        assert sent == list(verbs)


async def test_ctrl_t_queues_a_follow_up() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "ctrl+t", "then this", "ctrl+t")
        await pilot.pause()
        assert app.heard() == [("FollowUp", "then this")]
        assert app.composer.is_empty


async def test_keys_behind_an_enter_are_the_next_message() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "ctrl+t", *"three")
        await pilot.pause()
        assert app.heard() == [("Submitted", "one"), ("FollowUp", "two")]
        assert app.composer.text == "three"


async def test_enter_on_nothing_says_so() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("enter", "space", "enter")
        await pilot.pause()
        assert app.heard() == [("EmptyEnter", "")] * 2
        assert app.composer.text == " "


async def test_an_exclamation_mark_makes_it_a_shell() -> None:
    app = Writing()
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.press("exclamation_mark", "enter")
        await pilot.pause()
        assert app.said == []
        assert shown(app).splitlines()[-1].strip() == "$ !"
        await write(pilot, " ls -l\r")
        await pilot.pause()
        assert app.heard() == [("ShellSubmitted", "ls -l")]
        assert "$" not in shown(app)
        await pilot.press("up")
        await pilot.pause()
        assert app.composer.text == "! ls -l"


async def test_ctrl_c_ctrl_d_and_esc_are_the_app_s_where_the_text_does_not_need_them() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("ctrl+d", "ctrl+c", "escape")
        await pilot.pause()
        assert (app.quits, app.interrupts, app.escapes) == (1, 1, 1)
        await pilot.press(*"ab", "home", "ctrl+d", "ctrl+c")
        await pilot.pause()
        assert (app.quits, app.interrupts) == (1, 2)
        assert app.composer.text == "b"
        await pilot.press("f7", "ctrl+c")
        await pilot.pause()
        assert app.interrupts == 2
        assert app.clipboard == "b"


async def test_a_cleared_draft_comes_back_with_up() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "half a thought")
        assert app.composer.clear_draft()
        assert app.composer.is_empty
        assert not app.composer.clear_draft()
        await pilot.press("up")
        await pilot.pause()
        assert app.composer.text == "half a thought"


async def test_up_and_down_walk_the_history_from_the_first_and_the_last_row() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await write(pilot, "one\rtwo\rdr\naft")
        await pilot.press("up")
        await pilot.pause()
        assert app.composer.area.cursor_location[0] == 0
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            await pilot.pause()
            seen.append(app.composer.text)
        assert seen == ["two", "one", "one", "two", "dr\naft", "dr\naft"]


async def test_a_wrapped_line_is_walked_row_by_row() -> None:
    app = Writing()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "old\r")
        app.composer.set_draft("word " * 30)
        await pilot.press("up")
        await pilot.pause()
        assert app.composer.text.startswith("word")
        await pilot.press("up", "up")
        await pilot.pause()
        assert app.composer.text == "old"


async def test_a_failed_send_is_put_back_before_what_was_typed_since() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        paste(app, "x\n" * 100)
        await pilot.pause()
        await write(pilot, " go")
        await pilot.pause(0.2)
        await pilot.press("enter")
        await pilot.press("n")
        await pilot.pause()
        (message,) = app.said
        assert isinstance(message, Composer.Submitted)
        app.composer.restore(message.text)
        await pilot.pause()
        assert app.composer.area.text == "[pasted 100 lines #1] go\nn"
        assert app.composer.text == message.text + "\nn"
        app.composer.take_draft()
        app.composer.restore(message.draft)
        assert app.composer.text == message.text


async def test_drafts_are_set_and_taken() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.set_draft("for later")
        await pilot.pause()
        assert app.composer.take_draft() == Draft("for later")
        assert app.composer.is_empty
        app.composer.set_draft(Draft("see [pasted 2 lines #4]", {"[pasted 2 lines #4]": "a\nb"}))
        assert app.composer.text == "see a\nb"
        app.composer.set_draft("y" * 100_000)
        assert app.composer.area.text == "[pasted 97 KB #1]"
        assert app.composer.text == "y" * 100_000


COMMANDS = [("compact", "make the context small"), ("/review", "look at [red]the diff[/x]"), ("release", "")]


@pytest.mark.parametrize("size", SIZES)
async def test_a_slash_lists_commands_and_tab_takes_one(size: tuple[int, int]) -> None:
    app = Writing()
    async with app.run_test(size=size) as pilot:
        app.composer.set_commands(COMMANDS)
        await pilot.press("slash")
        await pilot.pause()
        for words in ("/compact", "make the context small", "/review", "[red]the diff[/x]", "/release"):
            assert words in shown(app)
        await write(pilot, "re")
        await pilot.pause()
        assert "/compact" not in shown(app)
        assert "› /review" in shown(app)
        await pilot.press("down")
        await pilot.pause()
        assert "› /release" in shown(app)
        await pilot.press("tab")
        await pilot.pause()
        assert app.composer.text == "/release "
        assert "/review" not in shown(app)
        await write(pilot, "v2\r")
        await pilot.pause()
        assert app.heard() == [("Submitted", "/release v2")]


async def test_esc_closes_the_list_before_it_is_the_app_s() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.set_commands(COMMANDS)
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert "/compact" not in shown(app)
        assert app.escapes == 0
        await pilot.press("escape")
        assert app.escapes == 1
        await pilot.press("c")
        await pilot.pause()
        assert "/compact" in shown(app)


async def test_a_slash_or_an_at_sign_elsewhere_is_text() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.set_commands(COMMANDS)
        await write(pilot, "see @a/c /c")
        await pilot.pause()
        assert "/compact" not in shown(app)
        assert app.composer.text == "see @a/c /c"


async def test_a_keymap_moves_enter_and_enter_alone_then_does_nothing() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.set_keymap({"felan.composer.send": "f9,ctrl+g"})
        await pilot.press(*"ab", "enter", "f9", *"c", "ctrl+g")
        await pilot.pause()
        assert app.heard() == [("Submitted", "ab"), ("Submitted", "c")]


async def test_hostile_text_is_harmless_wherever_it_comes_from() -> None:
    app = Writing()
    async with app.run_test(size=(120, 40)) as pilot:
        alone = [hostile.ESCAPES["an unfinished OSC"], hostile.ESCAPES["an unfinished CSI"]]
        groups = (hostile.MARKUP, hostile.ESCAPES, hostile.INVISIBLE)
        for text in [*("\n".join(group.values()) for group in groups), *alone]:
            app.composer.set_commands([("c" + text, text)])
            paste(app, text)
            await pilot.pause()
            app.composer.restore("a " + text)
            assert app.composer.text.startswith("a ")
            app.composer.set_draft(Draft(f"b {text} [pasted 2 lines #1]", {"[pasted 2 lines #1]": text}))
            await pilot.pause()
            assert not hostile.harmful(shown(app))
            assert not hostile.harmful(app.composer.text)
            app.composer.set_draft("/")
            await pilot.pause()
            assert not hostile.harmful(shown(app))
            assert "/c" in shown(app)
            app.composer.set_draft("")
