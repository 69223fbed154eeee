from textual.app import ComposeResult
from textual.geometry import Offset
from textual.selection import Selection

from felan_tui.transcript.blocks import MarkdownBlock, OutcomeBlock, UserBlock
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.tools import ToolBlock
from felan_tui.transcript.view import TranscriptView
from tests.harness.work import calls
from tests.tui.text import hostile
from tests.tui.transcript.viewing import Counted, Transcript, fill, screen, until


async def test_only_what_is_visible_is_drawn() -> None:
    app = Transcript()
    drawn: list[str] = []
    async with app.run_test(size=(40, 10)) as pilot:
        blocks = [(Counted(f"b{n}", "some words of a text " * 3, drawn), n) for n in range(3000)]
        app.view.set_blocks(blocks)
        await pilot.pause()
        assert 0 < len(drawn) <= 20
        drawn.clear()
        app.view.scroll_relative(y=-1, animate=False)
        await pilot.pause()
        app.view.scroll_relative(y=-1, animate=False)
        await pilot.pause()
        assert len(drawn) <= 20
        drawn.clear()
        app.view.scroll_to(y=2000)
        await pilot.pause()
        assert 0 < len(drawn) <= 30
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert len(drawn) <= 60
        assert app.is_running


async def test_scrolling_over_estimates_moves_by_as_much_as_was_asked() -> None:
    app = Transcript()
    drawn: list[str] = []
    async with app.run_test(size=(40, 10)) as pilot:
        for n in range(200):
            app.view.put(Counted(f"b{n}", "\n".join(f"b{n} l{line}" for line in range(n % 7 + 1)), drawn), n)
        await pilot.pause()
        await pilot.resize_terminal(41, 10)
        await pilot.pause()
        for _ in range(20):
            before = screen(app.view)
            app.view.scroll_relative(y=-3, animate=False)
            await pilot.pause()
            assert screen(app.view)[3:] == before[:-3]


async def test_a_heavy_block_is_drawn_in_a_thread_behind_a_draft() -> None:
    app = Transcript()
    text = "**bold** word\n\n" * 2000
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.put(MarkdownBlock("m", text), 1)
        await pilot.pause()
        assert any("bold" in line for line in screen(app.view))
        await until(pilot, lambda: "  bold word" in screen(app.view))
        assert app.view.following


async def test_a_long_live_message_is_kept_until_its_final_form_is_there() -> None:
    app = Transcript()
    text = "**bold** word\n\n" * 2000
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.append_text("m", "markdown", text)
        await until(pilot, lambda: "  bold word" in screen(app.view))
        app.view.put(MarkdownBlock("m", text), 1)
        await pilot.pause()
        assert "  bold word" in screen(app.view)
        assert "**" not in "".join(screen(app.view))


async def test_a_large_diff_is_compared_off_the_frame() -> None:
    app = Transcript()
    old = "".join(f"line {n} of a file\n" for n in range(3000))
    block = ToolBlock("t", "a.py", "edit", diffs=(FileDiff("a.py", old, old.replace("7", "seven")),))
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.put(block, 1)
        await pilot.pause()
        app.view.toggle("t")
        await until(pilot, lambda: "a.py  +" in "".join(screen(app.view)))


async def test_text_is_selected_and_copied_without_decoration() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        app.view.put(MarkdownBlock("m", "> quoted 漢字 words\n\n```\ncode here\n```"), 1)
        await pilot.pause()
        found = app.view.get_selection(Selection(Offset(0, 0), Offset(40, 5)))
        assert found is not None
        assert found[0] == "quoted 漢字 words\n\ncode here"
        assert app.view.get_selection(Selection(Offset(2, 0), Offset(8, 0))) == ("quoted", "\n")
        await pilot.mouse_down(TranscriptView, offset=(4, 0))
        await pilot.hover(TranscriptView, offset=(13, 0))
        await pilot.mouse_up(TranscriptView, offset=(13, 0))
        await pilot.pause()
        assert (app.screen.get_selected_text() or "").startswith("quoted")


async def test_a_selection_joins_what_was_wrapped_and_copies_tabs_as_tabs() -> None:
    app = Transcript()
    text = "some words that are wrapped 漢字漢字漢字漢字漢字漢字\n\n"
    text += "```make\nall:\n\tgcc -o all a.o b.o c.o d.o e.o\n```\n"
    async with app.run_test(size=(30, 14)) as pilot:
        app.view.put(MarkdownBlock("m", text), 1)
        await pilot.pause()
        found = app.view.get_selection(Selection(None, None))
        assert found is not None
        assert found[0] == (
            "some words that are wrapped 漢字漢字漢字漢字漢字漢字\n\nall:\n\tgcc -o all a.o b.o c.o d.o e.o"
        )
        assert app.view.copy_text("m") == text
        app.view.put(MarkdownBlock("m", "| a | b |\n|---|---|\n| c | d |"), 1)
        await pilot.pause()
        assert (app.view.get_selection(Selection(None, None)) or ("",))[0].split("\n")[::2] == [
            "a\tb",
            "c\td",
        ]


