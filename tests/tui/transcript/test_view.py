import pytest

from felan_tui.transcript.blocks import MarkdownBlock, OutcomeBlock, ThinkingBlock, UserBlock
from felan_tui.transcript.tools import ToolBlock
from felan_tui.transcript.view import TranscriptView
from tests.tui.transcript.viewing import Transcript, fill, screen, until


async def test_it_shows_the_end_and_follows_it() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 50)
        await pilot.pause()
        assert screen(app.view)[-1] == "  ▌ block 49"
        app.view.put(UserBlock("new", "the newest"), 100)
        await pilot.pause()
        assert screen(app.view)[-1] == "  ▌ the newest"
        assert app.view.following


async def test_scrolling_up_releases_and_new_lines_are_counted_until_end() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 50)
        await pilot.pause()
        app.view.focus()
        await pilot.press("up")
        await pilot.pause()
        assert not app.view.following
        before = screen(app.view)
        for number in range(6):
            app.view.put(UserBlock(f"n{number}", "new"), 100 + number)
        await pilot.pause()
        assert screen(app.view) == before
        assert app.view.new_lines == 12
        assert app.told[-1] == (False, 12, "↓ 12 new")
        await pilot.press("end")
        await pilot.pause()
        assert app.view.following
        assert screen(app.view)[-1] == "  ▌ new"
        assert app.told[-1] == (True, 0, "")


async def test_the_wheel_releases_and_rolling_to_the_end_follows_again() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 50)
        await pilot.pause()
        app.view.scroll_relative(y=-6, animate=False)
        await pilot.pause()
        assert not app.view.following
        for _ in range(4):
            app.view.scroll_relative(y=3, animate=False)
            await pilot.pause()
        assert app.view.following


async def test_a_streamed_message_does_not_move_what_is_read() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 30)
        app.view.append_text("live", "markdown", "Some text\n\n", 100)
        await until(pilot, lambda: "  Some text" in screen(app.view))
        app.view.scroll_relative(y=-5, animate=False)
        await pilot.pause()
        before = screen(app.view)
        for number in range(40):
            app.view.append_text("live", "markdown", f"paragraph {number}\n\n")
        await until(pilot, lambda: app.view.new_lines > 60)
        assert screen(app.view)[:6] == before[:6]
        app.view.put(MarkdownBlock("live", "Some text, finished"), 100)
        await pilot.pause()
        assert screen(app.view)[:4] == before[:4]


async def test_a_streamed_message_is_shown_and_then_replaced() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.append_text("m", "markdown", "Hello **wor")
        await until(pilot, lambda: screen(app.view)[0] == "  Hello **wor")
        app.view.append_text("m", "markdown", "ld**")
        await until(pilot, lambda: screen(app.view)[0] == "  Hello world")
        app.view.put(MarkdownBlock("m", "Hello **world**!"), 5)
        await pilot.pause()
        assert screen(app.view)[0] == "  Hello world!"
        assert len(app.view.blocks) == 1


async def test_pieces_are_put_together_before_they_are_drawn() -> None:
    app = Transcript()
    now = [100.0]
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        view._clock = lambda: now[0]  # pyright: ignore[reportPrivateUsage] time comes in by a parameter
        settled: list[None] = []
        original = view.settled
        view.settled = lambda: (settled.append(None), original())[1]
        view.append_text("m", "plain", "first ")
        now[0] += 1
        view.append_text("m", "plain", "second ")
        await pilot.pause()
        drawn = len(settled)
        for _ in range(100):
            view.append_text("m", "plain", "x ")
        await pilot.pause()
        assert len(settled) <= drawn + 1


async def test_blocks_stand_in_the_order_given_whenever_they_come() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 20)) as pilot:
        view = app.view
        view.put(OutcomeBlock("c", "info", "third"), 3)
        view.put(OutcomeBlock("a", "info", "first"), 1)
        view.put(OutcomeBlock("b", "info", "second"), (2, 0))
        view.put(OutcomeBlock("b2", "info", "second and a half"), (2, 1))
        await pilot.pause()
        assert [line.strip() for line in screen(view)[:4]] == [
            "• first",
            "• second",
            "• second and a half",
            "• third",
        ]
        view.put(OutcomeBlock("a", "info", "now last"), 9)
        await pilot.pause()
        assert [line.strip() for line in screen(view)[:4]][-1] == "• now last"
        view.remove_block("b")
        view.remove_block("never there")
        await pilot.pause()
        assert [block.key for block in view.blocks] == ["b2", "c", "a"]