async def test_two_clicks_select_a_word_and_three_a_line_over_wrapped_rows() -> None:
    app = Transcript()
    async with app.run_test(size=(30, 12)) as pilot:
        text = "see src/clock.py, please; and " + "x" * 30 + " end\nnext"
        app.view.put(MarkdownBlock("m", f"```\n{text}\n```"), 1)
        await pilot.pause()

        async def clicked(times: int, x: int, y: int) -> str:
            await pilot.click(TranscriptView, offset=(x, y), times=times)
            await pilot.pause()
            return app.screen.get_selected_text() or ""

        assert await clicked(2, 9, 0) == "src/clock.py"
        assert await clicked(2, 12, 1) == "x" * 30
        assert await clicked(3, 9, 0) == text.split("\n")[0]
        assert await clicked(2, 6, 3) == "next"
        assert await clicked(2, 7, 0) == ""


async def test_every_cell_has_the_background_of_the_theme() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 20)) as pilot:
        app.view.put(UserBlock("u", "hello"), 1)
        app.view.put(MarkdownBlock("m", "> text\n\n| a |\n|---|\n| b |\n\n```py\nx\n```\n\n- e"), 2)
        app.view.put(ToolBlock("t", "x", "bash", output="\x1b[31mred"), 3)
        app.view.toggle("t")
        for theme in ("textual-dark", "textual-light"):
            app.theme = theme
            await pilot.pause()
            for y in range(20):
                for segment in app.view.render_line(y):
                    assert segment.style is not None
                    assert segment.style.bgcolor is not None, (y, segment)


async def test_another_theme_is_drawn_at_once() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        app.view.put(OutcomeBlock("o", "failed", "x"), 1)
        await pilot.pause()
        before = [segment.style for segment in app.view.render_line(0)]
        app.theme = "textual-light"
        await pilot.pause()
        assert [segment.style for segment in app.view.render_line(0)] != before


async def test_clear_and_set_blocks_start_anew_and_keep_what_was_expanded() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.view
        tool = ToolBlock("t", "x", "bash", output="out")
        view.put(tool, 1)
        view.toggle("t")
        await pilot.pause()
        view.set_blocks([(UserBlock("u", "first"), 0), (tool, 1)])
        await pilot.pause()
        assert "  │ out" in screen(view)
        view.clear()
        await pilot.pause()
        assert view.blocks == []
        assert not any(screen(view))
        assert view.selected_block() is None


async def test_blocks_may_be_put_before_the_view_is_on_the_screen() -> None:
    class Early(Transcript):
        def compose(self) -> ComposeResult:
            view = TranscriptView()
            view.put(UserBlock("u", "early"), 1)
            yield view

    app = Early()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert screen(app.view)[0] == "  ▌ early"


async def test_hostile_text_is_harmless_on_the_strips() -> None:
    app = Transcript()
    async with app.run_test(size=(40, 60)) as pilot:
        for number, text in enumerate(hostile.SHORT.values()):
            app.view.put(MarkdownBlock(f"m{number}", text), (number, 0))
            app.view.put(ToolBlock(f"t{number}", text, text, output=text), (number, 1))
            app.view.toggle(f"t{number}")
            app.view.append_text(f"l{number}", "markdown", text, (number, 2))
        await pilot.pause(0.1)
        total = app.view.virtual_size.height
        for top in range(0, total, 50):
            app.view.scroll_to(y=top)
            await pilot.pause()
            for y in range(60):
                assert not hostile.harmful(app.view.render_line(y).text)
                assert all(
                    segment.style is None or "@click" not in segment.style.meta
                    for segment in app.view.render_line(y)
                )


async def test_one_more_of_two_thousand_blocks_is_as_little_work_as_of_two_hundred() -> None:
    async def work(blocks: int) -> int:
        app = Transcript()

        def put() -> None:
            for number in range(20):
                app.view.put(UserBlock(f"n{number}", "new"), 5000 + number)
                app.view._settle()  # pyright: ignore[reportPrivateUsage] without the pilot, which waits for all
                for y in range(24):
                    app.view.render_line(y)

        async with app.run_test(size=(80, 24)) as pilot:
            fill(app.view, blocks)
            await pilot.pause()
            return calls(put)

    assert await work(2000) < 1.5 * await work(200)