async def test_what_is_inserted_above_does_not_move_what_is_read() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 50)
        await pilot.pause()
        app.view.scroll_to(y=40)
        await pilot.pause()
        before = screen(app.view)
        for number in range(5):
            app.view.put(UserBlock(f"early{number}", "came late\nof two lines"), (3, number))
        await pilot.pause()
        assert screen(app.view) == before
        app.view.remove_block("b1")
        await pilot.pause()
        assert screen(app.view) == before


@pytest.mark.parametrize("width", [24, 90])
async def test_a_resize_keeps_the_place_of_the_reader(width: int) -> None:
    app = Transcript()
    async with app.run_test(size=(50, 12)) as pilot:
        words = " ".join(f"w{number}" for number in range(2000))
        app.view.put(MarkdownBlock("long", words), 1)
        fill(app.view, 20)
        await pilot.pause()
        app.view.scroll_to(y=100)
        await pilot.pause()
        first = screen(app.view)[0].split()[0]
        await pilot.resize_terminal(width, 12)
        await pilot.pause()
        assert first in " ".join(screen(app.view)[:2]).split()
        assert not app.view.following


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    app = Transcript()
    async with app.run_test(size=(50, 12)) as pilot:
        fill(app.view, 30, "words that wrap when it is narrow")
        await pilot.pause()
        await pilot.resize_terminal(26, 7)
        await pilot.pause()
        assert screen(app.view)[-1].split()[-1] == "29"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen(app.view)[-1].split()[-1] == "29"
        assert app.view.following


async def test_a_card_expands_in_place_and_stays_so_when_it_is_put_again() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.view
        fill(view, 20)
        view.put(ToolBlock("tool", "make", "bash", output="one\ntwo\n"), 7)
        await pilot.pause()
        view.select_block("tool")
        await pilot.pause()
        row = next(y for y, line in enumerate(screen(view)) if "bash" in line)
        view.action_toggle_block()
        await pilot.pause()
        assert screen(view)[row].startswith("▌ ● bash")
        assert screen(view)[row + 1] == "▌ │ one"
        view.put(ToolBlock("tool", "make", "bash", state="completed", output="one\ntwo\nthree\n"), 7)
        await pilot.pause()
        assert screen(view)[row + 3] == "▌ │ three"
        view.toggle("tool")
        await pilot.pause()
        assert "one" not in "".join(screen(view))
        assert app.toggled == [("tool", True), ("tool", False)]


async def test_a_click_on_a_folded_line_expands_it() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        app.view.put(ThinkingBlock("t", "deep thoughts", 3), 1)
        app.view.put(MarkdownBlock("m", "text"), 2)
        await pilot.pause()
        await pilot.click(TranscriptView, offset=(6, 0))
        await pilot.pause()
        assert screen(app.view)[1] == "▌ │ deep thoughts"
        await pilot.click(TranscriptView, offset=(4, 3))
        await pilot.pause()
        assert app.view.cursor == "m"
        assert app.toggled == [("t", True)]


async def test_the_block_cursor_moves_by_blocks_and_brings_them_into_view() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 10)) as pilot:
        fill(app.view, 30)
        await pilot.pause()
        app.view.action_cursor_up()
        assert app.view.cursor == "b29"
        for _ in range(9):
            app.view.action_cursor_up()
        await pilot.pause()
        assert app.view.cursor == "b20"
        assert "▌ ▌ block 20" in screen(app.view)
        assert not app.view.following
        block = app.view.selected_block()
        assert block is not None
        assert app.view.copy_text(block.key) == "block 20"
        for _ in range(20):
            app.view.action_cursor_down()
        await pilot.pause()
        assert app.view.cursor == "b29"
        assert "▌ ▌ block 29" in screen(app.view)
        assert app.cursors[-1] == "b29"


async def test_neighbouring_lines_stand_close_and_others_apart() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.view
        view.put(ToolBlock("a", "x", "read", state="completed", output="o"), 1)
        view.put(ToolBlock("b", "y", "read", state="completed"), 2)
        view.put(MarkdownBlock("c", "text"), 3)
        await pilot.pause()
        assert screen(view)[:4] == ["  ✓ read  x", "  ✓ read  y", "", "  text"]
        view.toggle("a")
        await pilot.pause()
        assert screen(view)[:6] == ["  ✓ read  x", "  │ o", "", "  ✓ read  y", "", "  text"]
